"""What KataGo's networks are told of a position: 22 planes and 19 numbers, as its ``nninputs.cpp`` has them (V7).

Its rules here: area scoring without tax or button, ko and suicide as the game has them. The planes are the board, own
stones, the opponent's, chains with one, two and three liberties, and points that ko forbids. Two of other scoring
follow, then the last five moves. The last eight are chains in a ladder now, a move ago and two moves ago, moves that
work in one, areas, and two more of other scoring.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.rules.go.ladders import ladders
from jubango.sgf_games.rules.go.life import alive_areas, liberty_counts, neighbours
from jubango.sgf_games.rules.go.state import GoState

PLANES_OF_KATAGO, NUMBERS_OF_KATAGO = 22, 19
STONES, LIBERTIES, KO, MOVES, LADDERS, AREA = 1, 3, 6, 9, 14, 18  # the first plane of each
MOST_KOMI_BEYOND = 20.0  # points above the board's, as far as komi is told
POINTS_A_UNIT = 20.0


class InputRules(NamedTuple):
    """The game, as far as it matters."""

    width: int
    height: int
    ko: str
    suicide: bool


def katago_inputs(rules: InputRules, states: GoState, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(float32 [B, H, W, 22], float32 [B, 19]): what is told of positions, B last, whose legal actions are ``legal``,
    bool [B, A]."""
    planes = jax.vmap(lambda state, own: _planes(rules, state, own), in_axes=(-1, 0))(states, legal)
    planes = planes.at[..., LADDERS : LADDERS + 4].set(_ladders(rules, states, jnp.any(legal, axis=-1)))
    return planes, jax.vmap(lambda state: _numbers(rules, state), in_axes=-1)(states)


def _planes(rules: InputRules, state: GoState, legal: jax.Array) -> jax.Array:
    """float32 [H, W, 22] of one position."""
    width, points = rules.width, rules.width * rules.height
    mine, theirs = bb.to_bits(state.own, width), bb.to_bits(state.opp, width)
    free = liberty_counts(mine, theirs, rules.height, width)
    numbers = jnp.arange(points)
    nothing = jnp.zeros(points, bool)
    area = alive_areas(mine, theirs, rules.height, width, rules.suicide)
    planes = [nothing] * PLANES_OF_KATAGO
    planes[0] = ~nothing
    planes[STONES : STONES + 2] = mine, theirs
    planes[LIBERTIES : LIBERTIES + 3] = (free == 1), (free == 2), (free == 3)
    planes[KO] = numbers == state.ko
    if rules.ko != "simple":
        planes[KO] |= _repeating(rules, mine, theirs, free, legal[:points])
    for i in range(state.trail.moves.shape[0]):
        told = jnp.all(state.trail.moves[: i + 1] >= 0)
        planes[MOVES + i] = told & (numbers == state.trail.moves[i])
    planes[AREA : AREA + 2] = area > 0, area < 0
    return jnp.stack(planes, axis=-1).astype(jnp.float32).reshape(rules.height, width, PLANES_OF_KATAGO)


def _ladders(rules: InputRules, states: GoState, asked: jax.Array) -> jax.Array:
    """float32 [B, H, W, 4]: the chains in a ladder now and on the two boards before, and what catches the opponent's
    chains of two liberties. Where a board before is not known, the next one stands for it."""
    trail, now = states.trail, (states.own, states.opp, states.ko)
    boards = [now]
    for i in range(trail.ko.shape[0]):
        told = jnp.all(trail.moves[: i + 1] >= 0, axis=0)
        before = trail.own[i], trail.opp[i], trail.ko[i].astype(jnp.int32)
        boards.append(jax.tree.map(lambda new, old, told=told: jnp.where(told, new, old), before, boards[-1]))
    own, opp, ko = (jnp.concatenate(x, axis=-1) for x in zip(*boards, strict=True))
    caught, works = ladders(own.T, opp.T, ko, jnp.tile(asked, len(boards)), rules.width)
    lanes = asked.shape[0]
    each = [caught[i * lanes : (i + 1) * lanes] for i in range(len(boards))]
    each += each[-1:] * (3 - len(each))
    planes = jnp.stack([*each, works[:lanes]], axis=-1).astype(jnp.float32)
    return planes.reshape(lanes, rules.height, rules.width, 4)


def _repeating(rules: InputRules, mine: jax.Array, theirs: jax.Array, free: jax.Array, legal: jax.Array) -> jax.Array:
    """bool [P]: the empty points that are not legal although a stone there would take something: as superko has it."""
    near = neighbours(rules.height, rules.width)
    known = near >= 0
    takes = jnp.any(known & theirs[near] & (free[near] == 1), axis=0)
    if rules.suicide:
        breathes = jnp.any(known & ~mine[near] & ~theirs[near], axis=0) | jnp.any(
            known & mine[near] & (free[near] > 1), axis=0
        )
        takes |= ~breathes & jnp.any(known & mine[near], axis=0)
    return takes & ~mine & ~theirs & ~legal & jnp.any(legal)


def _numbers(rules: InputRules, state: GoState) -> jax.Array:
    """float32 [19] of one position."""
    points = rules.width * rules.height
    moves = state.trail.moves
    told = jnp.cumprod(moves >= 0) > 0
    passes = jnp.zeros(5, jnp.float32).at[: moves.shape[0]].set((told & (moves == points)).astype(jnp.float32))
    komi = jnp.where(state.player == 0, -state.komi, state.komi)
    most = points + MOST_KOMI_BEYOND
    komi = jnp.clip(komi, -most, most)
    one, none = jnp.float32(1), jnp.float32(0)
    parity = {"simple": 0.0, "positional": 0.5, "situational": -0.5}[rules.ko]
    rest = [
        komi / POINTS_A_UNIT, jnp.float32(rules.ko != "simple"), jnp.float32(parity), jnp.float32(rules.suicide),
        none, none, none, none, none, jnp.where(state.passes >= 1, one, none), none, none, none, _wave(points, komi),
    ]  # fmt: skip
    return jnp.concatenate([passes, jnp.stack(rest)])


def _wave(points: int, komi: jax.Array) -> jax.Array:
    """How near the komi is to one with which games can be drawn: a triangle, two points from top to top."""
    even = points % 2 == 0
    floor = jnp.floor(komi / 2) * 2 if even else jnp.floor((komi - 1) / 2) * 2 + 1
    beyond = jnp.clip(komi - floor, 0.0, 2.0)
    return jnp.where(beyond < 0.5, beyond, jnp.where(beyond < 1.5, 1 - beyond, beyond - 2))
