"""The kernels of a GPU compute what the plain form does, lane for lane and bit for bit. Here JAX interprets them."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute import kernels, lane_loops, machine, pallas_kernels, reduction_check
from jubango.sgf_games.compute.lane_loops import one_kernel, repeat
from jubango.sgf_games.rules import compiled
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states
from jubango.sgf_games.rules.go import playout


@pytest.fixture
def interpreted(monkeypatch, tmp_path):
    """Kernels are made of what is elementwise, as on a GPU."""
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path))
    holds = reduction_check.reduction_holds
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(kernels=True))
    monkeypatch.setattr(kernels, "reduction_holds", lambda form: form is kernels._pallas and holds(form))
    caches = [holds, playout._one_kernel_is_right, compiled._one_kernel_agrees, playout.attempt]
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()
    jax.clear_caches()


@pytest.fixture
def plain(interpreted, monkeypatch):
    """A context in which a CPU's own form is made."""

    @contextlib.contextmanager
    def made():
        with monkeypatch.context() as now:
            now.setattr(machine, "CPU", machine.CPU._replace(kernels=False))
            now.setattr(kernels, "reduction_holds", lambda _: True)
            yield

    return made


def equal(one, other):
    return all(np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (one, other)), strict=True))


def test_the_check_of_a_first_use_holds_and_is_kept(interpreted):
    assert kernels.in_pallas()
    assert [path.read_text() for path in interpreted.glob("fused-*")] == ["holds"]


def test_a_loop_is_inside_of_the_kernel_and_blocks_end_alone(interpreted):
    def step(carry):
        left, total = carry
        return (jnp.maximum(left - 1, 0), total + (left > 0)), left > 1

    number = np.arange(77, dtype=np.int32) % 9
    made = jax.jit(lambda n: one_kernel(step, (n, jnp.zeros_like(n)), n > 0))
    assert np.array_equal(made(number)[1], number)
    assert "pallas_call" in str(jax.make_jaxpr(made)(number))
    twelve = jax.jit(lambda n: repeat(12, lambda x: x * 3 + 1, n))
    expected = number
    for _ in range(12):
        expected = expected * 3 + 1
    assert np.array_equal(twelve(number), expected)


def test_a_loop_s_condition_reads_a_number_alone():
    """Of an array that the condition alone reads Triton's remove-layout-conversions makes a segmentation fault."""

    def loops(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "while":
                yield equation.params
            for part in equation.params.values():
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from loops(inner)

    made = jax.make_jaxpr(lambda n: pallas_kernels.repeated(lambda x: (x - 1, x > 1), [n], n > 1))(jnp.arange(40))
    assert [len(each["cond_jaxpr"].jaxpr.eqns) for each in loops(made.jaxpr)] == [0]

    def lane(x):
        return [jax.lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]]

    made = jax.make_jaxpr(lambda n: pallas_kernels.elementwise(lane, [n]))(jnp.arange(40))
    assert [len(each["cond_jaxpr"].jaxpr.eqns) for each in loops(made.jaxpr)] == [0]


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_bits_are_counted_as_triton_can(interpreted, dtype):
    rows = np.random.default_rng(1).integers(0, 1 << 15, (3, 40)).astype(dtype)
    counted = pallas_kernels.elementwise(lambda a, b, c: [bb.count([a, b, c])], list(map(jnp.asarray, rows)))
    bits = np.unpackbits(rows[..., None].view(np.uint8), axis=-1).sum(axis=(0, 2))
    assert np.array_equal(counted[0], bits)


CASES = [
    ("go:3", "random_playout_with_amaf"),
    ("go:3", "tactical_playout"),
    ("mnk:4x3,k=3", "random_playout_with_amaf"),
    ("othello:4", "random_playout_with_amaf"),
    ("hex:3", "random_playout_with_amaf"),
]


@pytest.mark.full
@pytest.mark.parametrize(("spec", "form"), CASES)
def test_games_are_the_same_move_for_move(interpreted, plain, monkeypatch, spec, form):
    for module in (playout, compiled):  # what it would find out at the start is found out here
        monkeypatch.setattr(module, "agrees", lambda *_: True)
    game, lanes = make_game(spec), 40
    states, seeds = initial_states(game, lanes), jnp.arange(lanes, dtype=jnp.uint32)
    forms = [getattr(game, form)]
    with plain():
        expected = [jax.device_get(jax.jit(lambda s, x, f=f: f(s, x))(states, seeds)) for f in forms]
        moves, games = [], states
        step = jax.jit(lambda s, a: jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(s, a))
        rng = np.random.default_rng(3)
        for _ in range(12):
            legal = np.asarray(jax.vmap(game.legal_action_mask, in_axes=-1)(games))
            action = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in legal], np.int32)
            games = step(games, action)
            moves.append((action, jax.device_get(games), legal))
    jax.clear_caches()
    for form, wanted in zip(forms, expected, strict=True):
        made = jax.jit(lambda s, x, f=form: f(s, x))
        assert equal(made(states, seeds), wanted), form
    step = jax.jit(lambda s, a: jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(s, a))
    assert "pallas_call" in str(jax.make_jaxpr(step)(states, moves[0][0]))
    legal_moves = jax.jit(jax.vmap(game.legal_action_mask, in_axes=-1))
    for action, after, legal in moves:
        assert np.array_equal(legal_moves(states), legal)
        states = step(states, action)
        assert equal(states, after)


@pytest.mark.full
def test_a_kernel_that_plays_otherwise_is_not_used(interpreted, plain, monkeypatch):
    """What Pallas makes is wrong here in one lane of a block: the games are those of the plain form, and a line says so."""
    game, lanes = make_game("mnk:4x3,k=3"), 40
    states, seeds = initial_states(game, lanes), jnp.arange(lanes, dtype=jnp.uint32)
    with plain():
        expected = jax.device_get(jax.jit(lambda s, x: game.random_playout(s, x))(states, seeds))
    right = lane_loops.repeated
    wrong = lambda step, leaves, live: [x.at[3].set(x[4]) for x in right(step, leaves, live)]  # noqa: E731
    monkeypatch.setattr(lane_loops, "repeated", wrong)
    with pytest.warns(RuntimeWarning, match=r"mnk.* the plain form is used"):
        found = jax.jit(lambda s, x: game.random_playout(s, x))(states, seeds)
    assert np.array_equal(found, expected)
