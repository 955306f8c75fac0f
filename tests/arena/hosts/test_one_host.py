"""Hosts in this process, asked without any transport: what a table makes of them."""

from __future__ import annotations

import dataclasses
import io
import os
import threading
import time
import urllib.request

import pytest

from jubango.arena.games.pool import GamePool
from jubango.arena.hosts import host as hosting
from jubango.arena.hosts import signature as signing
from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, HostEvent
from jubango.arena.hosts.host import PlayingHost
from jubango.arena.hosts.hosts_file import HostsFile
from jubango.arena.hosts.protocol import Leased
from jubango.arena.hosts.table import HostTable, table_of, work_of
from jubango.arena.runs.play import Stopped, play_plan
from jubango.arena.schedule.plan import make_plan
from jubango.arena.screens.dashboard import Dashboard
from jubango.arena.serve.live import Live
from jubango.arena.serve.watch.run_view import shown_hosts
from jubango.arena.text.console import Console
from jubango.arena.text.hosts import host_lines
from jubango.arena.tuning.plan import make_tune_plan
from jubango.arena.tuning.tuner import play_tuning
from jubango.arena.tuning.view import TuningView
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.records.thoughts import unpacked

BOTS = ["random", "random:name=other"]


class Here:
    """A fleet of hosts that are objects of this process; ``asked`` may do something to a host's answer."""

    def __init__(self, number, asked=lambda host, what, value: value):
        self.asked, self.hosts, self.events, self.closed = asked, {}, [], False
        self.names = [f"here-{i}" for i in range(1, number + 1)]

    @property
    def coming(self):
        return len(self.names) - len(self.hosts)

    @property
    def hopeful(self):
        return False

    def start(self):
        for name in self.names:
            self.hosts[name] = PlayingHost()
            self.events.append(HostEvent(name, CAME))

    def poll(self, seconds):
        if not self.events:
            time.sleep(0.001)
        events, self.events = self.events, []
        return events

    def ask(self, host, what, arguments):
        if host not in self.hosts:
            return
        try:
            self.events.append(
                HostEvent(host, what, self.asked(host, what, getattr(self.hosts[host], what)(*arguments)))
            )
        except BaseException as error:
            self.kill(host)
            self.events.append(HostEvent(host, UNABLE if isinstance(error, UserError) else GONE, str(error)))

    def kill(self, host, again=True):
        if host in self.hosts:
            self.hosts.pop(host).close()

    def close(self):
        for host in list(self.hosts):
            self.kill(host)
        self.closed = True


def making(fleet, mixed=False):
    return lambda plan, bots, games, tick, folder, first: HostTable(
        fleet, plan, bots, games, tick, folder, first, mixed
    )


def plan_of(games=10, bots=BOTS, **keys):
    return make_plan("tic_tac_toe", bots, {"games": games, "games_at_once": 2, **keys})


def played(run):
    return run.games[["game_id", "moves", "result"]].to_dict("records")


def test_the_games_are_those_of_a_pool(tmp_path):
    fleet, seen = Here(2), []
    run = play_plan(
        plan_of(40),
        tmp_path,
        lambda run: seen.append(host_lines(run.table.hosts if run.table else ())),
        hosts=making(fleet),
    )
    assert fleet.closed and not run.missing and played(run) == played(play_plan(plan_of(40)))
    assert any("here-1: plays" in line for lines in seen for line in lines)
    assert (tmp_path / "hosts.csv").read_text().count("here-") == 2


def test_a_host_that_alters_a_move_is_refused_and_the_others_play():
    def altered(host, what, value):
        return ["altered"] * len(value) if (host, what) == ("here-1", "prove") else value

    run = play_plan(plan_of(), hosts=making(Here(2, altered)))
    assert not run.missing and any("here-1 is refused: plays other~random" in note for note in run.notes), run.notes


