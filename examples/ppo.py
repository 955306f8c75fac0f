"""PPO by self-play, in pgx's way of writing it: vmap over games, lax.scan over steps, finished games beginning anew.

    python examples/ppo.py [--env pgx|jubango] [--game connect_four] [--updates 60]

The two differ by the line that makes ``env``. Prints the mean reward against a random opponent and training steps/s.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from jubango.sgf_games.environments import env as jb

parser = argparse.ArgumentParser()
parser.add_argument("--env", choices=["jubango", "pgx"], default="jubango")
parser.add_argument("--game", default="connect_four", help="as the environment calls it: go:5 here, go_9x9 in pgx")
parser.add_argument("--updates", type=int, default=60)
parser.add_argument("--games", type=int, default=512, help="played at once")
parser.add_argument("--steps", type=int, default=32, help="of every game between two updates")
args = parser.parse_args()

if args.env == "pgx":
    import pgx
env = pgx.make(args.game) if args.env == "pgx" else jb.env(args.game)

EPOCHS, MINIBATCHES, DISCOUNT, TRACE, CLIP, ENTROPY = 2, 8, 0.99, 0.95, 0.2, 0.01
optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))


def network(key):
    sizes = [math.prod(env.observation_shape), 128, 128, env.num_actions + 1]
    keys = jax.random.split(key, 3)
    return [
        (jax.random.normal(keys[i], sizes[i : i + 2]) * scale / sizes[i] ** 0.5, jnp.zeros(sizes[i + 1]))
        for i, scale in enumerate((1.4, 1.4, 0.1))
    ]


def forward(params, observation, legal):
    """(log-probabilities of the actions, value for the player to move)."""
    x = observation.reshape(observation.shape[0], -1).astype(jnp.float32)
    for weights, bias in params[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    x = x @ params[-1][0] + params[-1][1]
    return jax.nn.log_softmax(jnp.where(legal, x[:, :-1], -1e9)), jnp.tanh(x[:, -1])


class Transition(NamedTuple):
    observation: jax.Array
    legal: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array  # of who moved
    done: jax.Array


def rollout(params, state, key):
    lanes = jnp.arange(args.games)

    def step(state, key):
        pick, reset = jax.random.split(key)
        logits, value = forward(params, state.observation, state.legal_action_mask)
        action = jax.random.categorical(pick, logits)
        after = jax.vmap(jb.auto_reset(env.step, env.init))(state, action, jax.random.split(reset, args.games))
        reward = after.rewards[lanes, state.current_player]
        seen = state.observation, state.legal_action_mask, action, logits[lanes, action], value
        return after, Transition(*seen, reward, after.terminated)

    return jax.lax.scan(step, state, jax.random.split(key, args.steps))


def advantages(batch, last_value):
    """What follows a move is the other player's: it counts with the sign turned."""

    def back(carry, t):
        advantage, value = carry
        going = 1.0 - t.done
        delta = t.reward - DISCOUNT * going * value - t.value
        advantage = delta - DISCOUNT * TRACE * going * advantage
        return (advantage, t.value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), batch, reverse=True)[1]


def loss(params, data):
    t, advantage, target = data
    logits, value = forward(params, t.observation, t.legal)
    ratio = jnp.exp(jnp.take_along_axis(logits, t.action[:, None], 1)[:, 0] - t.log_prob)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    entropy = -(jnp.exp(logits) * jnp.where(t.legal, logits, 0.0)).sum(-1).mean()
    return policy + 0.5 * jnp.square(value - target).mean() - ENTROPY * entropy


@jax.jit
def update(params, opt_state, state, key):
    play, shuffle = jax.random.split(key)
    state, batch = rollout(params, state, play)
    advantage = advantages(batch, forward(params, state.observation, state.legal_action_mask)[1])
    data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (batch, advantage, advantage + batch.value))

    def descend(carry, part):
        params, opt_state = carry
        gradient = jax.grad(loss)(params, jax.tree.map(lambda x: x[part], data))
        updates, opt_state = optimizer.update(gradient, opt_state)
        return (optax.apply_updates(params, updates), opt_state), None

    orders = [jax.random.permutation(k, args.games * args.steps) for k in jax.random.split(shuffle, EPOCHS)]
    parts = jnp.stack(orders).reshape(EPOCHS * MINIBATCHES, -1)
    return *jax.lax.scan(descend, (params, opt_state), parts)[0], state


@jax.jit
def against_random(params, key, games=1024):
    """The mean reward of player 0, who plays by the network, against random moves."""

    def step(carry):
        state, total, key = carry
        key, pick = jax.random.split(key)
        logits, _ = forward(params, state.observation, state.legal_action_mask)
        logits = jnp.where((state.current_player == 0)[:, None] | ~state.legal_action_mask, logits, 0.0)
        state = jax.vmap(env.step)(state, jax.random.categorical(pick, logits))
        return state, total + state.rewards[:, 0], key

    start = jax.vmap(env.init)(jax.random.split(key, games)), jnp.zeros(games), key
    return jax.lax.while_loop(lambda c: ~c[0].terminated.all(), step, start)[1].mean()


key = jax.random.key(0)
params = network(key)
opt_state = optimizer.init(params)
state = jax.jit(jax.vmap(env.init))(jax.random.split(key, args.games))
spent = 0.0
for i in range(args.updates + 1):
    if i % 10 == 0:
        mean = against_random(params, jax.random.key(1))
        speed = f"{(i - 1) * args.games * args.steps / spent:,.0f} steps/s" if i > 1 else ""
        print(f"update {i:3}  mean reward against random {mean:+.3f}  {speed}", flush=True)
    t = time.perf_counter()
    params, opt_state, state = jax.block_until_ready(update(params, opt_state, state, jax.random.fold_in(key, i)))
    spent += time.perf_counter() - t if i else 0.0  # the first one compiles
