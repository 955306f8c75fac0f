"""What hosts cost the driver: simulated hosts, which play nothing; and games of real ones on this machine.

python benchmarks/cluster.py driver [HOSTS] [GAMES_A_SECOND] [SECONDS]
python benchmarks/cluster.py leases [NUMBER]
python benchmarks/cluster.py store [GAMES]
python benchmarks/cluster.py ladder [GAMES]

``driver`` lets so many hosts end so many games a second for so many seconds of a time that is told, and reports what
the driver spends on them: reading answers, deciding, writing questions. The time goes on by what that really takes.
``store`` keeps games of 42 moves in a folder.
``ladder`` plays connect four on one host of one core, on two, and in one process.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field, replace

from jubango.arena.hosts.cluster import Cluster
from jubango.arena.hosts.driver import HostDriver
from jubango.arena.hosts.ledger import Ledger
from jubango.arena.hosts.protocol import HostWork, Signature
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import Memory
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import make_plan
from jubango.sgf_games.compute.machine import claim, cores
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import Thought, packed
from jubango.sgf_games.sgf.sgf import write_record

MOVES = tuple("DCBAEFG"[i % 7] for i in range(42))
LANES = 32
TURN = 0.05  # seconds between two turns of the driver


def record_of(task: GameTask) -> GameRecord:
    """Of a game as connect four has them."""
    return GameRecord(
        task.game_id, "connect_four", task.black, task.white, task.black, task.white, task.seed, MOVES, "B+", "line",
        seconds=10.0, date="2026-01-01T00:00:00+00:00", event="bench", thoughts=THOUGHTS,
    )  # fmt: skip


THOUGHTS = packed([Thought(100, 400, 0.1 * (i % 7), 0.2, 0.01) for i in range(42)])


@dataclass
class Simulated:
    """A host that ends ``rate`` games a second as long as it has any."""

    rate: float
    ledger: Ledger = field(default_factory=Ledger)
    busy: deque[GameTask] = field(default_factory=deque)
    began: float | None = None  # to play
    at: float = 0.0  # where the time has come to
    due: float = 0.0  # of a game: the share of the next one that is done
    ended: int = 0
    idle: float = 0.0  # seconds without games

    def play(self, now: float) -> None:
        """Until ``now``."""
        passed, self.at = now - self.at, now
        if self.began is None:
            return
        while len(self.busy) < LANES and (lease := self.ledger.begin()):
            self.busy.append(lease.task)
        if not self.busy:
            self.idle += passed
            return
        self.due += passed * self.rate
        while self.due >= 1 and self.busy:
            self.due -= 1
            self.ended += 1
            self.ledger.end(record_of(self.busy.popleft()))
            if lease := self.ledger.begin():
                self.busy.append(lease.task)
        if self.due >= 1:
            self.idle += self.due / self.rate
            self.due = 0.0


def driver(hosts: int = 1000, rate: float = 10_000.0, seconds: float = 60.0) -> None:
    """The driver's time a game, its share of a core, and how long hosts stand idle for want of games.

    While the driver works nothing is handed out: time goes on by what its turns really take, and by ``TURN`` at least.
    """
    games = int(1.2 * rate * seconds)  # more than can be played: hosts are not to run out of them
    bots = [f"uct:simulations={8 * n}" for n in range(1, 11)]
    plan = make_plan("connect_four", bots, {"games": 2 * max(1, games // 90)})
    names = [bot.name for bot in plan.bots]
    run = Run(plan, Memory())
    work = HostWork(plan.game.spec, tuple({"name": name} for name in names), LANES)
    own = HostDriver(work, [])
    own.leases.feed(run.next_games())
    own.refer([], 0.0)
    found = {f"host-{i}": Simulated(rate / hosts) for i in range(hosts)}
    signature = Signature("", "", "", "cpu", 1, 1, LANES, "", "", 0, 0)
    spent, now, ended, longest, asked = 0.0, 0.0, 0, 0.0, 0
    events: list[tuple[str, str, bytes]] = []
    for name in found:
        own.came(name, now)
    while now < seconds:
        began = time.process_time()
        for name, what, answer in events:
            own.answered(name, what, pickle.loads(answer), now)
        own.tick(now)
        questions = [(call.host, call.what, pickle.dumps(call.arguments, 5)) for call in own.calls]
        ended += len(own.records)
        own.calls, own.records = [], []
        took = time.process_time() - began
        spent, longest = spent + took, max(longest, took)
        asked += len(questions)
        now += max(TURN, took)
        for host in found.values():
            host.play(now)
        events = []
        for name, what, question in questions:
            host, arguments = found[name], pickle.loads(question)
            if what == "hello":
                answer: object = signature
            elif what == "prove":
                answer, host.began = [], now
            else:
                ack, tasks, drop, _ = arguments
                host.ledger.acknowledge(ack)
                host.ledger.drop(drop)
                host.ledger.take(tasks)
                host.play(now)
                answer = host.ledger.step(0, now, 0, 0)
            events.append((name, what, pickle.dumps(answer, 5)))
    played = sum(host.ended for host in found.values())
    idle = sum(host.idle for host in found.values()) / hosts
    print(
        f"{hosts} hosts, {now:.0f} s of their time, {played:,} games, of which {ended:,} have arrived: "
        f"{1e6 * spent / max(1, ended):.1f} us a game, {100 * spent / now:.1f} % of a core, "
        f"{asked / now:.0f} questions/s, longest turn {1e3 * longest:.0f} ms, a host without games for {idle:.2f} s"
    )


def leases(number: int = 1000) -> None:
    """How long it takes to hand out so many leases."""
    plan = make_plan("connect_four", [f"uct:simulations={n}" for n in range(8, 16)], {"games": 1000})
    own = HostDriver(HostWork("", (), 1), []).leases
    own.feed(plan.tasks())
    own.join("one", number)
    began = time.perf_counter()
    given = own.give("one", 0.0)
    took = time.perf_counter() - began
    print(f"{len(given)} leases in {1e3 * took:.1f} ms, {len(given) / (1e3 * took):.0f} a ms")


def store(games: int = 5000) -> None:
    """What keeping a game costs, beside hearing of it."""
    plan = make_plan("connect_four", ["uct", "random"], {"games": games})
    records = [record_of(task) for task in plan.tasks()]
    written = [replace(record, written=write_record(record)) for record in records]
    folders = []  # are deleted at the end: new files are slow for seconds where others have been deleted
    for name, own in (("stored", records), ("stored, as hosts have written them", written)):
        folders.append(tempfile.TemporaryDirectory())
        library = Library(folders[-1].name)
        began, wall = time.process_time(), time.perf_counter()
        for i in range(0, games, 500):
            library.add(own[i : i + 500])
        took, wall = time.process_time() - began, time.perf_counter() - wall
        library.close()
        print(f"{name}: {1e6 * took / games:.0f} us of the processor, {1e6 * wall / games:.0f} us in all a game")
    run = Run(plan, Memory())
    began = time.process_time()
    for i in range(0, games, 500):
        run.add(records[i : i + 500])
        run.settle(now=True)
    print(f"counted: {1e6 * (time.process_time() - began) / games:.0f} us a game")
    for folder in folders:
        folder.cleanup()


def ladder(games: int = 2000) -> None:
    """Connect four on one host of one core, on two, and in one process of all cores."""
    claim()
    every = os.environ.get("JUBANGO_CORES", str(cores()))
    bots = [f"uct:simulations={n}" for n in (50, 100, 200, 400)]
    plan = make_plan("connect_four", bots, {"games": games, "games_at_once": 128})
    speed = {}
    for name, used in (("local:1", "1"), ("local:2", "2"), ("", every)):
        os.environ["JUBANGO_CORES"] = used  # which the hosts share
        first: list[float] = []

        def look(run: Run, first: list[float] = first) -> None:
            if not first:
                first.append(time.perf_counter())

        began = time.perf_counter()
        run = play_plan(plan, on_progress=look, hosts=Cluster.parse(name) if name else None)
        took = time.perf_counter() - first[0]
        start = first[0] - began
        speed[name] = len(run.results) / took
        print(
            f"{name or 'no hosts'}: {len(run.results):,} games, {start:.1f} s to begin, {took:.1f} s of play",
            flush=True,
        )
    print(f"two hosts play {speed['local:2'] / speed['local:1']:.2f} times what one does")


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["driver"]
    random.seed(1)
    {"driver": driver, "leases": leases, "store": store, "ladder": ladder}[what](*map(int, numbers))
