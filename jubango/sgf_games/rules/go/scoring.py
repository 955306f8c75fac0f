"""Which stones of a finished Go game are dead, and what the game's result is without them.

Sets of stones are bool [H, W]. The rules count every stone alive (see ``go``); programs that stop earlier mean the
position without its dead stones. Nobody has to be asked which those are: random games from the position show it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.dice import mix
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.go.area import areas
from jubango.sgf_games.rules.go.go import Go, GoState
from jubango.sgf_games.rules.go.playout import playout

LANES, ROUNDS = 64, 8  # random games at once, and how often; either colour begins half of them
LOST = 0.55  # the share of them in which a dead chain's points end as the opponent's


def dead_by_playouts(game: Go, state: GoState) -> np.ndarray:
    """Chains whose points the opponent gets in most random games from here, in which chains are taken and saved
    (tactical ones). How often that is what GNU Go says: docs/design-notes.md."""
    program = playout_program(game.width, game.height, tactics=True)
    shares = np.mean([program(state.own, state.opp, np.uint32(k)) for k in range(ROUNDS)], axis=0)
    dead = np.zeros((game.height, game.width), bool)
    for stones, lost in zip(_stones(game, state), shares.reshape(2, *dead.shape), strict=True):
        for chain in _chains(stones):
            dead |= chain & (lost[chain].mean() >= LOST)
    return dead


def owners_by_playouts(game: Go, state: GoState, rounds: int = ROUNDS) -> np.ndarray:
    """float32 [H * W] in [-1, 1]: the share of random games from here in which a point ends as Black's, less that in
    which it ends as White's."""
    program = playout_program(game.width, game.height)
    others, own = np.mean([program(state.own, state.opp, np.uint32(k)) for k in range(rounds)], axis=0)
    return (own - others) * (1 if int(state.player) == 0 else -1)


def whole_chains(game: Go, state: GoState, points: Iterable[Point]) -> np.ndarray:
    """The chains with a stone on any of ``points``."""
    named = np.zeros((game.height, game.width), bool)
    named[tuple(np.array(list(points), int).reshape(-1, 2).T)] = True
    found = [chain for chain in chains(game, state) if (chain & named).any()]
    return np.any([named & False, *found], axis=0)


def result_without(game: Go, state: GoState, dead: np.ndarray) -> str:
    """The result, as SGF's RE, by the area of the position that is left when ``dead`` stones are taken off."""
    kept = (~dead << np.arange(game.width)).sum(axis=1)
    own, opp = (np.asarray(rows) & kept.astype(np.asarray(rows).dtype) for rows in (state.own, state.opp))
    return game.result_text(state._replace(own=own, opp=opp))


def chains(game: Go, state: GoState) -> list[np.ndarray]:
    """All chains of a position, those of either colour."""
    return [chain for stones in _stones(game, state) for chain in _chains(stones)]


@functools.lru_cache(maxsize=8)
def playout_program(width: int, height: int, tactics: bool = False) -> Callable[..., jax.Array]:
    """One for each size of board: ``(own, opp, seed) -> float32 [2, H * W]``, the share of random games, with
    ``tactics`` (:mod:`jubango.sgf_games.rules.go.tactics`) or without, in which a point ends as the opponent's, and
    as the own."""

    def shares(own: jax.Array, opp: jax.Array, seed: jax.Array) -> jax.Array:
        lane = jnp.arange(LANES)
        first = lane < LANES // 2  # lanes in which ``own`` begins
        mine, theirs = (bb.choose(first, bb.unpack(a), bb.unpack(b)) for a, b in ((own, opp), (opp, own)))
        none, seeds = jnp.zeros(LANES, jnp.int32), mix(seed * LANES + lane.astype(jnp.uint32))
        limit = 4 * width * height + 40
        last = none - 1 if tactics else None
        mine, theirs, turn, _ = playout(mine, theirs, none - 1, none, none > 0, seeds, width, limit, last=last)
        mover, other = areas(mine, theirs, width)
        same = first == (turn % 2 == 0)  # lanes in which ``own`` is to move at the end
        sides = bb.choose(same, other, mover), bb.choose(same, mover, other)
        bits = jax.vmap(functools.partial(bb.to_bits, width=width), in_axes=-1)
        return jnp.stack([jnp.mean(bits(bb.pack(side)).astype(jnp.float32), axis=0) for side in sides])

    return jit(shares, parts=("shares", width, height, tactics))


def _stones(game: Go, state: GoState) -> list[np.ndarray]:
    """The stones of the player to move and of the other."""
    return [np.asarray(rows).astype(int)[:, None] >> np.arange(game.width) & 1 == 1 for rows in (state.own, state.opp)]


def _chains(stones: np.ndarray) -> list[np.ndarray]:
    """Stones of one colour, chain by chain."""
    from scipy.ndimage import label

    numbered, count = label(stones)
    return [numbered == number for number in range(1, count + 1)]
