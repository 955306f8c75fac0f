"""A network as an evaluator: its policy is the prior, its value the value. Its weights are the params."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import Shape, apply
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game, State

FEW = 2  # positions, of which a core evaluates nearly as many a second as of a hundred


@dataclass(frozen=True)
class NetworkEvaluator(Evaluator):
    """Any network of one shape. Params: its weights by name, as
    :func:`jubango.bots.networks.checkpoint.load_weights` reads them."""

    shape: Shape

    @property
    def vector(self) -> int:
        return FEW

    @classmethod
    def load(cls, path: str | Path, game: Game) -> tuple[NetworkEvaluator, Params]:
        """The evaluator for a file and the weights in it. Raises UserError for a file that cannot be read or
        was made for another game."""
        weights, shape, _ = load_weights(path)
        if shape != Shape.of(game, shape.channels, shape.blocks):
            raise UserError(f"network {path}: was made for {shape.game}, not for {game.spec}")
        return cls(shape), weights

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        planes = jax.vmap(game.observe, in_axes=-1)(states)
        found = apply(self.shape, params, planes)
        logits = jnp.where(legal, found.policy, -jnp.inf)
        grown = jnp.exp(logits - jnp.max(jnp.where(legal, logits, -1e9), axis=-1, keepdims=True))
        return Evaluation(jnp.where(legal, grown, 0.0), found.value)
