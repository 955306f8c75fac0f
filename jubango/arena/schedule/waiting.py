"""The games that wait for a lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from jubango.arena.schedule.pairings import GameTask

FURTHEST = 10_000  # games passed over at most, while their engines are busy


class Waiting:
    """A schedule that is read as games begin, however long it is. True as long as games are left.

    Games begin in its order, but one whose engines are all busy lets others pass.
    """

    def __init__(self, tasks: Iterable[GameTask]) -> None:
        self._rest = enumerate(tasks)
        self._next = next(self._rest, None)
        self._passed: dict[tuple[str, ...], deque[tuple[int, GameTask]]] = {}  # by the engines that they need

    def __bool__(self) -> bool:
        return self._next is not None or any(self._passed.values())

    def take(self, free: Mapping[str, int]) -> GameTask | None:
        """The next game that can begin, with so many processes ``free`` of each engine; None if there is none."""
        able = [games for names, games in self._passed.items() if games and all(free[name] > 0 for name in names)]
        if able:
            return min(able, key=lambda games: games[0][0]).popleft()[1]
        while self._next is not None and sum(map(len, self._passed.values())) < FURTHEST:
            (number, task), self._next = self._next, next(self._rest, None)
            names = tuple(name for name in (task.black, task.white) if name in free)
            if all(free[name] > 0 for name in names):
                return task
            self._passed.setdefault(tuple(sorted(names)), deque()).append((number, task))
        return None
