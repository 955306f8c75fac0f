"""States of environments are searched as they are: the same observation, Go's past, new games where old ones ended."""

from __future__ import annotations

import difflib
import functools
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.environments.env import game_state

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
LANES = 32


def keys(seed, lanes=LANES):
    return jax.random.split(jax.random.key(seed), lanes)


def random_actions(rng, legal):
    return jnp.asarray((rng.random(legal.shape) * np.asarray(legal)).argmax(1), jnp.int32)


@functools.cache
def program(spec, observation="pgx"):
    """(environment, init, step, step with new games, positions) of a batch."""
    env = jb.env(spec, observation)
    functions = env.init, env.step, jb.auto_reset(env.step, env.init), functools.partial(game_state, env.game)
    return env, *(jit(jax.vmap(function)) for function in functions)


@pytest.mark.parametrize(
    ("spec", "observation"),
    [("go:3", "pgx"), ("go:2,ko=positional", "game"), ("tic_tac_toe", "pgx")],
)
def test_a_search_sees_what_the_environment_shows(spec, observation):
    """At every state, and one step further inside the game that the search plays."""
    env, init, plain, step, position = program(spec, observation)
    game = env.game
    look = jit(jax.vmap(lambda x: (game.observe(x), game.legal_action_mask(x), game.current_player(x))))
    further = jit(jax.vmap(lambda x, a: game.step(game.without_history(x), a)))
    rng = np.random.default_rng(1)
    state = init(keys(1))
    for i in range(25):
        observed, legal, player = look(position(state))
        assert (observed.dtype, observed.shape[1:]) == (state.observation.dtype, env.observation_shape)
        assert np.array_equal(observed, state.observation)
        assert np.array_equal(player, (state.current_player - state._first) % 2)
        ended = np.asarray(state._step_count == 0)
        new = np.asarray(state.legal_action_mask).all(1) & ended
        assert np.asarray(legal)[new].all(), "a game that has just begun is no finished one"
        actions = random_actions(rng, legal)
        after = plain(state.replace(terminated=jnp.zeros(LANES, bool)), actions)
        seen = look(further(position(state), actions))[0]
        going = ~np.asarray(after.terminated)
        assert np.array_equal(np.asarray(seen)[going], np.asarray(after.observation)[going])
        state = step(state, actions, keys(i + 2))


def both(params, observations):
    """A network of sorts: likes what it is told to, and its own stones."""
    flat = observations.reshape(observations.shape[0], -1).astype(jnp.float32)
    return jnp.broadcast_to(params, (flat.shape[0], params.shape[0])), jnp.tanh(flat[:, ::2].sum(axis=-1) / 9)


def test_what_loses_by_repetition_is_not_searched():
    """On 3x3 some stones recreate a position; which, is known from the moves before, and no simulation goes there."""
    env, init, plain, step, position = program("go:3")
    legal_mask = jit(jax.vmap(env.game.legal_action_mask))
    search = jit(jb.Search(env, jb.Puct(), jb.PolicyValue(both), capacity=12))
    rng, forbidden, searched = np.random.default_rng(3), 0, 0
    state = init(keys(3))
    for i in range(40):
        legal, rules = np.asarray(legal_mask(position(state))), np.asarray(state.legal_action_mask)
        early = np.asarray(state._step_count) < 17  # the last move ends the game as well
        losing = np.zeros_like(rules)
        for action in range(9):
            tried = plain(state.replace(terminated=jnp.zeros(LANES, bool)), jnp.full(LANES, action))
            losing[:, action] = np.asarray(tried.terminated) & early & rules[:, action]
            rewards = np.asarray(tried.rewards)[np.arange(LANES), np.asarray(state.current_player)]
            assert (rewards[losing[:, action]] == -1).all()
        assert np.array_equal(losing[early], (rules & ~legal)[early])
        forbidden += int(losing.sum())
        if losing.any() and searched < 3:
            visits = np.asarray(search(jnp.zeros(10), state, jax.random.key(i)).visits)
            assert not visits[losing].any()
            assert visits[losing.any(axis=1)].sum(axis=1).all()
            searched += 1
        state = step(state, random_actions(rng, legal), keys(i + 4))
    assert forbidden > 3
    assert searched


