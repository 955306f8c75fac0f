"""Games of engines that fail: each costs what docs/engines.md says, and nothing more."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from test_engine import FAKE, ROOT, assert_gone, descriptors

from jubango.arena.commands import run as run_command
from jubango.arena.games.pool import GamePool
from jubango.arena.runs.play import Stopped, play_plan
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import parse_plan
from jubango.bots.config import GtpConfig, RandomConfig
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.clock import TimeControl
from jubango.bots.players.engines.gtp_player import GtpPlayer
from jubango.bots.players.random import RandomPlayer
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game

pytestmark = pytest.mark.full

GAME = make_game("go:3,komi=0.5")


def plan_text(command: str, games: int = 2, seconds: float = 20.0) -> str:
    return (
        f'name = "e"\ngame = "{GAME.spec}"\ngames_per_pairing = {games}\n[[bots]]\nname = "random"\nuse = "random"\n'
        f'[[bots]]\nname = "engine"\nuse = "gtp"\ncommand = \'{command}\'\nmove_seconds = {seconds}\n'
    )


def engine_plan(mode: str, games: int = 2, seconds: float = 20.0):
    return parse_plan(plan_text(f"{FAKE} {mode}", games, seconds), "x")


def script(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return shlex.quote(str(path))


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("digits", "illegal"), ("bytes", "illegal"), ("empty", "illegal"), ("refuses", "error"), ("endless", "error"), ("huge", "error"),
        ("parts", "crash"), ("burst", "error"),
    ],
)  # fmt: skip
def test_whatever_an_engine_answers_costs_it_that_game(mode, reason):
    games = play_plan(engine_plan(mode)).games
    assert set(games["reason"]) == {reason}
    assert set(games["result"]) == {"B+F", "W+F"}
    assert games["detail"].str.len().max() < 1000


def test_many_failures_leave_nothing_open():
    before, most = descriptors(), [0]

    def look(run):
        most[0] = max(most[0], descriptors())

    run = play_plan(engine_plan("refuses", games=16), on_progress=look)
    assert run.failures == {"engine": {"error": 16}}
    assert most[0] - before < 30, "four engines' pipes"
    assert descriptors() <= before + 1
    assert not children()


def test_an_engine_that_ends_between_two_games_costs_none():
    run = play_plan(engine_plan("mortal", games=10))
    assert set(run.games["reason"]) == {"score"}
    assert run.failures == {}


def test_an_engine_that_is_gone_stops_the_run_and_its_failed_games_can_be_played_again(tmp_path, capsys):
    """Its command deletes itself at the fourth start; what failed before is played when it is back and better."""
    starts, engine = tmp_path / "starts", tmp_path / "engine"
    spoilt = f"echo >> {starts}; [ $(wc -l < {starts}) -lt 4 ] || rm {engine}; exec {FAKE} refuses"
    file, out = tmp_path / "t.toml", tmp_path / "run"
    file.write_text(plan_text(script(engine, spoilt), games=20) + "processes = 1\n")
    command = ["tournament", str(file), "--out", str(out)]
    assert run_command(command) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith('jubango: bot "engine": cannot start')
    assert "No such file" in message
    assert f"4 of 20 games are finished and kept in {out}" in message
    assert len((out / "ratings.csv").read_text().splitlines()) == 3
    script(engine, f"exec {FAKE} fine")
    assert run_command(command) == 0
    told = capsys.readouterr()
    assert "lost by forfeit: engine 4 of 20 games (4 error; the first: answered 'genmove" in told.out
    assert "error" not in told.err, "once, below the verdict"
    assert run_command([*command, "--again", "error", "--again", "time"]) == 0
    assert "error" not in "".join(capsys.readouterr())
    clean = play_plan(engine_plan("fine", games=20)).games
    again = play_plan(parse_plan(file.read_text(), "x"), out).games
    assert again[["game_id", "moves", "result"]].equals(clean[["game_id", "moves", "result"]])
    assert len(list((out / "games").iterdir())) == 20
    with pytest.raises(UserError, match='"score"; known: crash'):
        play_plan(parse_plan(file.read_text(), "x"), out, again=["score"])
    with pytest.raises(UserError, match="name it with out"):
        play_plan(engine_plan("fine"), again=["error"])


def test_a_run_in_memory_that_stops_holds_its_games(tmp_path):
    engine = tmp_path / "engine"
    text = plan_text(script(engine, f"exec {FAKE} refuses"), games=20)

    def look(run):
        if len(run.results) > 2:
            engine.unlink(missing_ok=True)

    with pytest.raises(Stopped, match="No such file") as caught:
        play_plan(parse_plan(text, "x"), on_progress=look)
    assert 2 < len(caught.value.run.games) < 20
    assert not children()


def test_a_run_with_every_kind_of_failure_ends_clean(tmp_path):
    clean = play_plan(engine_plan("fine", games=60)).games.set_index("game_id")
    run = play_plan(engine_plan("anything", games=60, seconds=0.7), tmp_path)
    games = run.games.set_index("game_id")
    assert len(games) == 60
    assert set(games["reason"]) <= {"score", "time", "crash", "error", "illegal"}
    true = games["reason"] == "score"
    assert 0 < true.sum() < 60
    assert games[true][["moves", "result"]].equals(clean.loc[games.index[true], ["moves", "result"]])
    for lost in games[~true].itertuples():
        assert lost.result == ("B" if lost.white == "engine" else "W") + ("+T" if lost.reason == "time" else "+F")
    assert sum(run.failures["engine"].values()) == (~true).sum()
    assert not children()


class Slow(RandomPlayer):
    """Keeps everybody waiting, and says that it took no time."""

    works_here = True

    def advance(self) -> list[MoveAnswer]:
        time.sleep(0.5)
        return [answer._replace(seconds=0.0) for answer in super().advance()]


def test_an_engine_is_not_charged_for_others():
    slow: BatchPlayer = Slow()
    engine = GtpConfig(name="engine", command=f"{FAKE} fine")
    player = GtpPlayer(GAME, engine)
    table = GamePool(GAME, [RandomConfig(name="slow"), engine], 1, timed=True, players={"slow": slow, "engine": player})
    (records,) = table.play([GameTask("g", "engine", "slow", 1, clock=TimeControl(0.9))])
    assert records[0].reason == "score", records[0].detail
    assert len(records[0].moves) > 4


def test_closing_ends_engines_that_are_being_started():
    legal = np.ones(GAME.num_actions, bool)
    before = descriptors()
    for pause in (0.0, 0.01, 0.1):
        player = GtpPlayer(GAME, GtpConfig(name="engine", command=f"{FAKE} fine", processes=8))
        bot = GtpConfig(name="engine", command="x")
        player.begin([MoveRequest(i, f"g{i}", bot, 1, legal, [], 0) for i in range(8)], None)
        time.sleep(pause)
        player.close()
        assert not children()
    assert descriptors() <= before


def test_ctrl_c_while_the_first_engine_starts_leaves_none():
    code = (
        "from jubango.bots.config import GtpConfig\nfrom jubango.bots.players.engines.gtp_player import GtpPlayer\n"
        "from jubango.sgf_games.rules.catalogue import make_game\n"
        f"GtpPlayer(make_game('go:3'), GtpConfig(name='engine', command={FAKE + ' mute'!r}, start_seconds=3600))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=ROOT)
    family: list[psutil.Process] = []
    while len(family) < 2:  # the keeper and the engine
        time.sleep(0.05)
        assert process.poll() is None
        family = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert_gone(*(member.pid for member in family))
