"""Whose each point is in the end, as far as anybody can tell."""

from __future__ import annotations

from collections.abc import Sequence

from jubango.analysis.positions.heat import Heat
from jubango.bots.composition import evaluator_for, strongest
from jubango.bots.config import SearchConfig, bot_from_spec
from jubango.bots.evaluators import territory
from jubango.sgf_games.sgf.positions import Position


def ownership(positions: Sequence[Position]) -> list[Heat]:
    """Whose each point is in the end, of positions of one game: from 1, Black's for sure, to -1, White's.

    In games that count points it is what the network of the strongest bot there is for the board says (Go 9x9), else
    the mean of 256 random games from there, which know little of life and death. In games without territory it is
    whose stone lies there in the end of such games. See :mod:`jubango.bots.evaluators.territory`.
    """
    if not positions:
        return []
    game = positions[0].game
    bot = bot_from_spec(strongest(game))
    assert isinstance(bot, SearchConfig)
    states = [position.state for position in positions]
    found = territory.ownership(game, states, evaluator_for(game, bot))
    return [Heat(black.reshape(game.height, game.width), "ownership in %", "sides") for black in found]
