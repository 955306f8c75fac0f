"""Environments are pgx's, step by step; where pgx has no such game, they are the game's."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Tiny

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.environments.env import EnvState, auto_reset, env
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.go.moves import chains_with_two_liberties

pytestmark = pytest.mark.full
pgx = pytest.importorskip("pgx")
pgx_auto_reset = pytest.importorskip("pgx.experimental.wrappers").auto_reset
PgxGo = pytest.importorskip("pgx.go").Go

LANES = 64
FIELDS = [
    "current_player", "observation", "rewards", "terminated", "truncated", "legal_action_mask", "_step_count",
]  # fmt: skip
PAIRS = {
    "tic_tac_toe": lambda: pgx.make("tic_tac_toe"),
    "connect_four": lambda: pgx.make("connect_four"),
    "go:3": lambda: PgxGo(size=3),
    "go:9": lambda: pgx.make("go_9x9"),
}


class Batch:
    """Compiled functions of an environment over a batch."""

    def __init__(self, environment, reset=auto_reset):
        self.env = environment
        self.init, self.step = jit(jax.vmap(environment.init)), jit(jax.vmap(environment.step))
        self.reset = jit(jax.vmap(reset(environment.step, environment.init)))


@functools.cache
def batches(spec):
    return Batch(env(spec)), Batch(PAIRS[spec](), pgx_auto_reset)


def keys(seed, lanes=LANES):
    return jax.random.split(jax.random.key(seed), lanes)


def assert_same(ours, theirs, fields=FIELDS):
    for field in fields:
        a, b = np.asarray(getattr(ours, field)), np.asarray(getattr(theirs, field))
        assert a.dtype == b.dtype, field
        assert np.array_equal(a, b), field


def random_actions(rng, legal):
    return jnp.asarray((rng.random(legal.shape) * np.asarray(legal)).argmax(1), jnp.int32)


@pytest.mark.parametrize("spec", PAIRS)
def test_names_and_shapes_are_those_of_pgx(spec):
    ours, theirs = (batch.env for batch in batches(spec))
    for name in ("id", "version", "num_players", "num_actions", "observation_shape"):
        assert getattr(ours, name) == getattr(theirs, name), name


def play_both(spec, seed, lanes=LANES):
    """Random games to the end in both, compared at every step; returns pgx's last states."""
    (ours, theirs), rng = batches(spec), np.random.default_rng(seed)
    a, b = ours.init(keys(seed, lanes)), theirs.init(keys(seed, lanes))
    assert_same(a, b)
    while not bool(b.terminated.all()):
        actions = random_actions(rng, b.legal_action_mask)
        a, b = ours.step(a, actions), theirs.step(b, actions)
        assert_same(a, b)
    return b


@settings(max_examples=6, deadline=None)
@given(st.sampled_from(["tic_tac_toe", "connect_four", "go:3"]), st.integers(0, 2**31 - 1))
def test_every_step_is_as_in_pgx(spec, seed):
    play_both(spec, seed)


def test_go_9x9_is_as_in_pgx():
    play_both("go:9", seed=1, lanes=16)


def test_repetition_loses_as_in_pgx():
    repeated = sum(int(play_both("go:3", seed)._x.is_psk.sum()) for seed in range(12))
    assert repeated > 3


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "go:3"])
def test_auto_reset_is_that_of_pgx(spec):
    """Both wrappers on ours, and pgx's on pgx's, over many games in every lane."""
    ours, theirs = batches(spec)
    wrapped = jit(jax.vmap(pgx_auto_reset(ours.env.step, ours.env.init)))
    rng, ended = np.random.default_rng(5), 0
    a, b = ours.init(keys(5)), theirs.init(keys(5))
    c = a
    for i in range(60):
        actions = random_actions(rng, b.legal_action_mask)
        a, b, c = ours.reset(a, actions, keys(i)), theirs.reset(b, actions, keys(i)), wrapped(c, actions, keys(i))
        assert_same(a, b)
        assert_same(c, b)
        ended += int(a.terminated.sum())
    assert ended > 2 * LANES


