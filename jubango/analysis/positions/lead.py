"""How many points a player is ahead in a game of territory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jubango.bots.composition import evaluator_for, params_for
from jubango.bots.config import SearchConfig
from jubango.bots.evaluators.territory import margins, opinions, scorer_of
from jubango.bots.search.results.result import SearchResult
from jubango.sgf_games.rules.compiled import rules
from jubango.sgf_games.sgf.positions import Position


def leads(
    positions: Sequence[Position],
    found: Sequence[SearchResult],
    seeds: Sequence[int],
    bot: SearchConfig,
    by_games: bool = True,
) -> list[float | None]:
    """Black's lead in points, komi included, in positions of games that differ in komi at most; ``found`` is what the
    bot has found there.

    It is what the bot's network says if it has a head for it; else, ``by_games``, the mean margin of 64 random
    games from the position and as many from the one after the bot's choice, which know little of life and death
    (:mod:`jubango.bots.evaluators.territory`). None in games without points, and where nobody knows.
    """
    if not positions:
        return []
    game, states = positions[0].game, [position.state for position in positions]
    if not game.counts_points:
        return [None] * len(positions)
    signs = np.array([1 - 2 * position.player for position in positions])
    network = scorer_of(evaluator_for(game, bot), params_for(game, bot))
    if network:
        said = np.asarray(opinions(game, states, *network).score) * game.height * game.width * signs
        return [float(lead) for lead in said]
    if not by_games:
        return [None] * len(positions)
    after = [rules(game).step(state, one.action) for state, one in zip(states, found, strict=True)]
    both = (margins(game, states, seeds).mean + margins(game, after, seeds).mean) / 2
    return [float(lead) for lead in both]
