"""The search: its bookkeeping, its independence of neighbours, and every part that can be switched on."""

from __future__ import annotations

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from final_move import final_move
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import full_but
from tiny import Table, Tiny, random_tree

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Uniform
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search import lifecycle as life
from jubango.bots.search.host.device_selfplay import can_go_on
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.run import run, run_many
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.results.result import lane_of, search_tree
from jubango.bots.search.root import final_moves, merged
from jubango.bots.search.rules.alphago import AlphaGo
from jubango.bots.search.rules.critical_puct import CriticalPuct
from jubango.bots.search.rules.dynamic_puct import DynamicPuct
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.bots.search.simulate import normalised
from jubango.bots.search.ties import drawn, drawn_on_device, tie_break_bits
from jubango.bots.search.tree.state import RootStatistics
from jubango.bots.search.tree.tree import VISITS, columns_of, tree_bytes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, initial_states, rules

C4, TTT = make_game("connect_four"), make_game("tic_tac_toe")

UCT = Search(C4, Ucb1(), Rollout(), 96, ties="random")
COMPOSITIONS = {
    "alphago": Search(C4, AlphaGo(), Mixed(Uniform(), Rollout()), 96, opponent="sampled"),
    "gumbel": Search(C4, Gumbel(), Rollout(2), 96),
    "leaves": Search(C4, Puct(), Rollout(), 96, leaves=8, ties="random"),
    "width, cutoff": Search(C4, Ucb1("prior"), Rollout(), 96, width=3, cutoff="draw"),
    "draws": Search(TTT, Ucb1(), Rollout(draws="random"), 96, draws="random", ties="random"),
    "ttt": Search(TTT, Ucb1(), Rollout(), 96, ties="random"),
    "go": Search(make_game("go:3"), Ucb1(), Rollout(), 96, ties="random"),
    "rave": Search(make_game("go:3"), Rave(), Rollout(2, amaf=True), 96, leaves=4, ties="random"),
}


def after(game, moves):
    state = initial_state(game)
    for move in moves.split():
        action = game.parse_action(move)
        assert bool(rules(game).view(state).legal[action]), move
        state = rules(game).step(state, action)
    return state


def begun(search, seeds, numbers):
    """A driver that has been told to search the first position, once for each seed."""
    driver = Driver(search, len(seeds))
    legal = np.asarray(rules(search.game).view(initial_state(search.game)).legal)
    orders = [SearchRequest(i, legal, own, seed) for i, (seed, own) in enumerate(zip(seeds, numbers, strict=True))]
    driver.begin(orders, initial_states(search.game, len(seeds)))
    return driver


@pytest.mark.parametrize("name", full_but(["ttt"], COMPOSITIONS))
@settings(max_examples=3, deadline=None)
@given(seeds=st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4))
def test_a_tree_adds_up_after_every_chunk(name, seeds):
    search = COMPOSITIONS[name]
    budgets = [96, 50, 7, 1]
    depth = 3 if search.cutoff else 0
    numbers = [SearchParams(n, c, depth=depth) for n, c in zip(budgets, [1.4, 0.5, 1.4, 1.0], strict=True)]
    driver = begun(search, seeds, numbers)
    for chunk in (2, 5, 30, 100):  # the first step evaluates the roots
        made, remaining = driver.run_chunk(chunk)
        for i, budget in enumerate(budgets):
            lane = lane_of(driver.searching, i)
            tree, done = search_tree(lane), int(made[i])
            assert done <= budget
            assert int(remaining[i]) == budget - done
            assert lane["edges"][0, VISITS].sum() == done == tree.visits[0] - 1
            assert np.all(np.abs(tree.value) <= 1 + 1e-6)
            assert np.all(np.diff(tree.parent[1:]) >= -len(tree))
            assert np.all(tree.parent[1:] < np.arange(1, len(tree))), "a node comes after its parent"
            below = np.bincount(tree.parent[1:], tree.visits[1:], minlength=len(tree))
            inner = ~tree.ended
            assert np.array_equal(below[inner], tree.visits[inner] - 1), "children's visits are the node's less one"
            assert np.all(below[tree.ended] == 0)
            for node in np.flatnonzero(inner):
                kids = tree.children(node)
                sign = np.where(tree.player[kids] == tree.player[node], 1, -1)
                total = tree.raw_value[node] + (sign * tree.value[kids] * tree.visits[kids]).sum()
                if name != "draws":
                    assert tree.value[node] == pytest.approx(total / tree.visits[node], abs=1e-4)
            assert not depth or tree.depth.max() <= depth
            assert np.all(tree.prior[1:] > 0), "illegal moves are never tried"
            if search.width:
                assert np.bincount(tree.parent[1:]).max() <= search.width
    assert np.array_equal(made[:4], budgets)


