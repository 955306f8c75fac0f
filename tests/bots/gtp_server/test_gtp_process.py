"""``jubango gtp`` as other programs meet it: in a process of its own, at the other end of pipes, with real peers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from gtp_talk import COMMAND, ENVIRONMENT, command

from jubango.arena.commands import run
from jubango.arena.tournament import tournament
from jubango.bots.config import Bot
from jubango.bots.players.engines.engine import program

pytestmark = pytest.mark.full

RANDOM = ("gtp", "--bot", "random", "--game", "go:5,komi=0")
QUICK = "uct:simulations=32,leaves=1,ensemble=1"
VERTEX = r"[A-E][1-5]|pass"
ROOT = Path(__file__).parents[3]


def read_until(stream, pattern):
    said = b""
    while not re.search(pattern, said.decode(), re.S):
        data = os.read(stream.fileno(), 1 << 16)
        assert data, said
        said += data
    return said.decode()


def test_a_whole_script_is_answered_and_it_ends_well():
    """The answer to a wish for a move is given though nothing more will come."""
    process = command(*RANDOM)
    out, err = process.communicate(b"1 name\r\n2 boardsize 5\r\n3 genmove b", timeout=120)
    assert re.fullmatch(rf"=1 jubango\n\n=2 \n\n=3 ({VERTEX})\n\n", out.decode()), out
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bot", "gtp:command=gnugo"], "speaks GTP itself"),
        (["--bot", "nobody"], 'no bot is called "nobody"'),
        (["--game", "chess"], 'no game is called "chess"'),
        (["--bot", "uct:c=-1"], "c=-1"),
        (["--resign-below", "90"], "resign-below"),
    ],
)
def test_bad_options_end_in_one_line(words, message, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: SIM115
    assert run(["gtp", *words]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and message in err, err


@pytest.fixture(scope="module")
def searching():
    """An analysis under way that would go on for ever."""
    game = ("gtp", "--bot", QUICK, "--game", "mnk:4,k=4", "--simulations", "64")

    def start():
        process = command(*game)
        process.stdin.write(b"clear_board\nlz-analyze 1\n")
        process.stdin.flush()
        read_until(process.stdout, "info move")
        return process

    return start


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_it_ends_when_it_is_told_and_leaves_nobody(searching, name):
    process = searching()
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=60)
    assert process.returncode in (-9, 128 + getattr(signal, name))
    assert not [child for child in below if child.is_running()]


def test_it_ends_when_nobody_reads_it_any_more(searching):
    """Who asked has been killed: the pipe to it is closed while it thinks."""
    process = searching()
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == b""


def test_nothing_is_compiled_inside_a_move(tmp_path):
    """All of it is when the board is cleared, and what counts points after that: JAX says what it compiles."""
    lines = [
        "play b c3", "genmove w", "kata-genmove_analyze b 1 ownership true rootInfo true", "lz-genmove_analyze w 1",
        "play b pass", "play w pass", "genmove b", "genmove b", "undo", "time_settings 0 1 1", "genmove b", "reg_genmove w",
    ]  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        process = command(
            "gtp", "--bot", QUICK, "--game", "go:5,komi=0", env={**ENVIRONMENT, "JAX_LOG_COMPILES": "1"}, stderr=log
        )
        process.stdin.write(b"clear_board\nfinal_score\n")
        process.stdin.flush()
        read_until(process.stdout, "\n\n.*\n\n")
        before = (tmp_path / "log").stat().st_size
        out, _ = process.communicate("\n".join([*lines, "cputime", "quit"]).encode(), timeout=200)
    assert out.count(b"\n\n") == len(lines) + 2 and b"?" not in out
    said = (tmp_path / "log").read_bytes()
    assert b"Compiling" in said[:before] and b"Compiling" not in said[before:], said[before:].decode()


def test_a_flood_is_answered_in_turn():
    """Nothing is read that does not fit, and nothing is lost, however slowly the answers are read."""
    process = command(*RANDOM)
    lines = 20_000
    reader = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(sum(line.startswith('=') for line in sys.stdin))"],
        stdin=process.stdout, stdout=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    process.stdin.write(b"".join(b"%d known_command play\n" % i for i in range(lines)) + b"quit\n")
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    assert int(reader.communicate(timeout=60)[0]) == lines + 1


def over_gtp(bot):
    words = " ".join([sys.executable, "-m", "jubango.arena.commands", "gtp", "--bot", bot])
    return Bot("gtp", name="over-gtp", command=words, processes=1, start_seconds=300)


def test_a_bot_plays_itself_in_a_tournament(monkeypatch):
    """Over GTP it is the bot that it is: it loses to none of the random ones, and no game ends by a failure."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    uct = "uct:simulations=100,leaves=1,ensemble=1"
    bots = [over_gtp(uct), Bot("uct", simulations=100), Bot("random")]
    run = tournament("go:5,komi=0", bots, games=4, seed=2, progress=False)
    assert set(run.games.reason) <= {"score", "agreed", "cleanup", "disputed"}
    assert len(run.games) == 12
    lost = [
        g
        for g in run.games.itertuples()
        if {g.black, g.white} == {"over-gtp", "random"} and g.result[0] != "BW"[g.white == "over-gtp"]
    ]
    assert not lost


