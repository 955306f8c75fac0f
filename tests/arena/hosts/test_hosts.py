"""Hosts in processes of their own: the games are those of one process, whatever happens to the hosts."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.hosts import driver as driving
from jubango.arena.hosts.cluster import Cluster
from jubango.arena.hosts.fleets import links, local
from jubango.arena.hosts.hosts_file import HOST_COLUMNS
from jubango.arena.runs import under_way
from jubango.arena.runs.play import Stopped, play_plan
from jubango.arena.runs.run_folder import open_run
from jubango.arena.schedule.plan import make_plan, match_plan
from jubango.sgf_games.base.errors import UserError

QUICK = Cluster.parse("local:2")
BOTS = ["random", "uct:simulations=4", "uct:simulations=8"]
ONE = Cluster.parse("local:1")


def played(run):
    """What is the same wherever it was played."""
    return run.games[["game_id", "black", "white", "moves", "result", "reason", "seed"]].to_dict("records")


def hosts_in(folder):
    with open(Path(folder) / "hosts.csv") as file:
        rows = list(csv.DictReader(file))
    assert all(tuple(row) == HOST_COLUMNS for row in rows)
    return rows


def rows_in(database):
    """How many games are kept, while they are played."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute("select count(*) from games").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0


def plan_of(games, bots=BOTS, game="tic_tac_toe", **keys):
    return make_plan(game, bots, {"games": games, "games_at_once": 8, **keys})


class Once:
    """Does something to the hosts once so many games have ended."""

    def __init__(self, games, what):
        self.games, self.what, self.done = games, what, False

    def __call__(self, run):
        if not self.done and len(run.finished) >= self.games:
            self.done = True
            self.what(processes())


def processes():
    """Of hosts, in the order in which they were started."""
    own = [one for one in psutil.Process().children() if "hosts.fleets.links" in " ".join(one.cmdline())]
    return [one.pid for one in sorted(own, key=lambda one: one.create_time())]


