"""The command as people meet it at a terminal: what is on the screen while they wait, a game of their own, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal import screen_of

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(folder: Path, *words: str) -> subprocess.Popen:
    """``jubango play`` with pipes to a person."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, "play", "--game", "tic_tac_toe", "--white", "random", *words]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, text=True, **pipes)


def play(folder: Path, typed: str, *words: str) -> tuple[int, str, str]:
    process = start(folder, *words)
    out, err = process.communicate(typed, timeout=120)
    return process.returncode, out, err


def test_a_game_is_kept_from_its_first_move_and_overwrites_nothing(tmp_path):
    kept = tmp_path / "g.sgf"
    process = start(tmp_path, "--sgf", "g.sgf")
    process.stdin.write("b2\n")
    process.stdin.flush()
    while not kept.exists() or ";W[" not in kept.read_text():  # the bot has answered
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "jubango: interrupted; the game up to here is in g.sgf\n")
    before = kept.read_text()
    assert re.search(r"RE\[\?\].*;B\[bb\];W\[\w\w\]\)", before, re.S)
    assert play(tmp_path, "", "--sgf", "g.sgf") == (
        2, "", "jubango: g.sgf: exists already and is not overwritten; name another file\n",
    )  # fmt: skip
    assert kept.read_text() == before


def test_what_cannot_be_written_is_said_before_the_game(tmp_path):
    status, out, err = play(tmp_path, "", "--sgf", "no/such/g.sgf")
    assert (status, out) == (2, "")
    assert err == "jubango: no/such/g.sgf: cannot be written: No such file or directory\n"


def test_ctrl_c_promises_nothing(tmp_path):
    process = start(tmp_path)
    process.stdin.write("b2\n")
    process.stdin.flush()
    while "random plays" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (
        130, "jubango: interrupted; the game up to here was not kept (--sgf FILE keeps it)\n",
    )  # fmt: skip


def test_an_engine_s_failure_is_no_resignation(tmp_path):
    engine = f"gtp:command={sys.executable} {ROOT / 'tests' / 'fake_engine.py'} nonsense"
    status, out, _ = play(tmp_path, "a5\nc5\n", "--game", "go:5", "--white", engine, "--sgf", "g.sgf")
    assert status == 0
    assert "genmove answered 'over there'" in out
    assert "result: B+F" in out
    assert "RE[B+F]" in (tmp_path / "g.sgf").read_text()


def test_every_command_says_at_once_that_it_is_starting(tmp_path):
    """At a terminal, before JAX is imported."""
    code = (
        "import sys\nfrom jubango.arena.commands import run\nassert 'jax' not in sys.modules\n"
        "for words in ('games', 'bots', 'rate nowhere', 'match uct utc', 'tournament none.toml', 'analyze none.sgf',\n"
        "              'play --game chess', 'bench search --game chess', 'bench tournament --game chess'):\n"
        "    print(f'<{words}>', file=sys.stderr)\n    run(words.split())\n"
    )
    terminal = {**ENVIRONMENT, "TERM": "xterm"}
    screen = screen_of([sys.executable, "-c", code], tmp_path, terminal, stdout=subprocess.DEVNULL)
    parts = re.split(r"<([a-z.\- ]+)>", screen)
    assert len(parts) == 1 + 2 * 9, screen
    for words, said in zip(parts[1::2], parts[2::2], strict=True):
        assert "starting, 0 s" in said, words


@pytest.mark.parametrize("option", ["--png", "--csv"])
def test_an_analysis_looks_first_whether_it_can_be_written(tmp_path, option):
    (tmp_path / "g.sgf").write_text("(;SZ[3];B[bb])")
    words = ["analyze", "g.sgf", option, "no/such/file"]
    done = subprocess.run([*COMMAND, *words], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "jubango: no/such/file: cannot be written: No such file or directory\n",
    )
