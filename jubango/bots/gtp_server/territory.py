"""Ownership and score, which GUIs show beside what a search says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.evaluators.evaluator import LoadedEvaluator
from jubango.bots.evaluators.territory import (
    CLOSE_GAMES,
    deviation_of,
    margins,
    ownership,
    scorer_of,
    told_apart,
)
from jubango.bots.interactive.interactive_search import MoveInfo
from jubango.sgf_games.rules.compiled import rules
from jubango.sgf_games.rules.game import Game, State

MOVES_LOOKED_AT = 8  # whose positions are looked at
HERE = -1  # in the place of a move: the position itself


class Judgement(NamedTuple):
    """Of a position, in points and in Black's view, komi included; zeros where none are counted."""

    score: float
    deviation: float
    after: dict[int, float]  # by the move

    def score_after(self, move: MoveInfo) -> float:
        """Of a move that was not looked at it is the position's."""
        return self.after.get(move.action, self.score)


class Territory:
    """Asks an evaluator's network, or random games, once about every position; see
    :mod:`jubango.bots.evaluators.territory`."""

    def __init__(self, game: Game, judge: LoadedEvaluator) -> None:
        self._game, self._judge = game, judge
        self._has_network = scorer_of(judge) is not None
        self._state: State = None  # what is known is of this one
        self._known: dict[int, np.ndarray] = {}  # whose points, by the move
        self._margins: dict[int, tuple[float, float]] = {}  # mean and spread, by the move

    def owners(self, state: State, moves: Sequence[MoveInfo] = ()) -> np.ndarray:
        """float32 [H * W] in [-1, 1]: the mean of what the best moves lead to, by their visits, and of the position
        itself, as what says it leans to one side of the move. moves: the best first."""
        seen = [move for move in moves if move.visits][:MOVES_LOOKED_AT]
        if not seen:
            return self._owned(state, [HERE])[HERE]
        after = self._owned(state, [move.action for move in seen])
        weights = [move.visits for move in seen]
        mean: np.ndarray = np.average([after[move.action] for move in seen], axis=0, weights=weights)
        return (mean + self._owned(state, [HERE])[HERE]) / 2

    def owners_after(self, state: State, moves: Sequence[MoveInfo]) -> dict[int, np.ndarray]:
        """The same after the best of ``moves``, by the move."""
        return self._owned(state, [move.action for move in moves if move.visits][:MOVES_LOOKED_AT])

    def judge(self, state: State, moves: Sequence[MoveInfo]) -> Judgement:
        """Who is ahead. moves: the best first."""
        seen = [move for move in moves if move.visits]
        if not self._game.counts_points:
            return Judgement(0.0, 0.0, {})
        return self._judged_by_network(state, seen) if self._has_network else self._judged_by_games(state, seen)

    def _judged_by_network(self, state: State, seen: Sequence[MoveInfo]) -> Judgement:
        owners = self.owners(state, seen)
        score, asked = self._score(owners, state), seen[:MOVES_LOOKED_AT]
        if not asked:
            return Judgement(score, deviation_of(owners), {})
        scores = [self._score(own, state) for own in self._owned(state, [move.action for move in asked]).values()]
        lean = score - float(np.average(scores, weights=[move.visits for move in asked]))
        after = {move.action: own + lean for move, own in zip(asked, scores, strict=True)}
        return Judgement(score, deviation_of(owners), after)

    def _judged_by_games(self, state: State, seen: Sequence[MoveInfo]) -> Judgement:
        mean, spread = self._played(state, [HERE])[0]
        if not seen:
            return Judgement(mean, spread, {})
        asked = seen[:MOVES_LOOKED_AT]
        played = np.array(self._played(state, [move.action for move in asked]))
        weights = np.array([move.visits for move in asked])
        variance = float((played[:, 1] ** 2).mean()) / CLOSE_GAMES
        means = told_apart(played[:, 0], weights, variance)
        half = (played[0, 0] - mean) / 2
        after = {move.action: mean + half + float(own - means[0]) for move, own in zip(asked, means, strict=True)}
        return Judgement(mean + half, spread, after)

    def _score(self, owners: np.ndarray, state: State) -> float:
        return float(owners.sum()) - self._game.komi_of(state)

    def _look_at(self, state: State) -> None:
        if self._state is not state:
            self._state, self._known, self._margins = state, {}, {}

    def _states(self, state: State, actions: Sequence[int]) -> list[State]:
        return [state if action == HERE else rules(self._game).step(state, action) for action in actions]

    def _owned(self, state: State, actions: Sequence[int]) -> dict[int, np.ndarray]:
        """By action."""
        if not self._game.counts_points:
            return dict.fromkeys(actions, np.zeros(self._game.height * self._game.width, np.float32))
        self._look_at(state)
        new = [action for action in actions if action not in self._known]
        if new:
            found = ownership(self._game, self._states(state, new), self._judge)
            self._known.update(zip(new, found, strict=True))
        return {action: self._known[action] for action in actions}

    def _played(self, state: State, actions: Sequence[int]) -> list[tuple[float, float]]:
        """Of random games after each of ``actions``: (mean margin, spread)."""
        self._look_at(state)
        ply = int(getattr(state, "ply", 0))  # whatever tells positions apart will do
        for action in actions:
            if action not in self._margins:
                seeds = [ply * self._game.num_actions + action + 1]
                found = margins(self._game, self._states(state, [action]), seeds, closely=True)
                self._margins[action] = float(found.mean[0]), float(found.spread[0])
        return [self._margins[action] for action in actions]
