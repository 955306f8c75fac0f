"""Two evaluators in one."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.bots.evaluators.judgement import judged
from jubango.bots.evaluators.registry import AnyEvaluator, as_evaluator
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class Mixed(Evaluator):
    """The prior of ``first``, and its lead if it tells one, and the weighted mean of both values. Params: a pair.

    weight: that of ``second``'s value, 0 to 1. Who has which point at the end of its games is told on with 1 alone, as
        the value is that of the same games then.

    Source: AlphaGo has the value network first and rollouts second, weight 0.5 (lambda in Silver et al. 2016, Methods,
    "Searching with policy and value networks").
    """

    first: Evaluator
    second: Evaluator
    weight: float = 0.5

    def __init__(self, first: AnyEvaluator, second: AnyEvaluator, weight: float = 0.5) -> None:
        for name, value in (("first", as_evaluator(first)), ("second", as_evaluator(second)), ("weight", weight)):
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        return f"{self.first.title} and {self.second.title}"

    @property
    def trusted(self) -> bool:
        return self.first.trusted and self.second.trusted

    @property
    def saturating_batch(self) -> int:
        return min(self.first.saturating_batch, self.second.saturating_batch)

    @property
    def has_prior(self) -> bool:
        return self.first.has_prior

    @property
    def knows_when_to_pass(self) -> bool:
        return self.first.knows_when_to_pass

    def game_for(self, game: Game) -> Game:
        return self.second.game_for(self.first.game_for(game))

    def weights(self, given: Params = ()) -> Params:
        first, second = given or ((), ())
        both = self.first.weights(first), self.second.weights(second)
        return both if jax.tree.leaves(both) else given

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        first, second = params or ((), ())
        one = judged(self.first, first, game, states, legal, mix(seeds))  # its random numbers are not the second's
        other = judged(self.second, second, game, states, legal, seeds)
        value = (1 - self.weight) * one.value + self.weight * other.value
        amaf = one.amaf if other.amaf is None else other.amaf
        lead = other.lead if one.lead is None else one.lead
        owners = one.owners if self.weight == 0 else other.owners if self.weight == 1 else None
        return Evaluation(one.weights, value, amaf, lead=lead, owners=owners)
