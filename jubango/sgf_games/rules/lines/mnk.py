"""m,n,k games: k stones in a row win (tic-tac-toe, gomoku), and what connect four shares with them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

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


class LineState(NamedTuple):
    """One position of a game whose aim is a line of stones."""

    own: jax.Array  # uint [H], stones of the player to move
    opp: jax.Array  # uint [H]
    player: jax.Array  # int32
    won: jax.Array  # bool, the last move made a line


# Lanes at play: (own, opp, player, won, seed, turns, games).
Playing: TypeAlias = tuple[bb.Rows, bb.Rows, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]


def has_line(stones: bb.Rows, k: int) -> jax.Array:
    """bool: are there k or more stones in a row, column or diagonal?"""
    found = jnp.zeros_like(stones[0])
    for across, down in ((1, 0), (0, 1), (1, 1), (-1, 1)):
        run, length = stones, 1
        while length < k:  # doubling: a run of a and, a further on, a run of b <= a
            step = min(length, k - length)
            run = [
                row & _moved(other, across * step)
                for row, other in zip(run, [*run[down * step :], *run[: down * step]], strict=True)
            ][: len(run) - down * step]
            length += step
            if not run:
                break
        for row in run:
            found = found | row
    return found != 0


def _moved(row: jax.Array, columns: int) -> jax.Array:
    """The row with column c + columns brought to column c (spare bits stay clear of lines)."""
    return row >> columns if columns >= 0 else row << -columns


class LineGame(Game[LineState]):
    """Stones are put down in turn and never move; a line wins; a full board is a draw."""

    k: int

    def playable(self, occupied: bb.Rows) -> bb.Rows:
        """The points where a stone may be put."""
        return bb.complement(occupied, self.width)

    def point_of(self, state: LineState, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(row, column) where ``action`` puts its stone."""
        row, column = jnp.divmod(jnp.asarray(action, jnp.int32), self.width)
        return row, column

    def _check(self) -> None:
        if not (1 <= self.width <= 25 and 1 <= self.height <= 25):
            raise UserError(f"{self.name}: {self.width}x{self.height} is no board; sizes go from 1 to 25")
        if not 1 <= self.k <= 25:
            raise UserError(f"{self.name}: k={self.k} must be between 1 and 25")

    @property
    def max_plies(self) -> int:
        return self.width * self.height

    def init(self) -> LineState:
        empty = jnp.zeros(self.height, bb.row_type(self.width))
        return LineState(empty, empty, jnp.int32(0), jnp.bool_(False))

    def step(self, state: LineState, action: jax.Array) -> LineState:
        row, column = self.point_of(state, action)

        own, opp, player, won = _put(self)(
            bb.unpack(state.own), bb.unpack(state.opp), state.player, state.won, row, column
        )
        return LineState(bb.pack(own), bb.pack(opp), player, won)

    def current_player(self, state: LineState) -> jax.Array:
        return state.player

    def is_terminal(self, state: LineState) -> jax.Array:
        full = ~bb.some(self.playable(bb.unpack(state.own | state.opp)))
        return state.won | full

    def returns(self, state: LineState) -> jax.Array:
        return _results(state.player, state.won)

    def heuristic(self, state: LineState) -> jax.Array:
        """Stones in lines that may still be completed, four times as much for every further stone."""
        shape = (self.height, self.width)
        own, opp = (bb.to_bits(rows, self.width).reshape(shape).astype(jnp.float32) for rows in (state.own, state.opp))
        worth = jnp.float32(0)
        for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
            height, width = self.height - (self.k - 1) * down, self.width - (self.k - 1) * abs(across)
            if height <= 0 or width <= 0:
                continue
            first = (self.k - 1) * max(0, -across)
            mine = theirs = jnp.zeros((height, width), jnp.float32)
            for i in range(self.k):
                r, c = i * down, first + i * across
                mine += own[r : r + height, c : c + width]
                theirs += opp[r : r + height, c : c + width]
            lines = jnp.where(theirs == 0, 4.0**mine, 0.0) - jnp.where(mine == 0, 4.0**theirs, 0.0)
            worth += jnp.sum(lines)
        return jnp.tanh(worth / 4.0**self.k)

    def observe(self, state: LineState) -> jax.Array:
        """[H, W, 3]: own stones, opponent's stones, all ones when the first player moves."""
        points = self.height * self.width
        planes = [
            bb.to_bits(state.own, self.width),
            bb.to_bits(state.opp, self.width),
            jnp.broadcast_to(state.player == 0, (points,)),
        ]
        stacked = jnp.stack(planes, axis=-1).astype(jnp.float32)
        return stacked.reshape(self.height, self.width, 3)

    def random_playout(self, states: LineState, seeds: jax.Array) -> jax.Array:
        return self._random_end(states, seeds, plays_in_one_kernel(self, LineGame._random_end))[0]

    def random_playout_with_amaf(self, states: LineState, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Stones stay: the first to take an action owns, in the end, the point where it would have put a stone."""
        returns, first, second = self._random_end(states, seeds, plays_in_one_kernel(self, LineGame._random_end))
        actions = jnp.arange(self.num_actions)
        points = jax.vmap(jax.vmap(self.point_of, in_axes=(None, 0)), in_axes=(-1, None), out_axes=-1)
        row, column = points(states, actions)
        legal = jax.vmap(self.legal_action_mask, in_axes=-1, out_axes=-1)(states)
        point = jnp.where(legal, row * self.width + column, 0)
        owners = jnp.take_along_axis(bb.owners(first, second, self.width), point, axis=0)
        return returns, jnp.where(legal, owners, -1)

    def _random_end(self, states: LineState, seeds: jax.Array, whole: bool) -> tuple[jax.Array, bb.Rows, bb.Rows]:
        """(results, the first player's stones, the second's) of random games, played as one kernel or move after move
        in all lanes."""
        own, opp, player, won = bb.unpack(states.own), bb.unpack(states.opp), states.player, states.won
        move, zero = self.random_move(), jnp.zeros(seeds.shape, jnp.int32)

        def going_on(carry: Playing) -> jax.Array:
            own, opp, _, won, *_ = carry
            return ~won & bb.some(self.playable(bb.either(own, opp)))

        start = own, opp, player, won, seeds, zero, zero
        own, opp, player, won, *_ = while_live(lambda c: move(*c), going_on, start, whole)
        return _results(player, won), bb.choose(player == 0, own, opp), bb.choose(player == 0, opp, own)

    def endless_games(self) -> EndlessGames:
        move = self.random_move(restart=True)

        def start(seeds: jax.Array) -> Playing:
            rows = [jnp.zeros(seeds.shape, bb.row_type(self.width))] * self.height
            zero = jnp.zeros(seeds.shape, jnp.int32)
            return rows, rows, zero, zero > 0, seeds, zero, zero

        return EndlessGames(start, lambda carry: move(*carry), lambda carry: carry[-2:], elementwise=True)

    def random_move(self, restart: bool = False) -> Callable[[*Playing], Playing]:
        """``move(own, opp, player, won, seed, turns, games)``: one random move in every lane, over the
        same arguments again. A finished lane stays, or with ``restart`` begins a new game."""

        def move(
            own: bb.Rows, opp: bb.Rows, player: jax.Array, won: jax.Array, seed: jax.Array, turns: jax.Array,
            games: jax.Array,
        ) -> Playing:  # fmt: skip
            playable = self.playable(bb.either(own, opp))
            point, found = bb.random_point(playable, random_bits(seed, turns))
            going_on = found & ~won
            mine = bb.either(own, point)
            own, opp = bb.choose(going_on, opp, own), bb.choose(going_on, mine, opp)
            won = jnp.where(going_on, has_line(mine, self.k), won)
            player = jnp.where(going_on, 1 - player, player)
            turns = turns + going_on
            if restart:
                over = won | ~bb.some(self.playable(bb.either(own, opp)))
                own, opp = bb.only_if(~over, own), bb.only_if(~over, opp)
                player, won, games = jnp.where(over, 0, player), won & ~over, games + over
            return own, opp, player, won, seed, turns, games

        return fused(move)

    def end_reason(self, drawn: bool) -> str:
        return "full" if drawn else "line"

    def stones(self, state: LineState) -> np.ndarray:
        return bb.drawn(state.own, state.opp, int(state.player), self.width)


def _results(player: jax.Array, won: jax.Array) -> jax.Array:
    """float32 [2, ...]: what games are worth that the player before ``player`` has ``won``, or that are even."""
    first = jnp.where(won, jnp.where(player == 1, 1.0, -1.0), 0.0).astype(jnp.float32)
    return jnp.stack([first, -first])


@functools.cache
def _put(game: LineGame) -> Callable:
    @fused
    def put(
        own: bb.Rows, opp: bb.Rows, player: jax.Array, won: jax.Array, row: jax.Array, column: jax.Array
    ) -> tuple[bb.Rows, bb.Rows, jax.Array, jax.Array]:
        going_on = ~won & bb.some(game.playable(bb.either(own, opp)))
        move = bb.point_rows(row, column, going_on, game.height, bb.row_type(game.width))
        mine = bb.either(own, move)
        return (
            bb.choose(going_on, opp, own),
            bb.choose(going_on, mine, opp),
            jnp.where(going_on, 1 - player, player),
            jnp.where(going_on, has_line(mine, game.k), won),
        )

    return put


@dataclass(frozen=True)
class Mnk(LineGame):
    """k in a row on a board of width x height, first to get there. More than k counts too."""

    width: int = 3
    height: int = 3
    k: int = 3

    name: ClassVar[str] = "mnk"

    def __post_init__(self) -> None:
        self._check()

    @property
    def num_actions(self) -> int:
        return self.width * self.height

    def legal_action_mask(self, state: LineState) -> jax.Array:
        empty = ~bb.to_bits(state.own | state.opp, self.width)
        return empty & ~self.is_terminal(state)

    @property
    def family(self) -> str:
        return f"mnk,k={self.k}"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        points = square_symmetries(self.height, self.width)
        return points, points

    @property
    def placing(self) -> Literal["place"] | None:
        return "place" if type(self) is Mnk else None  # who derives from it may capture

    @property
    def common_name(self) -> str:
        return "Gomoku" if self.k == 5 else "Tic-Tac-Toe" if self.spec == "tic_tac_toe" else self.spec

    @property
    def spec(self) -> str:
        if (self.width, self.height, self.k) == (3, 3, 3):
            return "tic_tac_toe"
        size = f"{self.width}" if self.width == self.height else f"{self.width}x{self.height}"
        return f"gomoku:{size}" if self.k == 5 else f"mnk:{size},k={self.k}"
