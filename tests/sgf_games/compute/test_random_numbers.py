"""Dice that should know nothing of each other: of trees, simulations, lanes, games and rollouts."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from schedules import round_robin

from jubango.arena.schedule.pairings import move_seed
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.one_by_one import OneByOne
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest, seeds_of
from jubango.bots.search.results.result import lane_of, search_tree
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.search import Search
from jubango.bots.search.tree.transpositions import empty_table, remember
from jubango.sgf_games.compute.random_numbers import mix, random_bits
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, stacked

C4 = make_game("connect_four")
LAGS = range(-40, 41)


def correlations(a, b, lags=LAGS):
    """Of a[i] and b[i + lag], each as so many standard errors."""
    for lag in lags:
        x, y = (a[: len(a) - lag], b[lag:]) if lag >= 0 else (a[-lag:], b[:lag])
        yield lag, np.corrcoef(x, y)[0, 1] * len(x) ** 0.5


def the_seed(game, state, legal, seed):
    return legal, (seed >> 8).astype(jnp.float32) / 2.0**23 - 1


@pytest.mark.full
def test_trees_and_lanes_do_not_share_their_simulations_dice():
    n, ensemble = 400, 4
    driver = Driver(Search(C4, Puct(), OneByOne(the_seed), n), 2, ensemble)
    orders = [SearchRequest(i, np.ones(7, bool), SearchParams(n), i) for i in range(2)]
    driver.begin(orders, stacked([initial_state(C4)] * 2))
    while driver.busy.any():
        driver.advance()
    trees = [search_tree(lane_of(driver.searching, k)).raw_value for k in range(2 * ensemble)]
    driver.close()
    assert all(len(dice) > n - 50 for dice in trees), "connect four is not over in so few moves"
    for a, b in itertools.combinations(trees, 2):
        assert len(set(a.tolist()) & set(b.tolist())) <= 4, "finished games, and one or two of 24 bits by chance"
        assert max(abs(z) for _, z in correlations(a[:350], b[:350])) < 5
    for dice in trees:
        assert max(abs(z) for lag, z in correlations(dice, dice) if lag) < 5


def test_the_first_tree_of_an_ensemble_is_the_one_that_would_be_alone():
    orders = [SearchRequest(lane, np.ones(7, bool), SearchParams(8), lane) for lane in range(200)]
    assert seeds_of(orders, 1).tolist() == list(range(200))
    assert seeds_of(orders, 3)[::3].tolist() == list(range(200))
    seeds = seeds_of(orders, 8)
    assert len(set(seeds.tolist())) == 1600


def test_rollouts_of_neighbouring_seeds_do_not_agree():
    """The results of games from the first position, from seeds that lie side by side and from those of a search."""
    first = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[..., None], 4096, axis=-1), initial_state(C4))
    legal = jnp.ones((4096, 7), bool)
    roll = jax.jit(lambda seeds: Rollout()((), C4, first, legal, seeds).value)
    counters = jnp.arange(4096, dtype=jnp.uint32)
    for seeds in (counters, mix(jnp.uint32(3) + counters * jnp.uint32(0x9E3779B9)), counters * jnp.uint32(0x632BE5AB)):
        values = np.asarray(roll(seeds))
        assert max(abs(z) for lag, z in correlations(values, values, range(1, 20))) < 5


def test_parts_of_an_evaluator_do_not_share_dice():
    """The mean of two rollouts is that of two games, and a policy's own dice do not decide what is drawn from it."""
    first = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[..., None], 512, axis=-1), initial_state(C4))
    legal, seeds = jnp.ones((512, 7), bool), jnp.arange(512, dtype=jnp.uint32)
    both = jax.jit(lambda: Mixed(Rollout(), Rollout())((), C4, first, legal, seeds).value)()
    assert 150 < np.sum(np.asarray(both) == 0) < 350, "half of all pairs of games end one each"
    seen = []

    def noisy(game, state, legal, seed):
        jax.debug.callback(lambda own: seen.append(int(own)), seed)
        return legal, jnp.float32(0)

    policy = Rollout(moves="policy", policy=OneByOne(noisy))
    four = jax.tree.map(lambda x: x[..., :4], first)
    jax.block_until_ready(jax.jit(lambda: policy((), C4, four, legal[:4], seeds[:4]).value)())
    jax.effects_barrier()
    throws = random_bits(mix(seeds[:4] + jnp.uint32(0x632BE5AB))[:, None], jnp.arange(42))
    assert seen
    assert not set(seen) & set(np.asarray(throws).reshape(-1).tolist())


def test_of_two_leaves_that_want_one_place_the_first_has_it():
    table = empty_table(2, 4)
    tree, place = jnp.array([0, 0, 1, 1]), jnp.array([3, 3, 3, 5])
    key = jnp.arange(8, dtype=jnp.uint32).reshape(4, 2)
    after = remember(table, tree, place, key, jnp.array([7, 8, 9, 10]))
    assert after.node[0].tolist() == [-1, -1, -1, 7, -1, -1, -1, -1]
    assert after.key[0, 3].tolist() == [0, 1]
    assert (after.node[1, 3], after.node[1, 5]) == (9, 10)


def test_the_seeds_of_moves_and_games_are_all_different():
    seeds = [move_seed(task.seed, ply) for task in round_robin(["a", "b", "c"], 14, 1) for ply in range(60)]
    assert len(set(seeds)) == len(seeds)
    low = np.array(seeds, np.uint32) & 0xFFFF
    assert max(abs(z) for _, z in correlations(low, low, range(1, 70))) < 5


def test_the_throws_of_a_seed_are_even():
    bits = np.asarray(random_bits(jnp.arange(2000, dtype=jnp.uint32)[:, None], jnp.arange(50)))
    ones = np.unpackbits(bits.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / (bits.size * 32) ** 0.5
    for a, b in itertools.pairwise(bits.T[:10]):
        assert abs(np.corrcoef(a, b)[0, 1]) * len(a) ** 0.5 < 5
