"""Every selection rule against a textbook search in plain Python, against hand-computed numbers, and
against mctx."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from referee.search import TextbookSearch, alphago, critical_puct, dynamic_puct, puct, rave, ucb1
from tiers import full_but
from tiny import Table, Telling, Tiny, game_from, random_tree, same_tree

from jubango.bots.evaluators.evaluator import Evaluation, Evaluator
from jubango.bots.search.host.run import run_many
from jubango.bots.search.rules.alphago import AlphaGo
from jubango.bots.search.rules.critical_puct import CriticalPuct
from jubango.bots.search.rules.dynamic_puct import DynamicPuct
from jubango.bots.search.rules.gumbel import Gumbel, GumbelRoot, considered_visits
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.rules.rule import Edges, steady_sum
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.compute.kernels import first_largest
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules

RULES = {
    "ucb1": (Ucb1(), ucb1, 0.9, {}),
    "puct": (Puct(), puct, 1.25, {}),
    "puct, log term": (Puct(base=50.0), puct, 0.8, {"base": 50.0}),
    "puct, parent": (Puct(fpu="parent"), puct, 1.5, {"fpu": "parent", "reduction": 0.3}),
    "puct, loss": (Puct(fpu="loss"), puct, 2.0, {"fpu": "loss"}),
    "puct, win": (Puct(fpu="win"), puct, 0.5, {"fpu": "win"}),
    "alphago": (AlphaGo(), alphago, 3.0, {}),
    "dynamic-puct": (DynamicPuct(fpu="parent", base=50.0), dynamic_puct, 1.1, {"fpu": "parent", "base": 50.0}),
}
SIMULATIONS = 48
QUICK = "ucb1", "puct", "alphago", "dynamic-puct"
DYNAMIC = {"stdev": 0.4, "stdev_scale": 0.85, "lcb": 2.0}


@pytest.mark.parametrize(
    ("name", "leaves"),
    full_but([(name, 1) for name in QUICK], [*((name, 1) for name in QUICK), *((name, 5) for name in RULES)], True),
)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_agrees_with_the_textbook(name, leaves, seed):
    """The whole tree, visits and values of every node, on random games in which a player may move twice."""
    rule, referee, c, options = RULES[name]
    rng = np.random.default_rng(seed)
    games = [random_tree(rng) for _ in range(3)]
    games.append(random_tree(rng, one_player=True))
    search = Search(Tiny(), rule, Table(), SIMULATIONS, leaves=leaves)
    numbers = dict(simulations=SIMULATIONS, c=c, fpu_reduction=options.get("reduction", 0.0))  # noqa: C408
    results = run_many(search, [state for state, _ in games], **numbers)
    for result, (_, lists) in zip(results, games, strict=True):
        textbook = TextbookSearch(lists, referee(c, **options), leaves).run(SIMULATIONS)
        assert same_tree(result.tree, textbook.root) >= 2
        assert result.visits.sum() == result.simulations == SIMULATIONS
        assert result.value == pytest.approx(textbook.root.total / textbook.root.visits, abs=1e-4)


@pytest.mark.parametrize(("telling", "leaves"), full_but([(True, 1)], [(True, 1), (True, 5), (False, 5)], True))
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rave_agrees_with_the_textbook(telling, leaves, seed):
    """Both schedules; with the moves of the evaluator's games, and with those of the paths alone."""
    rng = np.random.default_rng(seed)
    games = [random_tree(rng), random_tree(rng), random_tree(rng, one_player=True)]
    constants = [{"k": 20.0}, {"bias": 0.3}, {"k": 1000.0}]
    search = Search(Tiny(), Rave(), Telling() if telling else Table(), SIMULATIONS, leaves=leaves)
    equivalence, bias = [own.get("k", 9.0) for own in constants], [own.get("bias", 0.0) for own in constants]
    results = run_many(search, [state for state, _ in games], c=0.2, equivalence=equivalence, bias=bias)
    for result, (_, lists), own in zip(results, games, constants, strict=True):
        value, actions = lists["value"], range(4)
        nobody = lambda p: ([-1] * 4, value[p])  # noqa: B023, E731
        told = [
            lambda p, g=g: ([game_from(p, a, g) for a in actions], value[p] * (-1) ** g)  # noqa: B023
            for g in range(2)
        ]
        textbook = TextbookSearch(lists, rave(0.2, **own), leaves, games=told if telling else [nobody])
        assert same_tree(result.tree, textbook.run(SIMULATIONS).root) >= 2


