"""Othello (Reversi): a stone turns over the opponent's stones that it encloses in straight lines."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.compute.lane_loops import while_live
from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.rules.bare_game import EndlessGames
from jubango.sgf_games.rules.compiled import plays_in_one_kernel
from jubango.sgf_games.rules.game import Game, square_symmetries

LENGTHS = (4, 6, 8)  # of a side
# (rows down, columns across) of the eight ways along a line.
WAYS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


class OthelloState(NamedTuple):
    """One position."""

    own: jax.Array  # uint16 [H], stones of the player to move
    opp: jax.Array  # uint16 [H]
    player: jax.Array  # int32
    over: jax.Array  # bool, neither player has a move


# Lanes at play: (own, opp, player, passes in a row, seed, turns, games, where each player has put a stone).
Playing: TypeAlias = tuple[bb.Rows, bb.Rows, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, tuple[bb.Rows, ...]]


@dataclass(frozen=True)
class Othello(Game[OthelloState]):
    """Action ``i`` is point i row by row, and ``width * height`` the pass, which is legal where nothing else is.

    Points are named as Othello players do, a1 to h8, but with row 1 below, as on all boards here. Black begins, with
    stones on D5 and E4; a game ends when neither player has a move, and the one with more stones has won.
    """

    width: int = 8
    height: int = 8

    name: ClassVar[str] = "othello"

    def __post_init__(self) -> None:
        if not (self.width in LENGTHS and self.height in LENGTHS):
            raise UserError(f"othello: {self.width}x{self.height} is no board; its sides have 4, 6 or 8 squares")

    @property
    def num_actions(self) -> int:
        return self.width * self.height + 1

    @property
    def pass_action(self) -> int:
        return self.width * self.height

    @property
    def max_plies(self) -> int:
        return 2 * (self.width * self.height - 4)  # no two passes come together

    @property
    def _first_stones(self) -> np.ndarray:
        """uint16 [2, H]: Black's and White's."""
        stones = np.zeros((2, self.height), np.uint16)
        row, column = self.height // 2 - 1, self.width // 2 - 1
        stones[:, row : row + 2] = np.array([[1, 2], [2, 1]]) << column
        return stones

    def init(self) -> OthelloState:
        black, white = self._first_stones
        return OthelloState(jnp.asarray(black), jnp.asarray(white), jnp.int32(0), jnp.bool_(False))

    def step(self, state: OthelloState, action: jax.Array) -> OthelloState:
        action = jnp.asarray(action, jnp.int32)
        row, column = jnp.divmod(action, self.width)
        own, opp, player = _put(self)(bb.unpack(state.own), bb.unpack(state.opp), state.player, state.over, row, column)
        over = _is_over(self)(own, opp)
        return OthelloState(bb.pack(own), bb.pack(opp), player, over)

    def legal_action_mask(self, state: OthelloState) -> jax.Array:
        rows = _moves(self)(bb.unpack(state.own), bb.unpack(state.opp), state.over)
        points = bb.to_bits(bb.pack(rows), self.width)
        return jnp.concatenate([points, (~state.over & ~jnp.any(points))[None]])

    def current_player(self, state: OthelloState) -> jax.Array:
        return state.player

    def is_terminal(self, state: OthelloState) -> jax.Array:
        return state.over

    def returns(self, state: OthelloState) -> jax.Array:
        return _results(bb.unpack(state.own), bb.unpack(state.opp), state.player, state.over)

    def heuristic(self, state: OthelloState) -> jax.Array:
        """Corners, and how many moves either player has."""
        own, opp = bb.unpack(state.own), bb.unpack(state.opp)
        ends, none = jnp.uint16(1 | 1 << self.width - 1), jnp.uint16(0)
        corners = [ends, *[none] * (self.height - 2), ends]
        mobility = bb.count(self.moves(own, opp)) - bb.count(self.moves(opp, own))
        held = bb.count(bb.both(own, corners)) - bb.count(bb.both(opp, corners))
        stones = jnp.sign(bb.count(own) - bb.count(opp)).astype(jnp.float32)
        return jnp.where(state.over, stones, jnp.tanh(0.05 * mobility + 0.3 * held))

    def observe(self, state: OthelloState) -> jax.Array:
        """[H, W, 2]: own stones, the opponent's."""
        planes = jnp.stack([bb.to_bits(state.own, self.width), bb.to_bits(state.opp, self.width)], axis=-1)
        return planes.astype(jnp.float32).reshape(self.height, self.width, 2)

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """Those that leave the first four stones as they are."""
        all_of_them = square_symmetries(self.height, self.width)
        points = all_of_them[[0, 3, 4, 7] if len(all_of_them) == 8 else [0, 3]]
        passes = np.full((len(points), 1), self.pass_action, np.int32)
        return points, np.hstack([points, passes])

    # -- lanes -------------------------------------------------------------------------------

    def moved(self, board: bb.Rows, way: tuple[int, int]) -> bb.Rows:
        """The board a step along a way; the spare bits may be set."""
        down, across = way
        board = bb.lower(board) if down > 0 else bb.higher(board) if down < 0 else board
        return [row << 1 if across > 0 else row >> 1 if across < 0 else row for row in board]

    def lines(self, stones: bb.Rows, between: bb.Rows, way: tuple[int, int]) -> bb.Rows:
        """The points of ``between`` that follow one of ``stones`` along a way without a gap."""
        found = bb.both(self.moved(stones, way), between)
        for _ in range(max(self.height, self.width) - 3):
            found = bb.either(found, bb.both(self.moved(found, way), between))
        return found

    def moves(self, own: bb.Rows, opp: bb.Rows) -> bb.Rows:
        """The points where a stone of ``own`` turns some over."""
        return self._moves([self.lines(own, opp, way) for way in WAYS], own, opp)

    def _moves(self, lines: list[bb.Rows], own: bb.Rows, opp: bb.Rows) -> bb.Rows:
        ends = [self.moved(line, way) for line, way in zip(lines, WAYS, strict=True)]
        return bb.both(bb.either(*ends), bb.complement(bb.either(own, opp), self.width))

    def _turned(self, lines: list[bb.Rows], point: bb.Rows, opp: bb.Rows) -> bb.Rows:
        """What a stone on ``point`` turns over; lines: from the player's own stones along each way."""
        facing = reversed(WAYS)  # in this order each way's is the opposite one
        return bb.either(*(bb.both(self.lines(point, opp, way), line) for way, line in zip(facing, lines, strict=True)))

    def random_playout(self, states: OthelloState, seeds: jax.Array) -> jax.Array:
        return self._random_end(states, seeds, plays_in_one_kernel(self, Othello._random_end), amaf=False)[0]

    def random_playout_with_amaf(self, states: OthelloState, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        returns, put = self._random_end(states, seeds, plays_in_one_kernel(self, Othello._random_end))
        owners = bb.owners(put[0], put[1], self.width)
        return returns, jnp.pad(owners, ((0, 1), (0, 0)), constant_values=-1)  # nobody prefers to pass

    def _random_end(
        self, states: OthelloState, seeds: jax.Array, whole: bool, amaf: bool = True
    ) -> tuple[jax.Array, tuple[bb.Rows, ...]]:
        """(results, with ``amaf`` where each player has put a stone), of random games played as one kernel or move
        after move in all lanes."""
        zero = jnp.zeros(seeds.shape, jnp.int32)
        nowhere = [jnp.zeros(seeds.shape, bb.row_type(self.width))] * self.height
        put: tuple[bb.Rows, ...] = (nowhere, nowhere) if amaf else ()
        passes = jnp.where(states.over, 2, 0).astype(jnp.int32)
        playing = bb.unpack(states.own), bb.unpack(states.opp), states.player, passes, seeds, zero, zero, put
        move = _random_move(self)
        own, opp, player, *_, put = while_live(lambda c: move(*c), lambda c: c[3] < 2, playing, whole)
        return _results(own, opp, player, player >= 0), put

    def endless_games(self) -> EndlessGames:
        move = _random_move(self, restart=True)

        def start(seeds: jax.Array) -> Playing:
            own, opp = ([jnp.broadcast_to(row, seeds.shape) for row in stones] for stones in self._first_stones)
            zero = jnp.zeros(seeds.shape, jnp.int32)
            return own, opp, zero, zero, seeds, zero, zero, ()

        def counts(carry: Playing) -> tuple[jax.Array, jax.Array]:
            *_, turns, games, _ = carry
            return turns - 2 * games, games  # the two passes by which a game is known to be over are no moves

        return EndlessGames(start, lambda carry: move(*carry), counts, elementwise=True)

    # -- hooks -------------------------------------------------------------------------------

    def with_player(self, state: OthelloState, player: int) -> OthelloState:
        if player == int(state.player):
            return state
        return state._replace(own=state.opp, opp=state.own, player=jnp.int32(player))

    def end_reason(self, drawn: bool) -> str:
        return "stones"

    def why_illegal(self, state: OthelloState, point: tuple[int, int] | None) -> str:
        if point is None:
            return "a move can be made"
        return "the point is occupied" if self.stones(state)[point] else "it would turn no stone over"

    @property
    def common_name(self) -> str:
        return "Othello" if (self.width, self.height) == (8, 8) else self.spec

    @property
    def family(self) -> str:
        return "othello"

    @property
    def spec(self) -> str:
        if (self.width, self.height) == (8, 8):
            return "othello"
        return f"othello:{self.width}" if self.width == self.height else f"othello:{self.width}x{self.height}"

    def stones(self, state: OthelloState) -> np.ndarray:
        return bb.drawn(state.own, state.opp, int(state.player), self.width)


def _results(own: bb.Rows, opp: bb.Rows, player: jax.Array, over: jax.Array) -> jax.Array:
    """float32 [2, ...]: the sign of the difference of stones, zeros where a game is not ``over``."""
    mine = jnp.where(over, jnp.sign(bb.count(own) - bb.count(opp)), 0).astype(jnp.float32)
    first = jnp.where(player == 0, mine, -mine)
    return jnp.stack([first, -first])


@functools.cache
def _put(game: Othello) -> Callable:
    @fused
    def put(
        own: bb.Rows, opp: bb.Rows, player: jax.Array, over: jax.Array, row: jax.Array, column: jax.Array
    ) -> tuple[bb.Rows, bb.Rows, jax.Array]:
        point = bb.point_rows(row, column, row < game.height, game.height, bb.row_type(game.width))
        turned = game._turned([game.lines(own, opp, way) for way in WAYS], point, opp)
        mine, theirs = bb.either(own, point, turned), bb.without(opp, turned)
        return bb.choose(over, own, theirs), bb.choose(over, opp, mine), jnp.where(over, player, 1 - player)

    return put


@functools.cache
def _is_over(game: Othello) -> Callable:
    @fused
    def is_over(own: bb.Rows, opp: bb.Rows) -> jax.Array:
        return ~bb.some(bb.either(game.moves(own, opp), game.moves(opp, own)))

    return is_over


@functools.cache
def _moves(game: Othello) -> Callable:
    @fused
    def moves(own: bb.Rows, opp: bb.Rows, over: jax.Array) -> bb.Rows:
        return bb.only_if(~over, game.moves(own, opp))

    return moves


@functools.cache
def _random_move(game: Othello, restart: bool = False) -> Callable[[*Playing], Playing]:
    """``move(own, opp, player, passes, seed, turns, games, put)``: one random move, or a pass where there is none, in
    every lane, over the same arguments again. A lane where both have passed stays, or with ``restart`` begins anew."""
    black, white = game._first_stones

    def move(
        own: bb.Rows, opp: bb.Rows, player: jax.Array, passes: jax.Array, seed: jax.Array, turns: jax.Array,
        games: jax.Array, put: tuple[bb.Rows, ...],
    ) -> Playing:  # fmt: skip
        lines = [game.lines(own, opp, way) for way in WAYS]
        point, found = bb.random_point(game._moves(lines, own, opp), random_bits(seed, turns))
        turned = game._turned(lines, point, opp)
        mine, theirs = bb.either(own, point, turned), bb.without(opp, turned)
        on = passes < 2
        put = tuple(bb.either(old, bb.only_if(player == who, point)) for who, old in enumerate(put))
        own, opp, player = bb.choose(on, theirs, own), bb.choose(on, mine, opp), jnp.where(on, 1 - player, player)
        passes = jnp.where(on, jnp.where(found, 0, passes + 1), passes)
        turns = turns + on
        if restart:
            over = passes == 2
            own, opp = (
                [jnp.where(over, jnp.full_like(row, int(new)), row) for new, row in zip(start, rows, strict=True)]
                for start, rows in ((black, own), (white, opp))
            )
            player, passes, games = jnp.where(over, 0, player), jnp.where(over, 0, passes), games + over
        return own, opp, player, passes, seed, turns, games, put

    return fused(move)