@pytest.mark.parametrize("name", full_but(["ttt"], COMPOSITIONS))
def test_a_tree_does_not_feel_its_neighbours(name):
    """Five different positions together and one alone: the same tree, also when it is made in chunks."""
    search = COMPOSITIONS[name]
    rng = np.random.default_rng(3)
    states = [initial_state(search.game)]
    for _ in range(4):
        legal = np.flatnonzero(np.asarray(rules(search.game).view(states[-1]).legal))
        states.append(rules(search.game).step(states[-1], int(rng.choice(legal))))
    numbers = dict(simulations=40, c=1.1, depth=5)  # noqa: C408
    together = run_many(search, states, **numbers, seed=[11, 12, 13, 14, 15])
    alone = run(search, states[2], **numbers, seed=13)
    for key in ("visits", "values", "priors"):
        assert np.array_equal(getattr(together[2], key), getattr(alone, key)), key
    assert together[2].action == alone.action
    for key in ("parent", "action", "visits", "value"):
        assert np.array_equal(getattr(together[2].tree, key), getattr(alone.tree, key)), key
    assert any(not np.array_equal(r.visits, alone.visits) for r in together)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_search(seed):
    search = COMPOSITIONS["ttt"]
    first, second, other = (run(search, initial_state(TTT), simulations=40, seed=k) for k in (seed, seed, seed ^ 1))
    assert np.array_equal(first.visits, second.visits)
    assert not np.array_equal(first.tree.action, other.tree.action)


def exact_values(game, state, known):
    """Plain minimax: the value of ``state`` for its player."""
    key = tuple(np.asarray(x).tobytes() for x in jax.tree.leaves(state))
    if key not in known:
        view = jax.device_get(rules(game).view(state))
        if view.terminal:
            known[key] = float(view.returns[int(view.player)])
        else:
            known[key] = max(-exact_values(game, rules(game).step(state, a), known) for a in np.flatnonzero(view.legal))
    return known[key]


@pytest.mark.full
def test_the_solver_proves_what_is_so():
    """Every proved node of a tree has its exact value, and a won game is recognised without all simulations."""
    search = Search(TTT, Ucb1(), Rollout(), 1500, solver=True)
    known: dict = {}
    states = [after(TTT, "A1 B2 A2"), after(TTT, "B2 A2"), after(TTT, "A1 B1 B2 C3"), after(TTT, "B2 A1 C3")]
    results = run_many(search, states, simulations=1500, c=1.0)
    for state, result in zip(states, results, strict=True):
        exact = exact_values(TTT, state, known)
        assert result.simulations < 1500, "proved before the simulations were spent"
        assert result.value == exact
        reached = [state]
        for node in range(1, len(result.tree)):
            reached.append(rules(TTT).step(reached[result.tree.parent[node]], int(result.tree.action[node])))
            if result.tree.ended[node]:
                assert result.tree.raw_value[node] == exact_values(TTT, reached[node], known)
        best = rules(TTT).step(state, result.action)
        assert -exact_values(TTT, best, known) == exact


@pytest.mark.full
def test_tic_tac_toe_is_proved_a_draw():
    """A constant of 0.5 takes about 16,000 simulations, and the move that is played is a draw for sure."""
    search = Search(TTT, Ucb1(), Rollout(), 20_000, solver=True)
    for result in run_many(search, [initial_state(TTT)] * 2, simulations=20_000, c=0.5):
        assert result.simulations < 19_000
        assert result.value == result.tree.lower[0] == result.tree.upper[0] == 0
        chosen = int(result.tree.children(0)[result.tree.action[result.tree.children(0)] == result.action][0])
        assert result.tree.lower[chosen] == result.tree.upper[chosen] == 0


