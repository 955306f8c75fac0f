"""jb.Search as others use it: a pure function in their own programs, with their own weights, held against mctx inside
one self-play loop; and many networks and many sizes in one process."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest
from jax.sharding import Mesh
from nets import random_weights

import jubango as jb
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.compute import machine
from jubango.sgf_games.rules.compiled import rules

pytestmark = pytest.mark.full

SIMULATIONS, MOVES = 24, 8
PLIES = {"go:4": (0, 1, 3, 5, 7, 9, 11, 13), "connect_four": (0, 2, 8, 14, 18, 22, 26, 30)}
RULES = {"puct": jb.Puct(base=19652.0), "gumbel": jb.Gumbel()}


def network(params, planes):
    """(logits [A], value) of one position; any network will do."""
    hidden = jnp.tanh(planes.reshape(-1) @ params["hidden"])
    return hidden @ params["policy"], jnp.tanh(hidden @ params["value"])


def weights(game, seed):
    rng = np.random.default_rng(seed)
    size = int(np.prod(jax.eval_shape(game.observe, jax.eval_shape(game.init)).shape))
    shapes = {"hidden": (size, 16), "policy": (16, game.num_actions), "value": (16,)}
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def evaluate(params, game, state, legal, seed):
    logits, value = network(params, game.observe(state))
    return jax.nn.softmax(logits), value


@functools.cache
def starts(spec):
    """Positions after random moves, stacked along the first axis."""
    game = jb.make_game(spec)
    step, view = rules(game)[:2]
    rng, states = np.random.default_rng(4), []
    while len(states) < len(PLIES[spec]):
        state = game.init()
        for _ in range(PLIES[spec][len(states)]):
            state = step(state, int(rng.choice(np.flatnonzero(view(state).legal))))
            if view(state).terminal:
                break
        else:
            states.append(jax.device_get(state))
    return jax.tree.map(lambda *xs: np.stack(xs), *states)


class Root(NamedTuple):
    """What one library says of the positions of a move."""

    action: jax.Array
    visits: jax.Array
    values: jax.Array
    policy: jax.Array
    value: jax.Array


def by_jubango(game, kind):
    search = jb.Search(game, RULES[kind], evaluate, SIMULATIONS)

    def look(params, states, key):
        found = search(params, states, key, c=1.25, gumbel_scale=0.0)
        return Root(found.action, found.visits, found.values, found.policy, found.value)

    return look


def by_mctx(game, kind):
    mctx = pytest.importorskip("mctx")

    def judge(params, state):
        logits, value = network(params, game.observe(state))
        return jnp.where(game.legal_action_mask(state), logits, -1e9), value

    def step(params, action, state):
        after = game.step(state, action)
        over = game.is_terminal(after)
        logits, value = judge(params, after)
        gain = game.returns(after)[game.current_player(state)]
        out = mctx.RecurrentFnOutput(
            reward=jnp.where(over & ~game.is_terminal(state), gain, 0.0), discount=jnp.where(over, 0.0, -1.0),
            prior_logits=logits, value=jnp.where(over, 0.0, value),
        )  # fmt: skip
        return out, after

    def legal_q(tree, node):  # mctx itself masks illegal actions at the root alone
        return jnp.where(tree.children_prior_logits[node] > -1e8, tree.qvalues(node), -1e6)

    def look(params, states, key):
        legal = jax.vmap(game.legal_action_mask)(states)
        logits, value = jax.vmap(functools.partial(judge, params))(states)
        root = mctx.RootFnOutput(
            prior_logits=jnp.where(legal, logits, -1e9), value=value, embedding=jax.vmap(game.without_history)(states)
        )
        recurrent = lambda p, _, a, s: jax.vmap(functools.partial(step, p))(a, s)  # noqa: E731
        common = params, key, root, recurrent, SIMULATIONS
        if kind == "gumbel":
            out = mctx.gumbel_muzero_policy(*common, invalid_actions=~legal, gumbel_scale=0.0)
        else:
            out = mctx.muzero_policy(
                *common, invalid_actions=~legal, dirichlet_fraction=0.0, qtransform=legal_q, temperature=0.0
            )
        root = out.search_tree.summary()
        return Root(out.action, root.visit_counts, root.qvalues, out.action_weights, root.value)

    return look


def self_play(game, look):
    """One program: search, draw a move from the policy, play it, begin a finished game anew."""

    def move(params, states, key):
        found = look(params, states, key)
        drawn = jax.random.categorical(key, jnp.log(found.policy))
        after = jax.vmap(game.step)(states, drawn)
        over = jax.vmap(game.is_terminal)(after)
        fresh = jax.tree.map(
            lambda new, old: jnp.where(over.reshape(-1, *[1] * new.ndim), new, old), game.init(), after
        )
        return fresh, (found, drawn, over)

    def play(params, states, key):
        keys = jax.random.split(key, MOVES)
        return jax.lax.scan(functools.partial(move, params), states, keys)[1]

    return jax.jit(play)


@pytest.mark.parametrize(("spec", "kind"), list(zip(PLIES, RULES, strict=True)))
def test_self_play_is_mctx_s(spec, kind):
    """The same games, and the same numbers at every move's root; Gumbel's noise is off."""
    game = jb.make_game(spec)
    arguments = weights(game, 1), starts(spec), jax.random.key(3)
    ours, moves, over = jax.device_get(self_play(game, by_jubango(game, kind))(*arguments))
    theirs, their_moves, _ = jax.device_get(self_play(game, by_mctx(game, kind))(*arguments))
    assert np.array_equal(moves, their_moves)
    assert np.array_equal(ours.visits, theirs.visits)
    assert (ours.visits.sum(axis=-1) == SIMULATIONS).all()
    assert ours.policy == pytest.approx(theirs.policy, abs=1e-4)
    assert ours.value == pytest.approx(theirs.value, abs=1e-4)
    visited = ours.visits > 0
    assert ours.values[visited] == pytest.approx(theirs.values[visited], abs=1e-4)
    most = ours.visits == ours.visits.max(axis=-1, keepdims=True)
    if kind == "gumbel":
        assert np.array_equal(ours.action, theirs.action)
    else:  # mctx draws lots among the most visited
        one = most.sum(axis=-1) == 1
        assert np.array_equal(ours.action[one], theirs.action[one])
        assert np.take_along_axis(most, ours.action[..., None], axis=-1).all()
        assert one.mean() > 0.5
    assert len(np.unique(moves)) > 5, "these are games"
    assert over.any() or spec != "connect_four", "some of which end"


# -- under the user's own transformations ------------------------------------------------------------

TTT = jb.make_game("tic_tac_toe")
LANES = 8  # a whole number for each device


@functools.cache
def openings():
    """Positions of tic-tac-toe after one move or two, stacked along the first axis."""
    states = [rules(TTT).step(TTT.init(), action) for action in range(LANES)]
    states[1:4] = [rules(TTT).step(state, 8) for state in states[1:4]]
    return jax.tree.map(lambda *xs: np.stack(xs), *states)


def as_leaves(params, game, state, legal, seed):
    """The network, its weights in a pytree of any kind, in order."""
    return evaluate(
        dict(zip(("hidden", "policy", "value"), jax.tree.leaves(params), strict=True)), game, state, legal, seed
    )


def same(found, expected):
    """Equal but for the last bits of sums that were made in other batches."""
    for name, own, other in zip(found._fields, found, expected, strict=True):
        if name in ("action", "visits"):
            assert np.array_equal(own, other), name
        else:
            for one, another in zip(jax.tree.leaves(own), jax.tree.leaves(other), strict=True):
                assert np.asarray(one) == pytest.approx(np.asarray(another), abs=1e-5), name


def test_it_is_a_pure_function():
    """As it is, compiled by jax.jit and jb.jit, in a scan, and split over all devices: the same."""
    search, params, states = jb.Search(TTT, jb.Puct(), evaluate, 16), weights(TTT, 1), openings()
    keys = jax.random.split(jax.random.key(5), 3)
    dice = functools.partial(search, simulations=12, noise=0.25, temperature=1.0)
    compiled = jax.jit(dice)
    each = [compiled(params, states, key) for key in keys]
    same(dice(params, states, keys[0]), each[0])
    same(jb.jit(dice)(params, states, keys[1]), each[1])
    scanned = jax.jit(lambda: jax.lax.scan(lambda _, key: (None, dice(params, states, key)), None, keys)[1])()
    same(scanned, jax.tree.map(lambda *xs: np.stack(xs), *each))
    assert not np.array_equal(each[0].visits, each[1].visits), "the key decides"
    assert not np.array_equal(each[0].action, each[1].action)

    certain = functools.partial(search, gumbel_scale=0.0)
    mesh, whole, split = jax.make_mesh((jax.device_count(),), ("games",)), jax.P(), jax.P("games")
    assert jax.device_count() > 1
    spread = jax.shard_map(certain, mesh=mesh, in_specs=(whole, split, whole), out_specs=split)
    found = jax.jit(spread)(params, jax.device_put(states, jax.NamedSharding(mesh, split)), keys[0])
    assert len(found.visits.sharding.device_set) == jax.device_count()
    same(found, jax.jit(certain)(params, states, keys[1]))
    assert (found.visits.sum(axis=1) == 16).all()


@pytest.mark.parametrize("loops", [machine.CPU, machine.ACCELERATOR], ids=["cpu", "accelerator"])
@pytest.mark.parametrize("spec", ["go:3", "connect_four"])
def test_shard_map_knows_what_varies(spec, loops, monkeypatch):
    """Its check of types passes every part of a search: what begins as a constant and becomes each device's own."""
    monkeypatch.setattr(machine, "CPU", loops._replace(kernels=False))
    game = jb.make_game(spec)
    states = jax.vmap(lambda _: game.init())(jnp.arange(8 * jax.device_count()))
    mesh, split = Mesh(np.array(jax.devices()), ("games",)), jax.P("games")
    network = jb.NetworkEvaluator(Shape.of(game, 4, 1))
    evaluator = jb.Mixed(network, jb.Rollout(moves="tactical", amaf=True))
    params = random_weights(network.shape), ()
    for search in (
        jb.Search(game, jb.Rave(), evaluator, 8, solver=True, transpositions=True, leaves=2),
        jb.Search(game, jb.Gumbel(), jb.Rollout(moves="policy", policy=jb.Heuristic()), 8, opponent="sampled"),
    ):
        own = params if search.evaluator is evaluator else ()
        spread = jax.shard_map(search, mesh=mesh, in_specs=(jax.P(), split, jax.P()), out_specs=split)
        found = jax.eval_shape(spread, own, states, jax.random.key(0))
        assert found.visits.shape == (8 * jax.device_count(), game.num_actions)


