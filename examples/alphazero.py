"""AlphaZero by self-play with a network of one's own, as it is written for pgx and mctx.

    python examples/alphazero.py [--game connect_four] [--updates 60]

benchmarks/alphazero_mctx.py is the same with pgx and mctx: the lines that differ make ``env`` and ``output``.
Prints the losses, and the mean reward of the policy alone against random moves.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

import jubango as jb
from jubango import auto_reset

parser = argparse.ArgumentParser()
parser.add_argument("--game", default="connect_four", help="as the environment calls it")
parser.add_argument("--updates", type=int, default=60)
parser.add_argument("--games", type=int, default=128, help="played at once")
parser.add_argument("--steps", type=int, default=32, help="of every game between two updates")
parser.add_argument("--simulations", type=int, default=32)
args = parser.parse_args()

env = jb.env(args.game)
optimizer = optax.adam(1e-3)


def network(key):
    sizes = [math.prod(env.observation_shape), 128, 128, env.num_actions + 1]
    keys = jax.random.split(key, 3)
    return [(jax.random.normal(keys[i], sizes[i : i + 2]) / sizes[i] ** 0.5, jnp.zeros(sizes[i + 1])) for i in range(3)]


def forward(params, observation):
    """(logits of the actions, values for the player to move) of a batch."""
    x = observation.reshape(observation.shape[0], -1).astype(jnp.float32)
    for weights, bias in params[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    x = x @ params[-1][0] + params[-1][1]
    return x[:, :-1], jnp.tanh(x[:, -1])


class Sample(NamedTuple):
    observation: jax.Array
    policy: jax.Array  # improved by the search
    reward: jax.Array  # of who moved
    terminated: jax.Array
    target: jax.Array  # what the search says of the position; later the game's result


def self_play(params, state, key):
    lanes = jnp.arange(args.games)

    def step(state, key):
        search_key, reset_key = jax.random.split(key)
        observation, actor = state.observation, state.current_player
        output = jb.Search(env, jb.Gumbel(), jb.PolicyValue(forward), args.simulations)(params, state, search_key)
        state = jax.vmap(auto_reset(env.step, env.init))(state, output.action, jax.random.split(reset_key, args.games))
        summary = output.search_tree.summary()
        reward = state.rewards[lanes, actor]
        return state, Sample(observation, output.action_weights, reward, state.terminated, summary.value)

    return jax.lax.scan(step, state, jax.random.split(key, args.steps))


def with_results(samples):
    """The result of each game for who moved; of games that go on what the search says of the last position."""

    def back(value, sample):
        value = sample.reward + jnp.where(sample.terminated, 0.0, -value)
        return value, sample._replace(target=value)

    return jax.lax.scan(back, -samples.target[-1], samples, reverse=True)[1]


def loss(params, samples):
    logits, value = forward(params, samples.observation)
    policy = optax.softmax_cross_entropy(logits, samples.policy).mean()
    return policy + jnp.square(value - samples.target).mean(), policy


@jax.jit
def update(params, moments, state, key):
    play, shuffle = jax.random.split(key)
    state, samples = self_play(params, state, play)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), with_results(samples))

    def descend(carry, part):
        params, moments = carry
        gradient, policy = jax.grad(loss, has_aux=True)(params, jax.tree.map(lambda x: x[part], flat))
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(params, updates), moments), policy

    parts = jax.random.permutation(shuffle, args.games * args.steps).reshape(args.steps, args.games)
    (params, moments), policy = jax.lax.scan(descend, (params, moments), parts)
    return params, moments, state, policy.mean()


@jax.jit
def against_random(params, key, games=1024):
    """The mean reward of player 0, who plays by the policy, against random moves."""

    def step(carry):
        state, total, key = carry
        key, pick = jax.random.split(key)
        logits = jnp.where((state.current_player == 0)[:, None], forward(params, state.observation)[0], 0.0)
        action = jax.random.categorical(pick, jnp.where(state.legal_action_mask, logits, -1e9))
        state = jax.vmap(env.step)(state, action)
        return state, total + state.rewards[:, 0], key

    start = jax.vmap(env.init)(jax.random.split(key, games)), jnp.zeros(games), key
    return jax.lax.while_loop(lambda c: ~c[0].terminated.all(), step, start)[1].mean()


key = jax.random.key(0)
params = network(key)
moments = optimizer.init(params)
state = jax.jit(jax.vmap(env.init))(jax.random.split(key, args.games))
for i in range(args.updates):
    params, moments, state, policy = update(params, moments, state, jax.random.fold_in(key, i))
    if i % 10 == 9 or i == args.updates - 1:
        mean = against_random(params, jax.random.key(1))
        print(f"update {i + 1:3}  policy loss {policy:.3f}  mean reward against random {mean:+.3f}", flush=True)