@pytest.mark.full
def test_pages_have_a_line_a_host(tmp_path):
    """That of the run, and that of its folder."""
    plan = plan_of(200)
    live = Live(plan, tmp_path)
    try:
        pages, feeds = [], []

        def look(run):
            if run.table and not pages and len(run.finished) > 4:
                live.note(run, lambda run: "far")
                with urllib.request.urlopen(live.url, timeout=20) as answer:
                    pages.append(answer.read().decode())
                run.table._looked = 0.0  # the file is due
            feeds.append(shown_hosts(Folder(tmp_path)))

        play_plan(plan, tmp_path, look, hosts=making(Here(2)))
    finally:
        live.close("over")
    assert "here-1: plays" in pages[0] and "here-2: plays" in pages[0]
    assert any(line.startswith("here-2: plays, ") for lines in feeds for line in lines)
    kept = (tmp_path / "hosts.csv").read_text()
    assert feeds[-1] == shown_hosts(Folder(tmp_path)) == [] and kept.count(",ended") == 2, "nobody plays there now"
    many = [HostsFile.__name__, *[f"now,h{i},n,m,1234,1.0,0,{i % 2},plays" for i in range(200)]]
    (tmp_path / "hosts.csv").write_text("\n".join([*many, "now,gone-1,n,m,1,1.0,0,0,gone", ""]))
    lines = shown_hosts(Folder(tmp_path))
    assert len(lines) == 50 and lines[0] == "h151: plays, 1,234 games, 1 DIFFERED" and "151 other hosts" in lines[-1]
    os.utime(tmp_path / "hosts.csv", (0, 0))
    assert shown_hosts(Folder(tmp_path)) == [], "who played there was killed"
    (tmp_path / "hosts.csv").write_text("x\nnow,h,n,m,many,1.0,0,0,plays\n")
    assert shown_hosts(Folder(tmp_path)) == [], "somebody's own"


@pytest.mark.full
def test_a_tuning_has_a_line_a_host():
    console, screens = Console(file=io.StringIO(), force_terminal=True, width=100), []
    view = TuningView(console)
    keys = {"games": 8, "games_per_round": 8, "confirm": "", "games_at_once": 2}
    tuning = make_tune_plan("tic_tac_toe", "uct:simulations=2", {"c": (0.1, 4)}, keys)

    def see(tuning):
        if tuning.table and tuning.done:
            with console.capture() as capture:
                console.print(view.render(tuning))
            screens.append((capture.get(), view.line(tuning).plain))

    play_tuning(tuning, None, see, hosts=making(Here(2)))
    screen, line = screens[0]
    assert "here-1: plays" in screen and "here-2: " in screen and line.endswith(", 2 hosts")


def test_a_host_that_is_asked_again_plays_on():
    """What it is asked first may come twice, and late: it says the same, and keeps its games."""
    plan, host = plan_of(8), PlayingHost()
    work, games = work_of(plan, plan.bots, 2), [Leased(i, task) for i, task in enumerate(plan.tasks(), 1)]
    try:
        said, proof = host.hello(work), host.prove(games[:2])
        host.step(0, games, (), -1)
        until = time.monotonic() + 60
        while host.step(0, (), (), -1).number < 8 and time.monotonic() < until:
            time.sleep(0.01)
        assert host.hello(work) == said and host.prove(games[:2]) == proof
        assert len(host.step(0, (), (), -1).records) == 8
        assert host.hello(work_of(plan, plan.bots[:1], 2)) is not said
        host.hello(work), host.prove(games[:2]), host.close()
        host.hello(work), host.prove(games[:2])
        host.step(0, games[:1], (), -1)
        while host.step(0, (), (), -1).number < 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert host.step(0, (), (), -1).records, "it begins anew once it was closed"
    finally:
        host.close()


def test_what_ends_a_host_s_play_is_said(monkeypatch):
    monkeypatch.setattr(PlayingHost, "_play", lambda self, closing: 1 / 0)
    fleet = Here(1)
    with pytest.raises(Stopped, match=r"no host is left: here-1: division by zero; 0 of 10 games are finished"):
        play_plan(plan_of(), hosts=making(fleet))
    assert fleet.closed


@pytest.mark.full
def test_unlike_machines_do_not_play_together_what_depends_on_them(monkeypatch):
    plan, fleet = plan_of(bots=["policy", "random"]), Here(2)

    def other(host, what, value):
        return dataclasses.replace(value, processor="another") if (host, what) == ("here-2", "hello") else value

    fleet.asked = other
    run = play_plan(plan, hosts=making(fleet))
    assert any("here-2 is refused: has another kind of processor" in note and "mixed" in note for note in run.notes)
    fleet = Here(2, other)
    lines = []
    run = play_plan(
        plan_of(60, ["policy", "random"]),
        None,
        lambda run: lines.extend(host_lines(run.table.hosts if run.table else ())),
        hosts=making(fleet, mixed=True),
    )
    assert not run.notes and any("here-2: plays" in line for line in lines)