def test_weights_are_arguments():
    """Others of the same shapes run the same program and are what is searched with; any pytree will do."""
    traces = []

    def counted(params, game, state, legal, seed):
        traces.append(params)
        return as_leaves(params, game, state, legal, seed)

    search, states, key = jb.Search(TTT, jb.Puct(), counted, 16), openings(), jax.random.key(0)
    compiled, networks = jax.jit(search), [weights(TTT, seed) for seed in range(4)]
    for kind in (dict, lambda w: tuple(w.values()), lambda w: [[w["hidden"]], {"a": w["policy"], "b": w["value"]}]):
        found = [compiled(kind(networks[0]), states, key)]
        known = len(traces)
        found += [compiled(kind(params), states, key) for params in networks[1:]]
        assert len(traces) == known > 0, "one program for all weights of a kind"
        for params, output in zip(networks, found, strict=True):
            logits, value = jax.vmap(functools.partial(network, params))(jax.vmap(TTT.observe)(states))
            assert np.asarray(output.raw_value) == pytest.approx(np.asarray(value), abs=1e-5)
            legal = jax.vmap(TTT.legal_action_mask)(states)
            prior = jax.nn.softmax(jnp.where(legal, logits, -jnp.inf))
            assert np.asarray(output.priors) == pytest.approx(np.asarray(prior), abs=1e-5)
        assert len({np.asarray(output.visits).tobytes() for output in found}) == len(networks)
        if kind is dict:
            expected = found
        for output, first in zip(found, expected, strict=True):
            same(output, first)


