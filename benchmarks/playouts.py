"""Random moves a second on the whole machine: jubango against pgx, in one run, by turns.

    python benchmarks/playouts.py [--seconds 3] [--rounds 3] [--game SPEC]

pgx plays uniformly random legal moves (passes and own eyes included), its way of random play;
jubango never fills an own eye (of its diagonals at most one the opponent's, at the edge none, as in
libego). Both count moves made, not games. The
figure of a round is a fresh measurement of each side, one after the other; the table has the
middle of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import jax
import jax.numpy as jnp

from jubango.arena.benchmark import GAMES_AT_ONCE, playout_speed
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.rules.catalogue import make_game


def pgx_env(name: str):
    warnings.filterwarnings("ignore")
    import pgx

    if name.startswith("go_"):
        from pgx.go import Go

        return Go(size=int(name[3:].split("x")[0]), komi=7.5)
    return pgx.make(name)


class PgxRandomPlay:
    """Random play in pgx, a finished game starting anew, with a batch on every device."""

    STEPS = 50

    def __init__(self, name: str, lanes: int) -> None:
        env = pgx_env(name)
        self.lanes = lanes
        init, step = jax.vmap(env.init), jax.vmap(env.step)

        def body(state, key):
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            action = jax.random.categorical(key, logits, axis=-1)
            state = step(state, action)
            fresh = init(jax.random.split(key, lanes))
            over = state.terminated | state.truncated
            pick = lambda new, old: jnp.where(over.reshape(-1, *(1,) * (old.ndim - 1)), new, old)  # noqa: E731
            return jax.tree.map(pick, fresh, state), None

        self.run = jax.jit(lambda state, key: jax.lax.scan(body, state, jax.random.split(key, self.STEPS))[0])
        self.states = [
            jax.device_put(jax.jit(init)(jax.random.split(jax.random.key(i), lanes)), d)
            for i, d in enumerate(jax.devices())
        ]
        self.advance(jax.random.key(0))

    def advance(self, key) -> None:
        keys = jax.random.split(key, len(self.states))
        self.states = [
            self.run(s, jax.device_put(k, d)) for s, k, d in zip(self.states, keys, jax.devices(), strict=True)
        ]
        jax.block_until_ready(self.states)

    def speed(self, seconds: float) -> float:
        key, steps, began = jax.random.key(1), 0, time.perf_counter()
        while time.perf_counter() < began + seconds:
            key, sub = jax.random.split(key)
            self.advance(sub)
            steps += self.STEPS * self.lanes * len(self.states)
        return steps / (time.perf_counter() - began)


CASES = [
    ("go:9", "go_9x9", GAMES_AT_ONCE, (128, 512)),
    ("go:13", "go_13x13", GAMES_AT_ONCE, (128, 512)),
    ("go:19", "go_19x19", GAMES_AT_ONCE, (128, 256)),
    ("connect_four", "connect_four", GAMES_AT_ONCE, (1024, 4096)),
    ("tic_tac_toe", "tic_tac_toe", GAMES_AT_ONCE, (1024, 4096)),
    ("othello", "othello", GAMES_AT_ONCE, (1024, 4096)),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--game", choices=[case[0] for case in CASES], help="this one alone")
    arguments = parser.parse_args()
    claim()  # so that pgx has all cores, too
    print(
        f"{len(jax.devices())} devices, jax {jax.__version__}; moves a second, the middle of {arguments.rounds} rounds"
    )
    print(f"{'game':<14}{'jubango':>14}{'pgx':>12}{'ratio':>9}   pgx lanes a device")
    for spec, name, lanes, peer_lanes in CASES:
        if arguments.game not in (None, spec):
            continue
        game = make_game(spec)
        peers = [PgxRandomPlay(name, n) for n in peer_lanes]  # the better of its batch sizes counts
        ours, theirs, best = [], [], []
        for _ in range(arguments.rounds):
            ours.append(playout_speed(game, lanes, arguments.seconds)[0])
            speeds = [peer.speed(arguments.seconds) for peer in peers]
            theirs.append(max(speeds))
            best.append(peer_lanes[speeds.index(max(speeds))])
        a, b = statistics.median(ours), statistics.median(theirs)
        print(f"{spec:<14}{a:>14,.0f}{b:>12,.0f}{a / b:>9.1f}   {statistics.mode(best)}", flush=True)


if __name__ == "__main__":
    main()
