"""A host's side of the protocol: which games it is to play, and which have ended and are not acknowledged yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from itertools import islice

from jubango.arena.hosts.protocol import Leased, Playing, Step
from jubango.sgf_games.records.record import GameRecord

MOST_RECORDS = 2000  # in one answer


class Ledger:
    """``waiting`` are the games that have not begun, ``busy`` the ids of those that have and not ended."""

    def __init__(self) -> None:
        self.waiting: deque[Leased] = deque()
        self.busy: set[str] = set()
        self.known = 0  # number of the last lease that whoever plays has been told of
        self._taken = 0  # number of the last lease
        self._acknowledged = 0
        self._records: deque[GameRecord] = deque()  # those after that
        self._unsaid: set[str] = set()  # their ids

    def take(self, tasks: Sequence[Leased]) -> None:
        """Leases that are new wait now. A question repeats all that may not have arrived: older numbers are no more
        than that."""
        new = [lease for lease in tasks if lease.number > self._taken]
        if not new:
            return
        known = {*self.busy, *self._unsaid, *(lease.task.game_id for lease in self.waiting)}
        for lease in sorted(new, key=lambda lease: lease.number):
            self._taken = lease.number
            if lease.task.game_id not in known:
                known.add(lease.task.game_id)
                self.waiting.append(lease)

    def tell(self) -> None:
        """Whoever plays knows all about the games that wait."""
        self.known = self._taken

    def drop(self, games: Collection[str]) -> None:
        """These do not begin any more."""
        if games:
            self.waiting = deque(lease for lease in self.waiting if lease.task.game_id not in games)

    def begin(self) -> Leased | None:
        """The next game to begin, which is under way from now on."""
        if not self.waiting:
            return None
        lease = self.waiting.popleft()
        self.busy.add(lease.task.game_id)
        return lease

    def end(self, record: GameRecord) -> None:
        self.busy.discard(record.game_id)
        self._unsaid.add(record.game_id)
        self._records.append(record)

    def acknowledge(self, number: int) -> None:
        """Records up to this number have arrived."""
        while self._records and self._acknowledged < number:
            self._unsaid.discard(self._records.popleft().game_id)
            self._acknowledged += 1

    def step(
        self, free: int, seconds: float, moves: int, simulations: int, playing: Sequence[Playing] = (), note: str = ""
    ) -> Step:
        """What there is to say, about these numbers of the one who plays."""
        records = tuple(islice(self._records, MOST_RECORDS))
        return Step(
            self._acknowledged + 1, records, self._taken, len(self.waiting), len(self.busy),
            len(self._records) - len(records), free, seconds, moves, simulations, tuple(playing), note=note,
        )  # fmt: skip