def test_an_ensemble_shares_what_its_trees_prove():
    """One tree knows that the first move draws at least, another that the second does no more: together it is decided."""
    both = lambda a, b: np.array([a, b], float)  # noqa: E731
    rows = RootStatistics(
        visits=np.array([[2, 6], [2, 6]]), value=np.array([[-0.5, 0.5], [0.1, 0.2]]), prior=np.full((2, 2), 0.5),
        mean=np.array([0.4, -0.3]), raw=np.zeros(2), final=np.zeros((2, 2)), utility=np.zeros((2, 0)),
        bounds=np.stack([both([0, -1], [0.5, 1]), both([-1, -1], [1, 0])]), done=np.array([8, 8]),
        remaining=np.array([0, 0]),
    )  # fmt: skip
    one = merged(rows, 2)
    assert one.bounds.tolist() == [[[0, -1], [0.5, 0]]]
    assert one.value.tolist() == [[0, 0]]
    assert final_moves(one, ["visits"], [0.0], [1]).tolist() == [0]
    with pytest.raises(UserError, match="searched"):
        Search(TTT, Ucb1(), Rollout(), 8, solver=True, draws="random")


@pytest.mark.full
def test_transpositions_share_nodes():
    """No two nodes of a depth are one position, and the shared tree is smaller than the plain one."""
    plain, shared = (Search(TTT, Ucb1(), Uniform(), 400, transpositions=t) for t in (False, True))
    trees = [run(search, initial_state(TTT), simulations=400, c=1.0).tree for search in (plain, shared)]

    def positions(tree):
        states = [initial_state(TTT)]
        for node in range(1, len(tree)):
            states.append(rules(TTT).step(states[tree.parent[node]], int(tree.action[node])))
        return [tuple(np.asarray(x).tobytes() for x in jax.tree.leaves(state)) for state in states]

    there = [positions(tree) for tree in trees]
    assert len(set(there[1])) == len(there[1])
    assert len(set(there[0])) < len(there[0])
    assert len(there[1]) < len(there[0])


@pytest.mark.full
def test_the_sampled_opponent_follows_the_policy():
    """At replies the visits follow the prior, whatever the values say; at our moves they follow PUCT."""
    rng = np.random.default_rng(2)
    state, lists = random_tree(rng, positions=60)
    prior = np.zeros((60, 4), np.float32)
    child, player, terminal = np.full((60, 4), -1, np.int32), np.ones(60, np.int32), np.ones(60, bool)
    child[0, 0], child[1] = 1, [2, 3, 4, 5]
    player[0], terminal[:2] = 0, False
    prior[0, 0], prior[1] = 1.0, [0.1, 0.2, 0.3, 0.4]
    value = np.array([0, 0, 1, -1, 1, -1] + [0] * 54, np.float32)
    state = state._replace(
        child=jnp.asarray(child), player=jnp.asarray(player), terminal=jnp.asarray(terminal),
        value=jnp.asarray(value), prior=jnp.asarray(prior),
    )  # fmt: skip
    search = Search(Tiny(), Puct(), Table(), 2000, opponent="sampled")
    tree = run(search, state, simulations=2000, c=1.0).tree
    visits = tree.visits[tree.parent == 1][np.argsort(tree.action[tree.parent == 1])]
    assert visits.sum() == 1999
    assert np.abs(visits / 1999 - prior[1]).max() < 0.05
    assert lists


@pytest.mark.full
def test_draws_go_to_a_random_side():
    """A dead drawn position: half of its draws are won, half lost, and none is a draw."""
    full = after(TTT, "A1 B1 C1 B2 A2 C2 B3 A3")  # one move to go, a draw
    assert run(COMPOSITIONS["ttt"], full, simulations=96).value == 0
    values = [run(COMPOSITIONS["draws"], full, simulations=96, seed=k).value for k in range(6)]
    assert all(abs(v) < 0.5 for v in values)
    assert any(v != 0 for v in values)


