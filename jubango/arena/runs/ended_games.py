"""Games that have ended are kept many together, as a flush to the disk takes as long for many as for one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from jubango.sgf_games.base.errors import CannotGoOn
from jubango.sgf_games.records.record import GameRecord

LONGEST_WAIT = 0.5  # seconds
MOST_WORK = 0.1  # of the time at most goes into keeping games, unless they have waited for the longest time


class EndedGames:
    """Those that are not kept yet. ``keep`` keeps games; it raises CannotGoOn."""

    def __init__(self, keep: Callable[[list[GameRecord]], None]) -> None:
        self._keep = keep
        self._waiting: list[GameRecord] = []
        self._due = 0.0

    def add(self, records: Sequence[GameRecord]) -> None:
        self._waiting += records

    def settle(self, now: bool = False) -> list[GameRecord]:
        """Keep what waits, ``now`` or if it is time, and return it. Raises CannotGoOn; what could not be kept is
        gone."""
        began = time.perf_counter()
        if not self._waiting or (began < self._due and not now):
            return []
        try:
            self._keep(self._waiting)
        except CannotGoOn:
            self._waiting = []
            raise
        records, self._waiting = self._waiting, []  # after an interrupt they wait on
        ended = time.perf_counter()
        self._due = ended + min((1 / MOST_WORK - 1) * (ended - began), LONGEST_WAIT)
        return records
