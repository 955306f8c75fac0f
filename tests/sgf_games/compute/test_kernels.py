"""A fused function equals the plain one, for any shapes, batching and number of kernels."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute import kernels, machine, reduction_check
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states
from jubango.sgf_games.rules.go import playout as go_playout


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


def test_a_loop_over_many_lanes_stays_a_loop_of_kernels():
    """As one kernel, which JAX 0.12 makes of it by itself, it would not be vectorised."""
    step = fused(lambda x, y: (x ^ (y << 1), x + y))
    run = jit(lambda number, x: jax.lax.fori_loop(0, number, lambda _, both: step(*both), (x, x)))
    compiled = run.lower(jnp.int32(9), jnp.zeros(2048, jnp.uint16)).compile().as_text()
    assert " while(" in compiled[compiled.index("\nENTRY ") :]


def three_moves(start):
    """What three random moves make of ``start``, with the rules traced anew."""
    step = go_playout.attempt.__wrapped__(5, 99)
    return jit(lambda p: step(step(step(p))))(start)


@pytest.mark.parametrize(("equations", "arrays"), [(300, 1000), (5000, 30), (1, 1)])
def test_splitting_into_kernels_changes_nothing(monkeypatch, equations, arrays):
    rng = np.random.default_rng(1)
    stones = rng.integers(0, 3, (2, 5, 5, 16))
    rows = [
        [jnp.asarray(((stones[0, r] == c + 1) << np.arange(5)[:, None]).sum(0), jnp.uint16) for r in range(5)]
        for c in range(2)
    ]
    zero = jnp.zeros(16, jnp.int32)
    start = go_playout.start(*rows, zero - 1, zero, zero > 0, jnp.arange(16, dtype=jnp.uint32), 5)
    found = []
    for limits in ((5000, 1000), (equations, arrays)):  # the first in one kernel
        monkeypatch.setattr(kernels, "MAX_EQUATIONS", limits[0])
        monkeypatch.setattr(kernels, "MAX_ARRAYS", limits[1])
        found.append([np.asarray(x) for x in jax.tree.leaves(three_moves(start))])
    assert all(np.array_equal(x, y) for x, y in zip(*found, strict=True))
    assert not np.array_equal(found[0][0], np.asarray(jax.tree.leaves(start)[0])), "something was played"


def as_a_tree(operands, init, combine, axes):
    """A reduction as another compiler might do it: halves are reduced alone, and then combined."""
    over_lanes = combine
    for _ in operands[0].shape[1:]:
        over_lanes = jax.vmap(over_lanes)
    first, second = ([x[i] for x in operands] for i in (0, 1))
    init = [jnp.broadcast_to(x, y.shape) for x, y in zip(init, first, strict=True)]
    return over_lanes(over_lanes(init, first), over_lanes(init, second))


def the_other_way_round(operands, init, combine, axes):
    return jax.lax.reduce(operands, init, lambda old, new: combine(new, old), axes)


def refused(*_):
    raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: variadic reductions")


@pytest.fixture
def unknown(monkeypatch, tmp_path):
    """Nothing is known yet of how this machine reduces, and what is found out is forgotten afterwards, by JAX, too, which
    from 0.12 on remembers what functions inside of others were traced to."""
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path))
    reduction_check.reduction_holds.cache_clear()
    jax.clear_caches()
    yield tmp_path
    reduction_check.reduction_holds.cache_clear()
    jax.clear_caches()


def reduced_by(monkeypatch, reduce):
    monkeypatch.setattr(kernels, "lax", SimpleNamespace(**{**vars(jax.lax), "reduce": reduce}))


@pytest.mark.parametrize("reduce", [as_a_tree, the_other_way_round, refused])
def test_a_compiler_that_reduces_otherwise_is_noticed_and_games_stay_right(monkeypatch, unknown, reduce):
    game = make_game("mnk:4x3,k=3")
    seeds = jnp.arange(40, dtype=jnp.uint32)
    states = initial_states(game, 40)
    expected = np.asarray(jit(lambda s: game.random_playout(states, s))(seeds))
    reduction_check.reduction_holds.cache_clear()
    next(unknown.glob("fused-*")).unlink()

    reduced_by(monkeypatch, reduce)
    with pytest.warns(RuntimeWarning, match="the plain form is used") as warned:
        found = jit(lambda s: game.random_playout(states, s))(seeds)
        jit(lambda s: game.random_playout(states, s))(seeds)
    assert len(warned) == 1
    assert np.array_equal(found, expected)
    if reduce is not refused:  # without the check one move would have gone wrong
        step = jit(jax.vmap(game.step, in_axes=(-1, None), out_axes=-1))(states, 0)
        monkeypatch.setattr(kernels, "reduction_holds", lambda _: True)
        jax.clear_caches()
        wrong = jit(jax.vmap(game.step, in_axes=(-1, None), out_axes=-1))(states, 0)
        assert any(not np.array_equal(x, y) for x, y in zip(step, wrong, strict=True))


def test_the_outcome_is_remembered_unless_its_file_is_of_no_use(monkeypatch, unknown):
    asked = []
    monkeypatch.setattr(reduction_check, "_is_right", lambda _: not asked.append(1))

    def ask():
        reduction_check.reduction_holds.cache_clear()
        return reduction_check.reduction_holds(kernels._reduction)

    assert ask() and ask() and len(asked) == 1
    (file,) = unknown.glob("fused-*.txt")
    for garbled in (b"hol", b"", b"\xff\xfe"):
        file.write_bytes(garbled)
        assert ask() and ask()
    assert len(asked) == 4
    file.write_text("fails")
    with pytest.warns(RuntimeWarning):
        assert not ask()
    monkeypatch.setattr(reduction_check.jaxlib.version, "__version__", "0.0")
    assert ask() and len(asked) == 5, "another jaxlib is asked anew"
    blocked = unknown / "a file"
    blocked.touch()
    monkeypatch.setenv("JUBANGO_CACHE", str(blocked))
    assert ask() and ask() and len(asked) == 7


def test_the_check_is_made_in_the_middle_of_any_trace(unknown):
    first, _ = two_stages()
    a = jnp.arange(8, dtype=jnp.uint16).reshape(2, 4)

    def inside(a):
        return jax.lax.cond(a[0] > 3, lambda: jax.vmap(fused(first))(a, a, a > 1), lambda: first(a, a, a > 1))

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("lanes",))
    spec = jax.sharding.PartitionSpec("lanes")
    out = jax.jit(jax.shard_map(jax.vmap(inside), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))(a)
    assert np.array_equal(out[0], a + a)
    assert [file.read_text() for file in unknown.glob("fused-*.txt")] == ["holds"]


def test_empty_arrays_on_several_devices():
    """JAX 0.11.2 dies where they are handed to ``jax.shard_map``."""
    number = jax.device_count()
    assert number > 1
    split, whole = machine.shard(number)
    rows, last, everywhere = split.spec, machine.split_last(2), whole.spec

    def inside(first, weights, columns):
        assert first["none"].shape == (3, 0, 2) and columns.shape == (0, 3)
        return {**first, "sum": first["some"] + weights["w"].sum()}, columns

    first = {"none": np.zeros((3 * number, 0, 2), np.int8), "some": np.arange(3 * number)}
    weights, columns = {"w": np.arange(4), "none": np.zeros((0, 4))}, np.zeros((0, 3 * number), np.uint16)
    mapped = machine.spread(inside, split.mesh, (rows, everywhere, last), (rows, last))
    found, same = jax.jit(mapped)(first, weights, columns)
    assert found["sum"].tolist() == (np.arange(3 * number) + 6).tolist()
    assert (found["none"].shape, found["none"].dtype) == ((3 * number, 0, 2), np.int8)
    assert (same.shape, same.dtype) == ((0, 3 * number), np.uint16)


def test_other_backends_than_the_cpu_get_the_plain_form(monkeypatch, unknown):
    """The back end's name is all that is pretended here: the plain form is compiled, and plays the same games."""
    game = make_game("go:3")
    states, seeds = initial_states(game, 9), jnp.arange(9, dtype=jnp.uint32)
    expected = jax.jit(lambda s: game.random_playout(states, s))(seeds)
    assert "reduce[" in str(jax.make_jaxpr(lambda s: game.random_playout(states, s))(seeds))
    monkeypatch.setattr(machine, "on_cpu", lambda: False)
    monkeypatch.setattr(kernels, "reduction_holds", refused)
    jax.clear_caches()
    assert "reduce[" not in str(jax.make_jaxpr(lambda s: game.random_playout(states, s))(seeds))
    assert np.array_equal(jax.jit(lambda s: game.random_playout(states, s))(seeds), expected)


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
