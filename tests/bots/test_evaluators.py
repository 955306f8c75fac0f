"""What people give as evaluators, and what these say: taken where it can be meant, else refused in one line; and a search
that plays legal moves whatever it is told."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nets import random_network
from tiny import Tiny

import jubango as jb
from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.judgement import fault_in, judged, look_at
from jubango.bots.evaluators.registry import EVALUATORS, as_evaluator
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, initial_states

C4, TTT = jb.make_game("connect_four"), jb.make_game("tic_tac_toe")
LINE = jnp.arange(7.0)


def four(game, state, legal, seed):
    return LINE, 0.25


def five(weights, board_game, position, moves, dice):
    return LINE * weights, 0.25


def judge(thing, params=2.0, lanes=3):
    """What it says of the first position of connect four."""
    legal, seeds = jnp.ones((lanes, 7), bool).at[:, 6].set(False), jnp.zeros(lanes, jnp.uint32)
    return judged(as_evaluator(thing), params, C4, initial_states(C4, lanes), legal, seeds)


class Mind:
    def __init__(self, scale=1.0):
        self.scale = scale

    def judge(self, game, state, legal, seed):
        return LINE * self.scale, 0.25

    def __call__(self, params, game, state, legal, seed):
        return LINE * params, 0.25

    compiled = jax.jit(judge, static_argnums=(0, 1))
    compiled_here = jb.jit(judge)


@dataclass(frozen=True)
class Frozen:
    scale: float = 3.0

    def __call__(self, game, state, legal, seed):
        return jb.Evaluation(LINE * self.scale, 0.25)


@pytest.mark.parametrize(
    ("thing", "times"),
    [
        (four, 1),
        (five, 2),
        (lambda game, state, legal, seed, scale=5.0: (LINE * scale, 0.25), 5),
        (lambda params, game, state, legal, seed=None: (LINE * params, 0.25), 2),
        (functools.partial(five, 4.0), 4),
        (jax.jit(four, static_argnums=0), 1),
        (jb.jit(five), 2),
        (Mind(6.0).judge, 6),
        (Mind(6.0).compiled, 6),
        (Mind(6.0).compiled_here, 6),
        (lambda weights, game, state, legal, seed=0: (LINE * weights, 0.25), 2),
        (Mind(), 2),
        (Frozen(), 3),
    ],
)
def test_what_can_be_an_evaluator(thing, times):
    """Its weights come first where it takes five arguments, whatever they are called."""
    weights, value, amaf, *_ = judge(thing)
    assert np.allclose(weights, np.arange(7.0) * times * (np.arange(7) < 6))
    assert np.array_equal(value, np.full(3, np.float32(0.25)))
    assert amaf is None


class Loose:
    __hash__ = None

    def __call__(self, game, state, legal, seed):
        return LINE, 0.0


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (lambda game, state: (LINE, 0.0), "takes (game, state); should take (game, state, legal, seed), or (params,"),
        (lambda a, b, c, d, e, f: (LINE, 0.0), "takes (a, b, c, d, e, f); should take"),
        (lambda game, state, legal, seed, *, rng: (LINE, 0.0), "should take (game, state, legal, seed)"),
        (Loose(), 'evaluator "Loose": cannot be hashed'),
        (Frozen, "the class Frozen is neither a function"),
        (7, "int 7 is neither a function"),
        ("centr", 'no evaluator is called "centr"'),
    ],
)
def test_what_cannot_be_one(thing, message):
    with pytest.raises(jb.UserError) as refused:
        jb.Search(C4, jb.Puct(), thing, 8)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (lambda: (1.0, 0.0), "its prior is 1.0; should be float32[7] (a number for each action)"),
        (lambda: (jnp.ones(6), 0.0), "its prior is float32[6]; should be float32[7]"),
        (lambda: (LINE, jnp.zeros(1)), "its value is float32[1]; should be float32[]"),
        (lambda: (LINE, 1j), "its value is a complex; should be float32[]"),
        (lambda: (LINE, True), "its value is True; should be float32[]"),
        (lambda: (LINE, "even"), "its value is 'even'; should be float32[]"),
        (lambda: LINE, "gave float32[7]; should give (prior, value) or a jb.Evaluation"),
        (lambda: (LINE, None), "gave (float32[7], nothing)"),
        (lambda: (LINE, 0.0, 1), "gave (float32[7], 0.0, 1)"),
        (
            lambda: jb.Evaluation(logits=jnp.ones((1, 7)), value=0.0),
            "its logits is float32[1, 7]; should be float32[7]",
        ),
        (
            lambda: jb.Evaluation(LINE, 0.0, owners=(jnp.zeros((1, 7), int), jnp.zeros(1))),  # type: ignore[arg-type]
            "its owners is (int32[1, 7], float32[1]); should be a jb.Owners(player, result)",
        ),
    ],
)
def test_shapes_and_types_are_named(gives, message):
    """With the evaluator and the game, before anything runs."""

    def centre(game, state, legal, seed):
        return gives()

    with pytest.raises(jb.UserError) as refused:
        judge(centre)
    assert str(refused.value).startswith('evaluator "centre" of connect_four:7x6: ')
    assert message in str(refused.value)


def test_an_evaluation_has_weights_or_logits():
    for given in ({}, {"prior": LINE, "logits": LINE}):
        with pytest.raises(jb.UserError, match="one of them"):
            jb.Evaluation(value=0.0, **given)
    with pytest.raises(jb.UserError, match="its value is nothing"):
        judge(lambda game, state, legal, seed: jb.Evaluation(logits=LINE))


def test_logits_are_a_softmax_over_legal_actions():
    """However much larger those of illegal ones are, and with what masks leave there."""
    logits = jnp.array([3.0, 1.0, -50.0, -np.inf, 3.0, 0.0, 1e30])  # the last one is illegal
    weights, *_ = judge(lambda game, state, legal, seed: jb.Evaluation(logits=logits, value=0.0))
    expected = np.where(np.arange(7) < 6, np.exp(np.minimum(logits, 3.0) - 3.0), 0.0)
    assert np.allclose(weights, expected)
    shifted, *_ = judge(lambda game, state, legal, seed: jb.Evaluation(logits=logits - 1e4, value=0.0))
    assert np.allclose(shifted[:, :2], expected[:2], atol=1e-2)


def test_faults_in_numbers():
    legal = np.array([[True, True, False], [False, False, False]])
    good = np.array([[1.0, 0.0, np.nan], [np.nan, -1.0, np.inf]])  # of illegal actions, and where nobody asks
    assert fault_in(False, good, np.array([1.0005, 9.0]), legal) == ""
    assert fault_in(True, -good, np.array([0.0, np.nan]), legal) == ""
    assert fault_in(True, np.array([[-np.inf, 0.0, 0.0], good[1]]), np.zeros(2), legal) == ""
    for logits, own, value, what in (
        (False, [-3.0, 1.0], 0.0, "negative weights, such as -3; logits are given as jb.Evaluation(logits="),
        (False, [np.nan, 1.0], 0.0, "its prior of legal actions holds nan"),
        (False, [np.inf, 1.0], 0.0, "holds inf"),
        (True, [np.nan, 1.0], 0.0, "its logits of legal actions hold nan"),
        (False, [0.5, 1.0], 3.0, "its value is 3; should be between -1 and 1"),
        (False, [0.5, 1.0], np.nan, "its value is nan"),
    ):
        given = np.array([[*own, 0.0], [0.0, 0.0, 0.0]])
        assert what in fault_in(logits, given, np.array([value, 0.0]), legal)


def mctx_like(params, game, state, legal, seed):
    """Logits where weights are wanted."""
    return jnp.log(jnp.arange(1.0, game.num_actions + 1)) - 2, params


@pytest.mark.full
def test_what_cannot_be_meant_is_said_before_the_first_game():
    """By whoever searches outside of a program of his own: once for each game and kind of weights."""
    for given in (initial_states(C4, 1), initial_states(C4, 2)):
        with pytest.raises(jb.UserError, match='evaluator "mctx_like" of connect_four:7x6: its prior holds negative'):
            look_at(as_evaluator(mctx_like), np.float32(0), C4, given)
    search = jb.Search(TTT, jb.Puct(), mctx_like, 4)
    with pytest.raises(jb.UserError, match="of tic_tac_toe: its prior holds negative"):
        jb.run(search, initial_state(TTT), params=np.float32(0))
    with pytest.raises(jb.UserError, match="of tic_tac_toe: its prior holds negative"):
        search(np.float32(0), jax.tree.map(lambda x: x[None], initial_state(TTT)), jax.random.key(0))
    jax.eval_shape(search, np.float32(0), jax.tree.map(lambda x: x[None], initial_state(TTT)), jax.random.key(0))


DEBUG = """
import jax, jax.numpy as jnp, jubango as jb
from jubango.sgf_games.rules.compiled import initial_state

