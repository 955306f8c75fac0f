"""Every command once, on boards that are quickly played: it ends with status 0 and says what it is asked for.

What each of them does besides is the other files' matter, most of it by `make test-full`.
"""

from __future__ import annotations

import shutil
import sys

import pytest
from typer.main import get_command

from jubango.arena.commands import run
from jubango.arena.commands.app import app

BOT = "uct:simulations=8"
TOURNAMENT = """
name = "small"
game = "tic_tac_toe"
games_per_pairing = 4
[[bots]]
use = "random"
[[bots]]
name = "u"
use = "uct"
simulations = 8
"""
TUNING = """
game = "tic_tac_toe"
games = 4
games_per_round = 2
confirm = ""
[bot]
use = "uct"
simulations = 8
[[settings]]
key = "c"
low = 0.5
high = 2.0
"""
# Arguments (RUN is a finished tournament's folder), what is printed, what is written, what is typed.
COMMANDS = {
    "games": ("games", "connect_four"),
    "bots": ("bots", "mcts-400"),
    "tournament": ("tournament small.toml --out new", "Elo", "new/results.sqlite"),
    "match": (f"match {BOT} random --game tic_tac_toe --games 2", "stronger with a probability"),
    "play": (
        f"play --game tic_tac_toe --black human --white {BOT} --sgf game.sgf",
        "not a legal move",
        "game.sgf",
        "b2\nb2\nquit\n",
    ),
    "analyze": (f"analyze one.sgf --bot {BOT} --csv moves.csv", "win rate", "moves.csv"),
    "rate": ("rate RUN --anchor random=1000", "1000"),
    "report": ("report RUN --out page.html", "page.html", "page.html"),
    "sprt": ("sprt --wdl 60,20,20 --elo1 10", "undecided between 0 and +10 Elo"),
    "runs": ("runs .", "4 of 4 games"),
    "status": ("status RUN", "4 of 4 games"),
    "openings": (f"openings --game tic_tac_toe --plies 1 --count 2 --bot {BOT} --between 0,100 --out o.sgf", "o.sgf", "o.sgf"),
    "merge": ("merge RUN LATER --out merged", "4 games were added: 4 of 4 are in merged", "merged/results.sqlite"),
    "tune": ("tune tuning.toml --out tuned", "4 games", "tuned/settings.csv"),
    "check": ("check RUN", "4 games"),
    "export": ("export RUN --games games.csv --moves moves.csv", "games.csv", "games.csv"),
    "compare": ("compare RUN LATER", "u"),
    "hosts": ("hosts --cluster local:1", "jubango"),
    "warm": ("warm tic_tac_toe --bot random --at-once 2", "2 games at once"),
    "bench": ("bench playouts --game tic_tac_toe --lanes 64", "tic_tac_toe"),
    "gtp": ("gtp --bot random --game go:3", "= jubango", None, "name\ngenmove b\nquit\n"),
    "analysis-server": (
        "analysis-server --simulations 8",
        '"git_hash"',
        None,
        '{"id":"a","action":"query_version"}\n',
    ),
}  # fmt: skip
LEFT = {"train", "demo"}  # which take a minute: tests/arena/training, test_around.py


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the commands are given, and a finished run."""
    folder = tmp_path_factory.mktemp("commands")
    for name, text in {
        "small.toml": TOURNAMENT,
        "tuning.toml": TUNING,
        "one.sgf": "(;GM[1]SZ[3]JG[tic_tac_toe];B[bb];W[aa])",
    }.items():
        (folder / name).write_text(text)
    assert run(["tournament", str(folder / "small.toml"), "--out", str(folder / "RUN")]) == 0
    return folder


def test_no_command_is_forgotten():
    own_tests = {"serve"}  # which ends by Ctrl-C: tests/arena/serve
    assert {*COMMANDS, *LEFT, *own_tests} == set(get_command(app).commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_what_it_is_for(name, folder, tmp_path, monkeypatch, capfd):
    words, said, written, typed = (*COMMANDS[name], None, None)[:4]
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    shutil.copytree(folder / "RUN", tmp_path / "LATER")
    (tmp_path / "typed").write_text(typed or "")
    monkeypatch.chdir(tmp_path)
    with open("typed") as keyboard:
        monkeypatch.setattr(sys, "stdin", keyboard)
        status = run(words.split())
    out, err = capfd.readouterr()
    assert status == 0, err
    assert said in out + err
    assert written is None or (tmp_path / written).stat().st_size > 0
