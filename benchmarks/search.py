"""Tree searches: jubango against mctx on pgx, OpenSpiel's C++ MCTS and a textbook MCTS in plain Python, in one run.

    python benchmarks/search.py [--rounds 5] [--only TEXT] [--flat]

Every line is measured by turns with its peer. mctx and pgx run in a process of their own. They run on one JAX device,
as their users do (XLA spreads large operations over the cores), and split over two devices as jubango is.
Where a network is named, both sides have one of the same shape and the same untrained weights; mctx's is shown pgx's
planes, as many as ours has. --flat measures jubango alone: the cost of a simulation as the number of simulations grows.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import statistics
import sys
import time
from typing import Any

from plain_mcts import Position, QuickPosition
from plain_mcts import speed as plain_speed

REPEATS = 3  # searches a round and side; the middle one counts


def mctx_peer(pipe: Any) -> None:
    """Answers (env, trees, simulations, plies, network, devices) with simulations a second."""
    import jax

    jax.config.update("jax_num_cpu_devices", 2)
    import jax.numpy as jnp
    import mctx
    import numpy as np
    import pgx
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from jubango.bots.networks.model import apply, new_weights
    from jubango.bots.networks.shape import Shape

    searches: dict = {}

    def make(env_id: str, trees: int, simulations: int, plies: int, shape: Shape | None, devices: int) -> Any:
        env = pgx.make(env_id)
        weights = {} if shape is None else new_weights(shape)

        def judged(weights, state):
            """(logits, value) of positions."""
            if shape is None:
                return jnp.zeros(state.legal_action_mask.shape), jnp.zeros(state.legal_action_mask.shape[0])
            seen = state.observation[..., : shape.planes].astype(jnp.float32)
            found = apply(shape, weights, jnp.pad(seen, [*[(0, 0)] * 3, (0, shape.planes - seen.shape[-1])]))
            return found.policy, found.value

        def recurrent(params, key, action, state):
            mover = state.current_player
            state = jax.vmap(env.step)(state, action)
            reward = state.rewards[jnp.arange(mover.shape[0]), mover]
            logits, value = judged(params, state)
            logits = jnp.where(state.legal_action_mask, logits, -1e9)
            discount = jnp.where(state.terminated, 0.0, -1.0)
            return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), state

        def search(weights, state):
            legal = state.legal_action_mask
            logits, value = judged(weights, state)
            root = mctx.RootFnOutput(prior_logits=jnp.where(legal, logits, -1e9), value=value, embedding=state)
            out = mctx.muzero_policy(
                weights, jax.random.PRNGKey(0), root, recurrent, simulations, invalid_actions=~legal,
                dirichlet_fraction=0.0,
            )  # fmt: skip
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
            specs = PartitionSpec(), split
            search = jax.shard_map(search, mesh=mesh, in_specs=specs, out_specs=split, check_vma=False)
            state = jax.device_put(state, NamedSharding(mesh, split))
            weights = jax.device_put(weights, NamedSharding(mesh, PartitionSpec()))
        return functools.partial(jax.jit(search), weights), state

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
    from jubango.bots.evaluators.network import NetworkEvaluator
    from jubango.bots.evaluators.rollout import Rollout
    from jubango.bots.networks.model import new_weights
    from jubango.bots.networks.shape import Shape
    from jubango.bots.search.rules.ucb1 import Ucb1
    from jubango.sgf_games.rules.catalogue import make_game

    rollout = {"evaluator": Rollout(), "rule": Ucb1()}
    go, connect_four = (Shape.of(make_game(spec), channels=32, blocks=4) for spec in ("go:9", "connect_four"))

    def with_network(spec: str, trees: int, simulations: int, shape: Shape, leaves: int = 1) -> SearchCase:
        weights = new_weights(shape)
        return SearchCase(spec, trees, simulations, NetworkEvaluator(shape), leaves=leaves, params=weights)

    networks = [
        (with_network(spec, trees, simulations, shape, leaves), peer, (env, trees, simulations, 0, shape))
        for spec, env, trees, simulations, shape, leaves in (
            ("go:9", "go_9x9", 64, 128, go, 1),
            ("go:9", "go_9x9", 1, 800, go, 8),
            ("connect_four", "connect_four", 256, 128, connect_four, 1),
        )
        for peer in ("mctx + pgx", "mctx + pgx on two devices")[: 1 if trees == 1 else 2]
    ]
    return [
        *networks,
        (SearchCase("go:9", 64, 128), "mctx + pgx", ("go_9x9", 64, 128, 0, None)),
        (SearchCase("go:9", 64, 128), "mctx + pgx on two devices", ("go_9x9", 64, 128, 0, None)),
        (SearchCase("go:9", 64, 512), "mctx + pgx", ("go_9x9", 64, 512, 0, None)),
        (SearchCase("go:9", 64, 512), "mctx + pgx on two devices", ("go_9x9", 64, 512, 0, None)),
        (SearchCase("go:9", 64, 128, plies=40), "mctx + pgx", ("go_9x9", 64, 128, 40, None)),
        (SearchCase("go:9", 1, 800, leaves=32), "mctx + pgx", ("go_9x9", 1, 800, 0, None)),
        (SearchCase("go:9", 1, 800), "mctx + pgx", ("go_9x9", 1, 800, 0, None)),
        (SearchCase("connect_four", 256, 128), "mctx + pgx", ("connect_four", 256, 128, 0, None)),
        (SearchCase("connect_four", 256, 128), "mctx + pgx on two devices", ("connect_four", 256, 128, 0, None)),
        (SearchCase("tic_tac_toe", 256, 128), "mctx + pgx", ("tic_tac_toe", 256, 128, 0, None)),
        (SearchCase("tic_tac_toe", 256, 128), "mctx + pgx on two devices", ("tic_tac_toe", 256, 128, 0, None)),
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