def test_evaluators_mix():
    """(1 - weight) of the first value, weight of the second, the prior of the first."""
    states = initial_states(C4, 32)
    legal, seeds = rules(C4).view_lanes(states).legal, jnp.arange(32, dtype=jnp.uint32)

    class Fixed(Evaluator):
        def __call__(self, params, game, states, legal, seeds):
            return Evaluation(legal * jnp.arange(1.0, 8.0), jnp.full(legal.shape[:1], 0.5))

    mixed = Mixed(Fixed(), Rollout(4), 0.25)((), C4, states, legal, seeds)
    alone = Rollout(4)((), C4, states, legal, seeds)
    assert np.allclose(mixed.value, 0.75 * 0.5 + 0.25 * np.asarray(alone.value))
    assert np.array_equal(np.asarray(mixed.prior)[0], np.arange(1.0, 8.0))


@pytest.mark.full
@pytest.mark.parametrize("moves", ["game", "uniform", "policy"])
def test_rollouts_of_every_kind(moves):
    """From the first position of tic-tac-toe the first player wins 737/1260 of random games and loses 121/420."""
    policy = Uniform() if moves == "policy" else None
    states = initial_states(TTT, 64)
    legal, seeds = rules(TTT).view_lanes(states).legal, jnp.arange(64, dtype=jnp.uint32)
    found = jax.jit(lambda s, le, k: Rollout(16, moves, policy)((), TTT, s, le, k))(states, legal, seeds)
    assert np.all(np.asarray(found.value) * 16 % 1 == 0)
    assert abs(float(found.value.mean()) - (737 / 1260 - 121 / 420)) < 0.1


@pytest.mark.full
def test_a_policy_s_rollouts_follow_the_policy():
    """A policy that always takes the first column fills it, and then the next: Black wins in the bottom row."""

    class Left(Evaluator):
        def __call__(self, params, game, states, legal, seeds):
            weights = legal * 1e-9 ** jnp.arange(7.0)
            return Evaluation(weights, jnp.zeros(legal.shape[:1]))

    game = make_game("connect_four:7x1")
    states = initial_states(game, 8)
    legal = rules(game).view_lanes(states).legal
    found = Rollout(1, "policy", Left())((), game, states, legal, jnp.arange(8, dtype=jnp.uint32))
    assert np.all(np.asarray(found.value) == 0), "one row, stones alternate: a draw"


def statistics(visits, value=None, prior=None, lower=(), upper=(), final=()):
    n = len(visits)
    return RootStatistics(
        np.array(visits), np.array(value or [0.0] * n), np.array(prior or [1 / n] * n), 0.0, 0.0, np.array([lower, upper]),
        np.array(final), np.zeros(0), sum(visits), 0,
    )  # fmt: skip