def test_our_auto_reset_wraps_environments_of_pgx():
    theirs = PAIRS["tic_tac_toe"]()
    step, expected = (jit(jax.vmap(r(theirs.step, theirs.init))) for r in (auto_reset, pgx_auto_reset))
    rng = np.random.default_rng(6)
    a = b = batches("tic_tac_toe")[1].init(keys(6))
    for i in range(15):
        actions = random_actions(rng, b.legal_action_mask)
        a, b = step(a, actions, keys(i)), expected(b, actions, keys(i))
        assert_same(a, b)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "go:3"])
def test_an_illegal_action_loses_and_a_finished_game_stays(spec):
    ours, theirs = batches(spec)
    rng = np.random.default_rng(7)
    a, b = ours.init(keys(7)), theirs.init(keys(7))
    for _ in range(40):  # until every lane has an illegal action or is over
        actions = np.asarray(random_actions(rng, b.legal_action_mask))
        has_illegal = ~np.asarray(b.legal_action_mask).all(1)
        actions = np.where(has_illegal, np.asarray(b.legal_action_mask).argmin(1), actions)
        before = a
        a, b = ours.step(a, jnp.asarray(actions)), theirs.step(b, jnp.asarray(actions))
        assert_same(a, b, [f for f in FIELDS if f != "observation"])  # pgx plays the illegal move on its board
        broken = np.flatnonzero(has_illegal)
        for old, new in zip(jax.tree.leaves(before._x), jax.tree.leaves(a._x), strict=True):
            assert np.array_equal(np.asarray(old)[broken], np.asarray(new)[broken])
    assert bool(a.terminated.all())
    again = ours.step(a, jnp.zeros(LANES, jnp.int32))
    assert not again.rewards.any()
    assert_same(again, a)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "go:3"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_players_see_what_they_see_in_pgx(spec):
    ours, theirs = batches(spec)
    rng = np.random.default_rng(8)
    a, b = ours.init(keys(8)), theirs.init(keys(8))
    see = [jit(jax.vmap(batch.env.observe, in_axes=(0, None))) for batch in (ours, theirs)]
    for _ in range(9):
        for player in (0, 1):
            assert np.array_equal(see[0](a, jnp.int32(player)), see[1](b, jnp.int32(player)))
        assert np.array_equal(jit(jax.vmap(ours.env.observe))(a), a.observation)
        actions = random_actions(rng, b.legal_action_mask)
        a, b = ours.step(a, actions), theirs.step(b, actions)


def test_a_truncated_game_stays():
    ours, _ = batches("tic_tac_toe")
    start = ours.init(keys(9)).replace(truncated=jnp.ones(LANES, bool))
    after = ours.step(start, jnp.full(LANES, 4))
    assert_same(after, start)


@pytest.mark.parametrize("spec", ["go:5x4", "go:4x3,ko=positional", "go:4x3,suicide=true", "go:1"])
def test_rules_of_go_are_those_of_the_game(spec):
    """Masks and boards against the game's own rules; what is known of chains against floods from scratch."""
    game, batch, rng = make_game(spec), Batch(env(spec)), np.random.default_rng(10)
    follow, legal_mask = jit(jax.vmap(game.step)), jit(jax.vmap(game.legal_action_mask))
    safe = jit(jax.vmap(lambda x: chains_with_two_liberties(game.width, bb.unpack(x.own), bb.unpack(x.opp))))
    a = batch.init(keys(10))
    x = jax.tree.map(lambda leaf: jnp.stack([leaf] * LANES), initial_state(game))
    stones = jit(jax.vmap(lambda x: bb.to_bits(x.own, game.width)))
    for ply in range(1, batch.env.max_plies + 1):
        going = ~np.asarray(a.terminated)
        actions = random_actions(rng, a.legal_action_mask)
        a, x = batch.step(a, actions), follow(x, actions)
        going &= ~np.asarray(a.terminated)
        assert np.array_equal(np.asarray(a.legal_action_mask)[going], np.asarray(legal_mask(x))[going])
        board = a._x.board
        if isinstance(board.own, list):
            assert np.array_equal(np.stack(board.own, 1)[going], np.asarray(x.own)[going])
            for known, true in zip((board.own_safe, board.opp_safe), safe(x), strict=True):
                assert np.array_equal(np.stack(known, 1)[going], np.stack(true, 1)[going])
        planes = np.asarray(a.observation)
        assert np.array_equal(planes[..., 0].reshape(LANES, -1)[going], np.asarray(stones(x))[going])
        assert np.array_equal(planes[going, 0, 0, -1], np.full(going.sum(), ply % 2 == 1))
    assert bool(a.terminated.all())


