"""Levels as people ask for them: the list, a game at the board, an engine for a GUI."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jubango.arena.commands import run
from jubango.bots.players import levels
from jubango.bots.players.levels import ladder_of, ladders
from jubango.sgf_games.base import shell
from jubango.sgf_games.rules.catalogue import make_game

ROOT = Path(__file__).parents[3]


def command(folder: Path, typed: str, *words: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "jubango.arena.commands", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        whole, input=typed, capture_output=True, text=True, cwd=folder, env=environment, timeout=120, check=False
    )


def test_the_levels_are_listed(capsys):
    assert run(["bots", "--levels", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == ["game", "level", "error", "games", "bot"]
    assert len(rows) == sum(len(curve.points) for ladder in ladders() for curve in ladder.curves)
    for game in {row["game"] for row in rows}:
        own = [int(row["level"]) for row in rows if row["game"] == game]
        assert own == sorted(own)
        assert (own[0], own[-1]) == (ladder_of(make_game(game)).least, ladder_of(make_game(game)).most)
    assert run(["bots", "--levels", "--format", "json"]) == 0
    assert [{key: str(value) for key, value in row.items()} for row in json.loads(capsys.readouterr().out)] == rows
    assert run(["bots", "--levels"]) == 0
    table = capsys.readouterr()
    shown = " ".join(table.out.split())
    assert all(text in shown for text in ("go:9,komi=7.5", "connect_four:7x6", "policy", "400 is the random bot"))
    assert table.err == ""


def test_levels_of_another_network_say_so(capsys, monkeypatch, tmp_path):
    old = tmp_path / "levels.toml"
    known = ladder_of(make_game("tic_tac_toe")).network
    old.write_text(levels.TABLE.read_text().replace(known, "0" * 64))
    monkeypatch.setattr(levels, "TABLE", old)
    ladders.cache_clear()
    try:
        assert run(["bots", "--levels", "--format", "csv"]) == 0
    finally:
        ladders.cache_clear()
    said = "tic_tac_toe: its levels were measured with another network than the one that comes with jubango now\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "play --game tic_tac_toe --level 9000",
            'bot "level=9000": tic_tac_toe has levels from {least} to {most} ({command} bots --levels lists them)',
        ),
        ("play --game tic_tac_toe --level 700 --white uct", "--level 700 --white uct: say which of the two White is"),
        ("play --game chess:5 --level 700", 'game "chess:5": no game is called "chess"'),
        ("play --game gomoku:7 --level 700", 'bot "level=700": there are no levels for gomoku:7; there are some for '),
        (
            "match level=700 random --game go:13",
            'match: bot "level=700": there are no levels for go:13,komi=7.5; there ',
        ),
        ("match level:700 random", 'bot "level:700": "700" is not key=value'),
        ("bots uct --levels", "bots uct --levels: say one of them"),
    ],
)
def test_slips(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ladder = ladder_of(make_game("tic_tac_toe"))
    whole = said.format(command=shell.command(), least=f"{ladder.least:g}", most=f"{ladder.most:g}")
    assert run(words.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"jubango: {whole}")
    assert err.count("\n") == 1


def test_no_position_is_analysed_by_a_level(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.sgf").write_text("(;SZ[9];B[ee])")
    assert run(["analyze", "g.sgf", "--bot", "level=800"]) == 2
    assert 'bot "level=800": a level plays and does not analyse' in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "bot"),
    [
        (["--level", "700"], "White ○ level=700 plays"),
        (["--level", "700", "--white", "human"], "Black ● level=700 plays"),
        (["--black", "level=700,name=Anna", "--white", "human"], "Black ● Anna plays"),
    ],
)
def test_a_person_plays_against_a_level(tmp_path, words, bot):
    done = command(
        tmp_path, "b2\na1\na2\nc1\na3\nc3\nquit\n", "play", "--game", "tic_tac_toe", *words, "--sgf", "g.sgf"
    )
    assert done.returncode == 0, done.stderr
    assert bot in done.stdout
    spec = levels.ladder_of(make_game("tic_tac_toe")).spec(700)
    assert f" is {spec}\n" in done.stderr


@pytest.mark.full
def test_a_gui_plays_against_a_level(tmp_path):
    """The same seed gives the same game; boards without levels are refused, and the game goes on."""
    typed = "gomill-describe_engine\nboardsize 4\ngenmove b\ngenmove w\ngenmove b\nquit\n"
    words = ["gtp", "--bot", "level=600", "--game", "tic_tac_toe", "--seed"]
    done, again, other = (command(tmp_path, typed, *words, seed) for seed in ("1", "1", "3"))
    assert done.returncode == 0, done.stderr
    described, refused, *moves = done.stdout.split("\n\n")
    assert described.splitlines()[1].startswith("level=600, which is policy:")
    assert refused.startswith('? unacceptable size: bot "level=600": there are no levels for mnk:4,k=3')
    assert len({*moves[:3]}) == 3
    assert all(move.startswith("= ") for move in moves[:3])
    assert again.stdout == done.stdout
    nowhere = command(tmp_path, "quit\n", "gtp", "--bot", "level=600", "--game", "go:19")
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert nowhere.stderr.startswith('jubango: bot "level=600": there are no levels for go:19,komi=7.5; there are')
    assert other.stdout != done.stdout