def later(game, state, legal, seed):
    "NaN from the second move on."
    stones = game.observe(state)[..., :2].sum()
    return jnp.ones(game.num_actions), jnp.where(stones > 1, jnp.nan, 0.0)

game = jb.make_game("tic_tac_toe")
search = jb.Search(game, jb.Puct(), later, 16)
try:
    jb.run(search, initial_state(game))
    print("believed")
except jb.UserError as error:
    print(error)
"""


@pytest.mark.full
def test_every_number_is_looked_at_where_that_is_asked_for():
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "JUBANGO_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", DEBUG], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith('evaluator "later" of tic_tac_toe: its value is nan; should be')


ODD = [np.nan, np.inf, -np.inf, -1.0, 0.0, 3e38, -3e38, 2.5]


@pytest.mark.full
@pytest.mark.parametrize("rule", [jb.Ucb1("prior"), jb.Puct(19652.0, "parent"), jb.Gumbel(), jb.Rave(), jb.AlphaGo()])
def test_no_illegal_move_is_played_whatever_an_evaluator_says(rule):
    """Every odd number as prior and as value, one program for each rule; the corners are taken."""
    rng = np.random.default_rng(1)
    says = np.array([[[p] * 9 for p in ODD], rng.choice(ODD, (len(ODD), 9))], np.float32).reshape(-1, 9)
    values = np.array([*ODD[::-1], *ODD], np.float32)

    def told(params, game, state, legal, seed):
        which = seed % len(values)
        return params[0][which], params[1][which]

    search = jb.Search(
        TTT, rule, told, 12, solver=isinstance(rule, jb.Puct), width=3 if isinstance(rule, jb.AlphaGo) else 0
    )
    state = initial_state(TTT)
    for action in (0, 2, 6):
        state = jax.device_get(TTT.step(state, action))
    lanes = 2 * len(values)
    states = jax.tree.map(lambda x: np.stack([x] * lanes), state)
    look = jax.jit(lambda p, s, k, t: search(p, s, k, temperature=t))
    for seed in range(2):
        found = look((says, values), states, jax.random.key(seed), np.float32(seed))
        assert not np.isin(found.action, [0, 2, 6]).any()
        assert (np.asarray(found.visits)[:, [0, 2, 6]] == 0).all()
        for numbers in (found.values, found.policy, found.priors, found.value):
            assert np.isfinite(numbers).all()
        assert (np.abs(found.value) <= 1).all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"opponent": "smapled"}, "opponent='smapled': there is no such choice; did you mean \"sampled\"?"),
        ({"ties": "rand"}, 'did you mean "random"?'),
        ({"cutoff": 3}, "cutoff=3: there is no such choice; known: value, draw"),
        ({"leaves": 0}, "leaves=0: leaves that a tree evaluates at once; should be a whole number from 1 to"),
        ({"width": -1}, "width=-1: actions of a node that are considered"),
        ({"capacity": "x"}, "capacity='x': simulations that a tree has room for; should be a whole number from 0 to"),
        ({"capacity": 1.5}, "capacity=1.5"),
        ({"leaves": True}, "leaves=True"),
        ({"solver": "yes"}, "solver='yes': should be True or False"),
        ({"rule": jb.Puct}, "should be a selection rule, such as jb.Puct()"),
        ({"rule": jb.Gumbel(), "leaves": 2}, "leaves=2"),
        ({"game": "conect_four"}, 'did you mean "connect_four"?'),
        ({"game": 9}, 'game=9: should be a game, or its spec such as "go:9"'),
    ],
)
def test_parts_that_there_are_not(keys, message):
    with pytest.raises(jb.UserError) as refused:
        jb.Search(**({"game": TTT, "rule": jb.Puct(), "evaluator": jb.Uniform(), "capacity": 8} | keys))
    assert message in str(refused.value)


def test_a_whole_number_of_any_kind_is_one():
    """A Gumbel search's schedule is made beforehand, whoever counted its simulations."""
    search = jb.Search(TTT, jb.Gumbel(), jb.Uniform(), 4)
    states = jax.tree.map(lambda x: np.stack([x]), initial_state(TTT))
    shapes = jax.eval_shape(lambda key: search((), states, key, simulations=np.int64(3)), jax.random.key(0))
    assert shapes.visits.shape == (1, 9)
    with pytest.raises(jb.UserError, match="give a whole number"):
        jax.eval_shape(lambda key, n: search((), states, key, simulations=n), jax.random.key(0), 3)


