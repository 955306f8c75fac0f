"""Which stones of a finished Go game are dead.

A position is the rows of stones of the player to move, ``own``, and of the other, ``opp``. The rules count every stone
alive (see ``go``); programs that stop earlier mean the position without its dead stones. Nobody has to be asked which
those are: random games from the position show it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.game import GAMES_PER_ROUND, connected
from jubango.sgf_games.rules.go.area import areas
from jubango.sgf_games.rules.go.playout import playout

DEAD_ROUNDS = 8  # of random games, from which dead stones are told; either colour begins half of the games
LOST = 0.55  # the share of them in which a dead chain's points end as the opponent's


def dead_by_playouts(own: jax.Array, opp: jax.Array, width: int) -> np.ndarray:
    """bool [H, W]: chains whose points the opponent gets in most random games from here, in which chains are taken and
    saved (tactical ones). How often that is what GNU Go says: docs/design-notes.md."""
    shares = shares_by_playouts(own, opp, width, DEAD_ROUNDS, tactics=True)
    dead = np.zeros((len(own), width), bool)
    for rows, lost in zip((own, opp), shares.reshape(2, *dead.shape), strict=True):
        for chain in connected(_points(rows, width)):
            dead |= chain & (lost[chain].mean() >= LOST)
    return dead


def shares_by_playouts(own: jax.Array, opp: jax.Array, width: int, rounds: int, tactics: bool = False) -> np.ndarray:
    """float32 [2, H * W]: the share of random games, GAMES_PER_ROUND in each of ``rounds``, in which a point ends as
    the opponent's, and as the own."""
    program = playout_program(width, len(own), tactics)
    return np.mean([program(own, opp, np.uint32(k)) for k in range(rounds)], axis=0)


def only(rows: jax.Array, kept: np.ndarray) -> jax.Array:
    """The stones of ``rows`` on the points ``kept``, bool [H, W]."""
    packed = (kept << np.arange(kept.shape[1])).sum(axis=1)
    return jnp.asarray(np.asarray(rows) & packed.astype(np.asarray(rows).dtype))


@functools.lru_cache(maxsize=8)
def playout_program(width: int, height: int, tactics: bool = False) -> Callable[..., jax.Array]:
    """One for each size of board: ``(own, opp, seed) -> float32 [2, H * W]``, the share of random games, with
    ``tactics`` (:mod:`jubango.sgf_games.rules.go.tactics`) or without, in which a point ends as the opponent's, and
    as the own."""

    def shares(own: jax.Array, opp: jax.Array, seed: jax.Array) -> jax.Array:
        lane = jnp.arange(GAMES_PER_ROUND)
        first = lane < GAMES_PER_ROUND // 2  # lanes in which ``own`` begins
        mine, theirs = (bb.choose(first, bb.unpack(a), bb.unpack(b)) for a, b in ((own, opp), (opp, own)))
        none, seeds = jnp.zeros(GAMES_PER_ROUND, jnp.int32), mix(seed * GAMES_PER_ROUND + lane.astype(jnp.uint32))
        limit = 4 * width * height + 40
        last = none - 1 if tactics else None
        mine, theirs, turn, _ = playout(mine, theirs, none - 1, none, none > 0, seeds, width, limit, last=last)
        mover, other = areas(mine, theirs, width)
        same = first == (turn % 2 == 0)  # lanes in which ``own`` is to move at the end
        sides = bb.choose(same, other, mover), bb.choose(same, mover, other)
        bits = jax.vmap(functools.partial(bb.to_bits, width=width), in_axes=-1)
        return jnp.stack([jnp.mean(bits(bb.pack(side)).astype(jnp.float32), axis=0) for side in sides])

    return jit(shares, parts=("shares", width, height, tactics))


def _points(rows: jax.Array, width: int) -> np.ndarray:
    """bool [H, W]."""
    return np.asarray(rows).astype(int)[:, None] >> np.arange(width) & 1 == 1
