"""A network learns from what has been played: policy, outcome and, where points are counted, ownership and score."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from jubango.bots.learning.replay import Samples
from jubango.bots.networks.model import Precision, apply
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.compute.machine import AXIS, gathered, on_cpu, shard, spread
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.game import Game

if TYPE_CHECKING:
    import optax

Weights = dict[str, jax.Array]


@dataclass(frozen=True)
class Recipe:
    """How a network learns.

    rate: the learning rate of Adam, reached after ``warm_up`` steps; ``decay`` is that of the weights.
    average: how much of the average of the weights a step keeps; the average is what plays.
    value, ownership, score: weights in the loss of the search's own value, beside the game's result, and of the two
        heads.
    precision: of the numbers in the network's tower; weights, gradients and heads are float32.

    Source: Adam, Kingma & Ba 2015; weight decay, Loshchilov & Hutter 2019; averaging, Polyak & Juditsky 1992; heads, Wu
    2019, section 3.4.
    """

    batch: int = 256
    rate: float = 1e-3
    decay: float = 1e-4
    warm_up: int = 50
    average: float = 0.998
    value: float = 0.5
    ownership: float = 0.5
    score: float = 0.5
    precision: Precision = "float32"

    def optimizer(self) -> optax.GradientTransformation:
        """Adam's steps by this recipe, an optax transformation.

        Raises UserError where optax is not installed.
        """
        need("optax")
        import optax

        rate = optax.linear_schedule(0.0, self.rate, self.warm_up)
        step = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=self.decay))
        return optax.apply_if_finite(step, max_consecutive_errors=1000)


class Learning(NamedTuple):
    """A network that learns."""

    weights: Weights
    average: Weights  # of the weights of the last steps: what plays
    optimizer: optax.OptState
    steps: jax.Array  # int32


class Losses(NamedTuple):
    """Means over a batch."""

    policy: jax.Array  # cross entropy to the search's improved policy
    entropy: jax.Array  # of the network's policy
    target: jax.Array  # of the search's: the cross entropy's least value
    outcome: jax.Array  # cross entropy to the game's result
    value: jax.Array  # mean square from the search's value
    ownership: jax.Array  # mean square
    score: jax.Array  # mean square, of margins over the board's points


def begin(weights: Weights, recipe: Recipe) -> Learning:
    """The state before the first step."""
    copy = jax.tree.map(jnp.array, weights)
    return Learning(weights, copy, recipe.optimizer().init(weights), jnp.int32(0))


class Examples(NamedTuple):
    """Positions as a network is shown them, and what it is to say of them: arrays [N, ...]."""

    planes: jax.Array  # [H, W, C]
    policy: jax.Array  # float32 [A]
    outcome: jax.Array  # float32 [3], chances of loss, draw and win
    value: jax.Array  # float32
    counted: jax.Array  # float32, 1 where owners and score are known
    owners: jax.Array  # float32 [H * W]; of games that count points, else empty
    score: jax.Array  # float32, the margin over the board's points


def examples(game: Game, batch: Samples, symmetry: jax.Array) -> Examples:
    """What is learnt from a batch. symmetry: int32 [N], that each position is looked at in. A pure function."""
    planes = jax.vmap(game.observe)(batch.state)
    points, actions = (jnp.asarray(table)[symmetry] for table in game.symmetries)
    number, height, width, channels = planes.shape
    flat = jnp.take_along_axis(planes.reshape(number, height * width, channels), points[..., None], axis=1)
    result = batch.result[:, None]
    owners = jnp.take_along_axis(batch.owners, points, axis=1) if game.counts_points else batch.owners
    return Examples(
        flat.reshape(planes.shape),
        jnp.take_along_axis(batch.policy.astype(jnp.float32), actions, axis=1),
        jnp.concatenate([jnp.maximum(-result, 0), 1 - jnp.abs(result), jnp.maximum(result, 0)], axis=-1),
        jnp.asarray(batch.value),
        jnp.asarray(batch.counted, jnp.float32),
        jnp.asarray(owners, jnp.float32),
        jnp.asarray(batch.margin / (height * width)),
    )


def loss(
    game: Game, shape: Shape, recipe: Recipe, weights: Weights, batch: Samples, symmetry: jax.Array
) -> tuple[jax.Array, Losses]:
    """(the sum that is minimised, its parts). symmetry: int32 [N], that each position is looked at in."""
    told = examples(game, batch, symmetry)
    found = apply(shape, weights, told.planes, recipe.precision)
    logs = jax.nn.log_softmax(found.policy)
    ownership = score = jnp.float32(0)
    if shape.scores:
        known = told.counted / jnp.maximum(jnp.sum(told.counted), 1)
        off = found.ownership.reshape(told.owners.shape) - told.owners
        ownership = jnp.sum(known * jnp.mean(off**2, axis=1))
        score = jnp.sum(known * (found.score - told.score) ** 2)
    losses = Losses(
        policy=-jnp.mean(jnp.sum(told.policy * logs, axis=-1)),
        entropy=-jnp.mean(jnp.sum(jnp.exp(logs) * logs, axis=-1)),
        target=-jnp.mean(jnp.sum(told.policy * jnp.log(jnp.maximum(told.policy, 1e-30)), axis=-1)),
        outcome=-jnp.mean(jnp.sum(told.outcome * jax.nn.log_softmax(found.outcome), axis=-1)),
        value=jnp.mean((found.value - told.value) ** 2),
        ownership=ownership,
        score=score,
    )
    total = losses.policy + losses.outcome + recipe.value * losses.value
    return total + recipe.ownership * losses.ownership + recipe.score * losses.score, losses


def gradients(
    game: Game, shape: Shape, recipe: Recipe, weights: Weights, batch: Samples, symmetry: jax.Array
) -> tuple[Weights, Losses]:
    """(the loss's gradients, its parts). A pure function."""
    return jax.grad(lambda weights: loss(game, shape, recipe, weights, batch, symmetry), has_aux=True)(weights)


def update(recipe: Recipe, learning: Learning, gradients: Weights, pace: jax.Array | float = 1.0) -> Learning:
    """One step along the gradients, ``pace`` of the recipe's rate. A pure function."""
    updates, optimizer = recipe.optimizer().update(gradients, learning.optimizer, learning.weights)
    weights = jax.tree.map(lambda old, step: old + pace * step, learning.weights, updates)
    keep = jnp.minimum(recipe.average, learning.steps / (learning.steps + 10.0))  # the first steps are soon forgotten
    average = jax.tree.map(lambda old, new: keep * old + (1 - keep) * new, learning.average, weights)
    return Learning(weights, average, optimizer, learning.steps + 1)


@functools.cache
def program(game: Game, shape: Shape, recipe: Recipe, number: int) -> Callable[..., tuple[Learning, Losses]]:
    """A step of learning from a batch, split over ``number`` devices, compiled: ``step(learning, batch,
    symmetry)``, and ``pace``, the share of the recipe's rate. The arrays of ``learning`` are written over.

    Accelerators average their gradients among themselves, and the host waits for nothing. A CPU's meet on the host: a
    sum between devices that share a pool of threads can wait for ever."""
    split, whole = shard(number)
    own = functools.partial(gradients, game.compiled_as, shape, recipe)
    if not on_cpu():
        return _together(own, recipe, number)

    def part(weights: Weights, batch: Samples, symmetry: jax.Array) -> jax.Array:
        return ravel_pytree(own(weights, batch, symmetry))[0][None]

    def move(learning: Learning, together: jax.Array, pace: jax.Array) -> tuple[Learning, Losses]:
        found, losses = _apart(learning.weights, together)
        return update(recipe, learning, found, pace), losses

    mapped = functools.partial(spread, mesh=split.mesh)
    each = jit(mapped(part, in_specs=(whole.spec, split.spec, split.spec), out_specs=split.spec), number > 1)
    everywhere = (whole.spec,) * 3
    both = jit(mapped(move, in_specs=everywhere, out_specs=whole.spec), number > 1, donate_argnums=(0,))

    def step(learning: Learning, batch: Samples, symmetry: np.ndarray, pace: float = 1.0) -> tuple[Learning, Losses]:
        return both(learning, gathered(each(learning.weights, batch, symmetry)).mean(axis=0), np.float32(pace))

    return step


def _together(own: Callable, recipe: Recipe, number: int) -> Callable[..., tuple[Learning, Losses]]:
    """The step as one program."""
    split, whole = shard(number)

    def step(
        learning: Learning, batch: Samples, symmetry: jax.Array, pace: jax.typing.ArrayLike = 1.0
    ) -> tuple[Learning, Losses]:
        flat, apart = ravel_pytree(own(learning.weights, batch, symmetry))
        found, losses = apart(lax.pmean(flat, AXIS) if number > 1 else flat)
        return update(recipe, learning, found, jnp.asarray(pace, jnp.float32)), losses

    specs = (whole.spec, split.spec, split.spec, whole.spec)
    mapped = spread(step, split.mesh, specs, whole.spec)
    compiled = jit(mapped, number > 1, donate_argnums=(0,))
    return lambda learning, batch, symmetry, pace=1.0: compiled(learning, batch, symmetry, np.float32(pace))


def _apart(weights: Weights, together: jax.Array) -> tuple[Weights, Losses]:
    """Gradients and losses that lie in one array."""
    zero = jnp.float32(0)
    return ravel_pytree((weights, Losses(*[zero] * len(Losses._fields))))[1](together)


def random_symmetries(game: Game, number: int, rng: np.random.Generator) -> np.ndarray:
    """int32 [N]: a symmetry for each of so many positions."""
    return rng.integers(0, len(game.symmetries[0]), number).astype(np.int32)
