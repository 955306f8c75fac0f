"""Boards as rows of bits: one small integer per row, bit c for column c, one spare bit above.

A board is a list of H arrays of one shape (``[]`` for one game, ``[B]`` for lanes). uint16 holds
up to 15 columns, uint32 up to 31; the spare bit stops carries and shifts at the row's end. Moving
a board up or down costs nothing (rows are renumbered), and a flood goes along a row at once: to
higher columns by the carry of an addition, to lower ones by doubling shifts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.lane_loops import until_settled

Rows = list[jax.Array]


def row_type(width: int) -> type:
    """The narrowest row that leaves a spare bit."""
    return jnp.uint16 if width <= 15 else jnp.uint32


def full_row(width: int) -> int:
    return (1 << width) - 1


def unpack(board: jax.Array) -> Rows:
    """[H, ...] -> H arrays [...]."""
    return [board[r] for r in range(board.shape[0])]


def pack(rows: Rows) -> jax.Array:
    """H arrays [...] -> [H, ...]."""
    return jnp.stack(rows)


def copied(rows: Rows) -> Rows:
    """The same as results of a kernel. Where rows of one array begin a loop, the kernel before it hands them on, else
    the compiler makes a kernel for each."""
    return [row | jnp.zeros_like(row) for row in rows]


def both(*boards: Rows) -> Rows:
    """Points in every board."""
    out = boards[0]
    for board in boards[1:]:
        out = [a & b for a, b in zip(out, board, strict=True)]
    return out


def either(*boards: Rows) -> Rows:
    """Points in any board."""
    out = boards[0]
    for board in boards[1:]:
        out = [a | b for a, b in zip(out, board, strict=True)]
    return out


def without(board: Rows, gone: Rows) -> Rows:
    return [a & ~b for a, b in zip(board, gone, strict=True)]


def complement(board: Rows, width: int) -> Rows:
    return [~row & full_row(width) for row in board]


def some(board: Rows) -> jax.Array:
    """bool: is any point set?"""
    joined = board[0]
    for row in board[1:]:
        joined = joined | row
    return joined != 0


def count(board: Rows) -> jax.Array:
    """int32: how many points are set."""
    total = lax.population_count(board[0])
    for row in board[1:]:
        total = total + lax.population_count(row)
    return total.astype(jnp.int32)


def choose(condition: jax.Array, yes: Rows, no: Rows) -> Rows:
    return [jnp.where(condition, a, b) for a, b in zip(yes, no, strict=True)]


def only_if(condition: jax.Array, board: Rows) -> Rows:
    return [jnp.where(condition, row, jnp.zeros_like(row)) for row in board]


def lower(board: Rows) -> Rows:
    """The board moved one row down (row r holds what row r - 1 held)."""
    return [jnp.zeros_like(board[0]), *board[:-1]]


def higher(board: Rows) -> Rows:
    """The board moved one row up."""
    return [*board[1:], jnp.zeros_like(board[0])]


def near(board: Rows, width: int, six: bool = False) -> Rows:
    """Every point beside a set point. ``six``: on a board of hexagons, where the point a row down and a column on is
    beside it, too, and the one a row up and a column back."""
    return [
        ((row << 1) | (row >> 1) | _into_row(above, 1, six) | _into_row(below, -1, six)) & full_row(width)
        for row, above, below in zip(board, lower(board), higher(board), strict=True)
    ]


def _into_row(row: jax.Array, down: int, six: bool) -> jax.Array:
    """What the points of a row are beside in the row below it (``down`` 1) or above it (-1)."""
    return row | (row << 1 if down > 0 else row >> 1) if six else row


def sweep(seeds: Rows, mask: Rows, width: int, reach: int | None = None, six: bool = False) -> Rows:
    """Flood ``seeds`` through ``mask`` once from the first and last rows to the middle one and back.

    seeds must lie in mask. ``reach``: how many lower columns a row spreads to at once; by default all. ``six``: as
    :func:`near` has it.
    """
    reach = width - 1 if reach is None else reach
    doubled = []
    for row in mask:
        spans, covered = [row], 1
        while covered < reach:
            spans.append(spans[-1] & (spans[-1] >> (1 << len(spans) - 1)))
            covered = 2 * covered + 1
        doubled.append(spans)

    def along(x: jax.Array, r: int) -> jax.Array:
        x = x | (mask[r] & ~(mask[r] + x))  # the carry runs up the row until the mask ends
        for i, span in enumerate(doubled[r]):
            x = x | ((x >> (1 << i)) & span)
        return x

    # The two halves do not depend on each other, which gives the processor two things to do at a time.
    def distance(r: int) -> int:
        return abs(r - len(mask) // 2)

    out = list(seeds)
    inwards = sorted(range(len(out)), key=distance, reverse=True)
    for rows, nearer in ((inwards, False), (inwards[-2::-1], True)):
        for r in rows:
            beside = [n for n in (r - 1, r + 1) if 0 <= n < len(out) and (distance(n) < distance(r)) == nearer]
            reached = out[r]
            for n in beside:
                reached = reached | (_into_row(out[n], r - n, six) & mask[r])
            out[r] = along(reached, r)
    return out


def flood(seeds: Rows, mask: Rows, width: int) -> Rows:
    """All points of ``mask`` connected to ``seeds`` within it."""

    return until_settled(flood_step(width), jnp.bool_(True), both(seeds, mask), mask)[0]


@functools.cache
def flood_step(width: int, six: bool = False) -> Callable:
    @fused
    def once(reached: Rows, mask: Rows) -> tuple:
        more = sweep(reached, mask, width, six=six)
        # Settled when no reached point has an unreached neighbour in the mask.
        return more, mask, some(without(both(near(more, width, six), mask), more))

    def step(reached: Rows, mask: Rows) -> tuple:
        more, mask, unsettled = once(reached, mask)
        return (more, mask), unsettled

    return step


def point_rows(row: jax.Array, column: jax.Array, valid: jax.Array, height: int, dtype: type) -> Rows:
    """The board with the one point (row, column), or none where ``valid`` is false."""
    bit = jnp.where(valid, jnp.ones((), dtype) << column.astype(dtype), jnp.zeros((), dtype))
    return [jnp.where(row == r, bit, jnp.zeros((), dtype)) for r in range(height)]


def point_of(index: jax.Array, valid: jax.Array, width: int, height: int) -> Rows:
    """The board with the one point ``index`` (row * W + column), or none where it is not ``valid``."""
    row, column = lax.div(index, jnp.int32(width)), lax.rem(index, jnp.int32(width))
    return point_rows(row, column, valid, height, row_type(width))


def random_point(board: Rows, bits: jax.Array) -> tuple[Rows, jax.Array]:
    """(one set point of ``board`` uniformly at random as a board, whether there was one).

    bits: uint32 random bits, of which the upper half is used; the bias is below points / 65536.
    """
    dtype = board[0].dtype
    sums = [lax.population_count(board[0])]
    for row in board[1:]:
        sums.append(sums[-1] + lax.population_count(row))
    total = sums[-1]
    k = (((bits >> 16) * total.astype(jnp.uint32)) >> 16).astype(dtype)
    zero = jnp.zeros((), dtype)
    reached = [k < total for total in sums]  # from the point's row on
    word, before = zero, zero
    for row, is_reached, first in reversed(list(zip(board, reached, [zero, *sums[:-1]], strict=True))):
        word = jnp.where(is_reached, row, word)
        before = jnp.where(is_reached, first, before)
    here = [reached[0], *(now & ~before for before, now in itertools.pairwise(reached))]
    k = k - before
    position = zero
    span = 8 if dtype == jnp.uint16 else 16
    while span:
        below = lax.population_count((word >> position) & ((1 << span) - 1))
        beyond = k >= below
        k = jnp.where(beyond, k - below, k)
        position = jnp.where(beyond, position + span, position)
        span //= 2
    bit = jnp.ones((), dtype) << position
    return [jnp.where(inside, bit, zero) for inside in here], total > 0


def to_bits(board: jax.Array, width: int) -> jax.Array:
    """[H] rows -> bool [H * W], row by row."""
    columns = jnp.arange(width, dtype=board.dtype)
    return ((board[:, None] >> columns) & 1).astype(bool).reshape(-1)


def owners(first: Rows, second: Rows, width: int) -> jax.Array:
    """int32 [H * W, B] of rows [B]: 0 for a point of the first player, 1 for one of the second, else -1."""
    bits = jax.vmap(functools.partial(to_bits, width=width), in_axes=-1, out_axes=-1)
    return jnp.where(bits(pack(first)), 0, jnp.where(bits(pack(second)), 1, -1)).astype(jnp.int32)


def drawn(own: jax.Array, opp: jax.Array, player: int, width: int) -> np.ndarray:
    """int8 [H, W] for display: 0 empty, 1 the first player's stones, 2 the second's."""
    mine, theirs = (np.asarray(rows).astype(np.int64)[:, None] >> np.arange(width) & 1 for rows in (own, opp))
    first, second = (mine, theirs) if player == 0 else (theirs, mine)
    return (first + 2 * second).astype(np.int8)


def from_bits(points: jax.Array, width: int) -> jax.Array:
    """bool [H * W] -> [H] rows."""
    dtype = row_type(width)
    columns = jnp.arange(width, dtype=dtype)
    return jnp.sum(points.reshape(-1, width).astype(dtype) << columns, axis=1, dtype=dtype)
