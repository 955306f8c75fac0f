"""Go for environments: positions that know which chains are safe, so that the legal moves cost no floods.

A chain is *safe* while it has at least two liberties. After a legal move without suicide only these chains change:
- those beside the stone lose a liberty: the opponent's (four at most) and the stone's own are counted anew;
- the mover's other chains beside captured stones keep the liberty they had and gain one, so they are safe.
A chain that is not safe and lies beside the stone played had its only liberty there: it is captured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.random_numbers import mix


class GoBoard(NamedTuple):
    """A position under simple ko. Rows are H arrays apart, so that under ``vmap`` each is contiguous over the lanes."""

    own: bb.Rows  # stones of the player to move
    opp: bb.Rows
    own_safe: bb.Rows  # of these, the chains with two liberties or more
    opp_safe: bb.Rows
    ko: bb.Rows  # the point forbidden for this move, if any


Key = tuple[jax.Array, jax.Array]  # uint32 each: 64 bits that name the stones on a board, whoever is to move


def empty_board(width: int, height: int) -> GoBoard:
    """No stones."""
    return GoBoard(*([jnp.zeros((), bb.row_type(width)) for _ in range(height)] for _ in GoBoard._fields))


def play(board: GoBoard, action: jax.Array, black: jax.Array, going: jax.Array, width: int) -> tuple[GoBoard, Key]:
    """The board after a legal ``action`` (a point, or beyond the last one a pass), seen by the other player, and its
    key; ``board`` itself where not ``going``. ``black``: bool, Black made the move."""
    height = len(board.own)
    put, capture, recount, finish = _stages(width, height)
    row, column = jnp.divmod(jnp.asarray(action, jnp.int32), width)
    own, move, beside = put(board.own, board.opp, row, column, going & (row < height))
    chains = [bb.flood(seed, board.opp, width) for seed in beside]
    joined = bb.flood(move, own, width)
    opp, captured, ko = capture(own, board.opp, board.opp_safe, move, joined, chains)
    own_safe, opp_safe, gaining = recount(own, opp, captured, board.own_safe, board.opp_safe, joined, chains)
    gained = bb.flood(gaining, own, width)
    return finish(board, own, opp, own_safe, gained, opp_safe, ko, black, going)


def legal_points(board: GoBoard, width: int) -> jax.Array:
    """bool [H * W]."""
    return bb.to_bits(bb.pack(_allowed(width)(board)), width)


@functools.cache
def _stages(width: int, height: int) -> tuple[Callable, Callable, Callable, Callable]:
    """The kernels of a move, between its floods."""
    full = bb.full_row(width)

    @fused
    def put(
        own: bb.Rows, opp: bb.Rows, row: jax.Array, column: jax.Array, played: jax.Array
    ) -> tuple[bb.Rows, bb.Rows, list[bb.Rows]]:
        """(own, the stone, the opponent's stone on each side of it)."""
        move = bb.point_rows(row, column, played, height, bb.row_type(width))
        sides = bb.lower(move), bb.higher(move), [(r << 1) & full for r in move], [r >> 1 for r in move]
        return bb.either(own, move), move, [bb.both(opp, side) for side in sides]

    @fused
    def capture(
        own: bb.Rows, opp: bb.Rows, opp_safe: bb.Rows, move: bb.Rows, joined: bb.Rows, chains: list[bb.Rows]
    ) -> tuple[bb.Rows, bb.Rows, bb.Rows]:
        captured = bb.either(*[bb.only_if(~bb.some(bb.both(chain, opp_safe)), chain) for chain in chains])
        opp = bb.without(opp, captured)
        open_points = bb.without(bb.near(move, width), bb.either(own, opp))
        lone = ~bb.some(bb.without(joined, move)) & (bb.count(open_points) == 1)
        return opp, captured, bb.only_if(lone & (bb.count(captured) == 1), captured)

    @fused
    def recount(
        own: bb.Rows, opp: bb.Rows, captured: bb.Rows, own_safe: bb.Rows, opp_safe: bb.Rows, joined: bb.Rows,
        chains: list[bb.Rows],
    ) -> tuple[bb.Rows, bb.Rows, bb.Rows]:  # fmt: skip
        """(own safe chains, the opponent's, own stones whose chains gain a liberty)."""
        empty = bb.complement(bb.either(own, opp), width)

        def counted(safe: bb.Rows, chain: bb.Rows) -> bb.Rows:
            two = bb.count(bb.both(bb.near(chain, width), empty)) >= 2
            return bb.either(bb.without(safe, chain), bb.only_if(two, chain))

        for chain in chains:
            opp_safe = counted(opp_safe, chain)
        gaining = bb.without(bb.both(own, bb.near(captured, width)), joined)
        return counted(own_safe, joined), bb.both(opp_safe, opp), gaining

    @fused
    def finish(
        board: GoBoard, own: bb.Rows, opp: bb.Rows, own_safe: bb.Rows, gained: bb.Rows, opp_safe: bb.Rows, ko: bb.Rows,
        black: jax.Array, going: jax.Array,
    ) -> tuple[GoBoard, Key]:  # fmt: skip
        after = opp, own, opp_safe, bb.either(own_safe, gained), ko
        kept = [bb.choose(going, new, old) for new, old in zip(after, board, strict=True)]
        return GoBoard(*kept), board_key(bb.choose(black, own, opp), bb.choose(black, opp, own))

    return put, capture, recount, finish


@functools.cache
def _allowed(width: int) -> Callable[[GoBoard], bb.Rows]:
    @fused
    def allowed(board: GoBoard) -> bb.Rows:
        empty = bb.complement(bb.either(board.own, board.opp), width)
        fine = bb.either(empty, board.own_safe, bb.without(board.opp, board.opp_safe))
        return bb.without(bb.both(empty, bb.near(fine, width)), board.ko)

    return allowed


def board_key(black: bb.Rows, white: bb.Rows) -> Key:
    """Of the stones on a board."""
    words = []
    for salt in (0x9E3779B9, 0x85EBCA77):
        word = jnp.uint32(salt)
        for mine, theirs in zip(black, white, strict=True):
            word = mix(word ^ mine.astype(jnp.uint32)) + theirs.astype(jnp.uint32) * jnp.uint32(0xC2B2AE3D)
        words.append(mix(word))
    return words[0], words[1]