def test_final_moves_by_hand():
    at = statistics([5, 9, 9, 1], [0.9, 0.2, 0.3, 1.0], [0.4, 0.1, 0.1, 0.4])
    assert final_move(at) == 2, "most visits, then the higher mean"
    assert final_move(at, "value") == 3
    assert final_move(at, "prior") == 0, "of equal priors the more visited"
    assert final_move(statistics([2, 2, 2])) == 0
    assert {final_move(statistics([2, 2, 2]), seed=k, ties="random") for k in range(30)} == {0, 1, 2}
    assert final_move(statistics([0, 0], prior=[0.3, 0.7])) == 1, "no visits: the prior"
    assert final_move(statistics([9, 1, 0], prior=[0.5, 0.5, 0.0], final=[-np.inf, 2.0, -np.inf]), "gumbel") == 1
    bounds = statistics([9, 3, 0], [0.3, 0.4, 0.0], final=[0.1, 0.2, -9.0])
    assert final_move(bounds, "lcb") == 1, "the largest lower bound"
    assert {final_move(bounds, "lcb", 1e-3, seed=k) for k in range(9)} == {0}, "drawn by visits where it is drawn"
    assert final_move(statistics([9, 1, 3], lower=[-1, 1, -1], upper=[1, 1, 1])) == 1, "a proved win"
    assert final_move(statistics([9, 1, 3], lower=[-1, -1, -1], upper=[-1, 1, 1])) == 2, "not the proved loss"
    assert final_move(statistics([9, 1, 3], lower=[-1, -1, -1], upper=[-1, -1, -1])) == 0
    assert final_move(statistics([1, 9, 3], lower=[0, -1, -1], upper=[0, -0.5, 0])) == 0, "the others are no better"
    sure = {"lower": [0, -1, 0.5], "upper": [1, 1, 0.5]}
    assert final_move(statistics([1, 9, 3], [0.6, 0.7, 0.5], **sure)) == 1, "it may be better, and seems to be"
    assert final_move(statistics([4, 9, 3], [0.6, 0.4, 0.5], **sure)) == 0, (
        "the most visited may be better, and does not seem to be"
    )
    assert final_move(statistics([1, 9, 3], [0.3, 0.4, 0.5], **sure)) == 2, "better what is sure"
    assert final_move(statistics([1, 9, 3], lower=[0, -1, 0.5], upper=[0.25, 0.25, 1])) == 2
    assert final_move(statistics([1, 9, 3], lower=[0, 0, -1], upper=[1, 0, 0])) == 0, "a draw, and maybe more"


def test_temperature_draws_by_visits():
    """Visits (1, 3, 6): probabilities 0.1, 0.3, 0.6 at 1, and 1/46, 9/46, 36/46 at one half."""
    for temperature, expected in ((1.0, [0.1, 0.3, 0.6]), (0.5, [1 / 46, 9 / 46, 36 / 46])):
        drawn = [final_move(statistics([1, 3, 6]), temperature=temperature, seed=k) for k in range(3000)]
        assert np.abs(np.bincount(drawn, minlength=3) / 3000 - expected).max() < 0.03
    assert final_move(statistics([0, 4]), temperature=1.0) == 1, "what was not visited is not played"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 400)), min_size=1, max_size=20))
def test_lots_are_those_of_numpy_on_the_devices_too(cases):
    seeds, numbers = np.array(cases, np.int64).T
    dice = tie_break_bits(seeds.astype(np.uint32))
    expected = [np.random.default_rng([seed, 3]).choice(np.arange(n)) for seed, n in cases]
    assert drawn(dice, numbers).tolist() == expected
    assert np.asarray(drawn_on_device(jnp.asarray(dice), jnp.asarray(numbers, jnp.int32))).tolist() == expected


@pytest.mark.full
def test_trees_last_as_long_as_somebody_looks_at_them():
    """The arrays of a search whose results are gone are the next one's; those of one that is looked at are not."""
    search = UCT
    state = initial_state(search.game)
    first = run(search, state, simulations=40, c=1.1, seed=1)
    second = run(search, state, simulations=40, c=1.1, seed=2)
    visits = second.visits.copy()
    assert first.tree.visits[0] == second.tree.visits[0] == 41
    del second
    third, fourth = (run(search, state, simulations=n, c=1.1, seed=2) for n in (40, 30))
    assert np.array_equal(third.visits, visits)
    for result, n in ((first, 41), (third, 41), (fourth, 31)):
        assert result.tree.visits[0] == n == 1 + result.visits.sum()


@pytest.mark.full
def test_a_search_that_failed_or_was_stopped_leaves_nothing_to_the_next():
    search = UCT
    state = initial_state(search.game)
    first = run_many(search, [state] * 40, simulations=96, seconds=1e-9)  # all of them are stopped on their way
    assert first[0].simulations <= 96
    del first
    driver = Driver(search, 33)
    legal = np.asarray(rules(search.game).view(state).legal)
    driver.begin(
        [SearchRequest(i, legal, SearchParams(20), i) for i in range(33)], initial_states(search.game, driver.trees)
    )
    while driver.busy.any():
        driver.advance()
    assert driver.made == 33 * 20
    driver.begin([SearchRequest(0, legal, SearchParams(20), 0)], initial_states(search.game, driver.trees))
    given = driver.program.run_chunk

    def failing(searching, *others):
        given(searching, *others)  # which has the arrays now
        raise MemoryError

    driver.program = driver.program._replace(run_chunk=failing)
    with pytest.raises(MemoryError):
        driver.advance()
    driver.close()
    assert run_many(search, [state] * 33, simulations=20)[0].simulations == 20


