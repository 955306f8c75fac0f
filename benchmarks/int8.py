"""Networks in eight bits against float32, by turns: evaluations a second, what they say, and searches.

python benchmarks/int8.py [GAME ...] [--network FILE]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jubango
from jubango.bots.composition import LoadedEvaluator, evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.network import NetworkEvaluator, sampled_positions
from jubango.sgf_games.compute.machine import device_layout, shard
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

PRECISIONS = "float32", "int8"
POSITIONS = 256  # evaluated at once, on all cores
AGAIN = 20  # times, in one call of a program


def rate(game: Game, loaded: LoadedEvaluator, planes: jax.Array) -> Any:
    """A function that returns evaluations a second, on all cores."""
    evaluator, params = loaded
    assert isinstance(evaluator, NetworkEvaluator)
    number, size = device_layout(POSITIONS)
    split, whole = shard(number)
    each = evaluator.together(game)  # as in a search

    def evaluate(params: Any, planes: jax.Array) -> jax.Array:
        pieces = planes[: planes.shape[0] // each * each].reshape(-1, each, *planes.shape[1:])

        def once(_: int, total: jax.Array) -> jax.Array:
            said = jax.lax.map(lambda own: evaluator.outputs(params, game, own + 0 * total[0]).policy.sum(), pieces)
            return total + said.sum()

        return jax.lax.fori_loop(0, AGAIN, once, jnp.zeros(1))

    program = jit(
        jax.shard_map(
            evaluate, mesh=split.mesh, in_specs=(whole.spec, split.spec), out_specs=split.spec, check_vma=False
        ),
        number > 1,
    )
    placed = jax.device_put(params, whole), jax.device_put(planes[:size], split)

    def measured() -> float:
        began = time.perf_counter()
        jax.block_until_ready(program(*placed))
        return AGAIN * number * (size // number // each * each) / (time.perf_counter() - began)

    measured()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=["go:9,komi=7.5", "go:19", "connect_four", "gomoku:9"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--network", help="a file of weights in place of those that come along")
    options = parser.parse_args()
    jubango.configure()
    file = f",network={options.network}" if options.network else ""
    for spec in options.games:
        game = make_game(spec)
        loaded = [evaluator_for(game, bot_from_spec(f"policy:precision={own}{file}")) for own in PRECISIONS]
        network, weights = loaded[0]
        assert isinstance(network, NetworkEvaluator)
        planes = jnp.asarray(sampled_positions(game, network.shape, weights, seed=1))
        rates = [rate(game, own, planes) for own in loaded]
        found = [[own() for own in rates] for _ in range(options.rounds)]
        (a, b), ratio = map(statistics.median, zip(*found, strict=True)), statistics.median(y / x for x, y in found)
        print(f"{spec}: {a:,.0f} evaluations a second in float32, {b:,.0f} in int8, {ratio:.2f} times")
        one, other = (
            jax.device_get(jax.jit(own.evaluator.outputs, static_argnums=1)(own.params, game, planes)) for own in loaded
        )
        off, same = np.abs(one.value - other.value), np.mean(one.policy.argmax(-1) == other.policy.argmax(-1))
        print(
            f"  values differ by {off.mean():.3f}, at most {off.max():.3f}; the first choice is the same in {same:.1%}"
        )


if __name__ == "__main__":
    main()