def test_other_code_and_other_weights_are_refused():
    for changes, why in [
        ({"code": "x"}, "has other code"),
        ({"version": "0"}, "has jubango 0"),
        ({"networks": {}}, "other weights"),
    ]:
        with pytest.raises(UserError, match=f"no host can play: here-1: .*{why}"):
            play_plan(
                plan_of(bots=["policy", "random"]),
                hosts=making(
                    Here(
                        1,
                        lambda host, what, value, changes=changes: (
                            dataclasses.replace(value, **changes) if what == "hello" else value
                        ),
                    )
                ),
            )


@pytest.mark.parametrize(
    "bots", [BOTS, pytest.param(["uct:simulations=12,reuse=true", "random"], marks=pytest.mark.full)]
)
def test_a_long_game_goes_on_at_another_host(monkeypatch, bots):
    monkeypatch.setattr(hosting, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(hosting, "MOST_TELLING", 1e9)
    told, tick = threading.Event(), GamePool.tick

    def waiting(pool, inbox):
        if pool.moves_made >= 4:
            assert told.wait(60)
        return tick(pool, inbox)

    monkeypatch.setattr(GamePool, "tick", waiting)
    plan = plan_of(2, bots)
    tasks = list(plan.tasks())
    work = work_of(plan, plan.bots, 2)

    def until(host, what, leases=(), ack=0):
        for _ in range(20_000):
            step = host.step(ack, leases, ())
            if found := what(step):
                return found
            time.sleep(0.001)
        raise AssertionError

    def began():
        host = PlayingHost()
        assert not host.hello(work).problem
        host.prove([Leased(1, tasks[0])])
        return host

    first, second = began(), began()
    leases = [Leased(i, own) for i, own in enumerate(tasks, 1)]
    begun = until(first, lambda step: step.begun, leases)
    told.set()
    records = until(first, lambda step: len(step.records) == 2 and step.records)
    moved = {own: one for own, one in begun if one.moves}
    assert moved
    again = until(
        second, lambda step: len(step.records) == 2 and step.records,
        [Leased(i, own, moved.get(own.game_id)) for i, own in enumerate(tasks, 1)],
    )  # fmt: skip
    assert all(len(one.remembered) == (bots is not BOTS) for one in moved.values())

    def said(records):
        """Moves and the visits of each."""
        return {one.game_id: (one.moves, unpacked(one.thoughts).visits.tolist()) for one in records}

    assert said(again) == said(records)
    first.close()
    second.close()


def test_a_screen_has_a_line_a_host():
    fleet, screens = Here(1), []

    def look(run):
        if run.table:
            console = Console(width=100, height=30, record=True, force_terminal=True)
            console.print(Dashboard(console).render(run))
            screens.append(console.export_text())

    plan = make_plan("tic_tac_toe", BOTS, {"games": 40, "games_at_once": 2})
    play_plan(plan, None, look, hosts=making(fleet))
    assert any("here-1: plays" in screen for screen in screens)


def test_bots_are_told_as_tables():
    plan = plan_of(bots=["uct:c=0.7,simulations=3", "minimax:depth=2"])
    assert table_of(plan.bots[0]) == {"name": "uct:c=0.7,simulations=3", "use": "uct", "c": 0.7, "simulations": 3}
    host = PlayingHost()
    assert not host.hello(work_of(plan, plan.bots, 4)).problem
    assert host._bots == list(plan.bots)
    missing = work_of(plan_of(bots=['gtp:command="/no/such engine"', "random"]), (), 2)
    assert host.hello(dataclasses.replace(missing, bots=({"use": "nobody"},))).problem.startswith(
        'bot "None": no bot is called "nobody"'
    )


def test_what_plays_alike_everywhere():
    exact = {"random": True, "uct": True, "minimax": True, "uct:seconds=1": False, "alphazero": False, "alphago": False}
    assert {spec: signing.is_exact(plan_of(bots=[spec, "random:name=r"]).bots[0]) for spec in exact} == exact


def test_an_engine_that_is_not_there_is_said_before_any_game():
    with pytest.raises(UserError, match=r'no host can play: here-1: bot ".*engine'):
        play_plan(plan_of(bots=['process:command="/no/such/engine"', "random"], games=2), hosts=making(Here(1)))
