"""When a bot passes.

A search without a network tells moves apart by chance at first: of a thousand simulations on an empty 9x9 board every
move gets twelve, and now and then a pass seems best. It gives up a turn where there are points to be taken. So while
the board is open a pass gives way to the best move there unless it is surely better: the 95 % interval of the
difference of their win rates holds no 0. A pass that would end the game is exact, and stands.

Every stone is alive to a search. Where dead ones are taken off before the points are counted, a pass that ends the game
and wins as the board stands may lose by the count. Then the best other move is played, while there is hope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from jubango.bots.search.rules.rule import MoveRule
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.state import RootStatistics
from jubango.bots.search.tree.tree import in_question
from jubango.sgf_games.rules.compiled import rules
from jubango.sgf_games.rules.game import Game, State

HOPE = -0.9  # the value of a move from which it is worth playing on
Z95 = 1.96  # standard deviations to either side of a 95 % interval


def passes_late(search: SearchSpec) -> bool:
    """Is it a search by random games, of a game in which one can pass?"""
    return search.game.pass_action >= 0 and not search.evaluator.knows_when_to_pass


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
    best = _best(choices, visits, value, rule)
    (passed, one), (played, other) = (_known(float(value[a]), int(visits[a])) for a in (action, best))
    return action if passed - played > Z95 * math.sqrt(one + other) else best


def instead_of_a_lost_count(
    game: Game, state: State, found: RootStatistics[np.ndarray], row: int, rule: MoveRule, action: int
) -> int:
    """The move to play where ``action`` was chosen from row ``row`` of the statistics and dead stones will be taken
    off: another one if it is a pass that ends the game, and won as the board stands, but not without them."""
    if action != game.pass_action or not game.counts_points or rule not in ("visits", "value", "lcb"):
        return action
    after = rules(game).step(state, action)
    sign = 1 if int(game.current_player(state)) == 0 else -1
    if not bool(game.is_terminal(after)) or sign * game.final_margin(after) <= 0:
        return action
    if sign * game.final_margin(game.without_stones(after, game.dead_stones(after))) > 0:
        return action
    visits, value = found.visits[row], found.value[row]
    others = (visits > 0) & (value > HOPE)
    others[action] = False
    return _best(others, visits, value, rule) if others.any() else action


def _best(choices: np.ndarray, visits: np.ndarray, value: np.ndarray, rule: MoveRule) -> int:
    """Of the ``choices``, bool [A], the one that is played by the rule; the other number decides between equals."""
    among = np.flatnonzero(choices)
    first, second = (value, visits) if rule == "value" else (visits, value)
    return int(among[np.lexsort((second[among], first[among]))[-1]])


def _known(value: float, visits: int) -> tuple[float, float]:
    """The mean of results in [-1, 1], one more win and one more loss counted, and the variance of this mean."""
    mean = value * visits / (visits + 2)
    return mean, (1 - mean**2) / (visits + 2)
