"""Results of games between players of known strength, for what has to be right whatever is played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jubango.analysis.ratings.ratings import expected_score

SCORES = np.array([0, 0.5, 1])


class Dice(NamedTuple):
    """What results are like, whoever plays. The two games of a pair ``hang`` together: in so many of the pairs one die
    decides both, for the same player in both (above 0), or for the same colour (below 0)."""

    first_move: float = 0.0  # Elo
    drawn: float = 0.0  # share of the games of equal players
    hang: float = 0.0  # from -1 to 1


def game_chances(gap: float, drawn: float) -> np.ndarray:
    """[3]: of a loss, a draw and a win of a player who is ``gap`` Elo ahead."""
    score = expected_score(gap)
    draw = 2 * drawn * min(score, 1 - score)
    return np.array([1 - score - draw / 2, draw, score - draw / 2])


def pair_chances(gap: float, dice: Dice) -> np.ndarray:
    """[3, 3]: of the results of one player, ``gap`` Elo ahead, with the first move and without it."""
    first, second = (game_chances(gap + side, dice.drawn) for side in (dice.first_move, -dice.first_move))
    edges = [np.concatenate([[0], np.cumsum(one)]) for one in (first, second)]
    if dice.hang < 0:  # what one throws low for, the other throws high for
        edges[1] = 1 - edges[1][::-1]
    low = np.maximum(edges[0][:-1, None], edges[1][:-1])
    high = np.minimum(edges[0][1:, None], edges[1][1:])
    one_die = np.maximum(high - low, 0)
    if dice.hang < 0:
        one_die = one_die[:, ::-1]
    return (1 - abs(dice.hang)) * np.outer(first, second) + abs(dice.hang) * one_die


def pair_scores(gap: float, dice: Dice, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """[pairs, 2]: what a player who is ``gap`` Elo ahead gets with the first move, and without it."""
    cells = rng.choice(9, pairs, p=pair_chances(gap, dice).ravel())
    return SCORES[np.stack(np.divmod(cells, 3), axis=1)]


def scores(chances: np.ndarray, rng: np.random.Generator) -> Iterator[float]:
    """The results of pairs of games, one after the other, without end. chances: as of :func:`pair_chances`."""
    while True:
        for cell in rng.choice(9, 100, p=chances.ravel()):
            yield from SCORES[[*divmod(cell, 3)]]
