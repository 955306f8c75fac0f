"""The commands of the first pages and of README.md run as they stand there, and print what the pages show.

The Chinese pages have the same code (test_pages.py), so each command is run once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pages
import pytest

pytestmark = pytest.mark.full

ALL = """
import json, sys
from jubango.arena.commands import run
for words in json.loads(sys.argv[1]):
    status = run(words)
    sys.stdout.flush()
    print("\\f", end="", flush=True)
    assert status == 0, (status, words)
"""
INSTALLING = ("make", "pip", "python3", ".")  # by test_wheel.py, and by who runs the tests
# `serve` goes on until it is stopped: tests/arena/serve.
WITH_INPUT = {"play": "quit\n", "gtp": "genmove b\nquit\n"}
# README.md's commands with less to do: what they say is the same.
SMALLER = {
    "--games 100": "--games 2", "--games 40": "--games 2", "--games 20": "--games 2", "--clock 30+1": "--clock 1+0.1",
    "simulations=400": "simulations=20", "simulations=800": "simulations=20", "depth=6": "depth=2", "depth=4": "depth=2",
    "go:9,komi=7": "go:5,komi=7", "--game go:9 --level": "--game tic_tac_toe --level", "--game go:9": "--game go:5", "--move 30": "--move 3", "--minutes 30": "--minutes 0.1",
    "train --game connect_four": "train --game tic_tac_toe",
}  # fmt: skip
SMALL = """
name = "demo"
game = "tic_tac_toe"
games_per_pairing = 2
seed = 1
bots = [{ name = "random", use = "random" }, { name = "uct-200", use = "random" }, { name = "uct-800", use = "random" }]
"""
TUNING = """
game = "tic_tac_toe"
games = 4
games_per_round = 2
confirm = ""
bot = { use = "uct", simulations = 8 }
settings = [{ key = "c", low = 0.1, high = 2.0 }]
"""


def started(arguments: list[str], folder, given: str = "") -> str:
    """What a process prints that ends well."""
    done = subprocess.run(
        [sys.executable, *arguments], input=given, cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(pages.ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed(commands: list[list[str]], folder) -> list[str]:
    """What each command prints; all are run by one process, in their order."""
    return started(["-c", ALL, json.dumps([words[1:] for words in commands])], folder).split("\f")[:-1]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(("page", "exact"), [("docs/first-tournament.md", True), ("docs/first-review.md", False)])
def test_the_commands_of_a_page_print_what_it_shows(page, exact, tmp_path):
    """Word for word, unless a network's last bits have a say: then the first line."""
    for kind, text in pages.code(page):
        if kind in ("toml", "sgf"):
            (tmp_path / {"toml": "first.toml", "sgf": "game.sgf"}[kind]).write_text(text)
    commands = [words for words in pages.commands(page) if words[0] not in INSTALLING]
    outputs = iter(printed(commands, tmp_path))
    said: list[str] = []
    for kind, text in pages.code(page):
        if kind == "text":
            shown = lines(text) if exact else lines(text)[:1]
            assert any(said[i : i + len(shown)] == shown for i in range(len(said))), "\n".join([*shown, "", *said])
        elif kind == "sh" and "jubango " in text and not text.startswith("python3"):
            said = [line for _ in text.splitlines() for line in lines(next(outputs))]


@pytest.mark.timeout(1500)  # seventeen commands, most of which compile
def test_the_commands_of_the_readme_run(tmp_path):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "ladder-go.toml").write_text(SMALL)
    (tmp_path / "c.toml").write_text(TUNING)
    (tmp_path / "game.sgf").write_text("(;GM[4]JG[tic_tac_toe]SZ[3];B[bb];W[ab];B[aa];W[cc])")
    printed([["jubango", "tournament", "examples/ladder-go.toml", "--out", "runs/demo"]], tmp_path)
    part = ["--part", "2/2", "--out", "runs/ladder-2"]
    printed([["jubango", "tournament", "examples/ladder-go.toml", *part]], tmp_path)
    for name in ("before", "after"):
        shutil.copytree(tmp_path / "runs" / "demo", tmp_path / "runs" / name)
    commands = [words for words in pages.commands("README.md") if words[0] not in INSTALLING and words[1] != "serve"]
    assert len(commands) > 15
    smaller = []
    for words in commands:
        line = "\0".join(words)
        for many, few in SMALLER.items():
            line = line.replace(many.replace(" ", "\0"), few.replace(" ", "\0"))
        smaller.append(line.split("\0"))
    asked = [words for words in smaller if words[1] in WITH_INPUT]
    printed([words for words in smaller if words not in asked], tmp_path)
    for words in asked:
        assert started(["-m", "jubango.arena.commands", *words[1:]], tmp_path, WITH_INPUT[words[1]])
    assert {"map.png", "reviewed.sgf", "review.html", "report.html", "moves.csv"} <= set(os.listdir(tmp_path))
    assert (tmp_path / "runs" / "c4" / "best.safetensors").exists()
