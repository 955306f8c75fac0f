"""A network as an evaluator: its policy is the prior, its value the value. Its weights are the params."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import apply
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.loops import alike
from jubango.sgf_games.compute.machine import on_cpu
from jubango.sgf_games.rules.game import Game, State

SATURATING_BATCH = 2  # a batch of 2 already reaches nearly the throughput (positions a second) of a batch of 100
POSITIONS_PER_CORE = 8  # positions that a core evaluates together


@dataclass(frozen=True)
class NetworkEvaluator(Evaluator):
    """Any network of one shape. Params: its weights by name, as :func:`jubango.bots.networks.checkpoint.load_weights`
    reads them.

    On a CPU it evaluates eight positions at a time, and only those that are asked for. So a batch with few searched
    games costs little. A position's value is the same to the last bit in every batch of eight or more a device.
    """

    shape: Shape

    @property
    def trusted(self) -> bool:
        return True

    @property
    def saturating_batch(self) -> int:
        return SATURATING_BATCH

    @classmethod
    def load(cls, path: str | Path, game: Game) -> tuple[NetworkEvaluator, Params]:
        """(evaluator, weights) of a file.

        path: a file of weights, ``.safetensors``.
        game: the game that it is for.

        Raises UserError for a file that cannot be read, or is a network for another game.
        """
        weights, shape, _ = load_weights(path)
        if shape != Shape.of(game, shape.channels, shape.blocks):
            raise UserError(f"network {path}: was made for {shape.game}, not for {game.spec}")
        return cls(shape), weights

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        planes = jax.vmap(game.observe, in_axes=-1)(states)
        lanes = legal.shape[0]
        if lanes < POSITIONS_PER_CORE or not on_cpu():
            return self._judged(params, planes, legal)
        asked = jnp.any(legal, axis=-1)
        order = jnp.argsort(~asked, stable=True)  # who is asked for comes first
        order = jnp.pad(order, (0, -lanes % POSITIONS_PER_CORE), constant_values=lanes)  # and nobody last

        def piece(i: jax.Array, so_far: Evaluation) -> Evaluation:
            rows = lax.dynamic_slice(order, (i * POSITIONS_PER_CORE,), (POSITIONS_PER_CORE,))
            found = self._judged(params, *(x.at[rows].get(mode="clip") for x in (planes, legal)))
            return jax.tree.map(lambda x, y: x.at[rows].set(y, mode="drop"), so_far, found)

        pieces = (jnp.sum(asked, dtype=jnp.int32) + POSITIONS_PER_CORE - 1) // POSITIONS_PER_CORE
        nothing = Evaluation(jnp.zeros(legal.shape, jnp.float32), jnp.zeros(lanes, jnp.float32))
        return lax.fori_loop(0, pieces, piece, alike(nothing, legal))

    def _judged(self, params: Params, planes: jax.Array, legal: jax.Array) -> Evaluation:
        found = apply(self.shape, params, planes)
        logits = jnp.where(legal, found.policy, -jnp.inf)
        grown = jnp.exp(logits - jnp.max(jnp.where(legal, logits, -1e9), axis=-1, keepdims=True))
        return Evaluation(jnp.where(legal, grown, 0.0), found.value)
