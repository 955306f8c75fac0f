"""How a position came about: what other programs have to be told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jubango.sgf_games.rules.coordinates import Point

PlayedMove = tuple[int, Point | None]  # the player, and where; None is a pass


@dataclass(frozen=True, eq=False)
class Past:
    """The stones that were set up last, and the moves since. The positions of one game share their ``line``."""

    stones: np.ndarray | None = None  # int [H, W] as of Game.stones; None: nothing was set up
    line: Sequence[PlayedMove] = ()  # may go on after this position
    number: int = 0  # how many of them have been made

    @property
    def moves(self) -> Sequence[PlayedMove]:
        """Those that have been made."""
        return self.line[: self.number]

    def then(self, player: int, point: Point | None) -> Past:
        """The past of a position that comes of a move, whatever the ``line`` has there."""
        return Past(self.stones, (*self.moves, (player, point)), self.number + 1)
