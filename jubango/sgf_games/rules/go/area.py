"""Go's areas: stones, and empty regions that touch one colour."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused, settled


def area_margin(own: bb.Rows, opp: bb.Rows, width: int) -> jax.Array:
    """float32: own area minus the opponent's (stones, and empty regions touching one colour)."""
    begin, step, margin, _ = _kernels(width)
    return settled(begin, step, margin, own, opp)


def areas(own: bb.Rows, opp: bb.Rows, width: int) -> tuple[bb.Rows, bb.Rows]:
    """The points that count for either side."""
    begin, step, _, counted = _kernels(width)
    return settled(begin, step, counted, own, opp)


Sides: TypeAlias = tuple[bb.Rows, bb.Rows, bb.Rows, bb.Rows]  # (empty points known to touch own stones, or the
# opponent's, by way of others; own stones, the opponent's)


@functools.cache
def _kernels(width: int) -> tuple[Callable, Callable, Callable, Callable]:
    """A flood's beginning and a step of it, for both sides at once; the margin and the areas that come of it."""

    @fused
    def borders(own: bb.Rows, opp: bb.Rows) -> Sides:
        empty = bb.complement(bb.either(own, opp), width)
        return bb.both(empty, bb.near(own, width)), bb.both(empty, bb.near(opp, width)), bb.copied(own), bb.copied(opp)

    @fused
    def further(own_side: bb.Rows, opp_side: bb.Rows, own: bb.Rows, opp: bb.Rows) -> tuple[Sides, jax.Array]:
        empty = bb.complement(bb.either(own, opp), width)
        own_side, opp_side = bb.sweep(own_side, empty, width), bb.sweep(opp_side, empty, width)
        left = [bb.without(bb.both(bb.near(side, width), empty), side) for side in (own_side, opp_side)]
        return (own_side, opp_side, bb.copied(own), bb.copied(opp)), bb.some(bb.either(*left))

    @fused
    def margin(own_side: bb.Rows, opp_side: bb.Rows, own: bb.Rows, opp: bb.Rows) -> jax.Array:
        mine = bb.count(own) + bb.count(bb.without(own_side, opp_side))
        theirs = bb.count(opp) + bb.count(bb.without(opp_side, own_side))
        return (mine - theirs).astype(jnp.float32)

    @fused
    def counted(own_side: bb.Rows, opp_side: bb.Rows, own: bb.Rows, opp: bb.Rows) -> tuple[bb.Rows, bb.Rows]:
        return bb.either(own, bb.without(own_side, opp_side)), bb.either(opp, bb.without(opp_side, own_side))

    return lambda own, opp: (borders(own, opp), jnp.bool_(True)), further, margin, counted
