"""What a network of KataGo's computes: from planes and numbers of a position to its outputs. A pure function.

Source: KataGo's ``cpp/neuralnet/eigenbackend.cpp``; Wu 2019, "Accelerating Self-Play Learning in Go", and its
``docs/KataGoMethods.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jax import lax

from jubango.bots.networks.katago.architecture import Activation, Architecture, Block
from jubango.bots.networks.shape import Outputs

MIDDLE_SIDE = 14.0  # of a board, from which pooling counts
NEVER = -1e5  # added to the logit of no result where the ko rule lets no game go on for ever
SUPERKO = 6  # the number that says so

Weights = Mapping[str, jax.Array]


def apply(architecture: Architecture, weights: Weights, planes: jax.Array, numbers: jax.Array) -> Outputs:
    """The outputs for B positions, for the player to move; that a game has no result stands in the place of the draw.

    planes: float32 [B, H, W, 22].
    numbers: float32 [B, 19].
    """
    x = _convolved(planes, weights["stem"]) + _beside(numbers @ weights["stem_numbers"])
    for i, block in enumerate(architecture.blocks):
        x = x + _block(block, weights, f"blocks.{i}", x)
    if architecture.tip:
        axes = (-1,) if architecture.tip == "points" else (1, 2, 3)
        x = _root_mean_square(x, architecture.tip_epsilon, axes)
    x = ACTIVATED[architecture.tip_activation](_scaled(weights, "tip", x))
    policy = _policy(architecture, weights, x)
    seen = _normed(weights, "value_first", architecture.value_activations[0], _convolved(x, weights["value_first"]))
    hidden = pool_without_largest(seen) @ weights["value_hidden"] + weights["value_hidden.bias"]
    hidden = ACTIVATED[architecture.value_activations[1]](hidden)
    win, loss, none = jnp.moveaxis(hidden @ weights["outcome"] + weights["outcome.bias"], -1, 0)
    outcome = jnp.stack([loss, none + NEVER * numbers[:, SUPERKO], win], axis=-1)
    lead = (hidden @ weights["score"] + weights["score.bias"])[:, 2] * architecture.lead
    lead = lead * (1 - jax.nn.softmax(outcome)[:, 1])
    ownership = jnp.tanh(_convolved(seen, weights["ownership"])[..., 0])
    return Outputs(policy, outcome, ownership, lead / (planes.shape[1] * planes.shape[2]))


def pool(x: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, 3 C]: mean, mean times the size of the board, largest."""
    mean = jnp.mean(x, axis=(1, 2))
    return jnp.concatenate([mean, mean * _size(x), jnp.max(x, axis=(1, 2))], axis=-1)