def test_numbers_may_be_traced():
    """Of all positions or of each: what a call with the numbers themselves finds."""
    search, key = jb.Search(TTT, jb.Puct(), evaluate, 16), jax.random.key(0)
    params, states = weights(TTT, 1), openings()
    traced = jax.jit(lambda c, n, depth: search(params, states, key, c=c, simulations=n, depth=depth))
    each = np.arange(1, LANES + 1, dtype=np.int32)
    found = traced(np.linspace(0.5, 4, LANES, dtype=np.float32), each, np.int32(0))
    assert np.array_equal(found.visits.sum(axis=1), each)
    alone = jax.jit(functools.partial(search, c=3.0, simulations=6))(params, states, key)
    same(jax.tree.map(lambda x: x[5], alone), jax.tree.map(lambda x: x[5], found))


# -- many networks and many sizes in one process -------------------------------------------------------

COMPILED = []  # every program that this process has compiled or loaded since


def _heard(event, seconds, **_):
    if event == "/jax/core/compile/backend_compile_duration":
        COMPILED.append(seconds)


jax.monitoring.register_event_duration_secs_listener(_heard)

ROWS = 1 << 20  # 4 MiB of weights
TRACES = []


def from_table(params, game, state, legal, seed):
    """Many weights, of which a position needs few."""
    TRACES.append(params)
    planes = game.observe(state).reshape(-1).astype(jnp.int32)
    place = jnp.sum(planes * (jnp.arange(planes.size) * 7919 + 13) ** 2) % (ROWS - 10)
    row = jax.lax.dynamic_slice(params["table"], (place,), (10,))
    return jax.nn.softmax(row[:9]), jnp.tanh(row[9])


