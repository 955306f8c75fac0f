"""Games that are ended before they are played out: both players agree on the result, or the game is too long."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.models import checked


class Adjudication(BaseModel):
    """When a game is ended before its rules end it, and how.

    win_rate, moves: a win is settled when both players' searches have given the winner this win rate or more, in the
        last ``moves`` moves of each.
    draw: a draw is settled when in these moves both have given a value within this of an even one (0.01: a win rate
        from 49 to 51 %).
    move_limit: a game of so many moves is ended as it stands: Go is counted, and elsewhere it is drawn.

    0 leaves one of them out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    win_rate: Annotated[float, Field(ge=0, le=1)] = 0.0
    draw: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    moves: Annotated[int, Field(ge=1, le=1000)] = 4
    move_limit: Annotated[int, Field(ge=0)] = 0

    @classmethod
    def of(cls, table: Mapping[str, float]) -> Adjudication:
        """From a file's [adjudication] table. Raises UserError."""
        found = checked(cls, table, "adjudication", " = ")
        if 0 < found.win_rate <= 0.5:
            raise UserError(f"adjudication: win_rate = {found.win_rate}: must be above 0.5, or nobody is ahead")
        if not (found.win_rate or found.draw or found.move_limit):
            raise UserError("adjudication: says nothing of win_rate, draw or move_limit")
        return found

    def agreed(self, values: Sequence[float]) -> str:
        """ "B", "W" or "0" if the players agree, else "". ``values`` in [-1, 1]: what the players said at each of a
        game's moves so far, for Black; nan where one was not thought about."""
        last = values[-2 * self.moves :]
        if len(last) < 2 * self.moves or any(map(math.isnan, last)):
            return ""
        least = 2 * self.win_rate - 1
        if self.win_rate and min(last) >= least:
            return "B"
        if self.win_rate and max(last) <= -least:
            return "W"
        return "0" if self.draw and max(map(abs, last)) <= 2 * self.draw else ""
