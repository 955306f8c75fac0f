"""Ladders: chains of one or two liberties that are taken by one atari after another.

Every chain is a search of its own. The attacker plays on one of the chain's two liberties. The defender extends, or
takes a chain beside it that has one liberty. The chain is free where it gets a third liberty, or two on the defender's
turn. A ko is taken for the defender. All chains of all boards are searched side by side, each with a stack of its
boards; a place whose search has ended goes on with the next chain.

Source: what counts as a ladder is as in KataGo's ``cpp/game/board.cpp``, so that its networks are told what they know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.lane_loops import settled
from jubango.sgf_games.compute.loops import alike, while_loop
from jubango.sgf_games.rules.go.life import chain_liberties
from jubango.sgf_games.rules.go.moves import chains_with_two_liberties, placing

SIDE_BY_SIDE = 32  # searches side by side
DEEPEST = 200  # moves of a ladder; a longer one counts as caught
MOST_MOVES = 2000  # of one search, after which the chain counts as free


class Reading(NamedTuple):
    """What is under way: S places, D moves deep."""

    chain: jax.Array  # int32 [S], number in the queue; beyond its end where there is nothing to do
    depth: jax.Array  # int32 [S], moves made since the attacker's first; he moves at even ones
    fresh: jax.Array  # bool [S], just come to, so that its moves are not known
    attacker: jax.Array  # uint [D, H, S], the boards
    defender: jax.Array
    ko: jax.Array  # int32 [D, S]
    moves: jax.Array  # uint [D, H, S], not tried yet
    left: jax.Array  # bool [D, S], whether there are any
    made: jax.Array  # int32 [S], moves of the search
    begun: jax.Array  # int32, chains of the queue that have been begun
    caught: jax.Array  # bool [Q]


def ladders(own: jax.Array, opp: jax.Array, ko: jax.Array, asked: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """(bool [N, P], the stones that are caught; bool [N, P], liberties that catch the opponent's chains of two).

    own, opp: uint [N, H], N boards.
    ko: int32 [N], the forbidden point or -1.
    asked: bool [N], the boards that are looked at.
    """
    number, height = own.shape
    points = height * width
    bits = jax.vmap(functools.partial(bb.to_bits, width=width))
    mine, theirs = bits(own), bits(opp)
    look = functools.partial(chain_liberties, height=height, width=width)
    label, free, first, last = jax.vmap(look)(mine, theirs)
    head = (label == jnp.arange(points)) & asked[:, None]
    wanted = jnp.stack([head & ((free == 1) | (free == 2)), head & (free == 2)], axis=1).reshape(-1)
    order = jnp.argsort(~wanted, stable=True).astype(jnp.int32)
    total = jnp.sum(wanted, dtype=jnp.int32)
    liberty = jnp.stack([first, last], axis=1).reshape(-1)

    def begun(chain: jax.Array) -> tuple[jax.Array, ...]:
        """(board of the attacker, of the defender, ko, head, first move or -1) of chains of the queue."""
        which = order[jnp.clip(chain, 0, order.size - 1)]
        board, place = which // (2 * points), which % points
        black = mine[board, place]
        attacker = jnp.where(black[:, None], opp[board], own[board])
        defender = jnp.where(black[:, None], own[board], opp[board])
        move = jnp.where(free[board, place] == 2, liberty[which], -1)
        return attacker.T, defender.T, ko[board], place, move

    found = _searched(begun, total, order.size, height, width)
    caught = jnp.zeros(order.size, bool).at[order].set(found).reshape(number, 2, points) & wanted.reshape(
        number, 2, points
    )
    stones = (mine | theirs) & jnp.take_along_axis(jnp.any(caught, axis=1), label, axis=1)
    of_two = theirs & (free == 2)
    rows = jnp.arange(number)[:, None]
    works = jnp.zeros((number, points), bool)
    for k, point in enumerate((first, last)):
        works = works.at[rows, jnp.where(caught[:, k] & of_two, point, points)].set(True, mode="drop")
    return stones, works


def _searched(
    begun: Callable[[jax.Array], tuple[jax.Array, ...]], total: jax.Array, size: int, height: int, width: int
) -> jax.Array:
    """bool [Q]: which chains of the queue are caught, of its first ``total``."""
    place, points = jnp.arange(SIDE_BY_SIDE), height * width
    deepest = min(DEEPEST, 2 * points + 8)
    put, flood, settle = placing(width, height)
    enter, point_of = _kernels(width, height)

    def point(number: jax.Array) -> bb.Rows:
        return bb.point_of(number, number >= 0, width, height)

    def loaded(s: Reading, done: jax.Array) -> Reading:
        """The places that are ``done`` go on with the next chains."""
        chain = jnp.where(done, s.begun + jnp.cumsum(done, dtype=jnp.int32) - 1, s.chain)
        attacker, defender, ko, _, move = begun(chain)
        two = move >= 0
        depth = jnp.where(done, jnp.where(two, 0, 1), s.depth)
        at = jnp.where(done, depth, deepest)  # beyond the stack nothing is written
        return s._replace(
            chain=chain,
            depth=depth,
            fresh=jnp.where(done, ~two, s.fresh),
            attacker=s.attacker.at[at, :, place].set(attacker.T, mode="drop"),
            defender=s.defender.at[at, :, place].set(defender.T, mode="drop"),
            ko=s.ko.at[at, place].set(jnp.where(two, ko, -1), mode="drop"),
            moves=s.moves.at[at, :, place].set(jnp.stack(point(move), axis=-1), mode="drop"),
            left=jnp.where(done, False, s.left).at[at, place].set(two, mode="drop"),
            made=jnp.where(done, 0, s.made),
            begun=s.begun + jnp.sum(done, dtype=jnp.int32),
        )

    def step(s: Reading) -> tuple[Reading, jax.Array]:
        target = point(begun(s.chain)[3])
        attacker, defender = (list(x[s.depth, :, place].T) for x in (s.attacker, s.defender))
        turn = s.depth % 2 == 0  # the attacker's
        chain = bb.flood(bb.both(target, defender), defender, width)
        around = bb.flood(bb.both(bb.near(chain, width), attacker), attacker, width)
        safe, _ = chains_with_two_liberties(width, attacker, defender)
        ended, caught, moves = enter(attacker, defender, chain, around, safe, turn, s.ko[s.depth, place])
        ended, caught = ended & s.fresh, caught & s.fresh
        moves = bb.choose(s.fresh, moves, list(s.moves[s.depth, :, place].T))
        some = bb.some(moves)
        caught = jnp.where(ended, caught, ~turn)
        caught, ended = jnp.where(s.depth >= deepest - 2, True, caught), ended | ~some | (s.depth >= deepest - 2)
        spent = s.made >= MOST_MOVES
        caught, ended = caught & ~spent, ended | spent
        left = s.left.at[s.depth, place].set(~ended & some)
        stack = s.moves.at[s.depth, :, place].set(jnp.stack(moves, axis=-1))
        # Who has lost here tries what he has not tried farther up.
        levels = jnp.arange(deepest)[:, None]
        open_ = left & (levels < s.depth) & ((levels % 2 == 1) == caught) & ~spent
        up = jnp.max(jnp.where(open_, levels, -1), axis=0)
        over = ended & (up < 0)
        depth = jnp.where(ended, jnp.maximum(up, 0), s.depth)
        attacker, defender, moves = (list(x[depth, :, place].T) for x in (s.attacker, s.defender, stack))
        move = point_of(moves)
        moves = bb.without(moves, point(move))
        turn = depth % 2 == 0
        own, opp = bb.choose(turn, attacker, defender), bb.choose(turn, defender, attacker)
        own, opp, forbidden = settled(put, flood, settle, own, opp, move, move >= 0)
        legal = bb.some(bb.both(own, point(move))) & (move != s.ko[depth, place]) & ~over
        below = jnp.where(legal, depth + 1, deepest)
        return s._replace(
            depth=jnp.where(legal, depth + 1, depth),
            fresh=legal,
            attacker=s.attacker.at[below, :, place].set(jnp.stack(bb.choose(turn, own, opp), -1), mode="drop"),
            defender=s.defender.at[below, :, place].set(jnp.stack(bb.choose(turn, opp, own), -1), mode="drop"),
            ko=s.ko.at[below, place].set(jnp.where(depth == 0, -1, forbidden), mode="drop"),
            moves=stack.at[depth, :, place].set(jnp.stack(moves, axis=-1)),
            left=left.at[depth, place].set(bb.some(moves)).at[below, place].set(False, mode="drop"),
            made=s.made + 1,
            caught=s.caught.at[jnp.where(over, s.chain, size)].set(caught, mode="drop"),
        ), over

    def turn_(s: Reading) -> Reading:
        s, over = step(s)
        return loaded(s, over & (s.chain < total))

    boards = jnp.zeros((deepest, height, SIDE_BY_SIDE), bb.row_type(width))
    s = Reading(
        jnp.arange(SIDE_BY_SIDE, dtype=jnp.int32), jnp.zeros(SIDE_BY_SIDE, jnp.int32), jnp.zeros(SIDE_BY_SIDE, bool),
        boards, boards,
        jnp.zeros((deepest, SIDE_BY_SIDE), jnp.int32), boards, jnp.zeros((deepest, SIDE_BY_SIDE), bool),
        jnp.zeros(SIDE_BY_SIDE, jnp.int32), jnp.int32(0), jnp.zeros(size, bool),
    )  # fmt: skip
    s = loaded(alike(s, total), jnp.ones(SIDE_BY_SIDE, bool))
    return while_loop(lambda s: jnp.any(s.chain < total), turn_, s).caught


@functools.cache
def _kernels(width: int, height: int) -> tuple[Callable, Callable]:
    @fused
    def enter(
        attacker: bb.Rows, defender: bb.Rows, chain: bb.Rows, around: bb.Rows, safe: bb.Rows, turn: jax.Array,
        ko: jax.Array,
    ) -> tuple[jax.Array, jax.Array, bb.Rows]:  # fmt: skip
        """(is it decided, is the chain caught, the moves to try) where a search comes to a board."""
        empty = bb.complement(bb.either(attacker, defender), width)
        liberties = bb.both(bb.near(chain, width), empty)
        free = bb.count(liberties)
        takes = bb.both(bb.near(bb.without(around, safe), width), empty)
        decided = jnp.where(turn, free != 2, (free >= 2) | (ko >= 0))
        return decided, turn & (free <= 1), bb.choose(turn, liberties, bb.either(liberties, takes))

    @fused
    def point_of(board: bb.Rows) -> jax.Array:
        """int32: the lowest point, or -1."""
        found = jnp.full(board[0].shape, -1, jnp.int32)
        for r in range(height - 1, -1, -1):
            row = board[r]
            lowest = row & (~row + jnp.ones_like(row))
            column = jax.lax.population_count(lowest - jnp.ones_like(row)).astype(jnp.int32)
            found = jnp.where(row != 0, r * width + column, found)
        return found

    return enter, point_of
