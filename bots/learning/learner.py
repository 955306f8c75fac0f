"""A network learns from what has been played: policy, outcome and, where points are counted, ownership and score."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.flatten_util import ravel_pytree

from jubango.bots.learning.replay import Samples
from jubango.bots.networks.model import Shape, apply
from jubango.sgf_games.game import Game
from jubango.sgf_games.machine import jit, shard

Weights = dict[str, jax.Array]


@dataclass(frozen=True)
class Recipe:
    """How a network learns.

    rate: of learning (Adam; Kingma & Ba 2015), with ``decay`` of the weights (Loshchilov & Hutter 2019), reached after
        ``warm_up`` steps.
    average: of the weights, how much of it a step keeps; what plays is the average (Polyak & Juditsky 1992).
    value, ownership, score: weights in the loss of the search's own value, beside the game's result, and of the two
        heads (Wu 2019, section 3.4).
    """

    batch: int = 256
    rate: float = 1e-3
    decay: float = 1e-4
    warm_up: int = 200
    average: float = 0.998
    value: float = 0.5
    ownership: float = 0.5
    score: float = 0.5

    def optimizer(self) -> optax.GradientTransformation:
        rate = optax.linear_schedule(0.0, self.rate, self.warm_up)
        return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=self.decay))


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


def loss(
    game: Game, shape: Shape, recipe: Recipe, weights: Weights, batch: Samples, turn: jax.Array
) -> tuple[jax.Array, Losses]:
    """(the sum that is minimised, its parts). turn: int32 [N], the symmetry that each position is looked at in."""
    planes = jax.vmap(game.observe)(batch.state)  # [N, H, W, C]
    points, actions = (jnp.asarray(table)[turn] for table in game.symmetries)
    number, height, width, channels = planes.shape
    flat = jnp.take_along_axis(planes.reshape(number, height * width, channels), points[..., None], axis=1)
    target = jnp.take_along_axis(batch.policy.astype(jnp.float32), actions, axis=1)
    found = apply(shape, weights, flat.reshape(planes.shape))
    logs = jax.nn.log_softmax(found.policy)
    result = batch.result[:, None]
    outcome = jnp.concatenate([jnp.maximum(-result, 0), 1 - jnp.abs(result), jnp.maximum(result, 0)], axis=-1)
    counted = batch.counted.astype(jnp.float32)
    ownership = score = jnp.float32(0)
    if shape.scores:
        owners = jnp.take_along_axis(batch.owners, points, axis=1).astype(jnp.float32)
        ownership = jnp.mean(counted[:, None] * (found.ownership.reshape(owners.shape) - owners) ** 2)
        score = jnp.mean(counted * (found.score - batch.margin / (height * width)) ** 2)
    losses = Losses(
        policy=-jnp.mean(jnp.sum(target * logs, axis=-1)),
        entropy=-jnp.mean(jnp.sum(jnp.exp(logs) * logs, axis=-1)),
        target=-jnp.mean(jnp.sum(target * jnp.log(jnp.maximum(target, 1e-30)), axis=-1)),
        outcome=-jnp.mean(jnp.sum(outcome * jax.nn.log_softmax(found.outcome), axis=-1)),
        value=jnp.mean((found.value - batch.value) ** 2),
        ownership=ownership,
        score=score,
    )
    total = losses.policy + losses.outcome + recipe.value * losses.value
    return total + recipe.ownership * losses.ownership + recipe.score * losses.score, losses


def learn(
    game: Game, shape: Shape, recipe: Recipe, learning: Learning, batch: Samples, turn: jax.Array,
    axis: str | None = None,
) -> tuple[Learning, Losses]:  # fmt: skip
    """One step. A pure function. axis: of the devices, where each has a part of the batch."""
    gradients, losses = jax.grad(lambda weights: loss(game, shape, recipe, weights, batch, turn), has_aux=True)(
        learning.weights
    )
    if axis:
        # All at once: devices that share a pool of threads may each wait for a sum that the other has not come to.
        together, apart = ravel_pytree((gradients, losses))
        gradients, losses = apart(lax.pmean(together, axis))
    updates, optimizer = recipe.optimizer().update(gradients, learning.optimizer, learning.weights)
    weights = optax.apply_updates(learning.weights, updates)
    keep = jnp.minimum(recipe.average, learning.steps / (learning.steps + 10.0))  # the first steps are soon forgotten
    average = jax.tree.map(lambda old, new: keep * old + (1 - keep) * new, learning.average, weights)
    return Learning(weights, average, optimizer, learning.steps + 1), losses


@functools.cache
def program(game: Game, shape: Shape, recipe: Recipe, number: int) -> Callable[..., tuple[Learning, Losses]]:
    """:func:`learn` of (learning, batch, turn), compiled; the batch is split over ``number`` devices."""
    split, whole = shard(number)
    step = functools.partial(learn, game.compiled_as, shape, recipe, axis="lanes")
    mapped = jax.shard_map(
        step,
        mesh=split.mesh,
        in_specs=(whole.spec, split.spec, split.spec),
        out_specs=whole.spec,
        check_vma=False,
    )
    return jit(mapped, number > 1, donate_argnums=(0,))


def turns(game: Game, number: int, rng: np.random.Generator) -> np.ndarray:
    """int32 [N]: a symmetry for each of so many positions."""
    return rng.integers(0, len(game.symmetries[0]), number).astype(np.int32)