@pytest.mark.full
def test_a_search_that_is_stopped_at_once_has_an_answer():
    search = UCT
    for _ in range(2):  # a program that has run before, too
        found = run(search, initial_state(search.game), simulations=96, on_progress=lambda done, wanted: False)
        assert 0 < found.visits.sum() == found.simulations <= 96
        assert found.priors[found.action] > 0


@pytest.mark.full
def test_root_noise():
    """(1 - 0.25) P + 0.25 Dirichlet on legal moves alone; another seed, another noise; none below the root."""
    position = after(C4, "D D D D D D")
    search = Search(C4, Puct(), Uniform(), 30)
    quiet = run(search, position, simulations=30)
    first, second = (run(search, position, simulations=30, noise=0.25, alpha=0.5, seed=k) for k in (1, 2))
    assert quiet.priors == pytest.approx(np.where(np.arange(7) == 3, 0, 1 / 6))
    for noisy in (first, second):
        assert noisy.priors[3] == 0
        assert noisy.priors.sum() == pytest.approx(1)
        assert np.all(noisy.priors[[0, 1, 2, 4, 5, 6]] >= 0.75 / 6 - 1e-6)
        deep = noisy.tree.depth == 2
        assert deep.any()
        assert noisy.tree.prior[deep] == pytest.approx(1 / 6, abs=0.03)
    assert not np.allclose(first.priors, second.priors)


def test_priors_are_masked_and_normalised():
    """Weights need not add up; a legal action of weight zero stays legal; no weight at all is uniform."""
    weights = jnp.array([[2.0, 0.0, 5.0, 2.0], [0.0, 0.0, 9.0, 0.0], [1e-30, 3e30, 0.0, -1.0]])
    legal = jnp.array([[True, True, False, True], [True, True, False, True], [True, True, True, True]])
    found = np.asarray(normalised(weights, legal, 0))
    assert found[0] == pytest.approx([0.5, 0, 0, 0.5])
    assert np.array_equal(found > 0, legal)
    assert found[1] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    narrow = np.asarray(normalised(weights, legal, 2))
    assert np.array_equal((narrow > 0).sum(axis=1), [2, 2, 2])
    assert narrow.sum(axis=1) == pytest.approx(1)


@pytest.mark.full
def test_an_ensemble_merges_visits():
    rows = RootStatistics(
        visits=np.array([[2, 6], [6, 2]]), value=np.array([[0.5, 0.0], [0.1, -1.0]]), prior=np.full((2, 2), 0.5),
        mean=np.array([0.2, 0.4]), raw=np.zeros(2), bounds=np.zeros((2, 2, 0)), final=np.zeros((2, 0)),
        utility=np.zeros((2, 0)), done=np.array([8, 8]), remaining=np.array([0, 3]),
    )  # fmt: skip
    one = merged(rows, 2)
    assert one.visits.tolist() == [[8, 8]]
    assert one.value[0] == pytest.approx([(2 * 0.5 + 6 * 0.1) / 8, -2 / 8])
    assert one.done == 16
    merged_result = run(UCT, initial_state(C4), simulations=30, seed=1, ensemble=4)
    assert merged_result.visits.sum() == merged_result.simulations == 120