@pytest.mark.skipif(not program("gnugo"), reason="GNU Go is not installed")
def test_it_plays_gnu_go(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    gnugo = Bot("gtp", name="gnugo", command="gnugo --mode gtp --level 1 --chinese-rules", processes=1)
    played = tournament("go:5,komi=3", [over_gtp(QUICK), gnugo], games=2, seed=1, progress=False).games
    assert len(played) == 2
    assert set(played.reason) <= {"score", "agreed", "cleanup", "disputed"}, played.detail.tolist()


SABAKI = """
const {Controller, ControllerStateTracker} = require('@sabaki/gtp')
const [path, ...args] = JSON.parse(process.argv[2])
const ask = async (c, line) => {
  const [name, ...args] = line.split(' ')
  const r = await c.sendCommand({name, args})
  return [line, r.error, r.content]
}
(async () => {
  const c = new Controller(path, args)
  c.start()
  const said = []
  const lines = ['name', 'version', 'protocol_version', 'list_commands', 'boardsize 5', 'komi 0', 'clear_board', 'play B C3', 'play W Z9']
  for (const r of await Promise.all(lines.map(l => ask(c, l)))) said.push(r)
  let seen = 0, next = null
  await c.sendCommand({name: 'lz-analyze', args: ['W', '1']}, ({line}) => {
    if (line.startsWith('info ') && ++seen == 3) next = ask(c, 'play W C2')
  })
  said.push(['seen', seen >= 3, ''], await next, await ask(c, 'undo'))
  const tracker = new ControllerStateTracker(c)
  const plays = vs => vs.map((v, i) => ({name: 'play', args: ['BW'[i % 2], v]}))
  await tracker.sync({komi: 6.5, boardsize: [5, 5], history: plays(['C3', 'C2', 'D3'])})
  await tracker.sync({komi: 0.5, boardsize: [5, 5], history: plays(['C3', 'C2', 'B2', 'D2'])})
  said.push(await ask(c, 'showboard'))
  await c.stop()
  console.log(JSON.stringify(said))
})()
"""


def sabaki():
    """Where npm keeps Sabaki's side of the protocol, if it has been installed: npm install -g @sabaki/gtp."""
    if not (shutil.which("node") and shutil.which("npm")):
        return ""
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True).stdout.strip()
    return root if Path(root, "@sabaki", "gtp").is_dir() else ""


def test_sabaki_speaks_with_it(tmp_path):
    """Its own client, which sends lines without waiting and stops an analysis by the next command."""
    root = sabaki()
    if not root:
        pytest.skip("npm has no @sabaki/gtp here; test_gui_transcripts.py has what it sends")
    (tmp_path / "talk.js").write_text(SABAKI)
    words = [*COMMAND, "gtp", "--bot", QUICK, "--game", "go:5,komi=0", "--simulations", "64"]
    done = subprocess.run(
        ["node", str(tmp_path / "talk.js"), json.dumps(words)], env={**ENVIRONMENT, "NODE_PATH": root},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [bad for _, bad, _ in said] == [*[False] * 8, True, True, False, False, False], said
    commands = said[3][2].split("\n")
    assert {"lz-analyze", "kata-analyze", "kata-genmove_analyze"} <= set(commands) and "analyze" not in commands
    assert said[0][2] == "jubango" and said[8][2] == "invalid vertex"
    assert said[-1][2].split("\n")[-5:-1] == [" 4 . . . . . 4", " 3 . . X . . 3", " 2 . X O(O). 2", " 1 . . . . . 1"]