@pytest.mark.parametrize("way", ["run_many", "jit"])
def test_32_networks_in_turn(way):
    """Neither programs nor weights pile up."""
    search, states, rng = jb.Search(TTT, jb.Puct(), from_table, 24), openings(), np.random.default_rng(1)
    if way == "jit":
        compiled = jax.jit(search)
        look = lambda params: compiled(params, states, jax.random.key(0)).visits  # noqa: E731
    else:
        listed = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(LANES)]
        look = lambda params: [found.visits for found in jb.run_many(search, listed, params=params)]  # noqa: E731

    def found(networks):
        return {
            np.asarray(look({"table": rng.normal(0, 1, ROWS).astype(np.float32)})).tobytes() for _ in range(networks)
        }

    found(4)
    before = len(COMPILED), len(TRACES), psutil.Process().memory_info().rss
    assert len(found(32)) == 32, "every network is another player"
    assert (len(COMPILED), len(TRACES)) == before[:2]
    assert psutil.Process().memory_info().rss - before[2] < 32 << 20, "of 128 MiB of weights"


def test_sizes_that_pad_to_one_are_one_program():
    """Numbers of states, and of trees, that are held as the same number; and every run answers for its own states."""
    search, states = jb.Search(TTT, jb.Puct(), as_leaves, 12), openings()
    some = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(LANES)]
    params, known = weights(TTT, 1), {}
    for sizes in ((32, 3, 17), (64, 33, 50), (128, 65, 127)):
        for size in sizes:
            before = len(COMPILED)
            results = jb.run_many(search, [some[i % LANES] for i in range(size)], params=params)
            assert len(results) == size
            assert (len(COMPILED) > before) == (size == sizes[0]), (size, len(COMPILED) - before)
            for i, result in enumerate(results[: 2 * LANES]):
                assert np.array_equal(known.setdefault(i % LANES, result.visits), result.visits)
    before = len(COMPILED)
    jb.run_many(search, some * 2, params=params, ensemble=2)  # 32 trees, and the doubling of positions
    assert len(COMPILED) - before <= 2


@pytest.mark.parametrize("way", ["match", "analyze"])
def test_tables_that_pad_to_one_are_one_program(way):
    """So many games at once, or positions at once, that are held as the same number."""
    for size in (64, 33, 50):
        before = len(COMPILED)
        if way == "match":
            jb.tournament("tic_tac_toe", ["uct:simulations=4", "random"], games=2 * size, games_at_once=size)
        else:
            jb.analyze([jb.position("tic_tac_toe", "B2")] * size, "uct", simulations=5)
        assert (len(COMPILED) > before) == (size == 64), (size, len(COMPILED) - before)


LIFE = """
import json, psutil
import jubango as jb
from jubango.bots.search.host import search_program
from jubango.sgf_games.rules.compiled import initial_state, initial_states, rules

def tell(visits=0):
    maps = len(open("/proc/self/maps").readlines())
    print(json.dumps([visits, maps, psutil.Process().memory_info().rss >> 20]), flush=True)

search_program.MOST_PROGRAMS = 4  # so that few sizes are already too many
game = jb.make_game("tic_tac_toe")
for size in range(10):
    capacity, number = (8 + size, 2) if size % 3 else (8, 32 * (size // 3 + 1))
    (found, *_) = jb.run_many(jb.Search(game, jb.Puct(), jb.Uniform(), capacity), [initial_state(game)] * number)
    tell(int(found.visits.sum()))
for lanes in range(1, 81):
    rules(game).view_lanes(initial_states(game, lanes))
    if lanes % 40 == 0:
        tell()
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux says how many memory maps there are")
def test_programs_that_are_let_go_are_freed():
    """A process that searches in ever new sizes, of trees and of batches, does not grow."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "JUBANGO_CORES": "1"}
    environment |= {"JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # which compiles sooner
    done = subprocess.run([sys.executable, "-c", LIFE], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    visits, maps, mebibytes = np.array([json.loads(line) for line in done.stdout.splitlines()]).T
    assert visits[:10].tolist() == [8 + size if size % 3 else 8 for size in range(10)]
    a_program = (maps[3] - maps[0]) / 3
    assert a_program > 50, "a program is seen when it is there"
    assert maps[6:10].max() - maps[3] < a_program, "six programs were let go"
    assert mebibytes[9] - mebibytes[6] < 64
    assert maps[11] - maps[10] < 100, "the views of 40 more sizes took the place of others"