def test_a_drawn_game_of_go_rewards_nobody():
    environment = env("go:3,komi=9")
    state, step = jit(environment.init)(jax.random.key(0)), jit(environment.step)
    assert environment.id == "go:3,komi=9"
    for action in (4, 9, 9):  # Black has all nine points
        state = step(state, jnp.int32(action))
    assert bool(state.terminated)
    assert not state.rewards.any()


def test_other_games_are_seen_as_they_show_themselves():
    game, batch, rng = make_game("gomoku:6"), Batch(env("gomoku:6")), np.random.default_rng(11)
    assert batch.env.id == "gomoku:6"
    a = batch.init(keys(11))
    x = jax.tree.map(lambda leaf: jnp.stack([leaf] * LANES), initial_state(game))
    follow = jit(jax.vmap(game.step))
    look = jit(jax.vmap(lambda x: (game.observe(x), game.is_terminal(x), game.returns(x))))
    first, total = np.asarray(a.current_player), np.zeros((LANES, 2))
    for _ in range(36):
        actions = random_actions(rng, a.legal_action_mask)
        a, x = batch.step(a, actions), follow(x, actions)
        observation, over, returns = look(x)
        assert np.array_equal(a.observation, observation)
        assert np.array_equal(a.terminated, over)
        assert np.asarray(a.legal_action_mask)[np.asarray(over)].all()
        total += np.asarray(a.rewards)
    assert np.array_equal(total, np.where(first[:, None] == 0, returns, np.asarray(returns)[:, ::-1]))
    assert set(first) == {0, 1}
    assert bool(a.terminated.all())
    assert total.any()


@dataclass(frozen=True)
class Alone(Tiny):
    """A game for one: three steps, and what the last action was is what it is worth."""

    num_players: ClassVar[int] = 1

    def init(self):
        return jnp.zeros(2, jnp.int32)

    def step(self, state, action):
        return jnp.stack([state[0] + 1, action])

    def legal_action_mask(self, state):
        return jnp.arange(self.actions) != 3

    def current_player(self, state):
        return jnp.int32(0)

    def is_terminal(self, state):
        return state[0] >= 3

    def returns(self, state):
        return jnp.where(self.is_terminal(state), state[1] / 2.0, 0.0)[None].astype(jnp.float32)

    def observe(self, state):
        return state.astype(jnp.float32).reshape(1, 2, 1)


def test_a_game_of_ones_own_for_one_player():
    environment = env(Alone())
    state = jit(environment.init)(jax.random.key(3))
    step = jit(environment.step)
    assert (environment.num_players, environment.num_actions, environment.observation_shape) == (1, 4, (1, 2, 1))
    for rewarded in (0.0, 0.0, 1.0):
        state = step(state, 2)
        assert state.rewards.tolist() == [rewarded]
    assert isinstance(state, EnvState)
    assert bool(state.terminated)
    lost = step(environment.init(jax.random.key(3)), 3)
    assert (lost.rewards.tolist(), bool(lost.terminated)) == ([-1.0], True)
    with pytest.raises(UserError, match="shown to the player to move only"):
        environment.observe(state, jnp.int32(0))


def test_the_batch_does_not_matter():
    """One game alone, and the same game in a batch."""
    ours, _ = batches("go:3")
    a = ours.init(keys(12))
    one, step = jax.tree.map(lambda x: x[3], a), jit(ours.env.step)
    rng = np.random.default_rng(12)
    for _ in range(12):
        actions = random_actions(rng, a.legal_action_mask)
        a, one = ours.step(a, actions), step(one, actions[3])
        assert_same(jax.tree.map(lambda x: x[3], a), one)


def test_pgx_is_not_needed():
    code = (
        "import sys; sys.modules['pgx'] = None\nimport jax\nfrom jubango.sgf_games.environments.env import env\n"
        "e = env('tic_tac_toe'); s = e.step(e.init(jax.random.key(0)), 4)\nassert s.observation[1, 1, 1]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