@pytest.mark.parametrize(
    "text", ["local:0", "local:x", "local:", "local", "foo", "local:1000", "local:2,unmixed", "local:-1"]
)
def test_what_names_no_hosts_is_said_in_one_line(text, capsys):
    assert command(["match", "random", "random", "--game", "tic_tac_toe", "--games", "2", "--cluster", text]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f'cluster "{text}"' in said


def test_objects_of_this_process_are_refused_before_anything_starts():
    class First(jb.Player):
        def play(self, position):
            return position.legal_moves[0]

    with pytest.raises(UserError, match="cannot play on hosts"):
        jb.match(First(), "random", "tic_tac_toe", games=2, cluster="local:1", progress=False)
    assert not processes()


# So that no host has played all before another one has come.
SLOW = links.PROGRAM.replace(
    "serve({descriptor}",
    "import time, jubango.arena.games.pool as pool; tick = pool.GamePool.tick; "
    "pool.GamePool.tick = lambda *a: (time.sleep(0.05), tick(*a))[1]; "
    "serve({descriptor}",
)


@pytest.mark.full
def test_the_games_are_those_of_one_process(monkeypatch, tmp_path):
    monkeypatch.setattr(links, "PROGRAM", SLOW)
    run = play_plan(plan_of(60), tmp_path, hosts=QUICK)
    assert not run.missing and played(run) == played(play_plan(plan_of(60)))
    rows = hosts_in(tmp_path)
    assert [row["host"] for row in rows] == ["local-1", "local-2"]
    assert sum(int(row["games"]) for row in rows) == 180 and not any(int(row["differed"]) for row in rows)
    assert not processes()
    again = jb.tournament("tic_tac_toe", BOTS, 70, tmp_path, games_at_once=8, cluster="local:1", progress=False)
    assert len(again.results) == 210
    assert [row["host"] for row in hosts_in(tmp_path)] == ["local-1", "local-2", "local-1"], "earlier sittings stay"
    assert len(open_run(tmp_path).kept.machines) == 2, "of one core and of two"


@pytest.mark.full
def test_a_killed_host_s_games_are_leased_again_and_it_is_replaced(monkeypatch):
    monkeypatch.setattr(local, "BACK_OFF", 0.01)
    monkeypatch.setattr(links, "PROGRAM", SLOW)
    plan = plan_of(200)
    kill = Once(60, lambda pids: os.kill(pids[0], signal.SIGKILL))
    notes = []

    def look(run):
        lines = run.table.hosts if run.table else []
        notes.extend(lines)
        if sum(": plays" in line for line in lines) == 2:
            kill(run)

    run = play_plan(plan, hosts=QUICK, on_progress=look)
    assert kill.done and played(run) == played(play_plan(plan))
    assert any("killed by SIGKILL" in note and "leased again" in note for note in run.notes), run.notes
    assert any(note.startswith("local-1.2") for note in notes), "another one came"


@pytest.mark.full
def test_a_host_that_sleeps_too_long_is_compared(monkeypatch, tmp_path):
    monkeypatch.setattr(driving, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(driving, "GIVE_UP", 1000.0)
    monkeypatch.setattr(links, "PROGRAM", SLOW)
    plan, stopped = plan_of(200), []

    def stop(pids):
        stopped.extend(pids)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    once = Once(100, stop)

    def look(run):
        """Both hosts sleep until both are silent; the second sleeps on until the first has answered again."""
        if run.table and sum(": plays" in line for line in run.table.hosts) == 2:
            once(run)
        if len(stopped) == 2 and sum("is silent" in note for note in run.notes) >= 2:
            os.kill(stopped.pop(0), signal.SIGCONT)
        elif len(stopped) == 1 and any("answers again" in note for note in run.notes):
            os.kill(stopped.pop(), signal.SIGCONT)

    run = play_plan(plan, tmp_path, look, hosts=QUICK)
    assert played(run) == played(play_plan(plan))
    assert any("is silent" in note for note in run.notes) and any("answers again" in note for note in run.notes)
    assert not sum(int(row["differed"]) for row in hosts_in(tmp_path))


ALTERED = links.PROGRAM.replace(
    "serve({descriptor}",
    "import dataclasses, jubango.arena.games.batch as batch; own = batch.GameBatch.record; "
    "batch.GameBatch.record = lambda *a: (lambda r: dataclasses.replace(r, moves=(*r.moves[:-1], 'pass')))(own(*a)); "
    "serve({descriptor}",
)


@pytest.mark.full
def test_a_host_that_alters_a_move_is_refused(monkeypatch):
    monkeypatch.setattr(links, "PROGRAM", ALTERED)
    with pytest.raises(UserError, match=r"no host can play: local-1: plays .* otherwise than this machine"):
        play_plan(plan_of(10), hosts=ONE)
    assert not processes()


@pytest.mark.full
def test_hosts_that_die_again_and_again_end_the_run_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "BACK_OFF", 0.01)
    monkeypatch.setattr(
        links, "PROGRAM", links.PROGRAM.replace("serve(", "raise SystemExit('no room') if 1 else serve(")
    )
    with pytest.raises(Stopped, match=r"no host is left: local-1\.4: no room; 0 of 30 games are finished and kept in"):
        play_plan(plan_of(10), tmp_path, hosts=ONE)


@pytest.mark.full
def test_the_driver_may_be_killed(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'name = "p"\ngame = "tic_tac_toe"\ngames_per_pairing = 600\ngames_at_once = 8\n[[bots]]\nuse = "random"\n'
        '[[bots]]\nuse = "uct"\nsimulations = [4, 8]\n'
    )
    code = "from jubango.arena.commands import main; main()"
    arguments = ["tournament", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run"), "--cluster", "local:2"]
    driver = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 300
    while time.monotonic() < until and not rows_in(tmp_path / "run" / "results.sqlite"):
        assert driver.poll() is None
        time.sleep(0.02)
    hosts = psutil.Process(driver.pid).children()
    driver.kill()
    driver.wait()
    assert len(hosts) == 2
    assert not psutil.wait_procs(hosts, timeout=60)[1], "hosts end with their driver"
    some = len(open_run(tmp_path / "run").results)
    assert 0 < some < 1800
    assert command(arguments) == 0
    run = open_run(tmp_path / "run")
    assert played(run) == played(play_plan(run.plan))


OFTEN = links.PROGRAM.replace(
    "serve({descriptor}",
    "import jubango.arena.hosts.host as host; host.LONG_SECONDS = host.SAID_SECONDS = 0.0; host.MOST_TELLING = 1e9; serve({descriptor}",
)


@pytest.mark.full
def test_games_under_way_at_hosts_go_on_at_others(monkeypatch, tmp_path):
    """Hosts tell how far long games are; the driver keeps that, and a later one gives them out as they stood."""
    monkeypatch.setattr(links, "PROGRAM", OFTEN)
    monkeypatch.setattr(driving, "PULL_SECONDS", 0.01)
    monkeypatch.setattr(under_way, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(under_way, "MOST_KEEPING", 1e9)
    plan = make_plan("go:7", ["random", "uct:simulations=64"], {"games": 24, "games_at_once": 4})

    def kill(run):
        if (tmp_path / under_way.UNDER_WAY).exists():
            lines = [json.loads(line) for line in (tmp_path / under_way.UNDER_WAY).read_text().splitlines()]
            if sum(len(line["moves"].split()) > 4 for line in lines) > 1:
                raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        play_plan(plan, tmp_path, kill, hosts=ONE)
    given, leased = [], driving.HostDriver._leased
    monkeypatch.setattr(driving.HostDriver, "_leased", lambda *a: (given.append(lease := leased(*a)), lease)[1])
    run = play_plan(plan, tmp_path, hosts=ONE)
    assert sum(lease.begun is not None and len(lease.begun.moves) > 4 for lease in given) > 1
    assert not any("anew" in note for note in run.notes)
    assert played(run) == played(play_plan(plan))
    assert not (tmp_path / under_way.UNDER_WAY).exists()


@pytest.mark.full
def test_a_test_decides_alike_though_a_host_is_killed():
    plan = match_plan("uct:simulations=16", "random", "tic_tac_toe", 4000, sprt="0,100", keys={"games_at_once": 16})
    kill = Once(20, lambda pids: os.kill(pids[0], signal.SIGKILL))
    here, there = play_plan(plan), play_plan(plan, on_progress=kill, hosts=QUICK)
    assert kill.done and there.decided and here.told == there.told
    assert list(here.counting["game_id"]) == list(there.counting["game_id"])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["knockout", "swiss", "best"])
def test_later_rounds_depend_on_results(kind):
    keys = {"best": {"indifference": 150, "openings": "random", "opening_plies": 1}}.get(kind, {"games": 10})
    plan = make_plan("tic_tac_toe", [*BOTS, "uct:simulations=2"], {"format": kind, "games_at_once": 8, **keys})
    here, there = play_plan(plan), play_plan(plan, hosts=QUICK)
    assert here.told == there.told
    if kind != "best":  # which stops by the order in which games end
        assert played(here) == played(there)


@pytest.mark.full
def test_a_tuning_plays_the_same_games():
    keys = {"games": 48, "games_per_round": 16, "confirm": "", "games_at_once": 8, "progress": False}
    here, there = (
        jb.tune("tic_tac_toe", "uct:simulations=8", {"c": (0.1, 4, "log")}, cluster=cluster, **keys)
        for cluster in (None, "local:2")
    )
    assert here.scores == there.scores and here.trials == there.trials
