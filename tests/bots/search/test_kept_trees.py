"""Trees that are kept for the next move."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referee.search import TextbookSearch, puct
from tiny import Table, Tiny, random_tree, same_tree

from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search import lifecycle as life
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.results.result import lane_of, search_tree
from jubango.bots.search.rules.critical_puct import CriticalPuct
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.bots.search.tree import tree
from jubango.bots.search.tree.node_states import packed, unpacked
from jubango.bots.search.tree.tree import ACTION, CHILD, PARENT, STATE, VISITS
from jubango.sgf_games.compute import machine
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules, stacked

pytestmark = pytest.mark.full

C4, TTT = make_game("connect_four"), make_game("tic_tac_toe")
SEARCHES = {
    "a leaf": Search(C4, Ucb1(), Rollout(), 37, solver=True, ties="random"),
    "leaves, transpositions": Search(C4, Ucb1(), Rollout(), 37, leaves=4, transpositions=True, ties="random"),
    "rave": Search(C4, Rave(), Rollout(amaf=True), 37),
    "criticality": Search(make_game("go:4,komi=3.5"), CriticalPuct(), Rollout(owners=True), 37, ties="random"),
    "go": Search(make_game("go:4,komi=3.5"), Ucb1(), Rollout(), 37, ties="random"),
}


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_reuse_equals_going_on(seed):
    """A tree that is kept for the next move holds what the old one held there, and grows as that would."""
    rng = np.random.default_rng(seed)
    games = [random_tree(rng) for _ in range(4)]
    search = Search(Tiny(), Puct(), Table(), 64)
    driver = Driver(search, 4, reuse=True)
    states = [state for state, _ in games]

    def tell(numbers, states, lines, legal=None):
        masks = [np.asarray(search.game.legal_action_mask(state)) for state in states] if legal is None else legal
        orders = [SearchRequest(i, masks[i], numbers, i, line=line) for i, line in enumerate(lines) if line is not None]
        driver.begin(orders, stacked(states))
        return {order.lane for order in orders}

    tell(SearchParams(40, 1.3), states, [[]] * 4)
    driver.run_chunk(64)
    lines, textbooks, moved = [], [], list(states)
    for i, (state, lists) in enumerate(games):
        textbook = TextbookSearch(lists, puct(1.3)).run(40)
        node, line = textbook.root, []
        while len(line) < 2:  # down the most visited moves, but not to the end of the game
            inner = {a: k for a, k in node.children.items() if k.children}
            if not inner:
                break
            action = max(inner, key=lambda a: (inner[a].visits, -a))
            line.append(action)
            node = inner[action]
        lines.append(line or None)
        textbook.root = node
        textbooks.append(textbook)
        moved[i] = state._replace(position=jnp.int32(node.position))
    told = tell(SearchParams(60, 1.3), moved, lines)
    for steps in (0, 64):
        made, _ = driver.run_chunk(steps)
        for i in told:
            textbooks[i].run(int(made[i]) + 1 - textbooks[i].root.visits)
            same_tree(search_tree(lane_of(driver.searching, i)), textbooks[i].root)
    assert all(made[i] == 60 for i in told)

    # A root move that has visits and is illegal now (superko): such a tree is not kept.
    lines, legal = [None] * 4, np.zeros((4, 4), bool)
    for i in told:
        inner = {a: k for a, k in textbooks[i].root.children.items() if len(k.children) > 1}
        if inner:
            action, node = next(iter(inner.items()))
            lines[i], moved[i] = [action], games[i][0]._replace(position=jnp.int32(node.position))
            legal[i] = np.asarray(search.game.legal_action_mask(moved[i]))
            legal[i, next(a for a, k in node.children.items() if k.visits)] = False
    told = tell(SearchParams(60, 1.3), moved, lines, legal)
    made, _ = driver.run_chunk(0)
    assert not made[list(told)].any()
    made, _ = driver.run_chunk(64)
    found = driver.statistics(driver.lanes)
    for i in told:
        visits = search_tree(lane_of(driver.searching, i)).visits
        assert made[i] == 60 == visits[0] - 1
        assert not found.visits[i][~legal[i]].any()


def test_a_kept_tree_may_hold_more_simulations_than_are_wanted():
    """As after thinking in the other side's time: then there is nothing left to do."""
    search, first = Search(TTT, Ucb1(), Rollout(), 96, ties="random"), initial_state(TTT)
    driver = Driver(search, 1, reuse=True)
    driver.begin([SearchRequest(0, np.ones(9, bool), SearchParams(96, 0.1), 1)], stacked([first] * driver.trees))
    driver.run_chunk(200)
    visits = driver.advance().found.visits[0]
    action = int(visits.argmax())
    assert visits[action] - 1 > 5
    second = rules(TTT).step(first, action)
    driver.begin(
        [SearchRequest(0, np.arange(9) != action, SearchParams(5), 2, line=[action])], stacked([second] * driver.trees)
    )
    for _ in range(5):
        progress = driver.advance()
        if len(progress.ready):
            break
    assert progress.ready.tolist() == [0]
    assert progress.found.visits.sum() == visits[action] - 1
    assert not driver.busy.any()


