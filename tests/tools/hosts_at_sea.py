"""A tournament by hosts that are killed or stopped at random moments, beside one that this process plays.

python tests/tools/hosts_at_sea.py [KILLS] [GAMES] [HOSTS] [SEED] [local | ray | ray://]

Hosts are processes of this one, or on nodes of a Ray cluster of this machine, which ``ray://`` joins as from elsewhere.

The games are the same, each is there once, and the folder is whole.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from ray_nodes import Nodes

from jubango.arena.hosts import driver
from jubango.arena.hosts.cluster import Cluster
from jubango.arena.hosts.fleets import local, ray_fleet
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run import Run
from jubango.arena.runs.run_folder import open_run
from jubango.arena.schedule.plan import make_plan
from jubango.sgf_games.library.recovery import problems

BOTS = ["random", "uct:simulations=64", "uct:simulations=256"]


class Sea:
    """Kills or stops one of ``hosts`` each time that some more games have ended; what is stopped is woken later."""

    def __init__(self, kills: int, games: int, seed: int, hosts: Callable[[], list[int]]) -> None:
        self.rng, self.hosts = random.Random(seed), hosts
        self.moments = sorted(self.rng.randrange(games) for _ in range(kills))
        self.counts: Counter[str] = Counter()
        self.asleep: list[tuple[int, int]] = []  # pids, and at how many games they wake

    def __call__(self, run: Run) -> None:
        done = len(run.finished)
        while self.asleep and (done >= self.asleep[0][1] or not run.missing):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.asleep.pop(0)[0], signal.SIGCONT)
        if not self.moments or done < self.moments[0]:
            return
        hosts = [pid for pid in self.hosts() if pid not in dict(self.asleep)]
        if not hosts:
            return
        del self.moments[0]
        pid = self.rng.choice(hosts)
        if len(hosts) > 1 and self.rng.random() < 0.25:
            os.kill(pid, signal.SIGSTOP)
            self.asleep.append((pid, done + self.rng.randrange(20, 200)))
            self.counts["stopped"] += 1
        else:
            os.kill(pid, signal.SIGKILL)
            self.counts["killed"] += 1
        print(f"{done} games, {dict(self.counts)}", flush=True)


def children() -> list[int]:
    """Hosts that are processes of this one."""
    return [one.pid for one in psutil.Process().children()]


@contextlib.contextmanager
def cluster_of(kind: str, hosts: int) -> Iterator[tuple[Cluster, Callable[[], list[int]]]]:
    """So many hosts, and how to find those that live."""
    if kind == "local":
        yield Cluster("local", hosts), children
        return
    own = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    with Nodes(own) as nodes:
        nodes.hold(hosts)
        yield (
            Cluster.parse(nodes.client if kind == "ray://" else nodes.address),
            lambda: [pid for node in nodes.nodes for pid in node.hosts],
        )


def at_sea(kills: int, games: int, hosts: int, seed: int, folder: Path, kind: str = "local") -> Counter[str]:
    """Play so many games by so many hosts, of which ``kills`` are killed or stopped. Raises AssertionError."""
    for fleets in (local, ray_fleet):
        fleets.BACK_OFF, fleets.MOST_FAILURES = 0.05, kills + 3
    driver.SILENCE_SECONDS = 2.0
    plan = make_plan("tic_tac_toe", BOTS, {"games": 2 * -(-games // 6), "games_at_once": 16})
    with cluster_of(kind, hosts) as (cluster, found):
        sea = Sea(kills, plan.total, seed, found)
        run = play_plan(plan, folder, sea, hosts=cluster)
    whole = play_plan(plan)
    keys = ["game_id", "black", "white", "moves", "result", "reason", "seed"]
    assert not run.missing and len(run.results) == plan.total
    assert open_run(folder).games[keys].equals(whole.games[keys]), "other games"
    assert problems(folder) == []
    rows = (folder / "hosts.csv").read_text().splitlines()[1:]
    audit = [row.rsplit(",", 4)[1:4] for row in rows]
    assert sum(int(games) for games, *_ in [row.rsplit(",", 5)[1:2] for row in rows]) == plan.total, rows
    assert not sum(int(differed) for _, _, differed in audit), rows
    sea.counts["agreed"] = sum(int(agreed) for _, agreed, _ in audit)
    sea.counts["hosts"] = len(rows)
    return sea.counts


if __name__ == "__main__":
    kills, games, hosts, seed = [*map(int, sys.argv[1:5]), *[20, 2000, 3, 1][len(sys.argv) - 1 :]]
    kind = (sys.argv[5:] or ["local"])[0]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counts = at_sea(kills, games, hosts, seed, Path(folder) / "run", kind)
    print(
        f"{games} games by {hosts} hosts, {kind}, in {time.monotonic() - began:.0f} s, seed {seed}: {dict(counts)}; all the same"
    )
