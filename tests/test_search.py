"""The search: its bookkeeping, its independence of neighbours, and that it finds what is to be found."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.position import analyse
from bots.config import UctConfig
from bots.evaluators.rollout import RandomRollout
from bots.search.search import Search, program
from bots.search.select import Edges, Settings, Ucb1
from bots.search.tree import tree_bytes
from sgf_games.catalogue import make_game
from sgf_games.compiled import initial_state, initial_states, rules
from sgf_games.replay import Position


@functools.cache
def compiled_search(spec: str, capacity: int, lanes: int, rollouts: int = 1):
    game = make_game(spec)
    return program(Search(game, Ucb1(capacity), RandomRollout(rollouts), capacity), lanes)


def begin(spec, capacity, seeds, simulations, c, states=None, rollouts=1):
    game, lanes = make_game(spec), len(seeds)
    compiled = compiled_search(spec, capacity, lanes, rollouts)
    if states is None:
        states = initial_states(game, lanes)
    legal = np.array(rules(game).view_lanes(states).legal)
    roots = jax.tree.map(lambda x: np.moveaxis(np.asarray(x), -1, 0), game.without_history(states))
    pad = compiled.lanes - lanes
    widen = lambda x: np.pad(np.asarray(x), [(0, pad)] + [(0, 0)] * (np.ndim(x) - 1))  # noqa: E731
    return compiled, compiled.begin(
        compiled.idle(), widen(np.ones(lanes, bool)), jax.tree.map(widen, roots), widen(legal),
        Settings(widen(np.asarray(simulations, np.int32)), widen(np.asarray(c, np.float32))),
        widen(np.asarray(seeds, np.uint32)),
    )  # fmt: skip


def test_ucb1_by_hand():
    """Visits 3, 1, 0 of 4; the third action is unvisited and comes first, then the bonus decides."""
    rule = Ucb1(10)
    edges = Edges(
        visits=jnp.array([[3, 1, 0, 0]]), value_sum=jnp.array([[1.5, -0.5, 0.0, 0.0]]),
        prior=jnp.array([[0.2, 0.9, 0.4, 0.0]]),
    )  # fmt: skip
    c = 0.7
    scores = np.asarray(rule(edges, Settings(jnp.array([9]), jnp.array([c]))))[0]
    first = 0.75 + c * math.sqrt(math.log(4) / 3)
    second = 0.25 + c * math.sqrt(math.log(4) / 1)
    assert scores[:2] == pytest.approx([first, second], rel=1e-6)
    assert scores[2] > 1e5
    assert scores[3] == -np.inf


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "go:3"])
def test_a_tree_adds_up_after_every_chunk(spec):
    capacity, lanes = 96, 4
    budgets = [96, 50, 7, 1]
    compiled, s = begin(spec, capacity, [1, 2, 3, 4], budgets, [1.4, 0.5, 1.4, 1.0])
    game = make_game(spec)
    for chunk in (1, 5, 30, 100):
        s, statistics = compiled.advance(s, jnp.int32(chunk))
        tree, done = jax.device_get(s.tree), np.asarray(s.done)
        for lane in range(lanes):
            visits, child = tree.visits[lane], tree.child[lane]
            assert done[lane] <= budgets[lane]
            assert visits[0].sum() == done[lane]
            assert statistics.remaining[lane] == budgets[lane] - done[lane]
            for node in range(1, int(done[lane]) + 1):
                parent, action = tree.parent[lane, node], tree.action[lane, node]
                if child[parent, action] != node:
                    continue  # this simulation met a finished game again and made no node
                seen = visits[parent, action]
                if tree.terminal[lane, node]:
                    assert visits[node].sum() == 0
                    mean = tree.value_sum[lane, parent, action] / seen
                    assert mean == pytest.approx(-tree.value[lane, node])
                else:
                    assert visits[node].sum() == seen - 1, "children's visits are the node's own less one"
                    total = tree.value[lane, node] + tree.value_sum[lane, node].sum()
                    assert tree.value_sum[lane, parent, action] == pytest.approx(-total, abs=1e-4)
            assert np.all(np.abs(tree.value_sum[lane]) <= visits + 1e-5)
            made = slice(0, int(done[lane]) + 1)
            assert np.all(visits[made][tree.prior[lane][made] == 0] == 0), "illegal moves are never tried"
    assert np.array_equal(np.asarray(s.done)[:lanes], budgets)
    assert game.num_actions == tree.visits.shape[-1]


def test_a_lane_does_not_feel_its_neighbours():
    seeds = [11, 12, 13, 14, 15]
    _, s = begin("connect_four", 64, seeds, [64, 20, 64, 3, 64], [1.4, 0.1, 0.9, 2.0, 0.0])
    compiled = compiled_search("connect_four", 64, 5)
    s, together = compiled.advance(s, jnp.int32(64))
    alone_program, t = begin("connect_four", 64, [13], [64], [0.9])
    t, alone = alone_program.advance(t, jnp.int32(20))
    t, alone = alone_program.advance(t, jnp.int32(64))
    for a, b in zip(together, alone, strict=True):
        assert np.array_equal(np.asarray(a)[2], np.asarray(b)[0])
    assert np.array_equal(np.asarray(s.tree.child)[2, :60], np.asarray(t.tree.child)[0, :60])


def test_several_rollouts_a_leaf_are_their_mean():
    game = make_game("tic_tac_toe")
    states = initial_states(game, 64)
    legal = rules(game).view_lanes(states).legal
    seeds = jnp.arange(64, dtype=jnp.uint32)
    found = jax.jit(lambda s, le, k: RandomRollout(16)(game, s, le, k))(states, legal, seeds)
    assert np.all(np.asarray(found.value) * 16 % 1 == 0)
    assert abs(float(found.value.mean()) - (737 / 1260 - 121 / 420)) < 0.12
    assert len(np.unique(np.asarray(found.prior))) > 500
    _, s = begin("tic_tac_toe", 8, [1, 2], [8, 8], [1.4, 1.4], rollouts=4)
    s, statistics = compiled_search("tic_tac_toe", 8, 2, 4).advance(s, jnp.int32(8))
    assert np.asarray(statistics.visits)[0].sum() == 8


def at(spec: str, moves: str) -> Position:
    game = make_game(spec)
    state = initial_state(game)
    for move in moves.split():
        action = game.parse_action(move)
        assert bool(rules(game).view(state).legal[action]), move
        state = rules(game).step(state, action)
    return Position(game, state, len(moves.split()), None, None, None)


@pytest.mark.parametrize(
    ("spec", "moves", "best", "simulations"),
    [
        ("tic_tac_toe", "A1 B2 A2 C3", {"A3"}, 200),  # wins at once
        ("tic_tac_toe", "A1 B2 A2", {"A3"}, 400),  # must block
        ("connect_four", "D C D C D", {"D"}, 400),  # must block the column
        ("connect_four", "D C D C D C", {"D"}, 200),  # wins at once
        ("go:3,komi=0", "", {"B2"}, 3000),  # the centre wins all of 3x3
        ("gomoku:7", "D4 D5 E4 E5 F4 F5 G4 G5", {"C4"}, 800),  # the fifth stone
    ],
)  # fmt: skip
def test_finds_the_move(spec, moves, best, simulations):
    (found,) = analyse([at(spec, moves)], UctConfig(name="uct", simulations=simulations))
    assert found.best is not None
    assert found.best.text in best
    assert sum(m.visits for m in found.moves) == simulations
    assert found.best.variation[0] == found.best.text


def test_never_loses_tic_tac_toe_to_random():
    from arena.pairings import round_robin
    from arena.play import Table
    from bots.config import bot_from_spec

    bots = [bot_from_spec("random"), bot_from_spec("uct:simulations=1500,c=1.0")]
    table = Table(make_game("tic_tac_toe"), bots, 32)
    tasks = round_robin([b.name for b in bots], 100, 2)
    records = [r for finished in table.play(tasks) for r in finished]
    lost = [r for r in records if r.score == (1.0 if r.black == "random" else 0.0)]
    assert len(records) == 100
    assert not lost


@pytest.mark.parametrize("spec", ["tic_tac_toe", "go:4", "connect_four"])
def test_memory_is_as_stated(spec):
    game = make_game(spec)
    search = Search(game, Ucb1(50), RandomRollout(1), 50)
    tree = jax.eval_shape(lambda: search.idle(3)).tree
    total = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
    assert total == 3 * tree_bytes(game, 50)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_search(seed):
    results = []
    for _ in range(2):
        _, s = begin("tic_tac_toe", 40, [seed, 5], [40, 40], [1.0, 1.0])
        _, statistics = compiled_search("tic_tac_toe", 40, 2).advance(s, jnp.int32(40))
        results.append(np.asarray(statistics.visits)[0])
    assert np.array_equal(*results)


def test_ties_go_to_the_better_mean_and_then_to_the_random_order():
    """Not to the lowest action, which would crowd undecided games at the top of the board."""
    from bots.search.search import root_statistics

    _, s = begin("tic_tac_toe", 40, [1, 2], [40, 40], [1.0, 1.0])
    tree = s.tree._replace(
        visits=s.tree.visits.at[0, 0].set(jnp.array([2, 2, 2, 2, 1, 0, 0, 0, 0])),
        value_sum=s.tree.value_sum.at[0, 0].set(jnp.array([0.0, 1.0, 1.0, 1.0, 1.0, 0, 0, 0, 0])),
        prior=s.tree.prior.at[0, 0].set(jnp.array([0.9, 0.1, 0.7, 0.0, 0.9, 0.9, 0.9, 0.9, 0.9])),
    )
    assert int(root_statistics(s._replace(tree=tree)).action[0]) == 2