@pytest.mark.parametrize("trees", [1, 5])
def test_no_tree_is_copied_for_another_root(trees, monkeypatch):
    """A new root costs what there is in a tree, not what there is room for."""
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(moved=4 * trees))
    search = SEARCHES["rave"]
    idle = jax.eval_shape(lambda: life.idle(search, trees))
    mask, lines = np.zeros(trees, bool), np.zeros((trees, tree.LONGEST_KEPT_LINE), np.int32)
    text = jax.jit(life.keep, donate_argnums=0).lower(idle, mask, lines).compile().as_text()
    block = f"f32[{trees},39,6,7]"
    assert block in text
    assert not re.search(rf"= {re.escape(block)}\S* copy\(", text)


@pytest.mark.parametrize("piece", [8, 4096])
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_another_root(search, piece, monkeypatch):
    """What is under a node, and nothing else, lies as it was under the new root, however many nodes move at once; also
    in arrays that hold the rest of an older search. (Whole trees are compared with a textbook's above.)"""
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(moved=3 * piece))
    states = [initial_state(search.game)] * 3
    driver = Driver(search, 3)
    for seed, simulations in ((1, 37), (2, 29)):
        legal = np.asarray(search.game.legal_action_mask(states[0]))
        orders = [SearchRequest(i, legal, SearchParams(simulations + i, 0.2), 3 * seed + i) for i in range(3)]
        driver.begin(orders, stacked(states))
        driver.run_chunk(64)
    before = jax.device_get(jax.tree.map(lambda x: x[:3], driver.searching.tree))
    used = np.asarray(driver.searching.done[:3]) + 1
    played = [int(before.edges[i, 0, VISITS].argmax()) for i in range(3)]
    roots = np.array([0, *(before.edges[i, 0, CHILD, played[i]] for i in (1, 2))], np.int32)
    after, count = jax.device_get(jax.jit(tree.rerooted)(before, roots, used))
    assert count[0] == 0
    leaves = list(zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True))
    assert all(np.array_equal(old[0, :-1], new[0, :-1]) for old, new in leaves)  # the last one is written for nobody
    for i in (1, 2):
        below = [int(roots[i])]
        for node in range(roots[i] + 1, used[i]):
            parent, action = before.nodes[i, node, [PARENT, ACTION]]
            if parent in below and before.edges[i, parent, CHILD, action] == node:
                below.append(node)
        assert count[i] == len(below) > 1
        place = {node: k for k, node in enumerate(below)}
        for node, k in place.items():
            old, new = before.edges[i, node], after.edges[i, k]
            assert np.array_equal(np.delete(new, CHILD, 0), np.delete(old, CHILD, 0))
            assert new[CHILD].tolist() == [place.get(int(child), -1) for child in old[CHILD]]
            old, new = before.nodes[i, node], after.nodes[i, k]
            assert np.array_equal(np.delete(new, PARENT), np.delete(old, PARENT))
            assert new[PARENT] == (place[old[PARENT]] if k else 0)
            rest = [(x, y) for x, y in leaves if x.shape[1] and x is not before.edges and x is not before.nodes]
            assert all(np.array_equal(y[i, k], x[i, node]) for x, y in rest)


