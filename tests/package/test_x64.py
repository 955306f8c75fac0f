"""With ``jax_enable_x64``, as people who do numerics have it, every search, game and environment works as without it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.rules.compiled import initial_state

pytestmark = pytest.mark.full

GAME = jb.make_game("tic_tac_toe")
GAMES = "tic_tac_toe", "connect_four", "go:5", "go:5,ko=positional,suicide=true", "gomoku:7"
LANES = 4


def evaluate(params, game, state, legal, seed):
    """A function as people write it, of whatever type it comes to."""
    planes = game.observe(state).reshape(-1)
    return jnp.exp(jnp.sin(jnp.arange(game.num_actions) * params)), jnp.tanh(planes.sum() / 9 - 0.3)


def searches():
    """name -> (search, params, numbers): every part of a search at least once."""
    from nets import random_weights

    shape = Shape.of(GAME, 4, 1)
    network = jb.NetworkEvaluator(shape)
    mixed = jb.Mixed(network, jb.Rollout(2, "policy", jb.Heuristic(), "random"))
    make = functools.partial(jb.Search, GAME, capacity=12)
    dice = {"noise": 0.25, "temperature": 1.0}
    return {
        "puct": (make(jb.Puct(19652.0, "parent"), evaluate, width=5, ties="random"), 0.7, dice),
        "uct": (make(jb.Ucb1("prior"), jb.Rollout()), (), {}),
        "gumbel": (make(jb.Gumbel(), evaluate), 0.7, {}),
        "rave": (make(jb.Rave(), jb.Rollout(amaf=True)), (), {"bias": 0.1}),
        "alphago": (
            make(jb.AlphaGo(), jb.Heuristic(), opponent="sampled", draws="random", cutoff="draw"),
            (),
            {"depth": 3},
        ),
        "mixed": (make(jb.Puct(), mixed), (random_weights(shape), ()), {}),
        "solver": (make(jb.Ucb1(), jb.Uniform(), solver=True, transpositions=True, leaves=3), (), {}),
    }


def positions():
    first = jax.vmap(lambda _: GAME.init())(jnp.arange(LANES))
    return jax.vmap(GAME.step)(first, jnp.arange(LANES, dtype=jnp.int32))


def types_of(tree):
    return [str(x.dtype) for x in jax.tree.leaves(tree)]


def types():
    """name -> the types of all that searches, rules and environments give, without compiling any."""
    key, lanes = jax.random.key(1), jax.ShapeDtypeStruct((LANES,), jnp.uint32)
    action = jax.ShapeDtypeStruct((), jnp.int32)
    out = {}
    for name, (search, params, numbers) in searches().items():
        out[name] = types_of(jax.eval_shape(functools.partial(search, **numbers), params, positions(), key))
    for spec in GAMES:
        game, env = jb.make_game(spec), jb.env(spec)
        state = jax.eval_shape(game.init)
        for name in ("legal_action_mask", "current_player", "is_terminal", "returns", "observe", "heuristic", "margin"):
            out[f"{spec} {name}"] = types_of(jax.eval_shape(getattr(game, name), state))
        out[f"{spec} transposition_key"] = types_of(jax.eval_shape(game.transposition_key, state))
        out[f"{spec} step"] = types_of(jax.eval_shape(game.step, state, action))
        several = jax.eval_shape(
            lambda game=game: jax.tree.map(lambda x: jnp.stack([x] * LANES, -1), game.without_history(game.init()))
        )
        for name in ("random_playout_with_amaf", "tactical_playout_with_firsts", "random_ends"):
            out[f"{spec} {name}"] = types_of(jax.eval_shape(getattr(game, name), several, lanes))
        begun = jax.eval_shape(env.init, key)
        out[f"{spec} env"] = types_of(jax.eval_shape(jb.auto_reset(env.step, env.init), begun, action, key))
    return out


def findings():
    """What is found in positions of tic-tac-toe by one search inside of JAX and by another from outside of it, in an
    ensemble; and the types of everything."""
    search, params, numbers = searches()["puct"]
    found = jax.jit(functools.partial(search, **numbers))(params, positions(), jax.random.key(1))
    run = jb.run(jb.Search(GAME, jb.Ucb1(), jb.Uniform(), 12), initial_state(GAME), ensemble=2)
    out = {name: np.asarray(x).tolist() for name, x in found._asdict().items() if isinstance(x, jax.Array)}
    out |= {"run visits": run.visits.tolist(), "run values": run.values.tolist(), "run action": run.action}
    return out | types()


def test_searches_find_the_same():
    environment = os.environ | {"JAX_ENABLE_X64": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs, ours = json.loads(done.stdout), json.loads(json.dumps(findings()))
    for name, own in ours.items():
        if name in ("policy", "priors", "values", "value", "raw_value", "run values"):
            assert np.allclose(theirs[name], own, atol=1e-6), name  # the function's own numbers are more exact there
        else:
            assert theirs[name] == own, name
    assert set(theirs["puct"]) == {"int32", "float32"}


if __name__ == "__main__":
    assert jnp.zeros(1).dtype == jnp.float64
    warnings.simplefilter("error", FutureWarning)  # what is not cast in so many words
    json.dump(findings(), sys.stdout)