def test_a_search_of_an_environments_states():
    """Rewards are the search's returns; what has just begun anew is searched; forbidden actions are not; the tree."""
    env, init, _, step, _ = program("tic_tac_toe")
    search = jb.Search(env, jb.Puct(), jb.PolicyValue(both), capacity=40)
    params, key = jnp.arange(9.0) / 9, jax.random.key(5)
    whole = jit(functools.partial(search, tree=True))
    state = init(keys(5))
    assert jb.Search("tic_tac_toe", jb.Puct(), "uniform", 4)  # a search of the game itself: of other states
    with pytest.raises(
        jb.UserError, match=r"tic_tac_toe: these are states of its environment; make the search of that"
    ):
        jb.Search("tic_tac_toe", jb.Puct(), "uniform", 4)(params, state, key)
    none = jnp.zeros((LANES, 9), bool)
    for action in (0, 3, 1, 4):  # two in a row each
        found = whole(params, state, key, invalid_actions=none.at[:, 8].set(True))
        assert not found.visits[:, 8].any() and not found.priors[:, 8].any()
        assert (found.visits.sum(axis=1) == 40).all()
        assert np.array_equal(found.policy, found.action_weights)
        tree, summary = found.search_tree, found.search_tree.summary()
        assert np.array_equal(summary.visit_counts, found.visits)
        assert np.array_equal(summary.qvalues, found.values) and np.array_equal(summary.value, found.value)
        assert np.allclose(summary.visit_probs.sum(axis=1), 1)
        b, node = np.nonzero(np.asarray(tree.parents) >= 0)
        above, by = np.asarray(tree.parents)[b, node], np.asarray(tree.action_from_parent)[b, node]
        assert (np.asarray(tree.children_index)[b, above, by] == node).all()
        assert (np.asarray(tree.children_visits)[b, above, by] == np.asarray(tree.node_visits)[b, node]).all()
        turned = np.where(np.asarray(tree.player)[b, above] == np.asarray(tree.player)[b, node], 1, -1)
        assert np.allclose(
            np.asarray(tree.children_qvalues)[b, above, by], turned * np.asarray(tree.node_values)[b, node], atol=1e-6
        )
        state = step(state, jnp.full(LANES, action), keys(action))
    roots = jit(search)(params, state, key)
    assert roots.search_tree.node_visits.shape == (LANES, 1)
    assert (roots.action == 2).all() and np.allclose(roots.values[:, 2], 1), "a win, which the environment rewards"
    mover = state.current_player
    state = step(state, roots.action, keys(9))
    assert state.terminated.all() and (state.rewards[jnp.arange(LANES), mover] == 1).all()
    again = jit(search)(params, state, key)  # a new game has begun
    assert (again.visits > 0).all()
    nowhere = jit(search)(params, state, key, invalid_actions=~none)  # any action, and no error
    assert ((nowhere.action >= 0) & (nowhere.action < 9)).all() and not nowhere.visits.any()
    (one,) = jb.run_many(search, [jax.tree.map(lambda x: x[0], init(keys(5)))], params=params)
    assert one.visits.sum() == 40


def test_a_script_for_pgx_and_mctx_changes_by_a_line_each():
    """One for the environment and one for the search, the imports aside; what else differs is gone."""
    ours, theirs = (
        (ROOT / path).read_text().split('"""', 2)[2].splitlines()
        for path in ("examples/alphazero.py", "benchmarks/alphazero_mctx.py")
    )
    new = [line[2:].strip() for line in difflib.ndiff(theirs, ours) if line.startswith("+ ") and line[2:].strip()]
    assert [line.split(" = ")[0] for line in new] == [
        "import jubango as jb",
        "from jubango import auto_reset",
        "env",
        "output",
    ]


def test_alphazero_learns_on_an_environment():
    command = [sys.executable, "examples/alphazero.py", "--game", "tic_tac_toe", "--updates", "2"]
    done = subprocess.run(
        [*command, "--games", "8", "--steps", "8", "--simulations", "4"], cwd=ROOT, capture_output=True, text=True
    )
    assert re.fullmatch(r"update   2  policy loss [0-9.]+  mean reward against random [+-][0-9.]+\n", done.stdout), (
        done.stderr
    )
