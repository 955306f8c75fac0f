"""States that are batched otherwise than they are wanted are named."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.sgf_games.rules.batches import check_one, check_stacked

SPECS = ["connect_four", "go:5", "go:5,ko=positional", "gomoku:7"]


@functools.cache
def one(spec):
    return jax.device_get(jb.make_game(spec).init())


def stack(state, number, axis):
    return jax.tree.map(lambda x: np.stack([x] * number, axis=axis), state)


@pytest.mark.parametrize("spec", SPECS)
def test_states_that_are_stacked_along_the_first_axis(spec):
    game, state = jb.make_game(spec), one(spec)
    for number in (1, 4, 5, 6, 7):
        check_stacked(game, stack(state, number, 0), "here")
    for number in (1, 4) if "positional" in spec else (4,):
        with pytest.raises(jb.UserError, match=r"here: the states are stacked along the LAST axis; wanted along the F"):
            check_stacked(game, stack(state, number, -1), "here")
    with pytest.raises(jb.UserError, match=r"here: this is ONE state"):
        check_stacked(game, state, "here")


@pytest.mark.parametrize("spec", SPECS)
def test_one_state(spec):
    game, state = jb.make_game(spec), one(spec)
    check_one(game, state, "here")
    for axis, name in ((0, "FIRST"), (-1, "LAST")):
        with pytest.raises(jb.UserError, match=f"here: the states are stacked along the {name} axis; wanted is ONE"):
            check_one(game, stack(state, 4, axis), "here")


def test_states_of_other_games():
    for other, message in (
        (one("connect_four"), "here: is a LineState; wanted is a GoState, a state of go:5"),
        (stack(jax.device_get(jb.make_game("go:7").init()), 3, 0), r"here: an array of the states is \[3, 7\]; wanted is \[B, 5\]"),
        (one("go:5")._replace(ko=np.zeros((3, 2))), r"here: an array of the states is \[5\]; wanted is \[B, 5\]"),
        (stack(one("go:5"), 3, 0)._replace(ko=np.zeros(4)), r"here: an array of the states is \[4\]; wanted is \[B\]"),
        ((), "here: is a tuple"),
        (jb.position("go:5"), "here: is a Position"),
    ):  # fmt: skip
        with pytest.raises(jb.UserError, match=message):
            check_stacked(jb.make_game("go:5"), other, "here")


def test_how_much_of_the_past_a_state_holds_is_its_own_affair():
    """States of an environment of Go know what has been on the board."""
    env = jb.env("go:5")
    states = jax.eval_shape(
        lambda: jax.vmap(lambda key: env.position(env.init(key)))(jax.random.split(jax.random.key(0), 3))
    )
    check_stacked(env.game, states, "here")
    check_one(env.game, jax.eval_shape(lambda: env.position(env.init(jax.random.key(0)))), "here")


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"simulations": "many"}, "simulations='many': simulations, as many as the search has room for; should be a whole"),
        ({"simulations": 1.5}, "simulations=1.5: "),
        ({"simulations": 5}, "simulations=5: simulations, as many as the search has room for; should be a whole number from 0"),
        ({"simulations": [1, 2, 3]}, "simulations: 3 of them for 2 positions; give one, or one for each"),
        ({"simulations": [1, -2]}, "simulations=-2: "),
        ({"seed": [1]}, "seed: 1 of them for 2 positions"),
        ({"seed": "x"}, "seed='x': of the random numbers; should be a whole number"),
        ({"c": [1.0, float("nan")]}, "c=nan: should be a number"),
        ({"noise": "x"}, "noise='x': should be a number"),
        ({"simulatons": 3}, "simulatons: Puct has no number of this name"),
    ],
)  # fmt: skip
def test_numbers_of_a_search_that_cannot_be_meant(numbers, message):
    search = jb.Search("connect_four", jb.Puct(), "uniform", 4)
    with pytest.raises(jb.UserError) as refused:
        jb.run_many(search, [one("connect_four")] * 2, **numbers)
    assert message in str(refused.value)


def test_numbers_in_a_program_of_ones_own():
    search, states = jb.Search("connect_four", jb.Puct(), "uniform", 4), stack(one("connect_four"), 2, 0)
    for numbers, message in (
        ({"c": np.ones(3)}, r"c: is \[3\]; should be one number for all, or \[2\]"),
        ({"simulations": np.ones((2, 1), int)}, r"simulations: is \[2, 1\]"),
        ({"invalid_actions": np.zeros((3, 7), bool)}, r"invalid_actions: is \[3, 7\]; should be bool\[2, 7\]"),
    ):
        with pytest.raises(jb.UserError, match=message):
            search((), states, jax.random.key(0), **numbers)


def test_whoever_searches_is_told():
    """By the name of what he called, before anything runs."""
    search, state = jb.Search("connect_four", jb.Puct(), "uniform", 4), one("connect_four")
    with pytest.raises(jb.UserError, match=r"search of connect_four:7x6: the states are stacked along the LAST axis"):
        search((), stack(state, 3, -1), jax.random.key(0))
    with pytest.raises(jb.UserError, match=r"the states are stacked along the LAST axis"):
        jax.jit(search)((), stack(state, 3, -1), jax.random.key(0))
    with pytest.raises(jb.UserError, match=r"jb.run: the states are stacked along the FIRST axis; wanted is ONE state"):
        jb.run(search, stack(state, 3, 0))
    for states in (stack(state, 3, 0), jnp.zeros(3)):
        with pytest.raises(jb.UserError, match=r"jb.run_many: wanted is a list of states"):
            jb.run_many(search, states)
    with pytest.raises(jb.UserError, match=r"jb.run_many: the states are stacked along the LAST axis"):
        jb.run_many(search, [stack(state, 3, -1)])
