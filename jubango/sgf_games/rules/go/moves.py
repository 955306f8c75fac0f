"""Go's moves on boards of rows: putting a stone down, where one may go, which chains have two liberties."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.lane_loops import settled

# (own, opp, the stone, own stones known to have a liberty, the opponent's).
Placed: TypeAlias = tuple[bb.Rows, bb.Rows, bb.Rows, bb.Rows, bb.Rows]


@functools.cache
def placing(width: int, height: int) -> tuple[Callable, Callable, Callable]:
    """The kernels of a move: the stone is put down, chains are flooded from their liberties as far as the
    chains beside it need that, and what has no liberty is taken off."""

    def beside(
        own: bb.Rows, opp: bb.Rows, move: bb.Rows, own_alive: bb.Rows, opp_alive: bb.Rows
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(is a chain beside the stone not reached, is its own chain not reached, may that yet change)."""
        opp_dead, own_dead = bb.without(opp, opp_alive), bb.without(own, own_alive)
        hit, stuck = bb.some(bb.both(bb.near(move, width), opp_dead)), bb.some(bb.both(move, own_dead))
        unsettled = (hit & bb.some(bb.both(bb.near(opp_alive, width), opp_dead))) | (
            stuck & bb.some(bb.both(bb.near(own_alive, width), own_dead))
        )
        return hit, stuck, unsettled

    @fused
    def put(own: bb.Rows, opp: bb.Rows, action: jax.Array, played: jax.Array) -> tuple[Placed, jax.Array]:
        move = bb.point_of(action, played, width, height)
        own = bb.either(own, move)
        liberties = bb.near(bb.complement(bb.either(own, opp), width), width)
        placed = own, opp, move, bb.both(own, liberties), bb.both(opp, liberties)
        return placed, beside(*placed)[2]

    @fused
    def sweep(
        own: bb.Rows, opp: bb.Rows, move: bb.Rows, own_alive: bb.Rows, opp_alive: bb.Rows
    ) -> tuple[bb.Rows, bb.Rows]:
        return bb.sweep(own_alive, own, width), bb.sweep(opp_alive, opp, width)

    @fused
    def look(*placed: bb.Rows) -> jax.Array:
        return beside(*placed)[2]

    def flood(
        own: bb.Rows, opp: bb.Rows, move: bb.Rows, own_alive: bb.Rows, opp_alive: bb.Rows
    ) -> tuple[Placed, jax.Array]:
        own_alive, opp_alive = sweep(own, opp, move, own_alive, opp_alive)
        placed = own, opp, move, own_alive, opp_alive
        return placed, look(*placed)

    @fused
    def settle(
        own: bb.Rows, opp: bb.Rows, move: bb.Rows, own_alive: bb.Rows, opp_alive: bb.Rows
    ) -> tuple[bb.Rows, bb.Rows, jax.Array]:
        hit, stuck, _ = beside(own, opp, move, own_alive, opp_alive)
        captured = bb.only_if(hit, bb.without(opp, opp_alive))
        opp = bb.without(opp, captured)
        around = bb.near(move, width)
        empty = bb.complement(bb.either(own, opp), width)
        lone = ~bb.some(bb.both(around, own)) & (bb.count(bb.both(around, empty)) == 1)
        own = bb.choose(stuck & ~hit, bb.both(own, own_alive), own)
        ko = jnp.where(lone & (bb.count(captured) == 1), first_point(captured, width), -1)
        return own, opp, ko

    return put, flood, settle


@functools.cache
def allowed_points(width: int, suicide: bool) -> tuple[Callable, Callable]:
    @fused
    def closed(own: bb.Rows, opp: bb.Rows) -> tuple[jax.Array, bb.Rows, bb.Rows]:
        empty = bb.complement(bb.either(own, opp), width)
        return bb.some(bb.without(empty, bb.near(empty, width))), bb.copied(own), bb.copied(opp)

    @fused
    def allowed(own: bb.Rows, opp: bb.Rows, own_safe: bb.Rows, opp_safe: bb.Rows) -> bb.Rows:
        empty = bb.complement(bb.either(own, opp), width)
        fine = bb.either(own_safe, bb.without(opp, opp_safe))
        if suicide:  # then only the lone stone's suicide is left out
            fine = bb.either(fine, own)
        return bb.both(empty, bb.near(bb.either(empty, fine), width))

    return closed, allowed


def first_point(board: bb.Rows, width: int) -> jax.Array:
    """int32: row * W + column of the lowest set point of a board with one point."""
    point = jnp.int32(-1)
    for r, row in enumerate(board):
        column = jax.lax.population_count(row - jnp.ones_like(row)).astype(jnp.int32)
        point = jnp.where(row != 0, r * width + column, point)
    return point


def chains_with_two_liberties(width: int, own: bb.Rows, opp: bb.Rows) -> tuple[bb.Rows, bb.Rows]:
    """The chains of both colours that have at least two liberties. Rows are [...], all lanes alike.

    Two liberties differ in some bit of their index. So for every bit the chains beside liberties
    with that bit set and beside liberties with it clear are flooded, all as lanes of one flood; a
    chain that both floods of one bit reach has two liberties.
    """
    height = len(own)
    bits = max(1, (height * width - 1).bit_length())
    index = np.arange(height * width)
    halves = np.stack([(index >> k & 1) == side for side in (0, 1) for k in range(bits)])
    columns = 1 << np.arange(width)
    constants = (halves.reshape(2, bits, height, width) * columns).sum(-1).astype(bb.row_type(width))
    lanes = (1,) * own[0].ndim
    masks = [jnp.asarray(constants[..., r]).reshape(1, 2, bits, *lanes) for r in range(height)]
    stones = [jnp.stack([a, b])[:, None, None] for a, b in zip(own, opp, strict=True)]
    others = [row[::-1] for row in stones]

    def whole(reached: bb.Rows, through: bb.Rows) -> bb.Rows:
        return reached

    reached = settled(_beside_halves(width), bb.flood_step(width), whole, stones, others, masks)  # [2, 2, bits, ...]
    pairs = [row[:, 0] & row[:, 1] for row in reached]
    safe = [jax.lax.reduce_or(row, axes=(1,)) for row in pairs]
    return [row[0] for row in safe], [row[1] for row in safe]


@functools.cache
def _beside_halves(width: int) -> Callable:
    @fused
    def beside(stones: bb.Rows, others: bb.Rows, half: bb.Rows) -> tuple[bb.Rows, bb.Rows]:
        empty = bb.complement(bb.either(stones, others), width)
        return bb.both(stones, bb.near(bb.both(empty, half), width)), stones

    def begin(stones: bb.Rows, others: bb.Rows, half: bb.Rows) -> tuple[tuple[bb.Rows, bb.Rows], jax.Array]:
        return beside(stones, others, half), jnp.bool_(True)

    return begin
