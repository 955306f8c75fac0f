"""A residual network for every board size of its game: from a game's observation to a policy and a value.

Convolutions with global pooling (Wu 2019, "Accelerating Self-Play Learning in Go", section 3.3), so that one set of
weights plays on any board. Nothing is normalised: a block begins as the identity (Zhang, Dauphin & Ma 2019), so that a
position's evaluation depends neither on a batch nor on statistics, and costs nothing but its convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jax.nn import relu

from jubango.bots.networks.shape import Outputs, Shape

Precision: TypeAlias = Literal["float32", "bfloat16", "int8"]
USUAL_SIDE = 9  # points; how much smaller or larger a board is, is one of the things that pooling tells
# The layers that begin with random weights (He et al. 2015); every other begins as zero.
RANDOM = "stem", "first", "policy_planes", "value_planes", "value_hidden"


def new_weights(shape: Shape, seed: int = 0) -> dict[str, jax.Array]:
    """Untrained weights by name, float32; of every position they say that all actions are alike and the game even."""
    key, he = jax.random.key(seed), jax.nn.initializers.he_normal()
    weights = {}
    for i, (name, size) in enumerate(shape.layers.items()):
        begins = name.rpartition(".")[2] in RANDOM
        own = jax.random.fold_in(key, 2 * i)
        weights[f"{name}.kernel"] = he(own, size, jnp.float32) if begins else jnp.zeros(size, jnp.float32)
        weights[f"{name}.bias"] = jnp.zeros(size[-1:], jnp.float32)
    return weights


def apply(
    shape: Shape, weights: Mapping[str, jax.Array], planes: jax.Array, precision: Precision = "float32"
) -> Outputs:
    """The network of ``shape`` with these weights: [B, H, W, C] -> its outputs, float32. A pure function.

    precision: of the numbers in the tower, "float32" or "bfloat16"; the heads are float32 in either. "int8" is not
    computed here."""
    assert precision != "int8", "jubango.bots.networks.int8"
    batch, height, width, _ = planes.shape
    x = _convolved(weights, "stem", planes.astype(precision))
    for i in range(shape.blocks):
        x = _block(weights, f"blocks.{i}", x)
    x = relu(x).astype(jnp.float32)
    seen = _convolved(weights, "value_planes", x)
    hidden = relu(_linear(weights, "value_hidden", pool(relu(seen))))
    ownership, score = jnp.zeros((batch, height, width), jnp.float32), jnp.zeros(batch, jnp.float32)
    if shape.scores:
        ownership = jnp.tanh(_convolved(weights, "ownership", seen)[..., 0])
        score = _linear(weights, "score", hidden)[:, 0]
    policy = _policy(shape, weights, _convolved(weights, "policy_planes", x))
    return Outputs(policy, _linear(weights, "outcome", hidden), ownership, score)


def pool(x: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, 3 C]: mean, mean times the size of the board, largest."""
    size = (jnp.sqrt(jnp.float32(x.shape[1] * x.shape[2])) / USUAL_SIDE - 1).astype(x.dtype)
    mean = jnp.mean(x, axis=(1, 2))
    return jnp.concatenate([mean, mean * size, jnp.max(x, axis=(1, 2))], axis=-1)


def _block(weights: Mapping[str, jax.Array], name: str, x: jax.Array) -> jax.Array:
    """Two convolutions, what is pooled in between, and a way around them."""
    inner = _convolved(weights, f"{name}.first", relu(x))
    inner = relu(inner + _linear(weights, f"{name}.pooled", pool(inner))[:, None, None])
    return x + _convolved(weights, f"{name}.second", inner)


def _policy(shape: Shape, weights: Mapping[str, jax.Array], planes: jax.Array) -> jax.Array:
    """The logits [B, A] from the head's planes."""
    batch, seen = planes.shape[0], relu(planes)
    if shape.head == "columns":
        columns = jnp.concatenate([jnp.mean(seen, axis=1), jnp.max(seen, axis=1)], axis=-1)
        return _linear(weights, "policy", columns)[..., 0]
    if shape.head == "dense":
        return _linear(weights, "policy", seen.reshape(batch, -1))
    pooled = pool(seen)
    told = relu(planes + _linear(weights, "policy_pooled", pooled)[:, None, None])
    points = _convolved(weights, "policy", told).reshape(batch, -1)
    return jnp.concatenate([points, _linear(weights, "policy_pass", pooled)], axis=-1) if shape.passes else points


def _convolved(weights: Mapping[str, jax.Array], name: str, x: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, H, W, D], zeros beyond the edge; computed in the precision of ``x``, as is what follows."""
    kernel, bias = _layer(weights, name, x)
    if kernel.shape[:2] == (1, 1):
        found = _product(x, kernel[0, 0])
    else:
        found = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return found + bias


def _linear(weights: Mapping[str, jax.Array], name: str, x: jax.Array) -> jax.Array:
    """[..., C] -> [..., D]."""
    kernel, bias = _layer(weights, name, x)
    return _product(x, kernel) + bias


def _layer(weights: Mapping[str, jax.Array], name: str, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(kernel, bias) in the precision of ``x``."""
    return weights[f"{name}.kernel"].astype(x.dtype), weights[f"{name}.bias"].astype(x.dtype)


def _product(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """[..., C], [C, D] -> [..., D]. Libraries multiply by a vector in another way, and there the last bits of a row
    depend on its place."""
    return jnp.sum(x * kernel[:, 0], axis=-1, keepdims=True) if kernel.shape[1] == 1 else x @ kernel
