"""The time commands of GTP: what they say of both clocks, and how long to think by them."""

from __future__ import annotations

from jubango.bots.gtp_server.wire import GtpError
from jubango.bots.players.clock import LONGEST, NO_LIMIT, Clock, MoveTime, TimeControl, moves_left
from jubango.sgf_games.base.errors import UserError

LEAST_SECONDS = 0.01  # seconds


class Timing:
    """Both players' clocks. An even share of the main time goes to every move, and of every overtime nearly all that it
    gives a move (:meth:`jubango.bots.players.clock.Clock.budget`); Canadian overtime gives each of its stones the
    same."""

    def __init__(self) -> None:
        self._control: TimeControl | None = None
        self._stones = 0  # of a Canadian period
        self._clocks: dict[int, Clock] = {}
        self._to_play: dict[int, int] = {}  # stones that are left of a Canadian period

    def start(self) -> None:
        """A game begins."""
        self._clocks, self._to_play = {}, {}

    def set(
        self, main: float, overtime: float = 0.0, *, stones: int = 0, periods: int = 0, increment: float = 0.0
    ) -> None:
        """``stones`` in ``overtime`` seconds (Canadian), or so many ``periods`` of them (Japanese), or an ``increment``
        (Fischer). All zero: no limit. Raises GtpError."""
        self.start()
        self._stones, self._control = stones, None
        said = main, overtime, stones, periods, increment
        if min(said) < 0 or max(said) > LONGEST:
            raise GtpError("invalid time")
        each = overtime / stones if stones else overtime
        if main + overtime * max(stones, periods) + increment > 0:
            try:
                self._control = TimeControl(main, increment, each, periods or min(stones, 1))
            except UserError as error:
                raise GtpError(str(error)) from None

    def none(self) -> None:
        self.start()
        self._control = None

    def left(self, player: int, seconds: float, stones: int) -> None:
        """What the clock shows: ``stones`` (or periods) of overtime to come with it, 0 in the main time. A little less
        than nothing is nothing, and nobody needs more than :data:`LONGEST`. Raises GtpError."""
        if not 0 <= stones <= LONGEST:
            raise GtpError("invalid time")
        seconds = min(seconds, LONGEST)
        if self._control is None:
            self._control = TimeControl(max(seconds, LEAST_SECONDS))
        clock = self._clocks[player] = Clock(self._control)
        clock.main = max(0.0, seconds)
        self._to_play.pop(player, None)
        if stones and self._stones:
            clock.periods, self._to_play[player] = 0, stones
        elif stones:
            clock.main, clock.periods = 0.0, stones

    def budget(self, player: int, points: int, ply: int) -> MoveTime:
        """The time for the next move."""
        if self._control is None:
            return NO_LIMIT
        moves = self._to_play.get(player) or moves_left(points, ply)
        return self._clock(player).budget(moves)

    def remaining(self, player: int) -> float:
        """Seconds until the flag falls; 0: no clock."""
        return 0.0 if self._control is None else max(LEAST_SECONDS, self._clock(player).left)

    def spend(self, player: int, seconds: float) -> None:
        """A move has taken so long: the clock goes on without being told."""
        if self._control is None:
            return
        clock = self._clock(player)
        clock.spend(seconds)
        if self._stones:
            clock.periods = 1  # the next stones have a period of their own
            left = self._to_play.pop(player, 1) - 1
            if left > 0:
                clock.periods, self._to_play[player] = 0, left

    def _clock(self, player: int) -> Clock:
        assert self._control is not None
        return self._clocks.setdefault(player, Clock(self._control))