@pytest.mark.parametrize("leaves", full_but([1], [1, 5]))
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_criticality_agrees_with_the_textbook(leaves, seed):
    rng = np.random.default_rng(seed)
    games = [random_tree(rng), random_tree(rng), random_tree(rng, one_player=True)]
    weights = [12.0, 0.0, 40.0]
    search = Search(Tiny(), CriticalPuct(), Telling(owns=True), SIMULATIONS, leaves=leaves)
    results = run_many(search, [state for state, _ in games], c=1.3, criticality=weights)
    for result, (_, lists), weight in zip(results, games, weights, strict=True):
        told = [
            lambda p, g=g: ([game_from(p, a, g) for a in range(4)], lists["value"][p] * (-1) ** g)  # noqa: B023
            for g in range(2)
        ]
        textbook = TextbookSearch(lists, critical_puct(1.3, weight), leaves, games=told, owned=True)
        assert same_tree(result.tree, textbook.run(SIMULATIONS).root) >= 2


def worth(lists, position=0):
    """Plain minimax: the value of every position from here on, for its own player."""
    if lists["terminal"][position]:
        return {position: lists["value"][position]}
    found, mine = {}, lists["player"][position]
    for child in (child for child in lists["child"][position] if child >= 0):
        found |= worth(lists, child)
    best = max(
        found[child] if lists["player"][child] == mine else -found[child]
        for child in lists["child"][position]
        if child >= 0
    )
    return found | {position: best}


@pytest.mark.parametrize(
    ("name", "leaves"), full_but([("ucb1", 1)], [("ucb1", 1), ("ucb1", 5), ("puct, parent", 5)], True)
)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), results=st.sampled_from([1, 2, 0]))
@example(seed=2610, results=0)  # most visits had a move that was neither sure nor likely to be as good as another
def test_the_solver_agrees_with_the_textbook(name, leaves, seed, results):
    """Node by node, bounds included; no bound is false, and a root that is proved has its value and a move that keeps it.
    results: wins and losses; draws and quarters too; any number."""
    rule, referee, c, options = RULES[name]
    rng = np.random.default_rng(seed)
    games = [random_tree(rng, results=results) for _ in range(3)]
    games.append(random_tree(rng, one_player=True, results=results))
    search = Search(Tiny(), rule, Table(), 96, leaves=leaves, solver=True)
    found = run_many(
        search, [state for state, _ in games], simulations=96, c=c, fpu_reduction=options.get("reduction", 0.0)
    )
    for result, (_, lists) in zip(found, games, strict=True):
        textbook = TextbookSearch(lists, referee(c, **options), leaves, solver=True).run(96)
        assert same_tree(result.tree, textbook.root) >= 2
        exact, tree, positions = worth(lists), result.tree, [0]
        for node in range(1, len(tree)):
            positions.append(lists["child"][positions[tree.parent[node]]][tree.action[node]])
        for node, position in enumerate(positions):
            assert tree.lower[node] <= exact[position] <= tree.upper[node]
            if tree.ended[node]:
                assert tree.lower[node] == tree.upper[node] == tree.raw_value[node]
        assert tree.lower[0] - 1e-6 <= result.value <= tree.upper[0] + 1e-6
        assert tree.ended[0] or result.simulations == 96
        child = lists["child"][0][result.action]
        gain = exact[child] if lists["player"][child] == lists["player"][0] else -exact[child]
        likely = tree.upper[0] > tree.lower[0] and result.values[result.action] >= tree.lower[0]
        assert likely or gain >= tree.lower[0], "the move keeps what the root has for sure, or is thought to be better"


