"""A search in which the lead counts, too: what it compares, what it reports, and where there is no lead."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import full_but

import jubango as jb
from jubango.bots.composition import composition, evaluator_for, strongest
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.evaluator import Evaluation, Evaluator, Uniform
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.evaluators.territory import opinions
from jubango.bots.search import lifecycle as life
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.run import run, run_many
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.results.result import lane_of
from jubango.bots.search.root import final_moves, merged, undecided
from jubango.bots.search.rules.dynamic_puct import DynamicPuct
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.search import Search
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.score_utility import compared
from jubango.bots.search.tree.tree import CHILD, PLAYER, VALUE_SUM, VISITS, edges_of, tree_bytes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules, stacked

GO = make_game("go:4,komi=0.5")


@dataclass(frozen=True)
class Counting(Evaluator):
    """Black is sure to win, and leads by as much as the board stands."""

    trusted = True

    def __call__(self, params, game, states, legal, seeds):
        sign = jnp.where(jax.vmap(game.current_player, in_axes=-1)(states) == 0, 1.0, -1.0)
        margin = jax.vmap(game.margin, in_axes=-1)(states)
        return Evaluation(legal.astype(jnp.float32), 0.9 * sign, lead=sign * margin)


COUNTED = SearchSpec(GO, DynamicPuct(), Counting(), 200, score_utility=0.4)

# White's two stones at the edge can be taken at B1, and nothing else can.
CAPTURE = """
. . . .
X X X .
O O X .
X . X .
"""


def position(game, text, player=0):
    rows = [line.split() for line in text.strip().splitlines()]
    return game.set_up(np.array([[".XO".index(point) for point in row] for row in rows], np.int8), player)


def searched(search, state, simulations, **numbers):
    """The driver of a search of this position, finished."""
    driver = Driver(search, 1)
    legal = np.asarray(rules(search.game).view(state).legal)
    driver.begin([SearchRequest(0, legal, SearchParams(simulations, **numbers), 5)], stacked([state] * driver.trees))
    driver.run_chunk(simulations + 1)
    return driver


@pytest.mark.parametrize(
    ("leaves", "solver"), full_but([(1, False)], [(1, False), (4, False), (4, True)], several=True)
)
def test_leads_add_up(leaves, solver):
    """What a node knows of an action is the lead of the node below and of all that lies below that."""
    search = replace(COUNTED, leaves=leaves, solver=solver)
    tree = lane_of(searched(search, position(GO, CAPTURE), 200).searching, 0, ("edges", "nodes", "kind", "leads"))
    edges, leads, player = tree["edges"], tree["leads"], tree["kind"].astype(int) >> PLAYER
    seen = [0]
    for node in seen:
        for action in np.flatnonzero(edges[node, VISITS]):
            child = int(edges[node, CHILD, action])
            sign = 1 if player[child] == player[node] else -1
            below = edges[child, VISITS].sum()
            own = leads[child, -1] * (edges[node, VISITS, action] - below)  # of an ended game, as often as it was met
            assert leads[node, action] == pytest.approx(sign * (own + leads[child, :-1].sum()), abs=1e-2)
            seen.append(child)
    assert len(seen) > 100
    assert leads[0, -1] == GO.margin(position(GO, CAPTURE))


def test_of_moves_that_win_alike_the_one_with_more_points_is_searched():
    """A move ahead. What is reported is the result's value alone."""
    state, take = position(GO, CAPTURE), GO.parse_action("B1")
    found = searched(COUNTED, state, 100, c=20.0, depth=1).statistics(1)
    visits = found.visits[0]
    assert visits.argmax() == take
    assert visits[take] > np.sort(visits)[-2]
    assert found.value[0, take] == pytest.approx(0.9, abs=1e-3)
    assert found.mean[0] == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize("player", [0, 1])
