"""Other work for hosts than games: searches of reviews, and games to learn from."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import psutil
import pytest

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.hosts.cluster import Cluster
from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, HostEvent
from jubango.arena.hosts.fleets.local import LocalFleet
from jubango.arena.hosts.protocol import HostWork
from jubango.arena.hosts.signature import signature
from jubango.arena.hosts.work import crew as crews
from jubango.arena.hosts.work.crew import Crew
from jubango.arena.hosts.work.every_host import SelfPlayed
from jubango.arena.hosts.work.self_play import MOST_BEHIND, SelfPlayHosts
from jubango.arena.training.measuring import Measuring
from jubango.arena.training.sitting import read_sitting
from jubango.arena.training.training import train
from jubango.bots.learning.self_player import PlayedTurn
from jubango.bots.learning.training_config import TrainingConfig
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.folder import Folder

GAME = "(;GM[1]FF[4]SZ[3]KM[0]RU[Chinese]PB[a]PW[b]{})"
GAMES = [GAME.format(";B[bb];W[ba];B[ab];W[cb]"), GAME.format(";B[ba];W[bb];B[cc]")]


class Fleet:
    """Hosts that answer as a test has them do."""

    def __init__(self, *hosts):
        self.events = [HostEvent(host, CAME) for host in hosts]
        self.asked, self.killed, self.hopeful, self.coming = [], [], False, 0

    def start(self):
        pass

    def poll(self, seconds):
        events, self.events = self.events, []
        return events

    def ask(self, host, what, arguments):
        if what == "hello":
            self.events.append(HostEvent(host, what, signature(1)))
        else:
            self.asked.append((host, what, arguments))

    def kill(self, host, again=True):
        self.killed.append((host, again))

    def close(self):
        pass

    def say(self, host, what, value=None):
        self.events.append(HostEvent(host, what, value))


WORK = HostWork("tic_tac_toe", (), 1)


def test_what_a_lost_host_was_asked_comes_back():
    fleet = Fleet("a", "b")
    crew = Crew(fleet)
    crew.turn()
    crew.turn()
    assert crew.free == ["a", "b"] and crew.size == 2 and crew.hosts == ["a: waits", "b: waits"]
    assert not crew.knows("a", WORK) and crew.hosts == ["a: joins", "b: waits"]
    crew.turn()
    assert crew.knows("a", WORK)
    crew.ask("a", "search", (1,), "first")
    crew.ask("b", "search", (2,), "second")
    assert not crew.free
    fleet.say("b", GONE, "killed")
    fleet.say("a", "search", "found")
    assert crew.turn() == [("b", "second", None), ("a", "first", "found")]
    assert crew.hosts == ["a: waits, 1 answer"]
    assert crew.free == ["a"] and crew.notes == ["host b is gone: killed"]
    fleet.say("a", GONE, "killed")
    with pytest.raises(CannotGoOn, match="no host is left: host a is gone: killed"):
        crew.turn()


def test_a_host_that_cannot_is_refused():
    fleet = Fleet("a")
    crew = Crew(fleet)
    crew.turn()
    crew.turn()
    crew.ask("a", "search", (), "x")
    fleet.say("a", UNABLE, "no such file")
    assert crew.turn() == [("a", "x", None)]
    assert fleet.killed == [("a", False)]
    with pytest.raises(UserError, match="no host can be of use: host a is refused: no such file"):
        crew.turn()


def crew_of_one(monkeypatch):
    """(the clock, which stands still; a fleet; its crew, whose only host "a" is free)."""
    now = [0.0]
    monkeypatch.setattr(crews.time, "monotonic", lambda: now[0])
    fleet = Fleet("a")
    crew = Crew(fleet)
    crew.turn()
    crew.turn()
    return now, fleet, crew


def test_a_silent_host_is_given_up_but_not_while_nobody_listens(monkeypatch):
    now, fleet, crew = crew_of_one(monkeypatch)
    crew.ask("a", "search", (), "x")
    fleet.say("a", "search", 1)
    crew.turn()
    crew.ask("a", "search", (), "y")
    now[0] += 1e6  # of the caller's own work
    assert not crew.turn() and not fleet.killed
    fleet.say("a", "search", 2)
    crew.turn()
    now[0] += 1e6
    crew.ask("a", "search", (), "y")
    now[0] += 5.0
    assert not crew.turn() and crew._hands["a"].asked == now[0], "what was before the question counts for nothing"
    monkeypatch.setattr(Fleet, "poll", lambda self, seconds: now.__setitem__(0, now[0] + 61) or [])
    assert crew.turn() == [("a", "y", None)] and fleet.killed == [("a", True)]


def test_whoever_compiles_may_take_longer(monkeypatch):
    """And no longer the second time: compiling says nothing of how long an answer takes."""
    now, fleet, crew = crew_of_one(monkeypatch)
    for program in "one", "other":
        crew.ask("a", "self_play", (), "x", program)
        with monkeypatch.context() as patch:
            patch.setattr(Fleet, "poll", lambda self, seconds: now.__setitem__(0, now[0] + 61) or [])
            assert not crew.turn() and not fleet.killed
        fleet.say("a", "self_play", 1)
        crew.turn()
    crew.ask("a", "self_play", (), "y", "other")
    monkeypatch.setattr(Fleet, "poll", lambda self, seconds: now.__setitem__(0, now[0] + 61) or [])
    assert crew.turn() == [("a", "y", None)]


class Learner:
    """What self-play asks of a trainer."""

    settings, games, by_rollouts = TrainingConfig(games=("tic_tac_toe",)), [None], False
    boards = (0,)
    steps, weights = 0, {"w": np.zeros(1)}

    def __init__(self):
        self.counts = {"turns": 0, "positions": 0}

    def resigning(self, rollouts):
        return -2.0


def test_positions_of_old_networks_are_left_out():
    fleet, learner = Fleet("quick", "slow"), Learner()
    hosts = SelfPlayHosts(fleet)

    def answer(host):
        (own,) = [one for one in fleet.asked if one[0] == host]
        fleet.asked.remove(own)
        order = own[2][0]
        fleet.say(host, "self_play", SelfPlayed(order.version, PlayedTurn(0, False, (0,) * 3, order, None), 1.0))
        return order

    class Positions(tuple):
        number = 3

    def next_one():
        played = hosts.play(learner, 0)
        learner.steps += 1
        return played

    for _ in range(3):
        hosts._turn(learner, 0)
    assert {host: bool(arguments[1]) for host, _, arguments in fleet.asked} == {"quick": True, "slow": True}
    assert hosts._crew._hands["quick"].program == (0, False), "of the first game, by the network"
    versions = []
    for _ in range(2 * (MOST_BEHIND + 2)):
        answer("quick")
        versions.append(next_one().games.version)
    assert versions == sorted(versions) and versions[-1] > MOST_BEHIND + 1, "a new one after as many turns as hosts"
    for event in [answer("slow")]:
        assert event.version == 1
    fleet.events = [
        event._replace(value=event.value._replace(played=event.value.played._replace(samples=Positions())))
        for event in fleet.events
    ]
    answer("quick")
    assert next_one().games.version > 1
    assert hosts.left_out == 3
    assert any(host == "slow" and arguments[1] for host, _, arguments in fleet.asked), "it is told the newest one"


def reviewed(folder, capsys, *more):
    folder.mkdir()
    names = []
    for i, text in enumerate(GAMES):
        (folder / f"{i}.sgf").write_text(text)
        names.append(f"{i}.sgf")
    here = Path.cwd()
    os.chdir(folder)
    try:
        assert (
            command(["analyze", *names, "--all", "--simulations", "30", "--format", "json", "--csv", "t.csv", *more])
            == 0
        )
    finally:
        os.chdir(here)
    kept = {path.name: path.read_text() for path in sorted(folder.iterdir())}
    assert len(kept) == 5
    return capsys.readouterr().out, kept


@pytest.mark.full
def test_a_review_on_hosts_is_the_same(tmp_path, capsys):
    bot = ["--bot", "uct"]
    assert reviewed(tmp_path / "one", capsys, *bot) == reviewed(tmp_path / "two", capsys, *bot, "--cluster", "local:2")
    own = [tmp_path / "one" / f"{i}.sgf" for i in range(len(GAMES))][:1]
    one, two = (jb.review(own, "uct", simulations=30, cluster=cluster) for cluster in (None, "local:1"))
    assert [review.document for review in one] == [review.document for review in two]


def test_engines_stay_where_they_are():
    with pytest.raises(UserError, match="cluster and engine exclude each other"):
        jb.review("game.sgf", engine="none", cluster="local:2")


@pytest.mark.full
def test_a_review_goes_on_when_a_host_is_lost(tmp_path, capsys, monkeypatch):
    ask, killed = LocalFleet.ask, []

    def once(self, host, what, arguments):
        ask(self, host, what, arguments)
        if what == "search" and not killed:
            killed.append(host)
            self.kill(host)

    monkeypatch.setattr(LocalFleet, "ask", once)
    bot = ["--bot", "uct"]
    here, there = (
        reviewed(tmp_path / "one", capsys, *bot),
        reviewed(tmp_path / "two", capsys, *bot, "--cluster", "local:2"),
    )
    assert killed and here == there


def test_hosts_are_for_reviews(tmp_path, capsys):
    (tmp_path / "a.sgf").write_text(GAMES[0])
    assert command(["analyze", str(tmp_path / "a.sgf"), "--cluster", "local:2"]) == 2
    assert "--cluster is for the review of a whole game; give --all" in capsys.readouterr().err
    assert command(["analyze", str(tmp_path / "a.sgf"), "--all", "--cluster", "nobody"]) == 2
    assert 'cluster "nobody"' in capsys.readouterr().err


@pytest.mark.full
def test_a_training_on_hosts_goes_on_when_one_is_killed_and_without_them(tmp_path):
    keys = {"channels": 4, "blocks": 1, "lanes": 32, "batch": 32, "simulations": 2, "fast": 2}
    keys["measuring"] = Measuring(minutes=10.0, games=2, simulations=2)
    killed, steps = [], 0
    for progress in train("tic_tac_toe", tmp_path / "run", games=2000, cluster="local:2", **keys):
        trainer = progress.training.trainer
        if not killed and trainer.steps:
            own = [one for one in psutil.Process().children() if "fleets.links" in " ".join(one.cmdline())]
            killed, steps = [own[0].pid], trainer.steps
            said = progress.training.hosts
            assert len(said) == 2 and any("works" in line for line in said), said
            assert read_sitting(Folder(tmp_path / "run")).hosts
            own[0].kill()
    assert trainer.steps > steps > 0 and trainer.counts["games"] >= 2000
    assert any("is gone: killed by SIGKILL" in note for note in progress.training.notes), progress.training.notes
    assert not [one for one in psutil.Process().children() if "fleets.links" in " ".join(one.cmdline())]
    before = trainer.steps, trainer.counts["positions"]
    *_, progress = train("tic_tac_toe", tmp_path / "run", games=2200, measuring=keys["measuring"])
    trainer = progress.training.trainer
    assert trainer.elsewhere is None and not progress.training.notes
    assert trainer.steps > before[0] and trainer.counts["positions"] > before[1]
    with open(tmp_path / "run" / "progress.csv") as file:
        games = [float(row["games"]) for row in csv.DictReader(file)]
    assert games == sorted(games)


@pytest.mark.full
def test_a_training_without_hosts_that_can_play_ends_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JUBANGO_PLUGINS", "no_such_module")
    with pytest.raises(UserError, match=r'no host can be of use: host local-1 .*"no_such_module"'):
        for _ in train("tic_tac_toe", tmp_path / "run", games=10, cluster="local:1"):
            pass
    assert isinstance(Cluster.parse("local:1").fleet(), LocalFleet) and jb
