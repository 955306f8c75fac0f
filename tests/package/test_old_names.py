"""Names of before go on working, and say once what they are called now (CONTRIBUTING.md, Old names)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

import jubango as jb

ROOT = Path(__file__).parents[2]
OLD = {"Firsts": "Amaf", "Numbers": "SearchParams", "RootDice": "RootNoise", "Settings": "TracedParams"}


def test_the_door_knows_the_old_names():
    code = f"""
import warnings
import jubango as jb
warnings.simplefilter("always")
for old, new in {OLD}.items():
    with warnings.catch_warnings(record=True) as said:
        assert getattr(jb, old) is getattr(jb, new) and getattr(jb, old)
    assert [str(one.message) for one in said] == [f"jb.{{old}} is now called jb.{{new}}"], said
    assert said[0].category is DeprecationWarning and old not in jb.__all__
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_amaf_by_its_old_name():
    amaf = jb.Amaf(jnp.zeros((1, 1, 9), jnp.int32), jnp.zeros((1, 1)))
    with pytest.deprecated_call(match="amaf"):
        found = jb.Evaluation(jnp.ones((1, 9)), jnp.zeros(1), firsts=amaf)
    assert found.amaf is amaf
    with pytest.deprecated_call(match="amaf"):
        assert jb.Rollout(firsts=True) == jb.Rollout(amaf=True)

    with pytest.deprecated_call(match=r"Older\.firsts is now called amaf"):

        class Older(jb.Rule):
            firsts = True

            def __call__(self, edges, params):
                return edges.first_visits + edges.first_sum

    assert Older.amaf
    edges = jb.Edges(*[jnp.ones((1, 9))] * 3, jnp.zeros(1), amaf_visits=2 * jnp.ones((1, 9)), amaf_sum=jnp.ones((1, 9)))
    assert Older()(edges, None).tolist() == [[3.0] * 9]


def test_a_game_with_the_old_name_of_a_playout():
    with pytest.deprecated_call(match="random_playout_with_amaf"):

        class Older(type(jb.make_game("tic_tac_toe"))):
            def random_playout_with_firsts(self, states, seeds):
                return "its own"

    assert Older(3, 3, 3).random_playout_with_amaf(None, None) == "its own"


def test_an_evaluator_with_the_old_name_of_its_batch():
    with pytest.deprecated_call(match=r"Older\.vector is now called saturating_batch"):

        class Older(jb.Uniform):
            vector = 7

    assert Older().saturating_batch == 7


@pytest.mark.full
def test_numbers_and_seeds_of_a_search_by_their_old_names():
    search = jb.Search("tic_tac_toe", jb.Ucb1(), jb.Uniform(), 12)
    states = [jb.position("tic_tac_toe").state] * 2
    now = jb.run_many(search, states, simulations=[5, 7], c=1.0, seed=[3, 4])
    with pytest.deprecated_call(match="numbers=") as said:
        old = jb.run_many(search, states, [jb.SearchParams(5, 1.0), jb.SearchParams(7, 1.0)], seeds=[3, 4])
    assert {one.filename for one in said} == {__file__}
    assert [one.visits.tolist() for one in old] == [one.visits.tolist() for one in now]
    with pytest.deprecated_call(match="numbers=") as said:
        assert jb.run(search, states[0], jb.SearchParams(5)).simulations == 5
    assert {one.filename for one in said} == {__file__}
