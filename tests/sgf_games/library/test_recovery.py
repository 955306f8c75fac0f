"""What was lost or changed on the disk is noticed, said and, where something still holds it, written again."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from damage import damaged_runs, small_run
from test_library import kept, old_library, some_records

from jubango.analysis.tables.tables import games_frame
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.library import Library, file_name
from jubango.sgf_games.library.recovery import problems, read_record, rebuild
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.sgf.sgf import write_record

IDS = [
    "ὠ0", "😀", "!00", "℀", " x", "%20x", "x", "X", "foo~Bar~1", "Foo~bar~1", "foo~bar~1", "FOO~BAR~1", "con", "CON", "nul.x",
    "a~b~00001", "a~b/1", "aaaB", "aaaaaaaB", "é", "É", "a" * 300, "a" * 299 + "A", "a" * 299 + "b", "a@8", "a%408", "..", ".x", "%2Ex",
]  # fmt: skip


def test_a_files_name_is_one_to_one_with_the_game(tmp_path):
    names = [file_name(game_id) for game_id in IDS]
    assert len({name.casefold() for name in names}) == len(IDS)
    assert not any(name.startswith(".") for name in names), "nothing is hidden"
    assert all(name.isascii() and len(name) < 250 and not set(name) & set('\\/:*?"<>| ') for name in names)
    assert not {name.casefold().split(".")[0] for name in names} & {"con", "nul", "prn", "aux", "com1"}
    ordinary = "mcts-400~uct:c=0.7+x_y~00001"
    assert file_name(ordinary) == ordinary.replace(":", "%3A")
    assert file_name("a~B b~00001").startswith("a~B%20b~00001@"), "capitals can be read too"
    record = some_records(1)[0]
    library = Library(tmp_path)
    library.add([replace(record, game_id=game_id) for game_id in IDS])
    library.close()
    assert kept(tmp_path) == {game_id: write_record(replace(record, game_id=game_id)) for game_id in IDS}


def test_games_that_shared_a_file_get_one_each(tmp_path):
    records = [replace(record, game_id=game_id) for record, game_id in zip(some_records(3), "abc", strict=True)]
    old_library(tmp_path, records)
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        db.execute("update games set sgf = 'games/1.sgf' where game_id != 'c'")
    (tmp_path / "games" / "0.sgf").unlink()
    Library(tmp_path).close()
    assert kept(tmp_path) == {
        r.game_id: write_record(replace(r, comments=r.comments if r.game_id == "c" else ())) for r in records
    }
    assert len(list((tmp_path / "games").iterdir())) == 3


def test_tables_of_other_versions(tmp_path):
    record = some_records(1)[0]
    older, newer, other = tmp_path / "older", tmp_path / "newer", tmp_path / "other"
    for folder in (older, newer, other):
        Library(folder).add([record])
    for folder, change in (
        (older, "alter table games drop column event"), (newer, "pragma user_version = 99"), (other, "alter table games drop column moves"),
    ):  # fmt: skip
        with sqlite3.connect(folder / "results.sqlite") as db:
            if folder != newer:
                db.execute("pragma user_version = 0")
            db.execute(change)
    with pytest.raises(UserError, match="older version"):
        problems(older)
    assert rebuild(older, lambda record: True) == (0, []), "it is brought up to date, not set aside"
    library = Library(older)
    library.add([replace(record, game_id="another")])
    library.close()
    assert sorted(games_frame(older)["event"]) == ["", "event"]
    with pytest.raises(UserError, match="newer version"):
        Library(newer)
    with pytest.raises(UserError, match="its games have no moves"):
        Library(other)


def test_a_closed_library_is_one_file(tmp_path):
    library = Library(tmp_path)
    library.add(some_records(2))
    library.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games", "results.sqlite"]
    assert (tmp_path / "results.sqlite").read_bytes()[18:20] == b"\1\1", "no write-ahead log is asked for"


@pytest.mark.parametrize("gone", ["deleted", "replaced"])
def test_a_database_that_is_taken_away_is_noticed(tmp_path, gone):
    first, second = some_records(2)
    library = Library(tmp_path)
    library.add([first])
    (tmp_path / "results.sqlite").unlink()
    if gone == "replaced":
        sqlite3.connect(tmp_path / "results.sqlite").execute("create table x (y)")
    with pytest.raises(CannotGoOn, match=r"results.sqlite: was deleted or replaced .*--rebuild"):
        library.add([second])
    library.close()
    if gone == "deleted":
        with pytest.raises(UserError, match=r"is missing, though games/ holds games.*--rebuild"):
            Library(tmp_path)
    assert rebuild(tmp_path, lambda record: True) == (2, [])
    assert problems(tmp_path) == []
    assert kept(tmp_path) == {record.game_id: write_record(record) for record in (first, second)}


def test_a_record_comes_back_from_its_file():
    for record in some_records(6):
        whole = replace(record, black="a  b = c", black_spec="gtp:command=x = y", detail="it (said): x")
        again = read_record(write_record(whole), "x")
        assert again == replace(
            whole, seconds=0.0, date="2026-01-02", comments=whole.comments if any(whole.comments) else ()
        )
    for game, moves in (
        ("connect_four:7x6", ("D", "D", "C")),
        ("tic_tac_toe", ("A1", "C3")),
        ("go:3x4", ("pass", "A4")),
    ):
        record = GameRecord("i", game, "x", "y", "random", "random", 3, moves, "0", "end")
        assert read_record(write_record(record), "x") == record
    for data in (b"(;SZ[5];B[aa])", b"hello", write_record(some_records(1)[0]).replace(b"Seed", b"Sead")):
        with pytest.raises(UserError):
            read_record(data, "x")


def test_check_finds_what_is_not_as_it_was(tmp_path):
    records = some_records(6)
    library = Library(tmp_path)
    library.add(records)
    library.close()
    files = [tmp_path / "games" / f"a~b%2F{i}.sgf" for i in range(6)]
    assert problems(tmp_path) == []
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:50])
    data = bytearray(files[2].read_bytes())
    data[data.rindex(b";B[") + 3] ^= 1  # a bit of a move
    files[2].write_bytes(data)
    files[3].rename(tmp_path / "games" / "new.sgf")
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        db.execute("update games set moves = substr(moves, 4) where game_id = 'a~b/4'")
    assert [tuple(problem)[1:] for problem in problems(tmp_path)] == [
        ("games/a~b%2F0.sgf", "is missing"), ("games/a~b%2F1.sgf", "is damaged"), ("games/a~b%2F2.sgf", "is not as it was written"),
        ("games/a~b%2F3.sgf", "is missing"), ("games/a~b%2F4.sgf", "says other moves than its row"), ("games/new.sgf", "has no row"),
    ]  # fmt: skip
    library = Library(tmp_path)
    assert library.mended == [f"games/a~b%2F{i}.sgf" for i in (0, 1, 3)]
    library.close()
    assert [problem.file[-6:] for problem in problems(tmp_path)] == ["F2.sgf", "F4.sgf", "ew.sgf"]


def test_rebuilding(tmp_path):
    records = some_records(4)
    library = Library(tmp_path)
    library.add(records)
    library.close()
    frame = games_frame(tmp_path)
    (tmp_path / "games" / "foreign.sgf").write_text("(;SZ[5];B[aa])")
    shutil.copy(tmp_path / "games" / "a~b%2F0.sgf", tmp_path / "games" / "twice.sgf")
    (tmp_path / "results.sqlite").write_bytes(b"hello" * 1000)
    with pytest.raises(UserError, match="--rebuild"):
        problems(tmp_path)
    adopted, unused = rebuild(tmp_path, lambda record: record.seed < 3)
    assert adopted == 3
    assert {problem.file: problem.problem for problem in unused} == {
        "games/a~b%2F3.sgf": "is no game of this run", "games/foreign.sgf": "is no game that this program has written",
        "games/twice.sgf": "is a game that has a row and another file",
    }  # fmt: skip
    same = [column for column in frame.columns if column not in ("seconds", "date")]
    assert games_frame(tmp_path)[same].equals(frame[same][:3])
    assert (tmp_path / "results.sqlite.damaged").read_bytes() == b"hello" * 1000
    assert rebuild(tmp_path, lambda record: True)[0] == 1, "rows that are missing are added to those there"
    assert len(games_frame(tmp_path)) == 4


FULL = """
import resource, sys
sys.path[:0] = ["tests/tools", "tests/sgf_games/library"]
from test_library import some_records
from jubango.sgf_games.base.errors import CannotGoOn
from jubango.sgf_games.library.library import Library
for limit in sys.argv[2:]:
    library, done = Library(f"{sys.argv[1]}/{limit}"), 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    try:
        for record in some_records(100):
            library.add([record])
            done += 1
    except CannotGoOn as error:
        print(done, error)
    library.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a limit for files is Unix's")
