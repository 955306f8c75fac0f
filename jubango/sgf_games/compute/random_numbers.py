"""Random numbers without state: they depend on a seed and a counter alone, never on the batch around them."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def mix(x: jax.Array) -> jax.Array:
    """A 32-bit hash, one to one (the finaliser of MurmurHash3)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def random_bits(seed: jax.Array, counter: jax.Array) -> jax.Array:
    """uint32 random bits for each (seed, counter), whatever the batch around them."""
    return mix(mix(seed ^ (counter.astype(jnp.uint32) * jnp.uint32(0x9E3779B9))) + seed)


def coin(seed: jax.Array) -> jax.Array:
    """float32: 1 or -1, evenly."""
    return jnp.where(mix(seed ^ jnp.uint32(0x51ED27)) >> 31 == 1, jnp.float32(1), jnp.float32(-1))


def gumbel_max_scores(weights: jax.Array, seed: jax.Array) -> jax.Array:
    """float32 [..., A]: scores of which the largest falls on each action with the probability of its weight
    (the Gumbel-max trick). weights: [..., A], not negative; seed: uint32 [...]."""
    bits = random_bits(seed[..., None], jnp.arange(weights.shape[-1]) + 0x2545)
    uniform = ((bits >> 8).astype(jnp.float32) + 0.5) / 2.0**24
    return jnp.log(jnp.maximum(weights, 1e-37)) - jnp.log(-jnp.log(uniform))
