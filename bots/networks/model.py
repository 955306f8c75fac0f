"""A residual network for every board size of its game: from a game's observation to a policy and a value.

Convolutions with global pooling (Wu 2019, "Accelerating Self-Play Learning in Go", section 3.3), so that one set of
weights plays on any board. Nothing is normalised: a block begins as the identity (Zhang, Dauphin & Ma 2019), so that a
position's evaluation depends neither on a batch nor on statistics, and costs nothing but its convolutions.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jubango.bots.networks.shape import HIDDEN, NARROW, Outputs, Shape

USUAL_SIDE = 9  # points; how much smaller or larger a board is, is one of the things that pooling tells


class Block(nnx.Module):
    """Two convolutions, what is pooled in between, and a way around them."""

    def __init__(self, channels: int, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(channels, channels, (3, 3), kernel_init=nnx.initializers.he_normal(), rngs=rngs)
        self.pooled = nnx.Linear(3 * channels, channels, kernel_init=nnx.initializers.zeros, rngs=rngs)
        self.second = nnx.Conv(channels, channels, (3, 3), kernel_init=nnx.initializers.zeros, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        inner = self.first(nnx.relu(x))
        inner = nnx.relu(inner + self.pooled(pool(inner))[:, None, None])
        return x + self.second(inner)


def pool(x: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, 3 C]: mean, mean times the size of the board, largest."""
    size = jnp.sqrt(jnp.float32(x.shape[1] * x.shape[2])) / USUAL_SIDE - 1
    mean = jnp.mean(x, axis=(1, 2))
    return jnp.concatenate([mean, mean * size, jnp.max(x, axis=(1, 2))], axis=-1)


class Network(nnx.Module):
    """[B, H, W, C] -> :class:`Outputs`."""

    def __init__(self, shape: Shape, rngs: nnx.Rngs) -> None:
        self.shape = shape
        he, zeros = nnx.initializers.he_normal(), nnx.initializers.zeros
        channels, narrow = shape.channels, NARROW
        self.stem = nnx.Conv(shape.planes, channels, (3, 3), kernel_init=he, rngs=rngs)
        blocks = [Block(channels, rngs) for _ in range(shape.blocks)]
        self.blocks = nnx.List(blocks) if hasattr(nnx, "List") else blocks  # before flax 0.12 any list would do
        self.policy_planes = nnx.Conv(channels, narrow, (1, 1), kernel_init=he, rngs=rngs)
        self.value_planes = nnx.Conv(channels, narrow, (1, 1), kernel_init=he, rngs=rngs)
        self.value_hidden = nnx.Linear(3 * narrow, HIDDEN, kernel_init=he, rngs=rngs)
        self.outcome = nnx.Linear(HIDDEN, 3, kernel_init=zeros, rngs=rngs)
        self.policy: nnx.Conv | nnx.Linear
        if shape.head == "points":
            self.policy_pooled = nnx.Linear(3 * narrow, narrow, kernel_init=zeros, rngs=rngs)
            self.policy = nnx.Conv(narrow, 1, (1, 1), kernel_init=zeros, rngs=rngs)
            if shape.passes:
                self.policy_pass = nnx.Linear(3 * narrow, 1, kernel_init=zeros, rngs=rngs)
        elif shape.head == "columns":
            self.policy = nnx.Linear(2 * narrow, 1, kernel_init=zeros, rngs=rngs)
        else:
            inputs = shape.height * shape.width * narrow
            self.policy = nnx.Linear(inputs, shape.actions, kernel_init=zeros, rngs=rngs)
        if shape.scores:
            self.ownership = nnx.Conv(narrow, 1, (1, 1), kernel_init=zeros, rngs=rngs)
            self.score = nnx.Linear(HIDDEN, 1, kernel_init=zeros, rngs=rngs)

    def __call__(self, x: jax.Array) -> Outputs:
        batch, height, width, _ = x.shape
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = nnx.relu(x)
        seen = self.value_planes(x)
        hidden = nnx.relu(self.value_hidden(pool(nnx.relu(seen))))
        ownership, score = jnp.zeros((batch, height, width)), jnp.zeros(batch)
        if self.shape.scores:
            ownership, score = jnp.tanh(self.ownership(seen)[..., 0]), self.score(hidden)[:, 0]
        return Outputs(self._policy(self.policy_planes(x)), self.outcome(hidden), ownership, score)

    def _policy(self, planes: jax.Array) -> jax.Array:
        batch = planes.shape[0]
        if self.shape.head == "columns":
            planes = nnx.relu(planes)
            columns = jnp.concatenate([jnp.mean(planes, axis=1), jnp.max(planes, axis=1)], axis=-1)
            return self.policy(columns)[..., 0]
        if self.shape.head == "dense":
            return self.policy(nnx.relu(planes).reshape(batch, -1))
        pooled = pool(nnx.relu(planes))
        points = self.policy(nnx.relu(planes + self.policy_pooled(pooled)[:, None, None])).reshape(batch, -1)
        return jnp.concatenate([points, self.policy_pass(pooled)], axis=-1) if self.shape.passes else points


def new_network(shape: Shape, seed: int = 0) -> Network:
    """Untrained weights."""
    return Network(shape, nnx.Rngs(seed))


def weights_of(network: Network) -> dict[str, jax.Array]:
    """The weights by name: what :func:`apply` takes."""
    return {name: variable.get_value() for name, variable in flat(nnx.state(network, nnx.Param)).items()}


def apply(shape: Shape, weights: dict[str, jax.Array], planes: jax.Array) -> Outputs:
    """The network of ``shape`` with these weights: [B, H, W, C] -> its outputs."""
    definition, state = parts(shape)
    named = [(key, variable.replace(weights[".".join(map(str, key))])) for key, variable in nnx.to_flat_state(state)]
    return nnx.merge(definition, nnx.from_flat_state(named))(planes)


@functools.cache
def parts(shape: Shape) -> tuple[Any, Any]:
    """(what the network is, the shapes of its weights), without making any."""
    return nnx.split(nnx.eval_shape(lambda: new_network(shape)), nnx.Param)


def flat(state: Any) -> dict[str, Any]:
    return {".".join(map(str, key)): variable for key, variable in nnx.to_flat_state(state)}
