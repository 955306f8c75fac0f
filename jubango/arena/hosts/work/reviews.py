"""Reviews on hosts: the searches of many positions, each made by one of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import jax
import numpy as np

from jubango.analysis.positions.position import MOST_LANES
from jubango.analysis.reviews.review_moves import Finding
from jubango.analysis.reviews.review_search import SearchJob
from jubango.arena.hosts.fleet import Fleet
from jubango.arena.hosts.protocol import HostWork, Signature
from jubango.arena.hosts.signature import difference_of_machine, is_exact
from jubango.arena.hosts.table import check_the_game_can_be_made, table_of, unless_mixed
from jubango.arena.hosts.work.crew import Crew
from jubango.arena.hosts.work.every_host import Searched, SearchTask
from jubango.arena.runs.weights import SHIPPED_WEIGHTS
from jubango.bots.composition import network_file
from jubango.bots.config import SearchConfig
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.sgf_games.base.files import file_digest

Found = list[tuple[SearchJob, Finding]]


class ReviewingHosts:
    """Searches for reviews, on the hosts of a ``fleet``; to be closed. ``mixed``: hosts of other kinds search, too,
    where what they find depends on the machine. Raises UserError where none can be started."""

    def __init__(self, fleet: Fleet, mixed: bool = False) -> None:
        self._mixed, self._exact, self._timed = mixed, True, False
        self._networks: dict[str, str] = {}
        self._crew = Crew(fleet, self._unlike)
        self._crew.start()

    @property
    def notes(self) -> list[str]:
        """What people should know of the hosts, one after the other."""
        return self._crew.notes

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that has not gone."""
        return self._crew.hosts

    def search(
        self, jobs: Sequence[SearchJob], bot: SearchConfig, seed: int,
        on_progress: Callable[[float, int], None] = lambda done, total: None,
    ) -> Iterator[Found]:  # fmt: skip
        """As :func:`jubango.analysis.reviews.review_search.search`, and what it finds. Raises CannotGoOn."""
        if not jobs:
            return
        work = self._work(jobs[0], bot)
        waiting, done, crew = deque(jobs), 0, self._crew
        while done < len(jobs):
            for host in crew.free:
                if waiting and crew.knows(host, work):
                    own = self._taken(waiting)
                    crew.ask(host, "search", (seed, tuple(map(_told, own))), own)
            for answer in crew.turn():
                asked = answer.about
                assert isinstance(asked, list)
                if not isinstance(answer.value, Searched):
                    waiting.extendleft(reversed(asked))  # another one does it
                    continue
                done += len(asked)
                on_progress(done, len(jobs))
                yield list(zip(asked, answer.value.findings, strict=True))

    def close(self) -> None:
        """The hosts end."""
        self._crew.close()

    def _taken(self, waiting: deque[SearchJob]) -> list[SearchJob]:
        """The next ones. All searches of a position go to one host, as they are kept in their order."""
        own = [waiting.popleft() for _ in range(self._share(len(waiting)))]
        while waiting and (waiting[0].game, waiting[0].place) == (own[-1].game, own[-1].place):
            own.append(waiting.popleft())
        return own

    def _share(self, left: int) -> int:
        """How many searches a host is given of those that are left: few batches, as a batch costs little more than a
        position; and no more than keeps the others at work."""
        share = math.ceil(left / max(1, self._crew.size + self._crew.coming))
        return share if share <= MOST_LANES else max(MOST_LANES, math.ceil(share / 2))

    def _work(self, job: SearchJob, bot: SearchConfig) -> HostWork:
        game = job.position.game
        check_the_game_can_be_made(game)
        self._exact, self._timed = is_exact(bot), bool(bot.seconds)
        file = network_file(game, bot)
        self._networks = {bot.network or SHIPPED_WEIGHTS: file_digest(Path(file), LARGEST_WEIGHTS)} if file else {}
        return HostWork(game.spec, (table_of(bot),), 1)

    def _unlike(self, first: Signature, other: Signature) -> str:
        if wrong := next((name for name, own in self._networks.items() if other.networks.get(name) != own), ""):
            return f"network {wrong}: other weights there"
        if self._exact or self._mixed:
            return ""
        return unless_mixed(difference_of_machine(first, other, self._timed))


def _told(job: SearchJob) -> SearchTask:
    here = job.position
    return SearchTask(
        here.game.spec, jax.tree.map(np.asarray, here.state), here.number, here.last, here.last_player, job.place,
        job.repeat, job.symmetry,
    )  # fmt: skip
