"""Modules of flax as evaluators: they themselves, or their bound methods, their weights being arguments of the program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jubango as jb
from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.judgement import judged
from jubango.bots.evaluators.registry import EVALUATORS, as_evaluator
from jubango.sgf_games.rules.compiled import initial_state, initial_states

nnx = pytest.importorskip("flax.nnx")
linen = pytest.importorskip("flax.linen")
pytestmark = pytest.mark.full

TTT = jb.make_game("tic_tac_toe")
PLANES = np.asarray(TTT.observe(TTT.init()))[None]


class Net(nnx.Module):
    """With layers that do otherwise while they learn, and with dice."""

    def __init__(self, seed, width=8):
        rngs = nnx.Rngs(seed)
        self.inner = nnx.Linear(PLANES.size, width, rngs=rngs)
        self.normal, self.drop = nnx.BatchNorm(width, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
        self.policy, self.value = nnx.Linear(width, 9, rngs=rngs), nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, planes):
        x = jnp.tanh(self.drop(self.normal(self.inner(planes.reshape(planes.shape[0], -1)))))
        return self.policy(x), jnp.tanh(self.value(x))[:, 0]

    def judge(self, game, state, legal, seed):
        logits, value = self(game.observe(state)[None])
        return jb.Evaluation(logits=logits[0], value=value[0])

    def asks_for_more(self, params, game, state, legal, seed):
        return legal, 0.0

    def of_planes(self, planes):
        return self(planes)


class Old(linen.Module):
    actions: int

    @linen.compact
    def __call__(self, planes):
        x = jnp.tanh(linen.Dense(8)(planes.reshape(planes.shape[0], -1)))
        return linen.Dense(self.actions)(x), jnp.tanh(linen.Dense(1)(x))[:, 0]

    def judge(self, game, state, legal, seed):
        logits, value = self(game.observe(state)[None])
        return jb.Evaluation(logits=logits[0], value=value[0])


OLD = Old(9)


def variables(seed):
    return OLD.init(jax.random.key(seed), PLANES)


def says(thing, given=()):
    """Of the first position, asked as part of a batch: (prior, value)."""
    judge = as_evaluator(thing)
    legal, seeds = jnp.ones((3, 9), bool), jnp.zeros(3, jnp.uint32)
    weights, value, *_ = judged(judge, judge.weights(given), TTT, initial_states(TTT, 3), legal, seeds)
    return np.append(weights[2] / weights[2].sum(), value[2])


def expected(logits, value):
    return np.append(jax.nn.softmax(logits[0]), value[0])


def own(seed):
    net = Net(seed)
    net.eval()
    return expected(*net(PLANES))


def test_what_a_module_says():
    """As it is when it does not learn, for whoever has its weights: itself, another one, a state."""
    net = Net(0)
    for thing in (net, net.judge, jax.jit(net)):
        assert says(thing) == pytest.approx(own(0), abs=1e-6)
        assert says(thing, Net(1)) == pytest.approx(own(1), abs=1e-6)
        assert says(thing, nnx.state(Net(2))) == pytest.approx(own(2), abs=1e-6)
    net.policy.bias[...] = jnp.arange(9.0)
    assert says(net)[8] > 0.5, "its weights are those of the day"
    bound = OLD.bind(variables(0))
    for thing in (bound, bound.judge):
        assert says(thing) == pytest.approx(expected(*OLD.apply(variables(0), PLANES)), abs=1e-6)
    for thing in (OLD, OLD.judge, bound):
        assert says(thing, variables(1)) == pytest.approx(expected(*OLD.apply(variables(1), PLANES)), abs=1e-6)


def test_modules_made_alike_share_a_program():
    assert as_evaluator(Net(0)) == as_evaluator(Net(1))
    assert hash(as_evaluator(Net(0).judge)) == hash(as_evaluator(Net(1).judge))
    assert as_evaluator(Net(0)) != as_evaluator(Net(0).judge)
    learning = Net(0)
    learning.train()
    assert as_evaluator(learning) == as_evaluator(Net(0))
    assert as_evaluator(OLD) == as_evaluator(Old(9).bind(variables(0))) != as_evaluator(Old(8))


def test_weights_are_arguments():
    """In a program of one's own, from outside of JAX, and beside another evaluator."""
    search, state = jb.Search(TTT, jb.Puct(), Net(0), 12), initial_state(TTT)
    assert search == jb.Search(TTT, jb.Puct(), Net(1), 12)
    states, key = jax.tree.map(lambda x: np.stack([x] * 2), state), jax.random.key(0)
    traces = []

    @jax.jit
    def look(params):
        traces.append(params)
        return search(params, states, key).visits[0]

    found = [look(nnx.state(Net(seed))) for seed in range(3)]
    assert len(traces) == 1
    assert len({visits.tobytes() for visits in map(np.asarray, found)}) == 3
    for seed in range(3):
        assert np.array_equal(jb.run(search, state, params=Net(seed)).visits, found[seed])
    assert np.array_equal(jb.run(search, state).visits, found[0])
    assert np.array_equal(nnx.jit(lambda net: search(net, states, key).visits[0])(Net(1)), found[1])
    mixed = jb.run(jb.Search(TTT, jb.Puct(), jb.Mixed(Net(0), jb.Rollout()), 12), state)
    assert mixed.priors == pytest.approx(own(0)[:9], abs=1e-6)


def test_bots_have_modules_by_name():
    net = Net(0)
    jb.evaluator("net")(net)
    try:
        bot = bot_from_spec("alphazero:evaluator=net")
        for bias in (0.0, 1.0):
            net.inner.bias[...] = jnp.full(8, bias)
            params = evaluator_for(TTT, bot).params
            assert (np.asarray(params["inner"]["bias"][...]) == bias).all(), "those that it has now"
        assert jb.analyze(jb.position("tic_tac_toe"), "alphazero:evaluator=net", simulations=8).moves[0].prior
    finally:
        del EVALUATORS["net"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: says(OLD), 'evaluator "Old": is called with its variables; give them'),
        (lambda: says(Net(0), nnx.state(Net(0), nnx.Param)), 'evaluator "Net": params should be the module or nnx.state'),
        (lambda: as_evaluator(Net(0).of_planes), 'evaluator "Net.of_planes": takes (planes); should take (game'),
        (lambda: as_evaluator(Net(0).asks_for_more), 'evaluator "Net.asks_for_more": has its weights in its module'),
        (lambda: jb.PolicyValue(Net(0)), "PolicyValue(Net): a module of flax is an evaluator itself"),
        (lambda: jb.PolicyValue(3), "PolicyValue(3): should be a function of (params, observations)"),
        (lambda: says(nnx.Linear(3, 9, rngs=nnx.Rngs(0))), 'evaluator "Linear" of tic_tac_toe: gave float32[3, 3, 3, 9]'),
        (
            lambda: jb.Search(TTT, jb.Puct(), Net(0), 4)((), initial_states(TTT, 2), jax.random.key(0)),
            'evaluator "Net": give its weights, search(nnx.state(module), states, key)',
        ),
    ],
)  # fmt: skip
def test_what_is_refused(ask, message):
    with pytest.raises(jb.UserError) as refused:
        ask()
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
