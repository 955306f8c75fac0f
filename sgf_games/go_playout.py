"""Random Go games, thousands at once: the hot path of rollouts.

Every lane plays uniformly among the empty points that are neither its own eyes nor the ko point,
and passes when none is left; two passes end the game. Whether a chosen point is suicide, and what
it captures, takes two floods from the liberties. Instead of looping until the worst lane's
floods settle, each lane makes one attempt per step:

- settled and legal: the move is made;
- suicide: the point is struck off for this turn, the lane tries another in the next step;
- not settled beside the move (one lane in two hundred): the lane keeps what it reached, keeps its random
  number, and goes on with the same point in the next step.

So no lane waits for another, a step is one fixed piece of straight-line code, and on a 9x9 board
it is a single kernel. A lane's game depends on its position and seed alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jubango.sgf_games import bitboard as bb
from jubango.sgf_games.dice import random_bits
from jubango.sgf_games.kernels import fused


class Playing(NamedTuple):
    """Lanes in the middle of random games; every array is [B]."""

    own: bb.Rows  # of the player to move
    opp: bb.Rows
    barred: bb.Rows  # the ko point, and this turn's suicides
    own_reached: bb.Rows  # floods of an unfinished attempt, else empty
    opp_reached: bb.Rows
    passes: jax.Array  # int32, in a row; 2 ends the game
    turn: jax.Array  # int32, moves and passes made
    attempts: jax.Array  # int32
    counter: jax.Array  # int32, random numbers used
    seed: jax.Array  # uint32


def start(
    own: bb.Rows, opp: bb.Rows, ko: jax.Array, passes: jax.Array, over: jax.Array, seed: jax.Array, width: int
) -> Playing:
    row, column = jnp.divmod(ko, width)
    barred = bb.point_rows(row, column, ko >= 0, len(own), own[0].dtype.type)
    nothing = [jnp.zeros_like(row) for row in own]
    zero = jnp.zeros(seed.shape, jnp.int32)
    passes = jnp.where(over, 2, passes)
    return Playing(own, opp, barred, nothing, nothing, passes, zero, zero, zero, seed)


def playout(
    own: bb.Rows, opp: bb.Rows, ko: jax.Array, passes: jax.Array, over: jax.Array,
    seed: jax.Array, width: int, limit: int,
) -> tuple[bb.Rows, bb.Rows, jax.Array]:  # fmt: skip
    """Play every lane to its end or for ``limit`` attempts. Returns (own, opp, turns played)."""
    step = attempt(width)

    def going_on(p: Playing) -> jax.Array:
        return jnp.any((p.passes < 2) & (p.attempts < limit))

    end = lax.while_loop(going_on, lambda p: step(p, limit), start(own, opp, ko, passes, over, seed, width))
    return end.own, end.opp, end.turn


@functools.cache
def attempt(width: int, restart: bool = False) -> Callable[[Playing, jax.typing.ArrayLike], Playing]:
    """``step(playing, limit) -> playing``. ``restart`` begins a new game where one has ended."""

    def pick(p: Playing, limit: jax.Array) -> tuple:
        empty = bb.complement(bb.either(p.own, p.opp), width)
        candidates = bb.without(empty, bb.either(p.barred, _eyes(p.own, empty, width)))
        move, found = bb.random_point(candidates, random_bits(p.seed, p.counter))
        return p, move, found, (p.passes < 2) & (p.attempts < limit)

    def flood_opponent(p: Playing, move: bb.Rows, found: jax.Array, active: jax.Array) -> tuple:
        liberties = bb.near(bb.complement(bb.either(p.own, p.opp, move), width), width)
        reached = bb.sweep(bb.either(p.opp_reached, bb.both(p.opp, liberties)), p.opp, width)
        return p._replace(opp_reached=reached), move, found, active

    def flood_own(p: Playing, move: bb.Rows, found: jax.Array, active: jax.Array) -> tuple:
        own = bb.either(p.own, move)
        liberties = bb.near(bb.complement(bb.either(own, p.opp), width), width)
        reached = bb.sweep(bb.either(p.own_reached, bb.both(own, liberties)), own, width)
        return p._replace(own_reached=reached), move, found, active

    def judge(p: Playing, move: bb.Rows, found: jax.Array, active: jax.Array) -> tuple:
        own = bb.either(p.own, move)
        around = bb.near(move, width)
        opp_dead, own_dead = bb.without(p.opp, p.opp_reached), bb.without(own, p.own_reached)
        hit, stuck = bb.some(bb.both(around, opp_dead)), bb.some(bb.both(move, own_dead))
        unsettled = (hit & bb.some(bb.both(bb.near(p.opp_reached, width), opp_dead))) | (
            stuck & bb.some(bb.both(bb.near(p.own_reached, width), own_dead))
        )
        empty = bb.complement(bb.either(own, p.opp), width)
        alone = ~bb.some(bb.both(around, bb.either(p.own, empty)))
        ko = hit & alone & (bb.count(opp_dead) == 1)
        again = active & unsettled
        done = active & ~unsettled & (hit | ~stuck)  # a move or a pass was made
        return p, move, found, active, hit, ko, again, done

    def make_move(
        p: Playing, move: bb.Rows, found: jax.Array, active: jax.Array, hit: jax.Array, ko: jax.Array,
        again: jax.Array, done: jax.Array,
    ) -> tuple:  # fmt: skip
        opp_dead = bb.without(p.opp, p.opp_reached)
        barred = bb.choose(done, bb.only_if(ko, opp_dead), bb.either(p.barred, bb.only_if(~again, move)))
        opp = bb.without(p.opp, bb.only_if(hit, opp_dead))
        own = bb.either(p.own, move)
        after = p._replace(own=bb.choose(done, opp, p.own), opp=bb.choose(done, own, p.opp), barred=barred)
        return after, found, active, again, done

    def turn_over(p: Playing, found: jax.Array, active: jax.Array, again: jax.Array, done: jax.Array) -> Playing:
        passes = jnp.where(done, jnp.where(found, 0, p.passes + 1), p.passes)
        after = p._replace(
            own_reached=bb.only_if(again, p.own_reached),
            opp_reached=bb.only_if(again, p.opp_reached),
            passes=passes,
            turn=p.turn + done,
            attempts=p.attempts + active,
            counter=p.counter + (active & ~again),
        )
        if not restart:
            return after
        over = (passes >= 2) | (after.attempts >= 4 * width * len(p.own) + 40)
        return after._replace(
            own=bb.only_if(~over, after.own),
            opp=bb.only_if(~over, after.opp),
            barred=bb.only_if(~over, after.barred),
            own_reached=bb.only_if(~over, after.own_reached),
            opp_reached=bb.only_if(~over, after.opp_reached),
            passes=jnp.where(over, 0, passes),
            attempts=jnp.where(over, 0, after.attempts),
        )

    chain = fused(pick, flood_opponent, flood_own, judge, make_move, turn_over)
    return lambda p, limit: chain(p, jnp.broadcast_to(jnp.int32(limit), p.turn.shape))


def _eyes(own: bb.Rows, empty: bb.Rows, width: int) -> bb.Rows:
    """Empty points that are the owner's eyes: own stones (or edge) on all four sides, and at most
    one diagonal not own, none at the edge."""
    off = bb.complement(own, width)
    left = [(row << 1) & bb.full_row(width) for row in off]
    right = [row >> 1 for row in off]
    beside = bb.near(off, width)
    corners = zip(bb.lower(left), bb.lower(right), bb.higher(left), bb.higher(right), strict=True)
    edge_columns = 1 | 1 << (width - 1)
    out = []
    for r, (a, b, c, d) in enumerate(corners):
        one = a | b | c | d
        two = (a & b) | (c & d) | ((a | b) & (c | d))
        edge = bb.full_row(width) if r in (0, len(own) - 1) else edge_columns
        out.append(empty[r] & ~beside[r] & ~(two | (one & edge)))
    return out
