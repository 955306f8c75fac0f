"""Ownership and score, which GUIs show beside what a search says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.evaluators.evaluator import Evaluator, Params
from jubango.bots.evaluators.ownership import ownership
from jubango.bots.thinker import Found
from jubango.sgf_games.compiled import rules
from jubango.sgf_games.game import Game, State

MOST_MOVES = 8  # whose positions are looked at


class Judgement(NamedTuple):
    """Of a position, in Black's view: the mean of what its best moves lead to, by their visits."""

    owners: np.ndarray  # float32 [H * W] in [-1, 1]
    score: float  # points, what is owned less komi; 0 where none are counted
    deviation: float  # of the score, as if points were independent
    after: dict[int, np.ndarray]  # what is owned after these moves


class Territory:
    """Asks an evaluator's network, or random games, once about every position."""

    def __init__(self, game: Game, evaluator: Evaluator, params: Params) -> None:
        self._game, self._evaluator, self._params = game, evaluator, params
        self._state: State = None  # what is known is of this one
        self._known: dict[int, np.ndarray] = {}  # by the move; -1 is the position itself

    def judge(self, state: State, moves: Sequence[Found] = ()) -> Judgement:
        """``moves``: the best first; where nothing has been visited the position itself is asked about."""
        seen = [move for move in moves if move.visits][:MOST_MOVES]
        after = self._owned(state, [move.action for move in seen])
        if seen:
            mine = np.average(list(after.values()), axis=0, weights=[move.visits for move in seen])
        else:
            mine = self._owned(state, [-1])[-1]
        deviation = math.sqrt(float((1 - mine**2).clip(0).sum())) if self._game.counts_points else 0.0
        return Judgement(mine, self.score(mine, state), deviation, after)

    def score(self, owners: np.ndarray, state: State) -> float:
        """Black's, in points."""
        return float(owners.sum()) - float(state.komi) if self._game.counts_points else 0.0

    def _owned(self, state: State, actions: Sequence[int]) -> dict[int, np.ndarray]:
        """By action."""
        if not self._game.counts_points:
            return dict.fromkeys(actions, np.zeros(self._game.height * self._game.width, np.float32))
        if self._state is not state:
            self._state, self._known = state, {}
        new = [action for action in actions if action not in self._known]
        if new:
            states = [state if action < 0 else rules(self._game).step(state, action) for action in new]
            found = ownership(self._game, states, self._evaluator, self._params)
            self._known.update(zip(new, found, strict=True))
        return {action: self._known[action] for action in actions}
