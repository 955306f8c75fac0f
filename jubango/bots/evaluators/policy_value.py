"""Anybody's network as an evaluator: what it says of observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class PolicyValue(Evaluator):
    """A network for policy and value, given ``game.observe`` of positions, or an environment's ``observation``.

    apply: a hashable function ``(params, observations [B, ...]) -> (logits [B, A], values [B])``, the values in [-1, 1]
        for the player to move.
    """

    apply: Callable[[Params, jax.Array], tuple[jax.Array, jax.Array]]

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        logits, value = self.apply(params, jax.vmap(game.observe, in_axes=-1)(states))
        return Evaluation(logits=logits, value=value)
