"""UCT with one random rollout a simulation: jubango's batch against OpenSpiel's C++ MCTS, one run.

    python benchmarks/rollouts.py

OpenSpiel searches one position on one thread, jubango 128 on the whole machine.
"""

from __future__ import annotations

import time

import numpy as np

from bots.config import UctConfig
from bots.search.mover import search_for
from bots.search.search import program
from bots.search.select import Settings
from sgf_games.catalogue import make_game
from sgf_games.compiled import initial_states, rules
from sgf_games.lanes import prepare_machine

prepare_machine()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

LANES = 128


def ours(spec: str, simulations: int) -> float:
    game = make_game(spec)
    compiled = program(search_for(game, [UctConfig(name="x", simulations=simulations)]), LANES)
    lanes = compiled.lanes
    states = initial_states(game, lanes)
    roots = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), game.without_history(states))
    legal = rules(game).view_lanes(states).legal
    settings = Settings(np.full(lanes, simulations, np.int32), np.full(lanes, 1.4, np.float32))
    best = 0.0
    searching = compiled.idle()
    for i in range(4):
        seeds = np.arange(lanes, dtype=np.uint32) + 1000 * i
        searching = compiled.begin(searching, np.ones(lanes, bool), roots, legal, settings, seeds)
        jax.block_until_ready(searching)
        began = time.perf_counter()
        searching, statistics = compiled.advance(searching, jnp.int32(simulations))
        jax.block_until_ready(statistics)
        if i:
            best = max(best, lanes * simulations / (time.perf_counter() - began))
    return best


def open_spiel(name: str, simulations: int) -> float:
    import pyspiel

    game = pyspiel.load_game(name)
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 42), 1.4, simulations, 1000, False, 42, False)
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        bot.mcts_search(game.new_initial_state())
        best = max(best, simulations / (time.perf_counter() - began))
    return best


def main() -> None:
    print(f"{'game':<14}{'jubango sims/s':>16}{'OpenSpiel':>12}{'ratio':>8}")
    cases = [("go:9", "go(board_size=9,komi=7.5)", 400, 2_000), ("connect_four", "connect_four", 800, 20_000),
             ("tic_tac_toe", "tic_tac_toe", 800, 20_000)]  # fmt: skip
    for spec, name, simulations, theirs in cases:
        a, b = ours(spec, simulations), open_spiel(name, theirs)
        print(f"{spec:<14}{a:>16,.0f}{b:>12,.0f}{a / b:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