@dataclass(frozen=True)
class Three(Tiny):
    num_players: ClassVar[int] = 3


def test_games_for_more_than_two_are_refused():
    with pytest.raises(jb.UserError, match="tiny has 3 players; a search is of games for one or two"):
        jb.Search(Three(), jb.Puct(), jb.Uniform(), 8)


def test_options_of_parts_that_there_are_not():
    for make, message in (
        (lambda: jb.Puct(fpu="zeros"), 'did you mean "zero"'),
        (lambda: jb.Ucb1("first"), "known: any, prior"),
        (lambda: jb.Rollout(moves="unifrom"), 'did you mean "uniform"'),
        (lambda: jb.Rollout(0), "rollouts=0"),
        (lambda: jb.Rollout(moves="policy"), "policy="),
    ):
        with pytest.raises(jb.UserError, match=message):
            make()
    assert jb.Search(TTT, jb.Puct(), jb.Uniform(), np.int64(8)).capacity == 8


def test_an_evaluator_is_made_once_and_anew_when_what_it_is_made_of_changes(tmp_path):
    game, spec = make_game("tic_tac_toe"), f"alphazero:network={tmp_path / 'net.safetensors'}"
    random_network(tmp_path / "net.safetensors", game, seed=1)
    bot = bot_from_spec(spec)
    one = evaluator_for(game, bot)
    assert evaluator_for(game, bot_from_spec(f"{spec},simulations=9,name=other")) is one
    assert evaluator_for(game, bot_from_spec(f"{spec},rollouts=2")).params is one.params, "the file is read once"
    random_network(tmp_path / "net.safetensors", game, seed=2)
    os.utime(tmp_path / "net.safetensors", (1, 1))
    other = evaluator_for(game, bot)
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(other.params), strict=True))
    named = bot_from_spec("uct:evaluator=again")
    jb.evaluator("again")(lambda game, state, legal, seed: (legal, 0.0))
    first = evaluator_for(game, named)
    assert evaluator_for(game, named) is first
    jb.evaluator("again")(lambda game, state, legal, seed: (legal, 0.5))
    assert evaluator_for(game, named) != first
    del EVALUATORS["again"]
    with pytest.raises(jb.UserError, match='no evaluator is called "again"'):
        evaluator_for(game, named)
