"""When a bot passes.

A search without a network tells moves apart by chance at first: of a thousand simulations on an empty 9x9 board every
move gets twelve, and now and then a pass seems best. It gives up a turn where there are points to be taken. So while
the board is open a pass gives way to the best move there unless it is surely better: the 95 % interval of the
difference of their win rates holds no 0. A pass that would end the game is exact, and stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from jubango.bots.search.rules.rule import MoveRule
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.state import RootStatistics
from jubango.bots.search.tree.tree import in_question
from jubango.sgf_games.rules.game import Game, State

Z95 = 1.96  # standard deviations to either side of a 95 % interval


def passes_late(search: SearchSpec) -> bool:
    """Is it a search of this kind, of a game in which one can pass?"""
    return search.game.pass_action >= 0 and not search.evaluator.has_prior


def without_early_passes(
    search: SearchSpec, actions: np.ndarray, found: RootStatistics[np.ndarray], moves: Sequence[MoveRule],
    root: Callable[[int], State],
) -> np.ndarray:  # fmt: skip
    """int [n]: the ``actions`` that were chosen at n roots, other moves in the place of early passes. moves: what each
    is chosen by. root: the position of a row."""
    if not passes_late(search):
        return actions
    out = actions.copy()
    for row in np.flatnonzero(actions == search.game.pass_action).tolist():
        out[row] = instead_of_pass(search.game, root(row), found, row, moves[row], int(actions[row]))
    return out


def instead_of_pass(
    game: Game, state: State, found: RootStatistics[np.ndarray], row: int, rule: MoveRule, action: int
) -> int:
    """The move to play where ``action`` was chosen from row ``row`` of the statistics: another one if it is a pass too
    early."""
    if action != game.pass_action or rule not in ("visits", "value", "lcb"):
        return action
    visits, value, prior = found.visits[row], found.value[row], found.prior[row]
    choices = game.open_actions(state) & (prior > 0) & (visits > 0)
    if found.bounds.shape[-1]:
        choices = in_question(found.bounds[row], value, choices)
    if not choices.any():
        return action
    among = np.flatnonzero(choices)
    keys = (value, visits) if rule == "value" else (visits, value)
    best = int(among[np.lexsort((keys[1][among], keys[0][among]))[-1]])
    (passed, one), (played, other) = (_known(float(value[a]), int(visits[a])) for a in (action, best))
    return action if passed - played > Z95 * math.sqrt(one + other) else best


def _known(value: float, visits: int) -> tuple[float, float]:
    """The mean of results in [-1, 1], one more win and one more loss counted, and the variance of this mean."""
    mean = value * visits / (visits + 2)
    return mean, (1 - mean**2) / (visits + 2)
