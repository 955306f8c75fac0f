"""Ownership and score, which GUIs show beside what a search says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.evaluators.evaluator import Evaluator, Params
from jubango.bots.evaluators.ownership import ownership
from jubango.sgf_games.compiled import rules
from jubango.sgf_games.game import Game, State

MOST_MOVES = 8  # whose positions are looked at


class Judgement(NamedTuple):
    """Of a position, in Black's view; the score is the sum of what is owned, less komi."""

    owners: np.ndarray  # float32 [H * W] in [-1, 1]
    score: float  # points; 0 where none are counted
    deviation: float  # of the score, as if points were independent
    after: dict[int, np.ndarray]  # what some moves lead to


class Territory:
    """Asks an evaluator's network, or random games, once about every position."""

    def __init__(self, game: Game, evaluator: Evaluator, params: Params) -> None:
        self._game, self._evaluator, self._params = game, evaluator, params
        self._known: dict[int, tuple[State, dict[int, np.ndarray]]] = {}  # by the state's identity: it is kept

    def judge(self, state: State, actions: Sequence[int]) -> Judgement:
        """``state``, and where the first few of ``actions`` lead to."""
        owned = self._owned(state, list(actions)[:MOST_MOVES])
        mine = owned.pop(-1)
        deviation = math.sqrt(float((1 - mine**2).clip(0).sum())) if self._game.counts_points else 0.0
        return Judgement(mine, self.score(mine, state), deviation, owned)

    def score(self, owners: np.ndarray, state: State) -> float:
        """Black's, in points."""
        return float(owners.sum()) - float(state.komi) if self._game.counts_points else 0.0

    def _owned(self, state: State, actions: list[int]) -> dict[int, np.ndarray]:
        """By action; -1 is the position itself."""
        if id(state) not in self._known:
            self._known = {id(state): (state, {})}
        _, known = self._known[id(state)]
        new = [action for action in (-1, *actions) if action not in known]
        if new and self._game.counts_points:
            states = [state if action < 0 else rules(self._game).step(state, action) for action in new]
            found = ownership(self._game, states, self._evaluator, self._params)
            known.update(zip(new, found, strict=False))
        nothing = np.zeros(self._game.height * self._game.width, np.float32)
        return {action: known.get(action, nothing) for action in (-1, *actions)}
