"""How many points a player is ahead in a game of territory."""

from __future__ import annotations

from collections.abc import Sequence

from jubango.bots.composition import evaluator_for
from jubango.bots.config import SearchConfig
from jubango.bots.evaluators import territory
from jubango.bots.search.results.result import SearchResult
from jubango.sgf_games.sgf.positions import Position


def leads(
    positions: Sequence[Position],
    found: Sequence[SearchResult],
    seeds: Sequence[int],
    bot: SearchConfig,
    by_games: bool = True,
) -> list[float | None]:
    """Black's lead in points, komi included, in positions of games that differ in komi at most.

    It is the mean of what is said of the position and of the one after the bot's choice. The bot's network says it,
    if it has a head for it. None in games without points, and where nobody knows.

    found: what the bot has found there.
    by_games: whether random games may say it where no network does. They are 64 from either position, and know little
        of life and death (:mod:`jubango.bots.evaluators.territory`).
    """
    if not positions:
        return []
    game, states = positions[0].game, [position.state for position in positions]
    said = territory.leads(game, states, [one.action for one in found], seeds, evaluator_for(game, bot), by_games)
    return [None] * len(positions) if said is None else said.tolist()
