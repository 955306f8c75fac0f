"""What suits an accelerator changes nothing of what a search finds. The choices are pretended here; the device is a CPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jubango.bots.composition import evaluator_for, params_of, search_for
from jubango.bots.config import Bot, bot_from_spec
from jubango.bots.evaluators.evaluator import Heuristic
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.run import run
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.rules.dynamic_puct import DynamicPuct
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.rave import Rave
from jubango.bots.search.search import Search
from jubango.bots.search.tree.tree import add_in_order, count, equal_in_trees
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import machine
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import stacked


class Card:
    platform, device_kind = "gpu", "a card"

    def memory_stats(self):
        return {"bytes_limit": 60 * 2**30}


@pytest.fixture
def cards(monkeypatch):
    """A machine with four GPUs, as far as it is asked about."""
    monkeypatch.setattr(machine, "present", lambda: [Card()] * 4)


def test_a_card_is_filled_before_the_next_one_is_begun(cards):
    assert [machine.device_layout(games)[0] for games in (1, 2, 128, 1024, 1025, 4096, 16_384)] == [1, 1, 1, 1, 2, 4, 4]
    assert machine.device_layout(128) == (1, 128) and machine.device_layout(33) == (1, 64)
    assert machine.device_layout(64, 32)[0] == 2, "of several leaves each is a lane"
    assert machine.full_lanes() == 4 * 1024 and machine.games_at_once(0) == 2048 and machine.games_at_once(7) == 7


def test_trees_are_counted_in_the_memory_of_the_cards(cards):
    assert machine.device_memory_bytes() == 4 * 60 * 2**30
    game, bot = make_game("go:19"), bot_from_spec("uct:simulations=10000")
    with machine.made_for("cpu"):
        assert machine.device_memory_bytes() == machine.memory_bytes()
    assert affordable_lanes(game, [bot]) > 500


def test_sums_are_in_the_order_of_the_leaves(monkeypatch):
    """Of numbers whose sum depends on it: 1e8 + 1 - 1e8 is 0 in float32, and 1e8 - 1e8 + 1 is 1."""
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(in_order=True))
    trees, leaves = 2, 3
    node = jnp.array([1, 1, 1, 0, 1, 0])
    value = jnp.array([1e8, 1.0, -1e8, 1e8, 5.0, -1e8], jnp.float32)
    b = jnp.repeat(jnp.arange(trees), leaves)
    found = jax.jit(lambda v: add_in_order(jnp.zeros((trees, 2)), v, leaves, equal_in_trees(leaves, node), b, node))
    assert np.array_equal(found(value), [[0, 0], [0, 5]])
    assert np.array_equal(found(value[jnp.array([0, 2, 1, 3, 4, 5])]), [[0, 1], [0, 5]])
    edges, action = jnp.zeros((trees, 4, 4, 3)), jnp.array([[2, 2, 2, 0, 0, 1]] * 2)
    gains = jnp.stack([value, value / 3])
    levels = jnp.stack([node, 2 + node])  # a node has one depth
    both = [
        count(edges, 1, gains, b, levels, action, leaves),
        count(edges, 1, gains, b, levels, action),  # as scattered by a CPU
    ]
    assert np.array_equal(*both) and np.any(both[0] != edges)


@pytest.mark.full
@pytest.mark.parametrize(
    ("rule", "keys"),
    [
        (Puct(fpu="parent"), {"leaves": 3}),
        (DynamicPuct(), {}),
        (Rave(), {"solver": True, "transpositions": True, "leaves": 2}),
    ],
    ids=["puct", "dynamic-puct", "rave"],
)
def test_a_search_finds_the_same_tree_as_an_accelerator_would(rule, keys, monkeypatch):
    """With its loops, and its sums put in order."""
    game = make_game("tic_tac_toe")
    search = Search(game, rule, Heuristic(), 24, **keys)
    states = jax.tree.map(lambda x: jnp.repeat(x[None], 2, axis=0), game.init())

    def found():
        run = jax.jit(lambda key: search((), states, key, tree=True))
        return jax.tree.leaves(jax.device_get(run(jax.random.key(5))))

    as_cpu, parts = found(), ("first", "descent", "climb", "in_order", "moved", "skips", "simulations")
    its = {part: getattr(machine.ACCELERATOR, part) for part in parts}
    monkeypatch.setattr(machine, "CPU", machine.CPU._replace(**its))
    for one, other in zip(as_cpu, found(), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.full
@pytest.mark.parametrize(
    "keys",
    [
        {}, {"solver": True}, {"evaluator": "rollout", "selection": "rave"}, {"evaluator": "rollout", "transpositions": True},
        {"reuse": True, "noise": 0.25},
    ],
    ids=str,
)  # fmt: skip
def test_devices_that_search_a_tree_together_find_what_one_finds(keys):
    """Each has the tree, and evaluates some of the leaves. The dice of a leaf are its own."""
    if len(jax.devices()) < 2:
        pytest.skip("this machine has one device")
    one, other = searched_twice(1, keys), searched_twice(2, keys)
    assert one[0].done.min() > 0 and one[1].done.min() > 0
    for first, second in zip(one, other, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))


def searched_twice(devices, keys):
    """Statistics of three positions of tic-tac-toe and of those that a move in the last square leads to."""
    game, told = make_game("tic_tac_toe"), {"selection": "puct", "evaluator": "heuristic", **keys}
    bot = Bot("uct", simulations=90, leaves=6, devices=devices, **told)
    evaluator, weights = evaluator_for(game, bot)
    driver = Driver(search_for(game, [bot], evaluator), 3, 1, weights, bot.reuse)
    first = game.init()
    places, found = [first, game.step(first, 4), game.step(game.step(first, 4), 0)], []
    for line in (None, (8,)):
        places = [game.step(place, 8) if line else place for place in places]
        orders = []
        for lane, place in enumerate(places):
            legal = np.asarray(game.legal_action_mask(place))
            kept = line if bot.reuse else None
            orders.append(SearchRequest(lane, legal, params_of(game, bot, legal), seed=lane, line=kept))
        driver.begin(orders, stacked(places))
        while driver.busy.any():
            driver.advance()
        found.append(driver.statistics(3))
    driver.close()
    return found


def test_devices_are_for_those_who_drive_the_search():
    search = Search("tic_tac_toe", Puct(), Heuristic(), 24, leaves=2, devices=2)
    states = jax.tree.map(lambda x: x[None], search.game.init())
    with pytest.raises(UserError, match="devices=2: is for"):
        search((), states, jax.random.key(5))
    with pytest.raises(UserError, match="leaves=3: should be a multiple of devices=2"):
        Search("tic_tac_toe", Puct(), Heuristic(), 24, leaves=3, devices=2)
    with pytest.raises(UserError, match="devices=64: there are"):
        run(Search("tic_tac_toe", Puct(), Heuristic(), 24, leaves=64, devices=64), search.game.init())
