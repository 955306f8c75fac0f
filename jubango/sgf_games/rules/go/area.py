"""Go's areas: stones, and empty regions that touch one colour."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused, in_pallas
from jubango.sgf_games.compute.lane_loops import settled

# Empty points that touch own stones, by way of others as far as is known, and those that touch the opponent's; all
# empty points; own stones and the opponent's.
Sides: TypeAlias = tuple[bb.Rows, bb.Rows, bb.Rows, bb.Rows, bb.Rows]


def area_margin(own: bb.Rows, opp: bb.Rows, width: int) -> jax.Array:
    """float32: own area minus the opponent's (stones, and empty regions touching one colour)."""
    margin: jax.Array = _of_sides(_kernels(width).margin, own, opp, width)
    return margin


def areas(own: bb.Rows, opp: bb.Rows, width: int) -> tuple[bb.Rows, bb.Rows]:
    """The points that count for either side."""
    own_area, opp_area = _of_sides(_kernels(width).counted, own, opp, width)
    return own_area, opp_area


def _of_sides(finish: Callable, own: bb.Rows, opp: bb.Rows, width: int) -> Any:
    """What ``finish`` makes of the sides' floods: one kernel on a GPU, elsewhere a flood each, as others are."""
    kernels = _kernels(width)
    if in_pallas():
        return settled(kernels.begin, kernels.step, finish, own, opp)
    (own_side, opp_side, empty, own, opp), _ = kernels.begin(own, opp)
    return finish(bb.flood(own_side, empty, width), bb.flood(opp_side, empty, width), empty, own, opp)


class Kernels(NamedTuple):
    begin: Callable  # (own, opp) -> (sides, are they unsettled); a flood of both sides
    step: Callable  # sides -> the same
    margin: Callable  # of the sides
    counted: Callable  # the areas of the sides


@functools.cache
def _kernels(width: int) -> Kernels:
    flood = bb.flood_step(width)

    @fused
    def borders(own: bb.Rows, opp: bb.Rows) -> tuple[bb.Rows, bb.Rows, bb.Rows]:
        empty = bb.complement(bb.either(own, opp), width)
        return bb.both(empty, bb.near(own, width)), bb.both(empty, bb.near(opp, width)), empty

    def begin(own: bb.Rows, opp: bb.Rows) -> tuple[Sides, jax.Array]:
        return (*borders(own, opp), own, opp), jnp.bool_(True)

    def step(
        own_side: bb.Rows, opp_side: bb.Rows, empty: bb.Rows, own: bb.Rows, opp: bb.Rows
    ) -> tuple[Sides, jax.Array]:
        (own_side, _), own_left = flood(own_side, empty)
        (opp_side, _), opp_left = flood(opp_side, empty)
        return (own_side, opp_side, empty, own, opp), own_left | opp_left

    @fused
    def margin(own_side: bb.Rows, opp_side: bb.Rows, _: bb.Rows, own: bb.Rows, opp: bb.Rows) -> jax.Array:
        mine = bb.count(own) + bb.count(bb.without(own_side, opp_side))
        theirs = bb.count(opp) + bb.count(bb.without(opp_side, own_side))
        return (mine - theirs).astype(jnp.float32)

    @fused
    def counted(
        own_side: bb.Rows, opp_side: bb.Rows, _: bb.Rows, own: bb.Rows, opp: bb.Rows
    ) -> tuple[bb.Rows, bb.Rows]:
        return bb.either(own, bb.without(own_side, opp_side)), bb.either(opp, bb.without(opp_side, own_side))

    return Kernels(begin, step, margin, counted)