def test_what_a_rule_is_told(player):
    """By hand, at the root and at a node where it is the other's turn."""
    share, s = COUNTED.score_utility, searched(COUNTED, position(GO, CAPTURE, player), 60).searching
    root = lane_of(s, 0, ("edges", "leads"))
    action = int(root["edges"][0, VISITS].argmax())
    for node in (0, int(root["edges"][0, CHILD, action])):
        b, at = jnp.zeros(1, jnp.int32), jnp.full(1, node, jnp.int32)
        told = compared(s.tree, b, at, edges_of(COUNTED.rule, s.tree, b, at), GO, share)
        edges, leads = root["edges"][node], root["leads"][node]
        centre = root["leads"][0, -1] * (1 if node == 0 else -1)
        for move in np.flatnonzero(edges[VISITS]):
            n, q, m = (
                edges[VISITS, move],
                edges[VALUE_SUM, move] / edges[VISITS, move],
                leads[move] / edges[VISITS, move],
            )
            wanted = (1 - share) * q + share * 2 / math.pi * math.atan((m - centre) / 4)
            assert float(told.q[0, move]) == pytest.approx(wanted, abs=1e-5)
            scatter = edges[-1, move] / n - q**2
            squares = float(told.square_sum[0, move]) / n - wanted**2
            assert squares == pytest.approx((1 - share) ** 2 * scatter, abs=1e-4)
        own = (1 - share) * float(edges_of(COUNTED.rule, s.tree, b, at).value[0])
        assert float(told.value[0]) == pytest.approx(
            own + share * 2 / math.pi * math.atan((leads[-1] - centre) / 4), abs=1e-5
        )


@pytest.mark.full
def test_a_tree_does_not_feel_its_neighbours():
    search = Search(GO, Puct(), Counting(), 60, score_utility=0.4, transpositions=True)
    states = [position(GO, CAPTURE), position(GO, CAPTURE, 1), GO.init()]
    together = run_many(search, states, simulations=60, seed=[1, 2, 3])
    alone = run(search, states[1], simulations=60, seed=2)
    assert np.array_equal(together[1].visits, alone.visits)
    assert np.array_equal(together[1].values, alone.values)


def test_the_best_of_values_is_the_best_of_what_is_compared():
    """``move=value`` plays it, and it says whether a search is open still."""
    state, take = position(GO, CAPTURE), GO.parse_action("B1")
    driver = searched(COUNTED, state, 100, c=20.0, depth=1)
    found = driver.statistics(1)
    assert found.utility[0].argmax() == take
    assert np.ptp(found.value[0][found.visits[0] > 0]) < 1e-6
    assert final_moves(found, ["value"], [0.0], [1]).tolist() == [take]
    tried = found._replace(visits=np.where(found.visits > 0, 1, 0) + 8 * (np.arange(17) == take))
    assert not undecided(tried).any()


@pytest.mark.full
def test_the_lead_of_a_network_is_the_one_that_is_shown():
    """In points, of the player to move."""
    game = make_game("go:9,komi=7.5")
    judge = evaluator_for(game, bot_from_spec("alphazero"))
    stones = np.zeros((9, 9), np.int8)
    stones[2:7, 2:7:2] = 1
    states = [game.set_up(stones, player) for player in (0, 1)]
    plain = stacked([game.without_history(state) for state in states])
    lanes = jax.tree.leaves(plain)[0].shape[-1]
    legal, seeds = jnp.ones((lanes, game.num_actions), bool), jnp.zeros(lanes, jnp.uint32)
    for symmetry in ("none", "mean"):
        own = replace(judge.evaluator, symmetry=symmetry)
        lead = np.asarray(jax.jit(own, static_argnums=1)(judge.params, game, plain, legal, seeds).lead)
        shown = opinions(game, states, own, judge.params).score * 81
        assert lead[:2] == pytest.approx(shown, abs=2.0 if symmetry == "mean" else 1e-3)
        assert lead[0] > 10 > -10 > lead[1]


@pytest.mark.full
def test_a_kept_tree_is_searched_from_its_new_lead():
    driver = searched(COUNTED, position(GO, CAPTURE), 100)
    take = int(driver.statistics(1).visits[0].argmax())
    after = rules(GO).step(position(GO, CAPTURE), take)
    legal = np.asarray(rules(GO).view(after).legal)
    order = SearchRequest(0, legal, SearchParams(150), 5, line=[take])
    driver.begin([order], stacked([after] * driver.trees))
    driver.run_chunk(151)
    own = lane_of(driver.searching, 0, ("leads",))["leads"][0, -1]
    assert own == -GO.margin(after), "White's"


