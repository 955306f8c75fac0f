"""A position of Go, and how it has come about."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb

MOVES_KEPT, BOARDS_KEPT = 5, 2


class GoTrail(NamedTuple):
    """How a position has come about, the newest first, for evaluators that look at it; no rule does.

    M is 5 moves, N is 2 boards; both are 0 in the tree nodes of other evaluators' searches.
    """

    moves: jax.Array  # int16 [M], actions; -1 where there was none
    own: jax.Array  # uint [N, H], stones before the last moves, those of the player who is to move now
    opp: jax.Array  # uint [N, H]
    ko: jax.Array  # int16 [N], the points that were forbidden by simple ko, or -1


class GoState(NamedTuple):
    """One position. P is ``max_plies + 1`` under a superko rule, else 0, and 0 in tree nodes."""

    own: jax.Array  # uint [H], stones of the player to move
    opp: jax.Array  # uint [H]
    ko: jax.Array  # int32, the point (row * W + column) forbidden by simple ko, or -1
    last: jax.Array  # int32, the point of the last move, or -1: nothing that rules ask for
    passes: jax.Array  # int32, passes in a row
    player: jax.Array  # int32, 0 Black, 1 White
    ply: jax.Array  # int32, moves made
    komi: jax.Array  # float32; NaN in what no game began
    past: jax.Array  # uint32 [P, 2], a 64-bit key of the position at each ply up to this one
    trail: GoTrail


def no_trail(width: int, height: int, moves: int = MOVES_KEPT, boards: int = BOARDS_KEPT) -> GoTrail:
    """That of a game's first position; with 0 and 0 what remembers nothing."""
    empty = jnp.zeros((boards, height), bb.row_type(width))
    return GoTrail(jnp.full(moves, -1, jnp.int16), empty, empty, jnp.full(boards, -1, jnp.int16))


def further(state: GoState, action: jax.Array) -> GoTrail:
    """The trail after ``action``, seen by the other player."""

    def pushed(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.concatenate([new[None].astype(old.dtype), old[:-1]])

    trail = state.trail
    if not trail.moves.size:
        return trail
    return GoTrail(
        pushed(jnp.asarray(action), trail.moves),
        pushed(state.opp, trail.opp),
        pushed(state.own, trail.own),
        pushed(state.ko, trail.ko),
    )