def test_shared_nodes_stay_what_they_are(monkeypatch):
    """Under a node that is reached in several orders of moves lies more than the visits of the way that is played: what
    is made next must not be written over it, whatever is kept after that."""
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(moved=16))
    search = Search(C4, Ucb1(), Rollout(), 400, transpositions=True, ties="random")
    driver, state, line, more = Driver(search, 1), initial_state(C4), None, 0
    state_at, words_at = jax.jit(lambda words: unpacked(words, C4)), jax.jit(packed)
    for ply in range(4):
        legal = np.asarray(C4.legal_action_mask(state))
        driver.begin([SearchRequest(0, legal, SearchParams(400, 0.2), ply, line=line)], stacked([state] * driver.trees))
        driver.run_chunk(0)
        driver.run_chunk(401)
        now = jax.device_get(driver.searching.tree)
        last, edges = int(driver.searching.done[0]), now.edges[0]
        under, queue = {0: 0}, [0]  # what each node that can be reached has under it, by the chains of parents
        while queue:
            node = queue.pop()
            here = state_at(now.nodes[0, node, STATE:])
            for action in np.flatnonzero(edges[node, CHILD] > 0):
                child = int(edges[node, CHILD, action])
                assert child <= last
                there = C4.without_history(rules(C4).step(here, int(action)))
                assert np.array_equal(words_at(there), now.nodes[0, child, STATE:])
                if child not in under:
                    under[child] = 0
                    queue.append(child)
        for node in sorted(under, reverse=True)[:-1]:
            parent = int(now.nodes[0, node, PARENT])
            assert parent < node
            under[parent] += 1 + under[node]
        open_ends = [a for a in range(7) if edges[0, CHILD, a] > 0 and edges[int(edges[0, CHILD, a]), VISITS].any()]
        excess = {a: under[int(edges[0, CHILD, a])] - edges[int(edges[0, CHILD, a]), VISITS].sum() for a in open_ends}
        line = [max(excess, key=excess.__getitem__)]
        more += excess[line[0]] > 0
        state = rules(C4).step(state, line[0])
    assert more > 1, "no move had more under it than its visits"


def test_an_order_that_another_one_overtakes():
    """As by a line that comes before pondering has begun: the tree is kept for both moves."""
    search, lines = SEARCHES["rave"], ([3], [2])
    first = initial_state(C4)
    states = [first, rules(C4).step(first, 3)]
    states.append(rules(C4).step(states[1], 2))

    def begin(driver, number, line=None):
        order = SearchRequest(0, np.ones(7, bool), SearchParams(37, 0.5, equivalence=9.0), number, line=line)
        driver.begin([order], stacked([states[number]] * driver.trees))

    kept = []
    for at_once in (False, True):
        driver = Driver(search, 1)
        begin(driver, 0)
        driver.run_chunk(60)
        begin(driver, 1, lines[0])
        if not at_once:
            driver.run_chunk(0)
        begin(driver, 2, lines[1])
        driver.run_chunk(0)
        kept.append((int(driver.searching.done[0]), jax.device_get(driver.searching.tree.edges[0, 0])))
    assert kept[0][0] == kept[1][0] > 0
    assert np.array_equal(kept[0][1], kept[1][1])


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_trees_go_on_elsewhere(search):
    """In the middle of a search as well, in another lane, of a driver that has had other trees; what is damaged is
    refused, and harms nobody."""
    state = initial_state(search.game)
    legal = np.asarray(search.game.legal_action_mask(state))

    def begin(driver, lane, **keys):
        driver.begin([SearchRequest(lane, legal, SearchParams(37, 0.2), 5, **keys)], stacked([state] * driver.trees))

    def end(driver, lane):
        while not len((update := driver.advance()).ready):
            pass
        assert update.ready.tolist() == [lane]
        return update.found

    driver, other = Driver(search, 3), Driver(search, 3)
    begin(driver, 0)
    driver.run_chunk(4)
    said = driver.stored(0)
    assert 0 < int(driver.searching.done[0]) < 37
    begin(other, 1)
    other.run_chunk(64)
    for wrong in (said[:-9], b"", said[:40] + b"\0" + said[41:]):
        before = jax.device_get(other.searching)
        assert other.restore({2: wrong}) == [2]
        assert jax.tree.all(jax.tree.map(np.array_equal, before, jax.device_get(other.searching)))
    assert other.restore({2: said}) == []
    assert other.stored(2) == said
    end(other, 1)
    begin(other, 2, resumed=True)
    for one, two in zip(end(driver, 0), end(other, 2), strict=True):
        assert np.array_equal(one, two)
    assert driver.stored(0) == other.stored(2) != said
