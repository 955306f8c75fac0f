"""A network as an evaluator: its policy is the prior, its value the value. Its weights are the params."""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Params
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.int8 import quantised
from jubango.bots.networks.model import Precision, apply
from jubango.bots.networks.shape import Outputs, Shape
from jubango.sgf_games.base.checks import one_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.loops import alike
from jubango.sgf_games.compute.machine import suited
from jubango.sgf_games.compute.programs import Compiled, jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.compiled import initial_states
from jubango.sgf_games.rules.game import Game, State

SATURATING_BATCH = 2  # a batch of 2 already reaches nearly the throughput (positions a second) of a batch of 100
INT8_TOGETHER = 32  # positions; fewer take longer in eight bits
SAMPLED = 32  # games from which int8's scales come

Inputs: TypeAlias = Any  # a pytree of arrays [B, ...], planes [B, H, W, C] among them
# In which of the board's symmetries a network sees a position: as it is, in one that is drawn every time, or in all.
Symmetry = Literal["none", "random", "mean"]


class OutputsEvaluator(Evaluator):
    """A network of any kind, whose weights are the params.

    It evaluates a few positions at a time, and only those that are asked for. So a batch with few searched games costs
    little.
    """

    told_at_once = True  # its inputs are made for all lanes together, asked for or not
    symmetry: Symmetry = "none"

    @property
    def trusted(self) -> bool:
        return True

    @property
    def saturating_batch(self) -> int:
        return SATURATING_BATCH

    @property
    @abstractmethod
    def scores(self) -> bool:
        """Whether it has heads for ownership and score."""

    def together(self, game: Game) -> int:
        """Positions that a device evaluates together."""
        return suited().together

    @abstractmethod
    def inputs(self, game: Game, states: State, legal: jax.Array) -> Inputs:
        """What the network is told of B positions; the arguments are those of a call."""

    @abstractmethod
    def outputs(self, params: Params, game: Game, inputs: Inputs, asked: jax.Array | None = None) -> Outputs:
        """What the network says. Of positions that are not ``asked`` for, bool [B], it may be anything; by default all
        are."""

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        lanes, together, seeds = legal.shape[0], self.together(game), jnp.asarray(seeds)
        whole = lanes < together
        told = self.inputs(game, states, legal) if whole or self.told_at_once else ()
        if whole:
            return self._judged(params, game, told, legal, seeds)
        asked = jnp.any(legal, axis=-1)
        order = jnp.argsort(~asked, stable=True)  # who is asked for comes first
        order = jnp.pad(order, (0, -lanes % together), constant_values=lanes)  # and nobody last

        def piece(i: jax.Array, so_far: Evaluation) -> Evaluation:
            rows = lax.dynamic_slice(order, (i * together,), (together,))
            own, its, seed = jax.tree.map(lambda x: x.at[rows].get(mode="clip"), (told, legal, seeds))
            if not self.told_at_once:
                own = self.inputs(game, jax.tree.map(lambda x: x.at[..., rows].get(mode="clip"), states), its)
            found = self._judged(params, game, own, its, seed)
            return jax.tree.map(lambda x, y: x.at[rows].set(y, mode="drop"), so_far, found)

        pieces = (jnp.sum(asked, dtype=jnp.int32) + together - 1) // together
        nothing = self._nothing(legal)
        return lax.fori_loop(0, pieces, piece, alike(nothing, legal))

    def _judged(self, params: Params, game: Game, inputs: Inputs, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        number = len(game.symmetries[0])
        if self.symmetry == "none" or number == 1:
            return self._seen(params, game, inputs, legal)
        if self.symmetry == "random":
            return self._seen(params, game, inputs, legal, (mix(seeds) % number).astype(jnp.int32))

        def one(i: jax.Array, total: Evaluation) -> Evaluation:
            found = self._seen(params, game, inputs, legal, jnp.full(seeds.shape, i))
            assert found.prior is not None and total.prior is not None
            policy = found.prior / jnp.maximum(jnp.sum(found.prior, axis=-1, keepdims=True), 1)  # its largest is 1
            lead = None if found.lead is None or total.lead is None else total.lead + found.lead / number
            return Evaluation(total.prior + policy / number, total.value + found.value / number, lead=lead)

        return lax.fori_loop(0, number, one, alike(self._nothing(legal), legal))

    def _nothing(self, legal: jax.Array) -> Evaluation:
        zero = jnp.zeros(legal.shape[0], jnp.float32)
        return Evaluation(jnp.zeros(legal.shape, jnp.float32), zero, lead=zero if self.scores else None)

    def _seen(
        self, params: Params, game: Game, inputs: Inputs, legal: jax.Array, turned: jax.Array | None = None
    ) -> Evaluation:
        """turned: int32 [B], the symmetry in which the network sees each board; by default as it is."""
        asked = jnp.any(legal, axis=-1)
        if turned is None:
            found = self.outputs(params, game, inputs, asked)
            policy = found.policy
        else:
            points, actions = game.symmetries
            found = self.outputs(params, game, _turned(inputs, jnp.asarray(points)[turned]), asked)
            back = jnp.asarray(np.argsort(actions, axis=1))[turned]
            policy = jnp.take_along_axis(found.policy, back, axis=1)
        logits = jnp.where(legal, policy, -jnp.inf)
        grown = jnp.exp(logits - jnp.max(jnp.where(legal, logits, -1e9), axis=-1, keepdims=True))
        lead = found.score * (game.height * game.width) if self.scores else None
        return Evaluation(jnp.where(legal, grown, 0.0), found.value, lead=lead)


def _turned(inputs: Inputs, points: jax.Array) -> Inputs:
    """The planes, [B, H, W, C], with what is at ``points``, int32 [B, H * W], in every place; the rest as it is."""

    def turn(x: jax.Array) -> jax.Array:
        flat = x.reshape(x.shape[0], -1, x.shape[-1])
        return jnp.take_along_axis(flat, points[..., None], axis=1).reshape(x.shape)

    return jax.tree.map(lambda x: turn(x) if x.ndim == 4 else x, inputs)


@dataclass(frozen=True)
class NetworkEvaluator(OutputsEvaluator):
    """Any network of one shape. Params: its weights by name, as :func:`jubango.bots.networks.checkpoint.load_weights`
    reads them.

    precision: of the numbers between its layers; "bfloat16" is for accelerators, "int8" for CPUs, and moves may be
        others by it. With "int8" the params are what :meth:`in_int8` makes of the weights.
    symmetry: in which of the board's symmetries it sees a position: "none", as it is; "random", in one that is drawn
        anew for every leaf (Silver et al. 2016, Methods, "Symmetries"); "mean", the mean of all of them, in Go eight
        evaluations.

    On a CPU it evaluates 8 to 24 positions at a time, 32 with "int8", and only those that are asked for. So a batch
    with few searched games costs little. A position's value is the same to the last bit in every batch of 24 or more a
    device, with "int8" in every one.
    """

    shape: Shape
    precision: Precision = "float32"
    symmetry: Symmetry = "none"

    def __post_init__(self) -> None:
        one_of("precision", self.precision, Precision)
        one_of("symmetry", self.symmetry, Symmetry)

    @property
    def scores(self) -> bool:
        return self.shape.scores

    def together(self, game: Game) -> int:
        return INT8_TOGETHER if self.precision == "int8" else super().together(game)

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

    def inputs(self, game: Game, states: State, legal: jax.Array) -> Inputs:
        return jax.vmap(game.observe, in_axes=-1)(states)

    def in_int8(self, game: Game, weights: Params, passing: bool = False) -> Params:
        """The params of this evaluator with ``precision="int8"``, for this process.

        game: the game that they are for.
        weights: of float32, by name.
        passing: others will soon replace them, as in training; they are not kept in the cache, and
            :func:`jubango.sgf_games.compute.host_call.remove` forgets them.

        Raises UserError without onnxruntime, where there are other devices than CPUs, and for another precision or a
        game that the network is not for.
        """
        if self.precision != "int8":
            raise UserError(f'in_int8: is for an evaluator with precision="int8", not with "{self.precision}"')
        if Shape.of(game, self.shape.channels, self.shape.blocks) != self.shape:
            raise UserError(f"in_int8: the network was made for {self.shape.game}, not for {game.spec}")
        sample = functools.partial(sampled_positions, game, self.shape, weights)
        number_of = quantised.passing_number_of if passing else quantised.number_of
        return number_of(self.shape, weights, game, sample)

    def outputs(self, params: Params, game: Game, inputs: Inputs, asked: jax.Array | None = None) -> Outputs:
        if self.precision == "int8":
            return quantised.apply(self.shape, params, inputs, game.num_actions, asked)
        return apply(self.shape, params, inputs, self.precision)


def sampled_positions(game: Game, shape: Shape, weights: Params, seed: int = 0) -> np.ndarray:
    """float32 [quantised.POSITIONS, H, W, C]: planes of games whose moves are drawn from the network's policy."""
    height, width, _ = game.observation_shape
    plies = max(32, min(128, 2 * height * width))
    planes = _sampling(game, shape)(
        weights, initial_states(game, SAMPLED), jax.random.split(jax.random.key(seed), plies)
    )
    found = np.asarray(planes).reshape(-1, *planes.shape[2:])
    chosen = np.random.default_rng(seed).choice(len(found), quantised.POSITIONS, replace=False)
    return found[chosen].astype(np.float32)


@functools.lru_cache(maxsize=8)
def _sampling(game: Game, shape: Shape) -> Compiled[..., jax.Array]:
    """What makes planes [T, B, H, W, C] of weights, first states and T keys."""

    def play(weights: Params, firsts: State, keys: jax.Array) -> jax.Array:
        def ply(states: State, key: jax.Array) -> tuple[State, jax.Array]:
            planes = jax.vmap(game.observe, in_axes=-1)(states)
            legal = jax.vmap(game.legal_action_mask, in_axes=-1)(states)
            logits = jnp.where(legal, apply(shape, weights, planes).policy, -jnp.inf)
            after = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(states, jax.random.categorical(key, logits))
            over = jax.vmap(game.is_terminal, in_axes=-1)(after)
            return jax.tree.map(lambda first, now: jnp.where(over, first, now), firsts, after), planes

        return lax.scan(ply, firsts, keys)[1]

    return jit(play)