def pool_without_largest(x: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, 3 C]: mean, mean times the size of the board, mean times its square."""
    mean, size = jnp.mean(x, axis=(1, 2)), _size(x)
    return jnp.concatenate([mean, mean * size, mean * (size**2 - 0.1)], axis=-1)


def _size(x: jax.Array) -> float:
    return float(((x.shape[1] * x.shape[2]) ** 0.5 - MIDDLE_SIDE) * 0.1)


def _mish(x: jax.Array) -> jax.Array:
    return x * jnp.tanh(jax.nn.softplus(x))


ACTIVATED: dict[Activation, Callable[[jax.Array], jax.Array]] = {
    "identity": lambda x: x,
    "relu": jax.nn.relu,
    "mish": _mish,
    "silu": jax.nn.silu,
}


def _block(block: Block, weights: Weights, name: str, x: jax.Array) -> jax.Array:
    """What a block adds."""
    if block.kind == "attention":
        return _attention(block, weights, name, x)
    if block.kind == "feed_forward":
        return _feed_forward(block, weights, name, x)
    first, *between, second = block.activations
    x = _normed(weights, f"{name}.pre", first, x)
    inner = _convolved(x, weights[f"{name}.first"])
    if block.kind == "pooled":
        seen = _normed(weights, f"{name}.pool", between[0], _convolved(x, weights[f"{name}.pool"]))
        inner = inner + _beside(pool(seen) @ weights[f"{name}.pooled"])
    for i, own in enumerate(block.blocks):
        inner = inner + _block(own, weights, f"{name}.blocks.{i}", inner)
    return _convolved(_normed(weights, f"{name}.post", second, inner), weights[f"{name}.second"])


def _attention(block: Block, weights: Weights, name: str, x: jax.Array) -> jax.Array:
    """Every point looks at every other (Vaswani et al. 2017); places by rotations (Su et al. 2021)."""
    batch, height, width, _ = x.shape
    heads, kept = block.heads
    points = (_root_mean_square(x, block.epsilon) * weights[f"{name}.scale"]).reshape(batch, height * width, -1)

    def parts(part: str, number: int) -> jax.Array:
        return (points @ weights[f"{name}.{part}"]).reshape(batch, height * width, number, -1)

    query, key, value = parts("query", heads), parts("key", kept), parts("value", kept)
    if block.rotated:
        angles = _angles(block, weights, name, height, width, query.shape[-1] // 2)
        query = _rotated(query, jnp.repeat(angles, heads // angles.shape[1], axis=1))
        key = _rotated(key, jnp.repeat(angles, kept // angles.shape[1], axis=1))
    query = query.reshape(batch, height * width, kept, heads // kept, -1)
    likeness = jnp.einsum("bqkgd,bpkd->bkgqp", query, key) * query.shape[-1] ** -0.5
    seen = jnp.einsum("bkgqp,bpkd->bqkgd", jax.nn.softmax(likeness), value)
    return (seen.reshape(batch, height * width, -1) @ weights[f"{name}.out"]).reshape(batch, height, width, -1)


def _angles(block: Block, weights: Weights, name: str, height: int, width: int, pairs: int) -> jax.Array:
    """float32 [H * W, heads, pairs]: by how much a pair of channels is rotated."""
    rows, columns = (x.reshape(-1, 1, 1).astype(jnp.float32) for x in jnp.mgrid[:height, :width])
    if block.rotated == "learnt":
        turns = weights[f"{name}.turns"]
        return columns * turns[..., 0] + rows * turns[..., 1]
    half = pairs // 2
    turns = jnp.float32(block.base) ** (-2 * jnp.arange(max(half, pairs - half)) / pairs)
    return jnp.concatenate([rows * turns[:half], columns * turns[: pairs - half]], axis=-1)


def _rotated(x: jax.Array, angles: jax.Array) -> jax.Array:
    """[B, H * W, heads, C], pairs of channels side by side."""
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    first, second = pairs[..., 0], pairs[..., 1]
    return jnp.stack([first * cosine - second * sine, first * sine + second * cosine], axis=-1).reshape(x.shape)


def _feed_forward(block: Block, weights: Weights, name: str, x: jax.Array) -> jax.Array:
    """SwiGLU (Shazeer 2020)."""
    x = _root_mean_square(x, block.epsilon) * weights[f"{name}.scale"]
    inner = jax.nn.silu(x @ weights[f"{name}.first"])
    if block.gated:
        inner = inner * (x @ weights[f"{name}.gate"])
    return inner @ weights[f"{name}.second"]


def _policy(architecture: Architecture, weights: Weights, x: jax.Array) -> jax.Array:
    """float32 [B, H * W + 1], logits. Of several policies a file has, the first is the usual one."""
    pooling, activation, *passing = architecture.policy_activations
    pooled = pool(_normed(weights, "policy_pool", pooling, _convolved(x, weights["policy_pool"])))
    told = _convolved(x, weights["policy_first"]) + _beside(pooled @ weights["policy_pooled"])
    points = _convolved(_normed(weights, "policy", activation, told), weights["policy"][..., :1])
    to_pass = pooled @ weights["pass"]
    if passing:
        to_pass = ACTIVATED[passing[0]](to_pass + weights["pass.bias"]) @ weights["pass_out"]
    return jnp.concatenate([points.reshape(x.shape[0], -1), to_pass[:, :1]], axis=-1)


def _root_mean_square(x: jax.Array, epsilon: float, axes: tuple[int, ...] = (-1,)) -> jax.Array:
    return x * lax.rsqrt(jnp.mean(x * x, axis=axes, keepdims=True) + epsilon)


def _normed(weights: Weights, name: str, activation: Activation, x: jax.Array) -> jax.Array:
    return ACTIVATED[activation](_scaled(weights, name, x))


def _scaled(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    return x * weights[f"{name}.scale"] + weights[f"{name}.bias"]


def _beside(x: jax.Array) -> jax.Array:
    """[B, C] for all points."""
    return x[:, None, None]


def _convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """[B, H, W, C] -> [B, H, W, D], zeros beyond the edge."""
    if kernel.shape[:2] == (1, 1):
        return x @ kernel[0, 0]
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