@pytest.mark.full
def test_searches_can_be_watched_stopped_and_timed():
    search, seen = Search(C4, Ucb1(), Rollout(), 50_000), []

    def watch(done, wanted):
        seen.append(done)
        return done < 200

    result = run(search, initial_state(C4), on_progress=watch)
    assert seen[0] == 0
    assert seen == sorted(seen)
    assert 200 <= result.simulations < 50_000
    timed = run(search, initial_state(C4), seconds=0.05)
    assert 0 < timed.simulations < 50_000
    assert timed.visits.sum() == timed.simulations
    with pytest.raises(UserError, match="room for; should be a whole number from 0 to 50,000"):
        run(search, initial_state(C4), simulations=50_001)
    with pytest.raises(UserError, match="game is over"):
        run(search, after(C4, "A B A B A B A"))
    with pytest.raises(UserError, match="should be a whole number from 0 to 16,777,214"):  # what float32 counts exactly
        Search(C4, Puct(), Uniform(), 2**24 - 1)


@pytest.mark.full
def test_several_leaves_at_once_find_as_much():
    """Virtual losses change the order of a search, not what it finds: the block against an open column."""
    position = after(C4, "D C D C D")
    for leaves in (1, 4, 16):
        search = Search(C4, Ucb1(), Rollout(), 50_000, leaves=leaves)
        assert run(search, position, simulations=640, c=1.0).action == 3


@pytest.mark.parametrize("spec", ["tic_tac_toe", "go:4", "connect_four"])
@pytest.mark.parametrize("solver", [False, True])
def test_memory_is_as_stated(spec, solver):
    game = make_game(spec)
    for rule in (Ucb1(), Rave(), DynamicPuct()):
        search = Search(game, rule, Rollout(), 50, solver=solver)
        tree = jax.eval_shape(functools.partial(life.idle, search, 3)).tree
        total = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))
        assert total == 3 * tree_bytes(game, 50, rule, solver)


def test_which_searches_make_moves_by_themselves():
    """Where a node's state and the most visited move are all there is to it."""

    class Blanking(Tiny):
        def without_history(self, state):
            return state._replace(position=state.position * 1)

    def plain(game, **parts):
        return Search(game, Puct(), Uniform(), 8, **parts)

    assert can_go_on(plain(make_game("go:5")))
    assert can_go_on(plain(Tiny()))
    assert not can_go_on(plain(make_game("go:5,ko=positional")))
    assert not can_go_on(plain(Blanking()))
    assert not can_go_on(Search(TTT, Gumbel(), Uniform(), 8))
    assert not any(can_go_on(plain(TTT, **part)) for part in ({"solver": True}, {"transpositions": True}, {"width": 1}))


SEARCHES_IN_PLACE = {
    "a leaf": Search(C4, Ucb1(), Rollout(), 37, solver=True, ties="random"),
    "transpositions": Search(C4, Ucb1(), Rollout(), 37, transpositions=True, solver=True, ties="random"),
    "leaves": Search(C4, Ucb1(), Rollout(), 37, leaves=4, transpositions=True, solver=True, ties="random"),
    "rave": Search(C4, Rave(), Rollout(amaf=True), 37),
    "leaves and rave": Search(C4, Rave(), Rollout(amaf=True), 37, leaves=4),
    "criticality": Search(make_game("go:3"), CriticalPuct(), Rollout(owners=True), 37),
}


@pytest.mark.full
@pytest.mark.parametrize("search", SEARCHES_IN_PLACE.values(), ids=SEARCHES_IN_PLACE)
def test_no_tree_is_copied(search):
    """A step writes its trees in place: the compiled program copies no array of theirs. (What reads a tree must come
    before what writes it by what depends on what, or the compiler keeps a copy.)"""
    steps = jax.jit(lambda s: life.advance(search, (), s, jnp.int32(30))[0], donate_argnums=0)
    text = steps.lower(jax.eval_shape(lambda: life.idle(search, 5))).compile().as_text()
    block = f"f32[5,39,{columns_of(search.rule)},{search.game.num_actions}]"
    assert block in text
    assert not re.search(rf"= {re.escape(block)}\S* copy\(", text)


@pytest.mark.full
def test_sampled_replies_in_several_leaves():
    """An opponent who is sampled, in many leaves at once, as a position alone is analysed."""
    search = Search(TTT, AlphaGo(), Uniform(), 48, leaves=4, opponent="sampled")
    out = run(search, TTT.init(), simulations=48, c=5.0)
    assert out.visits.sum() == 48
    assert (out.visits > 0).all()
