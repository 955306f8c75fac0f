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

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def besides(said: str) -> str:
    """What is said but for how the game is reviewed."""
    return re.sub(r"\Areview it: .* analyze .* --open\n\Z", "", said)


@pytest.fixture(autouse=True)
def _own_files(tmp_path, monkeypatch):
    """Games that nobody named a file for."""
    monkeypatch.setitem(ENVIRONMENT, "XDG_DATA_HOME", str(tmp_path / "data"))


def own_file(folder: Path) -> Path:
    (file,) = (folder / "data" / "jubango" / "games").glob("*.sgf")
    return file


def start(folder: Path, *words: str) -> subprocess.Popen:
    """``jubango play`` with pipes to a person."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, "play", "--game", "tic_tac_toe", "--white", "random", *words]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, text=True, **pipes)


def play(folder: Path, typed: str, *words: str) -> tuple[int, str, str]:
    process = start(folder, *words)
    out, err = process.communicate(typed, timeout=120)
    return process.returncode, out, besides(err)


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


def test_a_game_is_kept_where_nobody_named_a_file(tmp_path):
    process = start(tmp_path)
    process.stdin.write("b2\n")
    process.stdin.flush()
    while "random plays" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    kept = own_file(tmp_path)
    assert (process.returncode, err) == (130, f"jubango: interrupted; the game up to here is in {kept}\n")
    assert ";B[bb];W[" in kept.read_text()


def test_sides_are_changed(tmp_path):
    status, out, _ = play(tmp_path, "b2\nswap\nundo\nundo\nquit\n")
    assert status == 0
    assert "sides are changed: you are White ○ now" in out
    after = out.partition("sides are changed")[2]
    assert "Black ● random plays" in after
    assert after.count("White ○ to move: ") == 3, "the first undo takes back the bot's move and that before it"
    assert "there is nothing to take back" in after
    assert re.search(r"PB\[random\].*PW\[human\].*;B\[bb\]\)", own_file(tmp_path).read_text(), re.S)


def test_a_hint_is_a_heatmap_and_lines(tmp_path):
    """The strongest's, whoever plays."""
    status, out, err = play(tmp_path, "hint\nquit\n", "--white", "uct:simulations=30")
    assert (status, err) == (0, "")
    board = out.partition("Black ● to move: ")[2].splitlines()
    rows = [line.split()[1:-1] for line in board if re.match(r" +[123] ", line)][:3]
    assert sum(int(count) for row in rows for count in row) == 1600
    best = out.partition("move  Black wins  visits  expected\n")[2].splitlines()[0].split()
    assert best[0] == best[4]
    assert int(best[3].replace(",", "")) == max(int(count) for row in rows for count in row)
    assert 45 < float(best[1]) < 55, "a draw"


def test_what_is_proved_of_a_position_is_said(tmp_path):
    """Tic-tac-toe is a draw, and everything but a corner loses against the centre."""
    typed = "b2\na1\nhint\na2\nhint\nb1\nhint\nc1\nhint\nquit\n"
    status, out, err = play(tmp_path, typed, "--white", "human")
    assert (status, err) == (0, "")
    drawn, defended, won, lost = out.split("wins  visits  expected\n")[1:]
    assert re.match(r"\w\d +drawn +\d+ ", drawn)
    assert re.match(r"C2 +drawn ", defended), "the only move"
    assert re.match(r"C2 +won ", won)
    assert re.match(r"\w\d +lost ", lost), "two threats at once"
    assert [line for line in out.splitlines() if line.startswith("proved")] == [
        "proved: a draw", "proved: White does not lose", "proved: Black wins", "proved: Black wins",
    ]  # fmt: skip


def test_the_usual_opponent_is_the_strongest_there_is(tmp_path):
    command = [*COMMAND, "play", "--game", "tic_tac_toe"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, input="b2\n", capture_output=True, text=True)
    assert (done.returncode, besides(done.stderr)) == (0, "")
    assert re.search(r"White ○ alphazero\S* plays [AC][13] ", done.stdout), "a corner"


def test_a_taken_point_of_a_column_is_no_move(tmp_path):
    typed = "d\n4\nd1\nd3\nquit\n"
    status, out, err = play(tmp_path, typed, "--game", "connect_four", "--white", "human")
    assert (status, err) == (0, "")
    assert out.count("D1: it is taken; a stone in column D comes to lie on D3: D") == 1
    assert re.search(r";B\[df\].*;W\[de\].*;B\[dd\]\)", own_file(tmp_path).read_text(), re.S)


def test_people_on_both_sides_have_no_sides_to_change(tmp_path):
    status, out, _ = play(tmp_path, "swap\nquit\n", "--white", "human")
    assert status == 0
    assert "people play both sides" in out


def test_where_a_move_is_called_so_it_is_the_move(tmp_path):
    """In Hex, as the second player's first."""
    status, out, err = play(tmp_path, "c3\nswap\nswap\nquit\n", "--game", "hex:3", "--white", "human")
    assert (status, err) == (0, "")
    assert "people play both sides" in out, "later it changes sides"
    assert re.search(r";B\[ca\].*;W\[\]\)", own_file(tmp_path).read_text(), re.S)


def test_no_place_for_a_game_is_said_and_it_is_played_all_the_same(tmp_path):
    (tmp_path / "data").write_text("in the way")
    status, out, err = play(tmp_path, "b2\nquit\n")
    assert status == 0
    assert "random plays" in out
    assert err.startswith("the game is not kept: ")
    assert len(err.splitlines()) == 1


def test_ctrl_c_promises_nothing(tmp_path):
    (tmp_path / "data").write_text("in the way")
    process = start(tmp_path)
    process.stdin.write("b2\n")
    process.stdin.flush()
    while "random plays" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "jubango: interrupted; the game up to here was not kept (--sgf FILE keeps it)"


def test_an_engine_s_failure_is_no_resignation(tmp_path):
    engine = f"gtp:command={sys.executable} {ROOT / 'tests' / 'tools' / 'fake_engine.py'} nonsense"
    status, out, _ = play(tmp_path, "a5\nc5\n", "--game", "go:5", "--white", engine, "--sgf", "g.sgf")
    assert status == 0
    assert "genmove answered 'over there'" in out
    assert "result: B+F" in out
    assert "RE[B+F]" in (tmp_path / "g.sgf").read_text()


def test_a_terminal_that_knows_few_characters_shows_letters(tmp_path):
    """Boards, tables and bars keep their columns."""
    ascii_only = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "play", "--game", "tic_tac_toe", "--white", "random"], cwd=tmp_path, env=ascii_only,
        input=b"b2\nquit\n", capture_output=True,
    )  # fmt: skip
    assert (done.returncode, besides(done.stderr.decode())) == (0, "")
    assert b"  2 .(X).  2\n" in done.stdout
    assert b"White O random plays" in done.stdout
    done = subprocess.run(
        [*COMMAND, "match", "random", "random:name=\u5341\u756a", "--game", "tic_tac_toe", "--games", "2"], cwd=tmp_path,
        env=ascii_only, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"~95%" in done.stdout
    assert b"  ??  " in done.stdout


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
