"""Two evaluators in one."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.sgf_games.dice import mix
from jubango.sgf_games.game import Game, State


@dataclass(frozen=True)
class Mixed(Evaluator):
    """The prior of ``first`` and the weighted mean of both values: weight of ``second``'s. Params: a pair.

    AlphaGo: the value network first, rollouts second, weight 0.5 (Silver et al. 2016, Methods,
    "Searching with policy and value networks": lambda).
    """

    first: Evaluator
    second: Evaluator
    weight: float = 0.5

    @property
    def vector(self) -> int:
        return min(self.first.vector, self.second.vector)

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        first, second = params or ((), ())
        a = self.first(first, game, states, legal, mix(seeds))  # its dice are not the second's
        b = self.second(second, game, states, legal, seeds)
        value = (1 - self.weight) * a.value + self.weight * b.value
        return Evaluation(a.prior, value, a.firsts if b.firsts is None else b.firsts)
