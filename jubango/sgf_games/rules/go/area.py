"""Go's areas: stones, and empty regions that touch one colour."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused


def area_margin(own: bb.Rows, opp: bb.Rows, width: int) -> jax.Array:
    """float32: own area minus the opponent's (stones, and empty regions touching one colour)."""
    return _areas(width)[1](own, opp, *_sides(own, opp, width))


def areas(own: bb.Rows, opp: bb.Rows, width: int) -> tuple[bb.Rows, bb.Rows]:
    """The points that count for either side."""
    own_side, opp_side = _sides(own, opp, width)
    return bb.either(own, bb.without(own_side, opp_side)), bb.either(opp, bb.without(opp_side, own_side))


def _sides(own: bb.Rows, opp: bb.Rows, width: int) -> tuple[bb.Rows, bb.Rows]:
    """The empty regions that touch own stones, and those that touch the opponent's."""
    empty, by_own, by_opp = _areas(width)[0](own, opp)
    return bb.flood(by_own, empty, width), bb.flood(by_opp, empty, width)


@functools.cache
def _areas(width: int) -> tuple[Callable, Callable]:
    @fused
    def borders(own: bb.Rows, opp: bb.Rows) -> tuple[bb.Rows, bb.Rows, bb.Rows]:
        empty = bb.complement(bb.either(own, opp), width)
        return empty, bb.both(empty, bb.near(own, width)), bb.both(empty, bb.near(opp, width))

    @fused
    def difference(own: bb.Rows, opp: bb.Rows, own_side: bb.Rows, opp_side: bb.Rows) -> jax.Array:
        mine = bb.count(own) + bb.count(bb.without(own_side, opp_side))
        theirs = bb.count(opp) + bb.count(bb.without(opp_side, own_side))
        return (mine - theirs).astype(jnp.float32)

    return borders, difference