def test_a_full_disk_keeps_what_is_finished(tmp_path):
    """Files may grow to so many bytes: the database meets its end, or the first game's file."""
    command = [sys.executable, "-c", FULL, str(tmp_path), "100000", "100"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 2, "a line each"
    for limit, least, line in ((100_000, 2, said[0]), (100, 0, said[1])):
        run = tmp_path / str(limit)
        count, _, message = line.partition(" ")
        assert message.startswith(f"{run}: finished games cannot be kept: ")
        assert len(kept(run)) == int(count) >= least
        assert len(list((run / "games").iterdir())) == int(count), "nothing is left of what could not be kept"
        library = Library(run)
        library.add(some_records(100))
        library.close()
        assert len(kept(run)) == 100


def test_games_are_not_played_again_over_an_empty_database(tmp_path):
    """What a copy that was cut short, or a slip of the shell, leaves of it."""
    library = Library(tmp_path)
    library.add(some_records(3))
    library.close()
    before = kept(tmp_path)
    (tmp_path / "results.sqlite").write_bytes(b"")
    with pytest.raises(UserError, match=r"results.sqlite: is empty, though games/ holds games; .*check .* --rebuild"):
        Library(tmp_path)
    with pytest.raises(UserError, match=r"is no results file: no such table: games; .*check .* --rebuild"):
        games_frame(tmp_path)
    assert rebuild(tmp_path, lambda record: True) == (3, [])
    assert kept(tmp_path) == before
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / "results.sqlite").touch()  # a run that was killed before its first game
    Library(tmp_path / "fresh").close()


