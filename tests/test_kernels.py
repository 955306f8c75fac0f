"""A fused function equals the plain one, for any shapes, batching and number of kernels."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jubango.sgf_games import bitboard as bb
from jubango.sgf_games import go_playout, kernels
from jubango.sgf_games.dice import random_bits
from jubango.sgf_games.kernels import fused
from jubango.sgf_games.machine import jit


def two_stages():
    def first(a, b, flag):
        return a + b, a ^ b, flag & (a > b), a

    def second(total, different, flag, a):
        return {"total": jnp.where(flag, total, different), "same": a, "flag": ~flag, "wide": total.astype(jnp.uint32)}

    return first, second


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 65535), min_size=4, max_size=4), st.booleans())
def test_fused_equals_plain(values, flag):
    first, second = two_stages()
    a, b = jnp.array(values, jnp.uint16), jnp.array(values[::-1], jnp.uint16)
    flags = jnp.array([flag, True, False, not flag])
    expected = second(*first(a, b, flags))
    found = jit(fused(first, second))(a, b, flags)
    batched = jit(jax.vmap(fused(first, second)))(a, b, flags)
    for key in expected:
        assert np.array_equal(found[key], expected[key])
        assert np.array_equal(batched[key], expected[key])
        assert found[key].dtype == expected[key].dtype


@pytest.mark.parametrize(("equations", "arrays"), [(5000, 1000), (300, 1000), (5000, 30), (1, 1)])
def test_splitting_into_kernels_changes_nothing(monkeypatch, equations, arrays):
    monkeypatch.setattr(kernels, "MAX_EQUATIONS", equations)
    monkeypatch.setattr(kernels, "MAX_ARRAYS", arrays)
    rng = np.random.default_rng(1)
    stones = rng.integers(0, 3, (2, 5, 5, 16))
    rows = [
        [jnp.asarray(((stones[0, r] == c + 1) << np.arange(5)[:, None]).sum(0), jnp.uint16) for r in range(5)]
        for c in range(2)
    ]
    zero = jnp.zeros(16, jnp.int32)
    start = go_playout.start(*rows, zero - 1, zero, zero > 0, jnp.arange(16, dtype=jnp.uint32), 5)
    step = go_playout.attempt.__wrapped__(5)
    after = jit(lambda p: step(step(step(p, 99), 99), 99))(start)
    key = [int(np.asarray(row).astype(np.int64) @ np.arange(1, 17)) for row in [*after.own, *after.opp]]
    if not hasattr(test_splitting_into_kernels_changes_nothing, "first"):
        test_splitting_into_kernels_changes_nothing.first = key
    assert key == test_splitting_into_kernels_changes_nothing.first
    assert any(key)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1, 1), (3, 7), (15, 4), (16, 5), (25, 2)]))
def test_flood_reaches_exactly_what_is_connected(seed, shape):
    width, height = shape
    rng = np.random.default_rng(seed)
    mask, seeds = rng.random((height, width)) < 0.6, rng.random((height, width)) < 0.1
    expected = seeds & mask
    while True:
        grown = expected.copy()
        grown[1:] |= expected[:-1]
        grown[:-1] |= expected[1:]
        grown[:, 1:] |= expected[:, :-1]
        grown[:, :-1] |= expected[:, 1:]
        grown &= mask
        if np.array_equal(grown, expected):
            break
        expected = grown
    rows = [bb.from_bits(jnp.asarray(points).reshape(-1), width) for points in (seeds, mask)]
    found = bb.pack(FLOODS[shape](bb.unpack(rows[0]), bb.unpack(rows[1])))
    assert np.array_equal(np.asarray(bb.to_bits(found, width)).reshape(height, width), expected)


FLOODS = {
    shape: jit(lambda s, m, w=shape[0]: bb.flood(s, m, w)) for shape in [(1, 1), (3, 7), (15, 4), (16, 5), (25, 2)]
}


def test_random_point_is_uniform():
    rows = [jnp.full(20_000, value, jnp.uint16) for value in (0b101, 0, 0b11)]
    bits = random_bits(jnp.full(20_000, 7, jnp.uint32), jnp.arange(20_000))
    points, found = jit(bb.random_point)(rows, bits)
    assert bool(jnp.all(found))
    counts = [int(jnp.sum(points[0] == 1)), int(jnp.sum(points[0] == 4)), int(jnp.sum(points[2] == 1)),
              int(jnp.sum(points[2] == 2))]  # fmt: skip
    assert sum(counts) == 20_000
    assert max(abs(count - 5_000) for count in counts) < 5 * (20_000 * 0.25 * 0.75) ** 0.5
