"""Random numbers that break ties between equally good moves: numpy's, many at once, for a device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WORD, LONG = 2**32 - 1, 2**128 - 1
STREAM = 3  # of a move's seed; noise and Gumbel's numbers have their own


def tie_break_bits(seeds: np.ndarray) -> np.ndarray:
    """uint32 [n]: the first word of ``np.random.default_rng([seed, STREAM])`` for each of ``seeds``, uint32 [n].

    numpy's SeedSequence (O'Neill 2015, "Developing a seed_seq Alternative") and PCG64 (O'Neill 2014, XSL-RR 128/64),
    both of which numpy promises to keep; making a generator for every seed takes five times as long.
    """
    start = seeds.astype(np.uint32)
    factor = 0x43B0D7E5

    def hashed(value: Any, step: int = 0x931E8875) -> Any:
        nonlocal factor
        value = value ^ np.uint32(factor)
        factor = factor * step & WORD
        value = value * np.uint32(factor)
        return value ^ (value >> np.uint32(16))

    empty = np.zeros_like(start)
    pool = [hashed(word) for word in (start, empty + np.uint32(STREAM), empty, empty)]
    for i in range(4):
        for j in range(4):
            if i != j:
                mixed = pool[j] * np.uint32(0xCA01F9DD) - hashed(pool[i]) * np.uint32(0x4973F715)
                pool[j] = mixed ^ (mixed >> np.uint32(16))
    factor = 0x8B51F9DD
    words: list[Any] = [hashed(pool[k % 4], 0x58F38DED).astype(object) for k in range(8)]  # Python's whole numbers
    state, stream = ((words[k + 1] << 96) | (words[k] << 64) | (words[k + 3] << 32) | words[k + 2] for k in (0, 4))
    odd, multiplier = (stream << 1 | 1) & LONG, 0x2360ED051FC65DA44385DF649FCCF645
    state = (((state + odd) * multiplier + odd) * multiplier + odd) & LONG
    folded, turn = (state >> 64 ^ state) & (2**64 - 1), state >> 122
    return ((folded >> turn | folded << (64 - turn)) & WORD).astype(np.uint32)


def drawn(tie_bits: np.ndarray, number: np.ndarray) -> np.ndarray:
    """int [n]: one of so many, evenly."""
    return (tie_bits.astype(np.uint64) * number.astype(np.uint64) >> np.uint64(32)).astype(int)


def drawn_on_device(tie_bits: jax.Array, number: jax.Array) -> jax.Array:
    """int32 [n]: :func:`drawn` in 32 bits, for numbers below 65,536."""
    number = number.astype(jnp.uint32)
    high, low = (tie_bits >> 16) * number, (tie_bits & 0xFFFF) * number
    return ((high + (low >> 16)) >> 16).astype(jnp.int32)
