"""Random Go games, thousands at once: the hot path of rollouts.

Every lane plays uniformly among the empty points that are neither its own eyes nor the ko point,
and passes when none is left; two passes end the game. Whether a chosen point captures takes a flood
of the opponent's chains from their liberties, and whether it is suicide takes one of the own. Instead
of looping until the worst lane's floods settle, each lane sweeps one colour once per step:

- the opponent's, while a stone of theirs beside the point is not yet known to have a liberty left;
- else the own, which decides between a move and suicide where no stone beside the point does.

Then a lane that knows makes its move, or strikes a suicide's point off for this turn and tries another
in the next step. With tactics a self-atari is struck off, too. One that does not know yet (one in thirty)
keeps what it reached and its random number, and goes on with the same point in the next step. So no lane
waits for another, and a step is one fixed piece of straight-line code, a single kernel, or two with
tactics. A lane's game depends on its position and seed alone.

On a GPU whole games are one kernel, if its games are found to be the same there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import IN_BOUNDS, fused, in_pallas
from jubango.sgf_games.compute.lane_loops import one_kernel, turn
from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.machine import VECTOR
from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.compute.reduction_check import agrees
from jubango.sgf_games.rules.bare_game import EndlessGames
from jubango.sgf_games.rules.go.tactics import Last, preferred, self_atari

FLOOD_REACH = 3  # of a flood to lower columns, at every row it passes: what is farther away waits for the next step


class PlayoutState(NamedTuple):
    """Lanes in the middle of random games; every array is [B]."""

    own: bb.Rows  # of the player to move
    opp: bb.Rows
    barred: bb.Rows  # the ko point, and what is struck off for this turn
    reached: bb.Rows  # stones known to have a liberty, in an unfinished attempt, else empty
    passes: jax.Array  # int32, in a row; 2 ends the game
    turn: jax.Array  # int32, moves and passes made
    attempts: jax.Array  # int32, points tried and passes
    counter: jax.Array  # int32, random numbers used
    seed: jax.Array  # uint32
    amaf: tuple[bb.Rows, bb.Rows] | None = None  # if asked for: points that the player to move took first, the other
    last: Last | None = None  # with tactics


def start(
    own: bb.Rows, opp: bb.Rows, ko: jax.Array, passes: jax.Array, over: jax.Array, seed: jax.Array, width: int,
    amaf: bool = False, last: jax.Array | None = None,
) -> PlayoutState:  # fmt: skip
    """Lanes at the beginning of their games. ko, last: int32 [B], points or -1; with the point of the last stone
    tactics come before chance."""

    own, opp, barred = _begun(width, len(own))(own, opp, ko)
    nothing = [jnp.zeros_like(row) for row in own]
    zero = jnp.zeros(seed.shape, jnp.int32)
    passes = jnp.where(over, 2, passes)
    return PlayoutState(
        own, opp, barred, nothing, passes, zero, zero, zero, seed, (nothing, nothing) if amaf else None,
        None if last is None else Last.of(_point(width, len(own))(last)),
    )  # fmt: skip


@functools.cache
def _begun(width: int, height: int) -> Callable[..., tuple[bb.Rows, bb.Rows, bb.Rows]]:
    @fused
    def begun(own: bb.Rows, opp: bb.Rows, ko: jax.Array) -> tuple[bb.Rows, bb.Rows, bb.Rows]:
        return bb.copied(own), bb.copied(opp), bb.point_of(ko, ko >= 0, width, height)

    return begun


@functools.cache
def _point(width: int, height: int) -> Callable[[jax.Array], bb.Rows]:
    @fused
    def point(index: jax.Array) -> bb.Rows:
        return bb.point_of(index, index >= 0, width, height)

    return point


def playout(
    own: bb.Rows, opp: bb.Rows, ko: jax.Array, passes: jax.Array, over: jax.Array,
    seed: jax.Array, width: int, limit: int, amaf: bool = False, last: jax.Array | None = None,
) -> tuple[bb.Rows, bb.Rows, jax.Array, tuple[bb.Rows, bb.Rows] | None]:  # fmt: skip
    """Play every lane (see :func:`start`) to its end or for ``limit`` attempts. Returns (own, opp, turns played, and
    with ``amaf`` the points that the player now to move, and the other, took before anybody else).

    A quarter of the lanes take as long again as all the others: what is left of many is played on by itself.
    """
    playing = start(own, opp, ko, passes, over, seed, width, amaf, last)
    if in_pallas() and _one_kernel_is_right(width, len(own), amaf, last is not None):
        end = _in_one_kernel(playing, width, limit)
        return end.own, end.opp, end.turn, end.amaf
    return _in_steps(playing, width, limit)


def _live(p: PlayoutState, limit: int) -> jax.Array:
    return (p.passes < 2) & (p.attempts < limit)


def _in_one_kernel(playing: PlayoutState, width: int, limit: int) -> PlayoutState:
    """Every lane played to its end."""
    step = attempt(width, limit)

    def further(p: PlayoutState) -> tuple[PlayoutState, jax.Array]:
        after = step(p)
        return after, _live(after, limit)

    return one_kernel(further, playing, _live(playing, limit))


@functools.cache
def _one_kernel_is_right(width: int, height: int, amaf: bool, tactics: bool) -> bool:
    """Are such games the same here as those of :func:`_in_steps`?"""
    limit, lanes = 4 * width * height + 40, 2 * VECTOR

    def begun(seed: jax.Array) -> PlayoutState:
        rows, zero = [jnp.zeros(lanes, bb.row_type(width))] * height, jnp.zeros(lanes, jnp.int32)
        return start(rows, rows, zero - 1, zero, zero > 0, seed, width, amaf, zero - 1 if tactics else None)

    def one(seed: jax.Array) -> tuple:
        end = _in_one_kernel(begun(seed), width, limit)
        return end.own, end.opp, end.turn, end.amaf

    def other(seed: jax.Array) -> tuple:
        return _in_steps(begun(seed), width, limit)

    name = f"playout {width} {height} {amaf} {tactics}"
    return agrees(name, __file__, one, other, np.arange(lanes, dtype=np.uint32))


def _in_steps(
    playing: PlayoutState, width: int, limit: int
) -> tuple[bb.Rows, bb.Rows, jax.Array, tuple[bb.Rows, bb.Rows] | None]:
    """What :func:`playout` returns, a step after the other in all lanes."""
    on, lanes = turn(attempt(width, limit)), playing.seed.size

    def until(p: PlayoutState, left: int) -> PlayoutState:
        """Play on while more than so many lanes are live."""
        return while_loop(lambda p: jnp.sum(_live(p, limit), dtype=jnp.int32) > left, on, p)

    if lanes < 3 * VECTOR:
        end = until(playing, 0)
        return end.own, end.opp, end.turn, end.amaf
    most = until(playing, VECTOR)
    # Those that are live, and others that have ended and stay as they are.
    few = lax.top_k(_live(most, limit).astype(jnp.float32), VECTOR)[1]
    rest = until(jax.tree.map(lambda x: x.at[few].get(**IN_BOUNDS), most), 0)
    place = jnp.full(lanes, -1).at[few].set(jnp.arange(VECTOR), **IN_BOUNDS)  # of a lane among these
    result, new = ((p.own, p.opp, p.turn, p.amaf) for p in (most, rest))
    # Not written where they were: a compiler makes one kernel for all of this, and one for each array written to.
    there = jnp.maximum(place, 0)
    return jax.tree.map(lambda x, y: jnp.where(place >= 0, y.at[there].get(**IN_BOUNDS), x), result, new)


@functools.cache
def attempt(width: int, limit: int, restart: bool = False) -> Callable[[PlayoutState], PlayoutState]:
    """``step(playing) -> playing``, where a game ends after ``limit`` attempts. ``restart`` begins a new game where one
    has ended."""

    def think(p: PlayoutState) -> tuple:
        empty = bb.complement(bb.either(p.own, p.opp), width)
        candidates = bb.without(empty, bb.either(p.barred, _eyes(p.own, p.opp, empty, width)))
        bits = random_bits(p.seed, p.counter)
        if p.last is not None:
            candidates = preferred(p.own, p.opp, p.last, candidates, bits, width)
        return p, candidates, bits

    def choose(p: PlayoutState, candidates: bb.Rows, bits: jax.Array) -> tuple:
        move, found = bb.random_point(candidates, bits)
        return p, move, found, _live(p, limit)

    def flood(p: PlayoutState, move: bb.Rows, found: jax.Array, active: jax.Array) -> tuple:
        own = bb.either(p.own, move)
        stones = bb.either(own, p.opp)
        liberties = bb.near(bb.complement(stones, width), width)
        reached = bb.both(stones, bb.either(p.reached, liberties))
        around = bb.near(move, width)
        theirs = bb.some(bb.both(around, bb.without(p.opp, reached)))  # the opponent's chains are flooded
        chains = bb.choose(theirs, p.opp, own)
        flooded = bb.sweep(bb.both(chains, reached), chains, width, FLOOD_REACH)
        settled = ~bb.some(bb.both(bb.near(flooded, width), bb.without(chains, flooded)))
        vetoed = None if p.last is None else self_atari(move, p.own, p.opp, width)
        return p._replace(reached=bb.either(reached, flooded)), move, around, found, active, theirs, settled, vetoed

    def judge(
        p: PlayoutState, move: bb.Rows, around: bb.Rows, found: jax.Array, active: jax.Array, theirs: jax.Array,
        settled: jax.Array, vetoed: jax.Array | None,
    ) -> tuple:  # fmt: skip
        opp_dead = bb.without(p.opp, p.reached)
        closed = bb.some(bb.both(around, opp_dead))  # a stone beside the point has no liberty, as far as is known
        others = bb.without(around, p.opp)
        alone = ~bb.some(others)  # neither an own stone nor an empty point beside it
        alive = bb.some(bb.both(p.reached, bb.either(others, move)))
        hit = closed & settled
        known = jnp.where(closed, settled, alive | alone | (settled & ~theirs))
        ko = hit & alone & (bb.count(opp_dead) == 1)
        decided = active & known
        if vetoed is not None:
            alive &= ~vetoed
        done = decided & (hit | alive | ~found)  # a move or a pass was made
        return p, move, found, hit, ko, active & ~known, decided, done

    def make_move(
        p: PlayoutState, move: bb.Rows, found: jax.Array, hit: jax.Array, ko: jax.Array, again: jax.Array,
        decided: jax.Array, done: jax.Array,
    ) -> tuple:  # fmt: skip
        dead = bb.without(p.opp, p.reached)
        amaf = p.amaf
        if p.amaf:
            mine, theirs = p.amaf
            taken = bb.either(mine, bb.without(move, theirs))
            amaf = bb.choose(done, theirs, mine), bb.choose(done, taken, theirs)
        last = None if p.last is None else Last(*bb.choose(done, list(Last.of(move)), list(p.last)))
        after = p._replace(
            amaf=amaf,
            last=last,
            own=bb.choose(done, bb.choose(hit, bb.both(p.opp, p.reached), p.opp), p.own),
            opp=bb.choose(done, bb.either(p.own, move), p.opp),
            barred=bb.choose(done, bb.only_if(ko, dead), bb.either(p.barred, bb.only_if(~again, move))),
            reached=bb.only_if(again, p.reached),
        )
        return after, found, decided, done

    def turn_over(p: PlayoutState, found: jax.Array, decided: jax.Array, done: jax.Array) -> PlayoutState:
        passes = jnp.where(done, jnp.where(found, 0, p.passes + 1), p.passes)
        after = p._replace(
            passes=passes,
            turn=p.turn + done,
            attempts=p.attempts + decided,
            counter=p.counter + decided,
            seed=bb.copied([p.seed])[0],  # all comes out that goes in: the two kernels of a turn are then made as one
        )
        if not restart:
            return after
        over = ~_live(after, limit)
        return after._replace(
            own=bb.only_if(~over, after.own),
            opp=bb.only_if(~over, after.opp),
            barred=bb.only_if(~over, after.barred),
            passes=jnp.where(over, 0, passes),
            attempts=jnp.where(over, 0, after.attempts),
            last=None if after.last is None else Last(*bb.only_if(~over, list(after.last))),
        )

    return fused(think, choose, flood, judge, make_move, turn_over)


def endless(width: int, height: int) -> EndlessGames:
    """Games from the empty board, passes counted as moves."""
    move = attempt(width, 4 * width * height + 40, restart=True)

    def begin(seeds: jax.Array) -> tuple[PlayoutState, jax.Array]:
        rows, zero = [jnp.zeros(seeds.shape, bb.row_type(width))] * height, jnp.zeros(seeds.shape, jnp.int32)
        # Not by start(), whose kernel the compiler would run while it compiles, slowly: nothing here is unknown to it.
        return PlayoutState(rows, rows, rows, rows, zero, zero, zero, zero, seeds), zero

    def turn(carry: tuple[PlayoutState, jax.Array]) -> tuple[PlayoutState, jax.Array]:
        playing, games = carry
        after = move(playing)
        return after, games + ((after.attempts == 0) & (playing.attempts > 0))

    return EndlessGames(begin, turn, lambda carry: (carry[0].turn, carry[1]), elementwise=True)


def _eyes(own: bb.Rows, opp: bb.Rows, empty: bb.Rows, width: int) -> bb.Rows:
    """Empty points that are the owner's eyes: own stones (or edge) on all four sides, and at most one
    diagonal the opponent's, none at the edge (the usual rule of light playouts)."""
    off = bb.complement(own, width)
    sides = [(row << 1) | (row >> 1) for row in off]  # not own to the left or to the right
    one = [(row << 1) | (row >> 1) for row in opp]
    two = [(row << 1) & (row >> 1) for row in opp]
    edge_columns = 1 | 1 << (width - 1)
    out = []
    above_and_below = [shift(board) for board in (off, one, two) for shift in (bb.lower, bb.higher)]
    for r, (row, beside, above, below, one_above, one_below, two_above, two_below) in enumerate(
        zip(empty, sides, *above_and_below, strict=True)
    ):
        edge = bb.full_row(width) if r in (0, len(own) - 1) else edge_columns
        corners = two_above | two_below | (one_above & one_below) | ((one_above | one_below) & edge)
        out.append(row & ~(beside | above | below | corners))
    return out
