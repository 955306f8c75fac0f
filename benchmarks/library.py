"""The search as a library against mctx on pgx: what a Python user gets through the front door.

    python benchmarks/library.py [--rounds 5] [--only TEXT]

Self-play loops: one compiled program plays MOVES moves of every game (search, draw the move from the visits, play
it, begin a finished game anew), with jb.Search on one side and mctx.muzero_policy on pgx on the other. Searches: from
positions to root statistics on the host. Uniform prior and zero value; every line is measured by turns with its peer,
which runs in a process of its own on one JAX device, over whose operations XLA spreads the cores.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from search import mctx_peer

MOVES = 4
REPEATS = 3  # calls a round and side; the middle one counts
CASES = [("go:9", "go_9x9", 64, 128), ("connect_four", "connect_four", 256, 128)]


def mctx_loop(pipe: Any) -> None:
    """Answers (env, trees, simulations) with simulations a second of a self-play loop."""
    import jax

    jax.config.update("jax_num_cpu_devices", 1)
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental import auto_reset

    @functools.cache
    def make(env_id: str, trees: int, simulations: int) -> Callable[[], object]:
        env = pgx.make(env_id)
        step = auto_reset(env.step, env.init)

        def recurrent(params: Any, key: Any, action: Any, state: Any) -> Any:
            mover = state.current_player
            state = jax.vmap(env.step)(state, action)
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            zero = jnp.zeros(mover.shape[0])
            reward = state.rewards[jnp.arange(mover.shape[0]), mover]
            discount = jnp.where(state.terminated, 0.0, -1.0)
            return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=zero), state

        def move(state: Any, key: Any) -> Any:
            legal = state.legal_action_mask
            root = mctx.RootFnOutput(prior_logits=jnp.where(legal, 0.0, -1e9), value=jnp.zeros(trees), embedding=state)
            for_search, for_step = jax.random.split(key)
            out = mctx.muzero_policy(
                (), for_search, root, recurrent, simulations, invalid_actions=~legal, dirichlet_fraction=0.0
            )
            return jax.vmap(step)(state, out.action, jax.random.split(for_step, trees)), out.action_weights

        play = jax.jit(lambda state, key: jax.lax.scan(move, state, jax.random.split(key, MOVES))[1])
        state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), trees))
        return lambda: jax.device_get(play(state, jax.random.key(1)))

    while (case := pipe.recv()) is not None:
        pipe.send(speed(make(*case), case[1] * case[2] * MOVES))


def speed(call: Callable[[], object], simulations: int) -> float:
    """Simulations a second of ``call``, which makes so many; compiled before."""
    spent = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return simulations / statistics.median(spent)


@functools.cache
def ours(way: str, spec: str, trees: int, simulations: int) -> Callable[[], object]:
    """A call that does the work of one line, warmed up."""
    import jax

    import jubango as jb

    game = jb.make_game(spec)
    search = jb.Search(game, jb.Puct(base=19652.0), jb.Uniform(), simulations)

    def move(states: Any, key: Any) -> Any:
        out = search((), states, key, temperature=1.0)
        states = jax.vmap(game.step)(states, out.action)
        over = jax.vmap(game.is_terminal)(states)
        fresh = game.init()

        def settle(x: Any, first: Any) -> Any:
            return jax.numpy.where(over.reshape(-1, *[1] * first.ndim), first, x)

        return jax.tree.map(settle, states, fresh), out.policy

    def play(states: Any, key: Any) -> Any:
        return jax.lax.scan(move, states, jax.random.split(key, MOVES))[1]

    states = jax.jit(jax.vmap(lambda _: game.init()))(np.arange(trees))
    key = jax.random.key(1)
    if way == "run_many":
        listed = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(trees)]
        return lambda: jb.run_many(search, listed)
    if "shard_map" in way:
        mesh = jax.make_mesh((len(jax.devices()),), ("games",))
        split, whole = jax.P("games"), jax.P()

        def own(states: Any, key: Any) -> Any:
            return play(states, jax.random.fold_in(key, jax.lax.axis_index("games")))

        program = jax.shard_map(
            own, mesh=mesh, in_specs=(split, whole), out_specs=jax.P(None, "games"), check_vma=False
        )
        states = jax.device_put(states, jax.NamedSharding(mesh, split))
    else:
        program = play
    compiled = jb.jit(program) if "jb.jit" in way else jax.jit(program)
    return lambda: jax.device_get(compiled(states, key))


WAYS = {  # what is timed: its name, whether it is a loop
    "jb.Search under jax.jit, one device": True,
    "jb.Search under jb.jit, one device": True,
    "jb.Search under shard_map and jax.jit, both": True,
    "jb.Search under shard_map and jb.jit, both": True,
    "run_many": False,
    "Driver": False,
}


def mine(way: str, loop: bool, spec: str, trees: int, simulations: int) -> float:
    """Our simulations a second."""
    from jubango.arena.benchmark import SearchCase, search_speed

    if way == "Driver":
        return statistics.median(search_speed(SearchCase(spec, trees, simulations), REPEATS))
    return speed(ours(way, spec, trees, simulations), trees * simulations * (MOVES if loop else 1))


def theirs(pipe: Any, case: tuple) -> float:
    """The peer's, which waits at the other end of ``pipe``."""
    if pipe is None:
        return math.nan
    pipe.send(case)
    return pipe.recv()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only lines that hold this text")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    options = parser.parse_args()
    if not options.alone:
        context = multiprocessing.get_context("spawn")
        pipes = {}
        for target, loop in ((mctx_loop, True), (mctx_peer, False)):
            pipes[loop], there = context.Pipe()
            context.Process(target=target, args=(there,), daemon=True).start()

    print(f"{'work':<64}{'jubango':>12}{'mctx + pgx':>12}{'ratio':>8}  (range)", flush=True)
    for (spec, env_id, trees, simulations), (way, loop) in itertools.product(CASES, WAYS.items()):
        label = f"{spec}, {trees} x {simulations}, {way}"
        if options.only not in label:
            continue

        case = spec, trees, simulations
        peer = None if options.alone else pipes[loop]
        asked = (env_id, trees, simulations) if loop else (env_id, trees, simulations, 0, 1)
        mine(way, loop, *case), theirs(peer, asked)  # both have compiled now
        pairs = [(mine(way, loop, *case), theirs(peer, asked)) for _ in range(options.rounds)]
        ratios = sorted(a / b for a, b in pairs)
        a, b = (statistics.median(x) for x in zip(*pairs, strict=True))
        ratio = f"{statistics.median(ratios):>8.1f}  ({ratios[0]:.1f} to {ratios[-1]:.1f})"
        print(f"{label:<64}{a:>12,.0f}{b:>12,.0f}{ratio}", flush=True)
    for pipe in () if options.alone else pipes.values():
        pipe.send(None)  # no more


if __name__ == "__main__":
    main()
