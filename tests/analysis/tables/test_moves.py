"""The moves of a run as a frame and as files: what the players thought, kept as numbers, on disk and in memory."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sgfmill import sgf

import jubango as jb
from jubango.analysis.tables.tables import games_frame, moves_frame
from jubango.arena.commands import run as command
from jubango.arena.runs.run_folder import rebuild_run
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.records.thoughts import UNSAID, Thought, packed, read_words, unpacked

COLUMNS = [
    "game_id", "ply", "player", "colour", "move", "opening_move", "visits", "simulations", "win_rate", "prior", "seconds", "clock_left",
    "periods_left",
]  # fmt: skip
counts = st.integers(UNSAID, 2**31 - 1)
reals = st.floats(-1, 1, width=32) | st.just(math.nan)
thoughts = st.builds(Thought, counts, counts, reals, reals, st.floats(0, 2.0**30, width=32) | st.just(math.nan))


@given(st.lists(thoughts, max_size=40))
def test_what_is_packed_comes_out_again(given):
    found = unpacked(packed(given))
    assert found.texts == [thought.text for thought in given]
    expected = [np.array(column) for column in zip(*given, strict=True)] or [np.zeros(0)] * 5
    for own, other in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_allclose(found.seconds, expected[4], rtol=2**-11, atol=2.0**-126)
    assert (packed(given) == b"") == (not given)


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1), st.integers(0, 1000))
def test_the_words_say_the_numbers(visits, simulations, tenths):
    said = Thought(visits, simulations, tenths / 500 - 1).text
    found = read_words(said + "\nB+R, resign: a detail")
    assert found[:2] == (visits, simulations)
    assert found.value == pytest.approx(tenths / 500 - 1, abs=1e-9)
    assert found.text == said
    assert read_words("a comment of 3 visits").simulations == UNSAID


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("moves")
    bots = ["random", "uct:simulations=20,ties=first", "minimax"]
    jb.tournament("tic_tac_toe", bots, games=4, out=path, clock="60", progress=False)
    return path


def test_every_move_has_a_row(folder):
    games, moves = games_frame(folder), moves_frame(folder)
    assert moves.columns.tolist() == COLUMNS
    assert len(moves) == games["plies"].sum()
    by_game = moves.groupby("game_id")
    assert by_game["move"].agg(" ".join).equals(games.set_index("game_id")["moves"])
    for _, own in by_game:
        assert own["ply"].tolist() == list(range(1, len(own) + 1))
    both = moves.merge(games[["game_id", "black", "white"]])
    odd = both["ply"] % 2 == 1
    assert (both["player"] == both["black"].where(odd, both["white"])).all()
    assert (both["colour"] == pd.Series(np.where(odd, "black", "white"))).all()


def test_searching_players_say_what_they_saw(folder):
    moves = moves_frame(folder)
    uct, random, minimax = (moves[moves["player"].str.startswith(kind)] for kind in ("uct", "random", "minimax"))
    assert (uct["simulations"] == 20).all()
    assert uct["visits"].between(1, 20).all()
    np.testing.assert_allclose(uct["prior"], 1 / (10 - uct["ply"]), rtol=1e-6)  # uniform over what is empty
    assert uct["win_rate"].between(0, 1).all()
    assert (minimax["visits"] == minimax["simulations"]).all()
    assert minimax["win_rate"].round(2).isin([0, 0.5, 1]).all(), "it sees to the end, and likes it near"
    assert minimax["prior"].isna().all()
    assert random[["visits", "simulations", "win_rate", "prior"]].isna().all(axis=None)


def test_the_seconds_of_the_moves_are_those_of_the_game(folder):
    games, moves = games_frame(folder).set_index("game_id"), moves_frame(folder)
    assert (moves["seconds"] > 0).all()
    spent = moves.groupby("game_id")["seconds"].sum()
    assert (spent <= games["seconds"] + 0.002).all()
    spent = moves.groupby(["game_id", "player"])["seconds"].cumsum()
    np.testing.assert_allclose(moves["clock_left"], 60 - spent, atol=0.02)
    assert moves["periods_left"].eq(0).all()


def test_the_sgf_says_the_same(folder):
    moves = moves_frame(folder)
    for game_id, path in games_frame(folder)[["game_id", "sgf"]].itertuples(index=False):
        nodes = sgf.Sgf_game.from_bytes((folder / path).read_bytes()).get_main_sequence()[1:]
        for node, row in zip(nodes, moves[moves["game_id"] == game_id].itertuples(), strict=True):
            said = node.get("C") if node.has_property("C") else ""
            expected = f"{row.visits} of {row.simulations} visits, own win rate "
            assert said.startswith(expected) if not pd.isna(row.visits) else said == ""
            assert not said or float(said.split()[-2]) == pytest.approx(100 * row.win_rate, abs=0.051)


def test_in_memory_and_on_disk_are_one(tmp_path, monkeypatch):
    bots = ["random", "uct:simulations=20"]
    run = jb.tournament("tic_tac_toe", bots, games=2, progress=False)
    with contextlib.closing(Library(tmp_path)) as library:
        library.add(run.kept.records)
    pd.testing.assert_frame_equal(run.moves, moves_frame(tmp_path))
    empty = run.moves[:0]
    (tmp_path / "none").mkdir()
    Library(tmp_path / "none").close()
    pd.testing.assert_frame_equal(moves_frame(tmp_path / "none"), empty)


@pytest.mark.full
def test_rows_made_again_know_what_the_comments_say(folder, tmp_path):
    bots = ["random", "uct:simulations=20"]
    jb.tournament("tic_tac_toe", bots, games=4, out=tmp_path, progress=False)
    before, files = moves_frame(tmp_path), {p: p.read_bytes() for p in (tmp_path / "games").iterdir()}
    (tmp_path / "results.sqlite").unlink()
    assert rebuild_run(tmp_path) == (4, [])
    after = moves_frame(tmp_path)
    kept = ["game_id", "ply", "player", "colour", "move", "visits", "simulations"]
    pd.testing.assert_frame_equal(after[kept], before[kept])
    np.testing.assert_allclose(after["win_rate"], before["win_rate"], atol=0.0006)
    assert after[["prior", "seconds", "clock_left", "periods_left"]].isna().all(axis=None)
    for path, data in files.items():
        path.unlink()
        Library(tmp_path).close()
        assert path.read_bytes() == data, "written again from its row"


def test_a_run_of_the_version_before_opens(tmp_path):
    """Its comments were the thoughts in words, and nothing else was kept."""
    run = jb.tournament("tic_tac_toe", ["random", "uct:simulations=20"], games=2, progress=False)
    with contextlib.closing(Library(tmp_path)) as library:
        library.add(run.kept.records)
    files = {path: path.read_bytes() for path in (tmp_path / "games").iterdir()}
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        for record in run.kept.records:
            notes = "[" + ",".join(f'"{note}"' for note in record.notes) + "]"
            db.execute("update files set comments = ? where game_id = ?", (notes, record.game_id))
        db.execute("alter table files drop column thoughts")
        for column in ("opening", "opening_plies"):
            db.execute(f"alter table games drop column {column}")
        db.execute("pragma user_version = 1")
    pd.testing.assert_frame_equal(games_frame(tmp_path).drop(columns="sgf"), run.games.drop(columns="sgf"))
    expected = run.moves
    for _ in range(2):  # before it is brought up to date, and after
        found = moves_frame(tmp_path)
        assert found["visits"].equals(expected["visits"])
        np.testing.assert_allclose(found["win_rate"], expected["win_rate"], atol=0.0006)
        assert found[["prior", "seconds"]].isna().all(axis=None)
        next(iter(files)).unlink(missing_ok=True)
        Library(tmp_path).close()
        assert {path: path.read_bytes() for path in files} == files
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        db.execute("drop table files")
    assert moves_frame(tmp_path)["visits"].isna().all()


def test_moves_of_an_opening_are_nobody_s(tmp_path):
    moves = jb.match("minimax", "random", "tic_tac_toe", 2, openings=["B2 A1 C1"], out=tmp_path, progress=False).moves
    assert moves.equals(moves_frame(tmp_path))
    opening, rest = moves[moves["opening_move"]], moves[~moves["opening_move"]]
    assert opening["move"].tolist() == ["B2", "A1", "C1"] * 2
    assert opening[["visits", "win_rate", "seconds"]].isna().all(axis=None)
    assert rest["ply"].min() == 4
    assert (rest["seconds"] > 0).all()


def test_what_is_damaged_is_said(tmp_path, capsys):
    jb.match("random", "random", "tic_tac_toe", 2, out=tmp_path, progress=False)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        db.execute("update files set thoughts = substr(thoughts, 1, 9)")
    assert command(["export", str(tmp_path), "--moves", str(tmp_path / "m.csv")]) == 2
    said = "random~random (2)~00001: what was thought of its moves is damaged: it is cut short, or too long"
    assert capsys.readouterr().err.startswith(f"jubango: {said}")


def test_export_writes_both_tables(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command(["export", str(folder), "--games", "g.csv", "--moves", "m.csv"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "12 games are in g.csv" in err
    games, moves, expected = pd.read_csv("g.csv"), pd.read_csv("m.csv"), moves_frame(folder)
    assert games["moves"].tolist() == games_frame(folder)["moves"].tolist()
    pd.testing.assert_frame_equal(moves.astype(expected.dtypes), expected)


def test_parquet_keeps_the_types(folder, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    assert command(["export", str(folder), "--games", "g.parquet", "--moves", "m.PARQUET"]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet("m.PARQUET"), moves_frame(folder))
    pd.testing.assert_frame_equal(pd.read_parquet("g.parquet"), games_frame(folder))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "export: says nothing to write; give --games FILE, --moves FILE, or both"),
        ("--moves m.xlsx", "m.xlsx: is neither .parquet nor .csv; end its name with one of them"),
        ("--games no/such/g.csv", "no/such/g.csv: cannot be written: No such file or directory"),
        ("--games g.parquet", "g.parquet: Parquet needs pyarrow: pip install 'jubango[parquet]'"),
    ],
)
def test_export_says_what_is_wrong(words, said, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert command(["export", str(folder), *words.split()]) == 2
    assert capsys.readouterr().err == f"jubango: {said}\n"
    assert command(["export", "nowhere", "--games", "g.csv"]) == 2
    assert "nowhere: holds no results.sqlite" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