@pytest.mark.full
def test_the_usual_bot_has_it_in_go():
    game = make_game("go:9")
    assert strongest(game) == "alphazero:simulations=1600,score_utility=0.1"
    assert strongest(make_game("connect_four")) == "alphazero:simulations=1600"
    found = jb.analyze(jb.position("go:9"), evaluator="heuristic", simulations=8)
    assert found.simulations == 8, "of another evaluator nobody asks for a lead"


def test_memory_is_as_stated():
    for rule in (Puct(), DynamicPuct()):
        search = Search(GO, rule, Counting(), 50, score_utility=0.1)
        tree = jax.eval_shape(functools.partial(life.idle, search, 3)).tree
        assert sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree)) == 3 * tree_bytes(
            GO, 50, rule, with_leads=True
        )


def test_bots_have_it():
    game = make_game("go:9")
    bot = bot_from_spec("alphazero:score_utility=0.2")
    assert composition(game, bot).score_utility == 0.2
    assert composition(game, bot_from_spec("alphazero")).score_utility == 0.0


@pytest.mark.full
@pytest.mark.parametrize("turned", [False, True])
def test_one_of_two_evaluators_tells_the_lead(turned):
    both = Rollout(), Counting()
    mixed = Search(GO, Puct(), Mixed(*both[::-1] if turned else both), 8, score_utility=0.4)
    assert run(mixed, GO.init(), simulations=8).simulations == 8


def test_a_lead_that_is_no_number_is_said():
    def wild(game, state, legal, seed):
        return Evaluation(legal.astype(jnp.float32), 0.0, lead=jnp.float32(jnp.nan))

    with pytest.raises(UserError, match=r"its lead is nan; should be points"):
        run(Search(GO, Puct(), wild, 8), GO.init())


def test_an_ensemble_compares_by_visits():
    found = searched(COUNTED, position(GO, CAPTURE), 100).statistics(1)
    twice = type(found)(*(np.concatenate([x, x]) for x in found))
    assert np.allclose(merged(twice, 2).utility, found.utility)


def test_where_there_is_no_lead():
    def refused(error, *parts, **named):
        with pytest.raises(UserError, match=error):
            run(Search(*parts, 8, **named), parts[0].init())

    refused("connect_four:7x6 counts no points", make_game("connect_four"), Puct(), Uniform(), score_utility=0.1)
    refused("says no lead in points", GO, Puct(), Uniform(), score_utility=0.1)
    refused("says no lead in points", GO, Puct(), Mixed(Uniform(), Rollout()), score_utility=0.1)
    refused("Rave counts games by their results", GO, Rave(), Counting(), score_utility=0.1)
    refused("should be a number from 0 to 1", GO, Puct(), Counting(), score_utility=1.5)
    refused("should be a number", GO, Puct(), Counting(), score_utility="much")
    refused('needs cutoff="value"', GO, Puct(), Counting(), score_utility=0.1, cutoff="draw")
    for spec, error in {
        "uct:score_utility=0.2": "score_utility needs evaluator=network or mixed",
        "alphazero:score_utility=2": "score_utility",
        "policy:score_utility=0.2": "score_utility needs another move than prior",
        "alphazero:selection=rave,score_utility=0.2": "score_utility needs another selection than rave",
    }.items():
        with pytest.raises(UserError, match=error):
            bot_from_spec(spec)
    with pytest.raises(
        UserError, match=r"needs a network that tells the lead in points, and there is none for tic_tac"
    ):
        jb.match("alphazero:score_utility=0.2,simulations=4", "random", game="tic_tac_toe", games=2)
    with pytest.raises(UserError, match=r"score_utility.*none for go:5"):
        jb.match("alphazero:score_utility=0.2,simulations=4", "random", game="go:5", games=2)
