"""Tree searches: jubango against mctx on pgx, OpenSpiel's C++ MCTS and a textbook MCTS in plain Python, in one run.

    python benchmarks/search.py [--rounds 5] [--only TEXT] [--flat]

Every line is measured by turns with its peer. mctx and pgx run in a process of their own: on one JAX device,
as their users run them (XLA spreads large operations over the cores), and split over two devices as jubango is.
--flat measures jubango alone: the cost of a simulation as the number of simulations grows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from typing import Any

from plain_mcts import Position, QuickPosition
from plain_mcts import speed as plain_speed

REPEATS = 3  # searches a round and side; the middle one counts


def mctx_peer(pipe: Any) -> None:
    """Answers (env, trees, simulations, plies, devices) with simulations a second."""
    import jax

    jax.config.update("jax_num_cpu_devices", 2)
    import jax.numpy as jnp
    import mctx
    import numpy as np
    import pgx
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    searches: dict = {}

    def make(env_id: str, trees: int, simulations: int, plies: int, devices: int) -> Any:
        env = pgx.make(env_id)

        def recurrent(params, key, action, state):
            mover = state.current_player
            state = jax.vmap(env.step)(state, action)
            reward = state.rewards[jnp.arange(mover.shape[0]), mover]
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            discount = jnp.where(state.terminated, 0.0, -1.0)
            zero = jnp.zeros(mover.shape[0])
            return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=zero), state

        def search(state):
            legal = state.legal_action_mask
            logits = jnp.where(legal, 0.0, -1e9)
            root = mctx.RootFnOutput(prior_logits=logits, value=jnp.zeros(legal.shape[0]), embedding=state)
            out = mctx.muzero_policy(
                (), jax.random.PRNGKey(0), root, recurrent, simulations, invalid_actions=~legal, dirichlet_fraction=0.0
            )
            return out.action, out.action_weights

        state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), trees))
        step, rng = jax.jit(jax.vmap(env.step)), np.random.default_rng(1)
        for _ in range(plies):  # random stones, passes left out
            legal = np.array(state.legal_action_mask)
            if env_id.startswith("go"):
                legal[:, -1] = False
            state = step(state, jnp.array([rng.choice(np.flatnonzero(row)) for row in legal]))
        if devices > 1:
            mesh, split = Mesh(np.array(jax.devices()), ("trees",)), PartitionSpec("trees")
            search = jax.shard_map(search, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
            state = jax.device_put(state, NamedSharding(mesh, split))
        return jax.jit(search), state

    while (case := pipe.recv()) is not None:
        trees, simulations = case[1:3]
        fresh = case not in searches
        if fresh:
            searches[case] = make(*case)
        search, state = searches[case]
        speeds = []
        for i in range(REPEATS + fresh):
            began = time.perf_counter()
            jax.device_get(search(state))
            if i or not fresh:
                speeds.append(trees * simulations / (time.perf_counter() - began))
        pipe.send(statistics.median(speeds))


def open_spiel_speed(name: str, simulations: int) -> float:
    import pyspiel

    game = pyspiel.load_game(name)
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 42), 1.4, simulations, 1000, False, 42, False)
    began = time.perf_counter()
    bot.mcts_search(game.new_initial_state())
    return simulations / (time.perf_counter() - began)


def lines() -> list[tuple]:
    """(case, peer, how to ask it)."""
    from jubango.arena.benchmark import SearchCase
    from jubango.bots.evaluators.rollout import Rollout
    from jubango.bots.search.rules.ucb1 import Ucb1

    rollout = {"evaluator": Rollout(), "rule": Ucb1()}
    return [
        (SearchCase("go:9", 64, 128), "mctx + pgx", ("go_9x9", 64, 128, 0)),
        (SearchCase("go:9", 64, 128), "mctx + pgx on two devices", ("go_9x9", 64, 128, 0)),
        (SearchCase("go:9", 64, 512), "mctx + pgx", ("go_9x9", 64, 512, 0)),
        (SearchCase("go:9", 64, 512), "mctx + pgx on two devices", ("go_9x9", 64, 512, 0)),
        (SearchCase("go:9", 64, 128, plies=40), "mctx + pgx", ("go_9x9", 64, 128, 40)),
        (SearchCase("go:9", 1, 800, leaves=32), "mctx + pgx", ("go_9x9", 1, 800, 0)),
        (SearchCase("go:9", 1, 800), "mctx + pgx", ("go_9x9", 1, 800, 0)),
        (SearchCase("connect_four", 256, 128), "mctx + pgx", ("connect_four", 256, 128, 0)),
        (SearchCase("connect_four", 256, 128), "mctx + pgx on two devices", ("connect_four", 256, 128, 0)),
        (SearchCase("tic_tac_toe", 256, 128), "mctx + pgx", ("tic_tac_toe", 256, 128, 0)),
        (SearchCase("tic_tac_toe", 256, 128), "mctx + pgx on two devices", ("tic_tac_toe", 256, 128, 0)),
        (SearchCase("go:9", 1024, 128, **rollout), "OpenSpiel", ("go(board_size=9,komi=7.5)", 1000)),
        (SearchCase("connect_four", 1024, 400, **rollout), "OpenSpiel", ("connect_four", 20_000)),
        (SearchCase("tic_tac_toe", 1024, 400, **rollout), "OpenSpiel", ("tic_tac_toe", 20_000)),
        (SearchCase("gomoku:8", 256, 400, **rollout), "plain Python", (Position, 500)),
        (SearchCase("gomoku:8", 256, 400, **rollout), "tuned Python", (QuickPosition, 1000)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only lines that hold this text")
    parser.add_argument("--flat", action="store_true", help="cost of a simulation against their number")
    options = parser.parse_args()

    from jubango.arena.benchmark import SearchCase, search_speed

    if options.flat:
        flat(options.rounds)
        return
    pipe, there = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(target=mctx_peer, args=(there,), daemon=True)
    child.start()

    def ask(peer: str, question: tuple) -> float:
        if peer == "OpenSpiel":
            return open_spiel_speed(*question)
        if peer.endswith("Python"):
            return plain_speed(*question)
        pipe.send((*question, 2 if peer.endswith("two devices") else 1))
        return pipe.recv()

    def ours(case: SearchCase) -> float:
        return statistics.median(search_speed(case, REPEATS))

    print(f"{'work':<44}{'jubango':>12}{'peer':>12}{'ratio':>9}  (range)", flush=True)
    for case, peer, question in lines():
        if options.only not in f"{case.label} {peer}":
            continue
        ours(case)
        ask(peer, question)  # both have compiled now
        pairs = [(ours(case), ask(peer, question)) for _ in range(options.rounds)]
        ratios = sorted(a / b for a, b in pairs)
        a, b = (statistics.median(x) for x in zip(*pairs, strict=True))
        print(
            f"{case.label:<44}{a:>12,.0f}{b:>12,.0f}{statistics.median(ratios):>9.1f}  "
            f"({ratios[0]:.1f} to {ratios[-1]:.1f}), {peer}",
            flush=True,
        )
    pipe.send(None)


def flat(rounds: int) -> None:
    from jubango.arena.benchmark import SearchCase, search_speed

    for game in ("go:9", "connect_four", "tic_tac_toe"):
        counts = (128, 512, 1024, 2048, 4096)
        found: dict[int, list[float]] = {n: [] for n in counts}
        for _ in range(rounds):
            for n in counts:
                found[n].append(1e6 / statistics.median(search_speed(SearchCase(game, 64, n), REPEATS)))
        costs = {n: statistics.median(values) for n, values in found.items()}
        row = "  ".join(f"{n}: {cost:.3f} us ({cost / costs[128]:.2f})" for n, cost in costs.items())
        print(f"{game:<14}{row}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
