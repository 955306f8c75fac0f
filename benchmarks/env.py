"""Random play through environments, jubango against pgx: the same loop, the same batch, in one run, by turns.

    python benchmarks/env.py [--seconds 3] [--rounds 5] [--sampler light|categorical]

The loop is what users write: ``jax.vmap(auto_reset(env.step, env.init))`` under ``lax.scan`` and ``jax.jit``,
observations and masks included, each side with its own ``auto_reset``. Actions are uniform over the legal ones, drawn
by hashing (``light``) or by ``jax.random.categorical``. A step is a step of one game. One JAX device, over whose
operations XLA spreads the cores. The table has the middle of the rounds; the ratio is the middle of the rounds' ratios,
with its range.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.environments.env import auto_reset, env

STEPS = 50
CASES = [
    ("go:9", "go_9x9", (128, 1024, 4096)),
    ("connect_four", "connect_four", (1024, 4096)),
    ("tic_tac_toe", "tic_tac_toe", (1024, 4096)),
]


def light(key: jax.Array, legal: jax.Array) -> jax.Array:
    """Uniform legal actions [B] at the price of a few instructions an action."""
    lanes, actions = legal.shape
    seeds = jax.random.bits(key, (lanes,))
    bits = random_bits(seeds[:, None], jnp.arange(actions)) | jnp.uint32(1)
    bits = jnp.where(legal, bits, jnp.uint32(0))
    largest = jnp.max(bits, axis=1, keepdims=True)
    return jnp.min(jnp.where(bits == largest, jnp.arange(actions), actions - 1), axis=1)


def categorical(key: jax.Array, legal: jax.Array) -> jax.Array:
    """Uniform legal actions [B] as most programs draw them."""
    return jax.random.categorical(key, jnp.where(legal, 0.0, -1e9), axis=-1)


class RandomPlay:
    """A batch of games that goes on and on."""

    def __init__(self, environment: Any, reset: Callable, lanes: int, sampler: Callable) -> None:
        self.lanes = lanes
        step = jax.vmap(reset(environment.step, environment.init))

        def body(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            pick, rest = jax.random.split(key)
            state = step(state, sampler(pick, state.legal_action_mask), jax.random.split(rest, lanes))
            return state, state.terminated.sum()

        def run(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            state, ended = jax.lax.scan(body, state, jax.random.split(key, STEPS))
            return state, ended.sum()

        self.run = jax.jit(run, donate_argnums=(0,))
        self.state = jax.jit(jax.vmap(environment.init))(jax.random.split(jax.random.key(0), lanes))
        self.key = jax.random.key(1)
        self.speed(0.0)

    def speed(self, seconds: float) -> float:
        """Steps a second."""
        steps, began = 0, time.perf_counter()
        while not steps or time.perf_counter() < began + seconds:
            self.key, sub = jax.random.split(self.key)
            self.state, ended = self.run(self.state, sub)
            jax.block_until_ready(ended)
            steps += STEPS * self.lanes
        return steps / (time.perf_counter() - began)


def main() -> None:
    warnings.filterwarnings("ignore")
    import pgx
    from pgx.experimental.wrappers import auto_reset as pgx_auto_reset

    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sampler", choices=["light", "categorical"], default="light")
    parser.add_argument("--game", help="one game alone")
    arguments = parser.parse_args()
    sampler = {"light": light, "categorical": categorical}[arguments.sampler]
    print(f"jax {jax.__version__} on {jax.default_backend()}, pgx {pgx.__version__}; sampler {arguments.sampler}")
    print(f"{'game':<14}{'batch':>6}{'jubango':>14}{'pgx':>14}{'ratio':>8}   range (steps a second)")
    for spec, name, batches in CASES:
        if arguments.game not in (None, spec):
            continue
        for lanes in batches:
            ours = RandomPlay(env(spec), auto_reset, lanes, sampler)
            theirs = RandomPlay(pgx.make(name), pgx_auto_reset, lanes, sampler)
            pairs = [(ours.speed(arguments.seconds), theirs.speed(arguments.seconds)) for _ in range(arguments.rounds)]
            a, b = (statistics.median(side) for side in zip(*pairs, strict=True))
            ratios = [x / y for x, y in pairs]
            middle = statistics.median(ratios)
            print(
                f"{spec:<14}{lanes:>6}{a:>14,.0f}{b:>14,.0f}{middle:>8.1f}   {min(ratios):.1f} to {max(ratios):.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