@pytest.mark.full
@pytest.mark.parametrize("part", ["width and depth", "transpositions"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_bound_is_false_with_other_parts(part, seed):
    rng = np.random.default_rng(seed)
    games = [random_tree(rng, results=1) for _ in range(4)]
    options = {"width": 2} if part == "width and depth" else {"transpositions": True}
    search = Search(Tiny(), Puct(), Table(), 96, solver=True, **options)
    numbers = dict(simulations=96, c=1.5, depth=3 if part == "width and depth" else 0)  # noqa: C408
    for result, (_, lists) in zip(run_many(search, [state for state, _ in games], **numbers), games, strict=True):
        exact, tree, positions = worth(lists), result.tree, [0]
        for node in range(1, len(tree)):
            positions.append(lists["child"][positions[tree.parent[node]]][tree.action[node]])
        for node, position in enumerate(positions):
            assert tree.lower[node] <= exact[position] <= tree.upper[node]


@pytest.mark.full
@pytest.mark.parametrize(("rule", "c"), [(Ucb1(), math.sqrt(2)), (AlphaGo(), 5.0)])
def test_constants_nobody_gave(rule, c):
    """A search without a constant is the search with the rule's usual one, and not another."""
    state, _ = random_tree(np.random.default_rng(3))
    search = Search(Tiny(), rule, Table(), SIMULATIONS)
    plain, same, other = (run_many(search, [state] * 3, simulations=SIMULATIONS, c=x)[0] for x in (None, c, 8 * c))
    assert np.array_equal(plain.tree.visits, same.tree.visits)
    assert not np.array_equal(plain.tree.visits, other.tree.visits)


def edges(visits, value_sum, prior, value=0.0):
    as_float = lambda x: jnp.array([x], jnp.float32)  # noqa: E731
    return Edges(jnp.array([visits]), as_float(value_sum), as_float(prior), jnp.array([value], jnp.float32))


def numbers(c, reduction=0.0, gumbel=(), considered=(), equivalence=1000.0, bias=0.0):
    one = lambda x: jnp.array([x], jnp.float32)  # noqa: E731
    own = {"c": c, "fpu_reduction": reduction, "equivalence": equivalence, "bias": bias}
    return TracedParams(
        jnp.array([9]), jnp.array([99]), one(0.0), one([0.0]), {name: one(value) for name, value in own.items()},
        GumbelRoot(one(gumbel), jnp.array([considered], jnp.int32)),
    )  # fmt: skip


def scores(rule, e, s):
    return np.asarray(rule(e, s))[0]


def test_rave_by_hand():
    """N is 1 + 4 visits; k = 5: beta = sqrt(5 / 20) = 1/2 for what has visits. The third action was only ever taken
    later, the fourth never."""
    e = edges([3, 1, 0, 0], [1.0, -1.0, 0.0, 0.0], [0.25] * 4)
    e = e._replace(amaf_visits=jnp.array([[8.0, 2.0, 4.0, 0.0]]), amaf_sum=jnp.array([[4.0, 1.0, -2.0, 0.0]]))
    found = scores(Rave(), e, numbers(0.0, equivalence=5.0))
    assert found == pytest.approx([(2 / 3 + 3 / 4) / 2, (0 + 3 / 4) / 2, 1 / 4, 1.0], abs=1e-6)
    # Least error with bias 1/2: 4 b^2 = 1, beta = 8 / (3 + 8 + 24) and 2 / (1 + 2 + 2).
    found = scores(Rave(), e, numbers(0.0, bias=0.5))
    first, second = 8 / 35, 2 / 5
    wanted = [(1 - first) * 2 / 3 + first * 3 / 4, second * 3 / 4, 1 / 4, 1.0]
    assert found == pytest.approx(wanted, abs=1e-6)
    explored = scores(Rave(), e, numbers(0.3, bias=0.5))
    bonus = 0.3 * math.sqrt(math.log(5))
    assert explored - found == pytest.approx([bonus / math.sqrt(3), bonus, bonus, bonus], abs=1e-6)


def test_ucb1_by_hand():
    """Three visits with two wins and one visit with a loss: N is 1 + 4 visits.
    2/3 + 0.7 sqrt(ln 5 / 3), 0 + 0.7 sqrt(ln 5 / 1); the unvisited one comes before all."""
    found = scores(Ucb1(), edges([3, 1, 0], [1.0, -1.0, 0.0], [0.3, 0.3, 0.4]), numbers(0.7))
    assert found[:2] == pytest.approx([2 / 3 + 0.7 * math.sqrt(math.log(5) / 3), 0.7 * math.sqrt(math.log(5))])
    assert found[2] > 1e5
    ordered = scores(Ucb1("prior"), edges([0, 0, 1], [0.0, 0.0, 1.0], [0.2, 0.5, 0.3]), numbers(0.7))
    assert ordered.argmax() == 1


def test_puct_by_hand():
    """N = 1 + 4 = 5: Q + 2 P sqrt(5) / (1 + n)."""
    e = edges([3, 1, 0], [1.5, -0.5, 0.0], [0.5, 0.3, 0.2], value=0.1)
    root5 = math.sqrt(5)
    q = [0.5 + 2 * 0.5 * root5 / 4, -0.5 + 2 * 0.3 * root5 / 2]
    assert scores(Puct(), e, numbers(2.0)) == pytest.approx([*q, 2 * 0.2 * root5])
    # First play urgency: the node's mean is (0.1 + 1.5 - 0.5) / 5 = 0.22, the visited prior 0.8.
    parent = 0.22 - 0.25 * math.sqrt(0.8) + 2 * 0.2 * root5
    assert scores(Puct(fpu="parent"), e, numbers(2.0, 0.25))[2] == pytest.approx(parent)
    # The log term: c becomes 2 + ln((1 + 5 + 19652) / 19652).
    c = 2 + math.log(19658 / 19652)
    assert scores(Puct(base=19652.0), e, numbers(2.0))[2] == pytest.approx(c * 0.2 * root5)


def test_dynamic_puct_by_hand():
    """Values 0.1, then 1, 1, -0.5 and -0.5: the mean is 0.22, that of the squares 2.51 / 5 = 0.502, and with two visits
    of the expected 0.4: s^2 = (2 (0.22^2 + 0.16) + 2.51) / 6 - 0.22^2."""
    e = edges([3, 1, 0], [1.5, -0.5, 0.0], [0.5, 0.3, 0.2], value=0.1)
    e = e._replace(square_sum=jnp.array([[2.25, 0.25, 0.0]], jnp.float32))
    own = numbers(2.0)
    own = own._replace(own=own.own | {name: jnp.array([x], jnp.float32) for name, x in DYNAMIC.items()})
    spread = math.sqrt((2 * (0.22**2 + 0.16) + 2.51) / 6 - 0.22**2)
    c, root5 = 2 * (1 + 0.85 * (spread / 0.4 - 1)), math.sqrt(5)
    q = [0.5 + c * 0.5 * root5 / 4, -0.5 + c * 0.3 * root5 / 2, c * 0.2 * root5]
    assert scores(DynamicPuct(), e, own) == pytest.approx(q)
    # The lower bounds: 0.5 - 2 s / sqrt(3), s^2 being that of the move's own three values and two expected ones.
    low = [0.5 - 2 * math.sqrt(((2 * (0.25 + 0.16) + 2.25) / 5 - 0.25) / 3), -0.5 - 2 * math.sqrt(2 * 0.16 / 3)]
    found = np.asarray(DynamicPuct().final(e, own))[0]
    assert found[:2] == pytest.approx(low)
    assert found[2] < min(low), "a move without visits is not played"
    wide = own._replace(own=own.own | {"stdev": jnp.array([10.0], jnp.float32)})
    assert np.asarray(DynamicPuct().final(e, wide))[0].argmin() == 2, "however wide the others' bounds are"
    many = e._replace(visits=jnp.array([[30, 4, 0]]), square_sum=10 * e.square_sum)
    assert np.asarray(DynamicPuct().final(many, own))[0][1] < -5, "nor one with less than 0.15 of the first one's"


def prior(e, own):
    found = np.asarray(CriticalPuct().prior(e, own))[0]
    return found / found.sum()


def test_criticality_by_hand():
    """Four games, of which 1.5 - 0.5 = 1 of 4 came out well: the mean is 1/4. Who has the first point wins all of its
    two games: cov = 2/4 - 2/4 * 1/4 = 3/8. The second is the other's in every game, the third never more than even:
    1/4 - 4/4 * 1/4 = 0."""
    e = edges([3, 1, 0], [1.5, -0.5, 0.0], [0.5, 0.3, 0.2])
    e = e._replace(owned_visits=jnp.array([[2.0, 0.0, 4.0]]), owned_sum=jnp.array([[2.0, 0.0, 1.0]]))
    own = numbers(2.0)
    own = own._replace(own=own.own | {"criticality": jnp.array([12.0])})
    first = 0.5 * math.exp(12 * 4 / 54 * 3 / 8)
    whole = first + 0.5
    assert prior(e, own) == pytest.approx([first / whole, 0.3 / whole, 0.2 / whole])
    new = edges([0, 0, 0], [0.0] * 3, [0.5, 0.3, 0.2])._replace(
        owned_visits=jnp.zeros((1, 3)), owned_sum=jnp.zeros((1, 3))
    )
    assert prior(new, own) == pytest.approx([0.5, 0.3, 0.2])
    most = own._replace(own=own.own | {"criticality": jnp.array([1000.0])})
    many = e._replace(visits=10_000 * e.visits, value_sum=10_000 * e.value_sum, owned_visits=10_000 * e.owned_visits)
    many = many._replace(owned_sum=10_000 * e.owned_sum)
    assert prior(many, most) == pytest.approx([1, 0, 0]), "and no number is too large"


def test_alphago_by_hand():
    """Q + eta / (1 + N) pi, without the parent's visits."""
    e = edges([3, 1, 0], [1.5, -0.5, 0.0], [0.5, 0.3, 0.2])
    assert scores(AlphaGo(), e, numbers(4.0)) == pytest.approx([0.5 + 4 / 4 * 0.5, -0.5 + 4 / 2 * 0.3, 4 * 0.2])


def test_gumbel_by_hand():
    """Visits 2 and 0 with P = (0.75, 0.25), raw value 0.2, Q of the first 0.5.
    The mixed value is (0.2 + 2 * 0.5) / 3 = 0.4; sigma(q) = (50 + 2) * 0.1 * q."""
    e = edges([2, 0], [1.0, 0.0], [0.75, 0.25], value=0.2)
    plain = Gumbel(rescale=False)
    assert np.asarray(plain.completed(e))[0] == pytest.approx([5.2 * 0.5, 5.2 * 0.4])
    assert np.asarray(Gumbel().completed(e))[0] == pytest.approx([5.2, 0.0])  # rescaled to 1 and 0
    odds = 0.75 * math.exp(2.6), 0.25 * math.exp(2.08)
    policy = [x / sum(odds) for x in odds]
    assert scores(plain, e, numbers(0.0)) == pytest.approx([policy[0] - 2 / 3, policy[1]], rel=1e-5)
    root = np.asarray(plain.root(e, numbers(0.0, gumbel=[0.1, 3.0], considered=[0, 0, 2, 9])))[0]
    assert root[0] == pytest.approx(0.1 + 0 + 2.6, rel=1e-5)
    assert root[1] == -np.inf, "two simulations are done: actions with two visits are in question"


@pytest.mark.parametrize(
    ("actions", "simulations", "schedule"),
    [
        (1, 4, [0, 1, 2, 3]),
        (2, 6, [0, 0, 1, 1, 2, 2]),
        (4, 12, [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        #        four actions once | the better two three times, and on with those two
        (8, 24, [0] * 8 + [1] * 4 + [2] * 4 + [3] * 2 + [4] * 2 + [5] * 2 + [6] * 2),
    ],
)  # fmt: skip
def test_sequential_halving(actions, simulations, schedule):
    assert list(considered_visits(actions, simulations)) == schedule


@pytest.mark.full
def test_the_schedule_is_mctx_s():
    seq_halving = pytest.importorskip("mctx._src.seq_halving")
    for actions in range(1, 20):
        for simulations in (1, 2, 7, 16, 50, 133):
            assert considered_visits(actions, simulations) == seq_halving.get_sequence_of_considered_visits(
                actions, simulations
            )


def test_sums_do_not_depend_on_the_batch():
    x = np.random.default_rng(1).normal(size=(64, 82)).astype(np.float32)
    whole = np.asarray(jax.jit(steady_sum)(x))
    assert np.allclose(whole, x.sum(-1), atol=1e-4)
    for n in (1, 3, 33):
        assert np.array_equal(np.asarray(jax.jit(steady_sum)(x[:n])), whole[:n])


def test_first_largest():
    x = jnp.array([[1.0, 3.0, 3.0], [-jnp.inf, -jnp.inf, -5.0], [2.0, 2.0, 2.0]])
    assert np.asarray(first_largest(x)).tolist() == [1, 2, 0]


# -- mctx on the same game and the same network outputs ------------------------------------------


def outputs(game, state):
    """(logits [A], value) of an imaginary network: noise that depends on the position alone."""
    key = game.transposition_key(state)
    actions = jnp.arange(game.num_actions, dtype=jnp.uint32)
    noise = mix(mix(key[0] ^ actions * jnp.uint32(0x9E3779B9)) + key[1])
    value = mix(key[0] + key[1] * jnp.uint32(3))
    return (noise >> 8).astype(jnp.float32) / 2**24 * 3, ((value >> 8).astype(jnp.float32) / 2**23 - 1) * 0.8


@dataclass(frozen=True)
class Imaginary(Evaluator):
    def __call__(self, params, game, states, legal, seeds):
        logits, value = jax.vmap(lambda s: outputs(game, s), in_axes=-1)(states)
        return Evaluation(jnp.exp(logits), value)


def mctx_tree(game, states, simulations, kind):
    mctx = pytest.importorskip("mctx")

    def judge(state):
        logits, value = outputs(game, state)
        legal = game.legal_action_mask(state)
        return jnp.where(legal, logits, -1e9), value, legal

    def step(action, state):
        after = game.step(state, action)
        over = game.is_terminal(after)
        logits, value, _ = judge(after)
        gain = game.returns(after)[game.current_player(state)]
        out = mctx.RecurrentFnOutput(
            reward=jnp.where(over & ~game.is_terminal(state), gain, 0.0), discount=jnp.where(over, 0.0, -1.0),
            prior_logits=logits, value=jnp.where(over, 0.0, value),
        )  # fmt: skip
        return out, after

    def legal_q(tree, node):  # mctx itself masks illegal actions at the root alone
        return jnp.where(tree.children_prior_logits[node] > -1e8, tree.qvalues(node), -1e6)

    def search(states):
        logits, value, legal = jax.vmap(judge)(states)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        common = ((), jax.random.PRNGKey(0), root, lambda p, k, a, s: jax.vmap(step)(a, s), simulations)
        if kind == "gumbel":
            return mctx.gumbel_muzero_policy(*common, invalid_actions=~legal, gumbel_scale=0.0)
        return mctx.muzero_policy(
            *common, invalid_actions=~legal, dirichlet_fraction=0.0, qtransform=legal_q, temperature=0.0
        )

    return jax.jit(search)(jax.tree.map(lambda *xs: jnp.stack(xs), *states))


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "spec", "simulations"),
    [("puct", "tic_tac_toe", 120), ("gumbel", "connect_four", 150), ("puct", "go:4", 80)],
)
def test_the_same_tree_as_mctx(kind, spec, simulations):
    """Visit counts and values of every node, and the move; Gumbel's noise is off."""
    game = make_game(spec)
    rng = np.random.default_rng(5)
    states = []
    for plies in (0, 2, 5):
        state = jax.jit(game.init)()
        for _ in range(plies):
            legal = np.flatnonzero(np.asarray(rules(game).view(state).legal))
            state = rules(game).step(state, int(rng.choice(legal)))
        assert not bool(rules(game).view(state).terminal)
        states.append(game.without_history(state))
    rule = Gumbel() if kind == "gumbel" else Puct(base=19652.0)
    search = Search(game, rule, Imaginary(), simulations)
    ours = run_many(search, states, simulations=simulations, c=1.25, gumbel_scale=0.0)
    output = mctx_tree(game, states, simulations, kind)
    theirs = jax.device_get(output.search_tree)
    for i, result in enumerate(ours):
        tree, pairs, compared = result.tree, [(0, 0)], 0
        assert result.action == int(output.action[i])
        while pairs:
            own, other = pairs.pop()
            compared += 1
            below = tree.children(own)
            assert np.array_equal(np.sort(tree.action[below]), np.flatnonzero(theirs.children_visits[i, other]))
            for node in below:
                there = theirs.children_index[i, other, tree.action[node]]
                assert tree.visits[node] == theirs.children_visits[i, other, tree.action[node]]
                if not tree.ended[node]:  # mctx goes on behind the end of a game
                    assert tree.value[node] == pytest.approx(theirs.node_values[i, there], abs=1e-4)
                    pairs.append((int(node), int(there)))
        assert compared >= 6
