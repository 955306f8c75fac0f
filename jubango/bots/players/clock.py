"""A game's clock for one player, and how long to think by it."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.specs import value_text

LONGEST = 10_000_000  # seconds of any part of a clock
SHORTEST_PERIOD = 0.001  # seconds of a period
LAG = 0.05  # seconds kept back for what happens between clock and search


@dataclass(frozen=True)
class TimeControl:
    """``main`` seconds; then ``increment`` is added after every move (Fischer), or there are ``periods``
    of ``byoyomi`` seconds, of which one is lost only by overstepping it (Japanese)."""

    main: float
    increment: float = 0.0
    byoyomi: float = 0.0
    periods: int = 0

    def __post_init__(self) -> None:
        if self.main + self.increment + self.byoyomi * self.periods <= 0:
            raise UserError(f'clock "{self}": leaves no time at all')
        if max(self.main, self.increment, self.byoyomi, self.periods) > LONGEST:
            raise UserError(f'clock "{self}": has a part of more than {LONGEST:,}')
        if self.periods and self.byoyomi < SHORTEST_PERIOD:
            raise UserError(f'clock "{self}": a period takes {SHORTEST_PERIOD} seconds or more')

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """``60`` (sudden death), ``60+1`` (increment), ``300+3x30`` (byoyomi). Raises UserError."""
        number = r"(\d{1,7}(?:\.\d{1,7})?)"  # a hundred days
        match = re.fullmatch(rf"{number}(?:\+(?:(\d{{1,4}})x)?{number})?", text.strip(), re.ASCII)
        if not match:
            raise UserError(f'clock "{text}": write seconds like 60, 60+1 (increment) or 300+3x30 (byoyomi)')
        main, periods, extra = float(match[1]), match[2], float(match[3] or 0)
        control = cls(main, byoyomi=extra, periods=int(periods)) if periods else cls(main, increment=extra)
        if periods and not control.byoyomi * control.periods:
            raise UserError(f'clock "{text}": byoyomi needs a period of some seconds at least')
        if control.main + control.increment + control.byoyomi * control.periods <= 0:
            raise UserError(f'clock "{text}": leaves no time at all')
        return control

    @property
    def overtime(self) -> str:
        """What there is beside the main time, as SGF's OT."""
        if self.periods:
            return f"{self.periods}x{self.byoyomi:g} byo-yomi"
        return f"{self.increment:g} fischer" if self.increment else "none"

    def __str__(self) -> str:
        if self.periods:
            return f"{value_text(self.main)}+{self.periods}x{value_text(self.byoyomi)}"
        return value_text(self.main) + f"+{value_text(self.increment)}" * bool(self.increment)


class MoveTime(NamedTuple):
    """How long to think about a move."""

    seconds: float  # 0: no limit
    longest: float  # if it is open then what to play

    def bounds(self, own: float, patience: float) -> tuple[float, float]:
        """The same for a bot with ``own`` seconds a move (0: no limit) and ``patience``; both inf: no limit."""
        own, seconds = own or math.inf, self.seconds or math.inf
        longest = max(seconds, min(self.longest or math.inf, patience * seconds))
        return min(own, seconds), min(own, longest)

    def times(self, factor: float) -> MoveTime:
        return MoveTime(self.seconds * factor, self.longest * factor)


NO_LIMIT = MoveTime(0.0, 0.0)


@dataclass
class Clock:
    """What one player has left."""

    control: TimeControl
    main: float = field(init=False)
    periods: int = field(init=False)

    def __post_init__(self) -> None:
        self.main, self.periods = self.control.main, self.control.periods

    def spend(self, seconds: float) -> bool:
        """Take off what a move took. False: the flag has fallen."""
        self.main -= seconds
        if self.main >= 0:
            self.main += self.control.increment
            return True
        over, self.main = -self.main, 0.0
        if self.periods == 0:
            return False
        lost = int(over / self.control.byoyomi)
        self.periods -= lost
        return self.periods > 0

    @property
    def left(self) -> float:
        """Seconds until the flag falls."""
        return self.main + self.periods * self.control.byoyomi

    @property
    def reading(self) -> tuple[float, int]:
        """What it shows between two moves: seconds, and in byoyomi how many periods there are of so many."""
        return (self.control.byoyomi, self.periods) if self.periods and self.main <= 0 else (self.main, 0)

    def budget(self, moves_left: float) -> MoveTime:
        """The time for the next move with ``moves_left`` of one's own still to come: an even share of the main time and
        nearly all of what every move is given, never more than is there. If need be it takes up to a quarter of the
        main time, but not what later moves need at least, and no more of a period.
        """
        share = self.main / max(1.0, moves_left)
        gift = self.control.increment if self.main > self.control.increment else 0.0
        if self.periods:
            gift = max(0.0, self.control.byoyomi - share)
        most = self.main + (self.control.byoyomi if self.periods else 0.0) - 3 * LAG
        seconds = max(0.01, min(share + 0.9 * gift - LAG, most))
        spare = min(self.main / 4, self.main - max(0.0, 2 * LAG - gift) * moves_left)
        return MoveTime(seconds, max(seconds, min(spare + 0.9 * gift - 2 * LAG, most)))


class SharedClock:
    """A watch for games that share a machine: while ``number`` of them think it goes that much slower than the wall's,
    so that each is charged its share of the machine (generalised processor sharing, Parekh & Gallager 1993)."""

    def __init__(self) -> None:
        self.number = 1  # of games that think since the last look
        self.seconds = 0.0  # up to then
        self._looked = time.perf_counter()

    def look(self, number: int) -> None:
        """Up to now ``self.number`` games have been thinking, and from now on so many do."""
        now = time.perf_counter()
        self.seconds += (now - self._looked) / max(1, self.number)
        self._looked, self.number = now, max(1, number)


def moves_left(points: int, ply: int) -> float:
    """A player's moves still to come on a board of so many points: most games fill most of it, and a third of it
    is reckoned with to the end, for those that go on."""
    return max(6.0, max(0.9 * points - ply, points / 3) / 2)