def test_damaged_databases_are_refused_and_mended(tmp_path):
    """Some of those of ``python tests/tools/damage.py 10000``."""
    ends = damaged_runs(60, 3, tmp_path)
    assert min(ends[how] for how in ("opened", "refused", "only in the database")) > 0


def test_a_database_that_calls_itself_read_only_is_mended(tmp_path):
    """By the byte for the version that may write it, which is another than any that there is."""
    records = small_run(tmp_path)
    with open(tmp_path / "results.sqlite", "r+b") as file:
        file.seek(18)
        file.write(b"\x09")
    with pytest.raises(UserError, match="--rebuild"):
        Library(tmp_path)
    rebuild(tmp_path, lambda record: True)
    with contextlib.closing(Library(tmp_path)) as library:
        assert library.finished() == {record.game_id for record in records}


def test_moves_that_a_damaged_row_spells_otherwise_are_as_their_file_has_them(tmp_path):
    """One flipped bit makes C3 c3, which is read as the same move; no checksum and no file said what it was."""
    records = small_run(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as db, db:
        db.execute("update games set moves = lower(moves)")
        db.execute("delete from files")
    shutil.rmtree(tmp_path / "games")
    rebuild(tmp_path, lambda record: True)
    assert problems(tmp_path) == []
    frame = games_frame(tmp_path).set_index("game_id")
    assert {record.game_id: " ".join(record.moves) for record in records} == dict(frame["moves"])


def test_a_row_with_the_id_of_another_game_takes_no_file_away(tmp_path):
    """One flipped bit of an id: the index still has the old one, which SQLite's quick check does not compare."""
    records = small_run(tmp_path)
    data = bytearray((tmp_path / "results.sqlite").read_bytes())
    places = [at for at in range(len(data)) if data[at:].startswith(b"a~b~00010tic_tac_toe")]
    assert len(places) == 1
    data[places[0] : places[0] + 9] = b"a~b~00012"
    (tmp_path / "results.sqlite").write_bytes(data)
    (tmp_path / "games" / "a~b~00012.sgf").unlink()
    before = {path.name: path.read_bytes() for path in (tmp_path / "games").iterdir()}
    with pytest.raises(UserError, match="two rows of its table games say"):
        Library(tmp_path)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "games").iterdir()}
    rebuild(tmp_path, lambda record: True)
    assert problems(tmp_path) == []
    assert set(games_frame(tmp_path)["game_id"]) == {record.game_id for record in records}
