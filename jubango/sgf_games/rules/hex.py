"""Hex: stones stay where they are put; who connects his two sides has won. The second player may swap."""

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
from jubango.sgf_games.compute.lane_loops import until_settled, while_live
from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.rules.bare_game import EndlessGames
from jubango.sgf_games.rules.compiled import plays_in_one_kernel
from jubango.sgf_games.rules.coordinates import vertex
from jubango.sgf_games.rules.game import Game, square_symmetries

SWAP = "swap"


class HexState(NamedTuple):
    """One position."""

    own: jax.Array  # uint [H], stones of the player to move
    opp: jax.Array  # uint [H]
    player: jax.Array  # int32
    won: jax.Array  # bool, the last move has connected two sides


# Lanes at play: (own, opp, player, won, seed, turns, games).
Playing: TypeAlias = tuple[bb.Rows, bb.Rows, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]


@dataclass(frozen=True)
class Hex(Game[HexState]):
    """Action ``i`` is point i row by row, and ``width * height`` the swap, which is the second player's alone and his
    first move: the stone becomes his and changes row for column, as the players' sides do.

    Black, who begins, connects the lowest row with the highest, White the first column with the last. B1 and A2 are
    neighbours, as usual; row 1 is below, and no column is called I, as on all boards here.
    """

    width: int = 11
    height: int = 11

    name: ClassVar[str] = "hex"
    on_crossings: ClassVar[bool] = True
    hexagonal: ClassVar[bool] = True
    strongest_bot: ClassVar[str] = "rave:simulations=12800"

    def __post_init__(self) -> None:
        if self.width != self.height or not 2 <= self.width <= 19:
            raise UserError(f"hex: {self.width}x{self.height} is no board; sizes go from 2 to 19, both sides alike")

    @property
    def swap_action(self) -> int:
        return self.width * self.height

    @property
    def num_actions(self) -> int:
        return self.width * self.height + 1

    @property
    def max_plies(self) -> int:
        return self.width * self.height + 1

    def init(self) -> HexState:
        empty = jnp.zeros(self.height, bb.row_type(self.width))
        return HexState(empty, empty, jnp.int32(0), jnp.bool_(False))

    def step(self, state: HexState, action: jax.Array) -> HexState:
        row, column = jnp.divmod(jnp.asarray(action, jnp.int32), self.width)
        own, opp, player = _put(self)(bb.unpack(state.own), bb.unpack(state.opp), state.player, state.won, row, column)
        return HexState(bb.pack(own), bb.pack(opp), player, self._connected(opp, 1 - player))

    def _connected(self, stones: bb.Rows, player: jax.Array) -> jax.Array:
        """bool: do a player's stones connect his sides?"""
        seeds = _on_first_side(self)(stones, player)
        reached, _ = until_settled(bb.flood_step(self.width, six=True), jnp.bool_(True), seeds, stones)
        return jnp.where(player == 0, reached[-1] != 0, bb.some([row >> self.width - 1 for row in reached]))

    def legal_action_mask(self, state: HexState) -> jax.Array:
        empty = ~bb.to_bits(state.own | state.opp, self.width)
        return jnp.append(empty, self._may_swap(state)) & ~state.won

    def _may_swap(self, state: HexState) -> jax.Array:
        """bool: is the one stone of a game's first move on the board?"""
        own, opp = bb.unpack(state.own), bb.unpack(state.opp)
        return (state.player == 1) & ~bb.some(own) & (bb.count(opp) == 1)

    def current_player(self, state: HexState) -> jax.Array:
        return state.player

    def is_terminal(self, state: HexState) -> jax.Array:
        return state.won

    def returns(self, state: HexState) -> jax.Array:
        first = jnp.where(state.won, jnp.where(state.player == 1, 1.0, -1.0), 0.0).astype(jnp.float32)
        return jnp.stack([first, -first])

    def observe(self, state: HexState) -> jax.Array:
        """[H, W, 4]: own stones, the opponent's, all ones when the first player moves, and when a swap is legal."""
        board = (self.height * self.width,)
        planes = [
            bb.to_bits(state.own, self.width),
            bb.to_bits(state.opp, self.width),
            jnp.broadcast_to(state.player == 0, board),
            jnp.broadcast_to(self._may_swap(state) & ~state.won, board),
        ]
        return jnp.stack(planes, axis=-1).astype(jnp.float32).reshape(self.height, self.width, 4)

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        points = square_symmetries(self.height, self.width)[[0, 3]]
        return points, np.hstack([points, np.full((2, 1), self.swap_action, np.int32)])

    # -- lanes -------------------------------------------------------------------------------

    def random_playout(self, states: HexState, seeds: jax.Array) -> jax.Array:
        """To a full board, on which just one player has connected his sides: the one who had done so first. Nobody
        swaps."""
        return self._filled(states, seeds, plays_in_one_kernel(self, Hex._filled))[0]

    def random_playout_with_amaf(self, states: HexState, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Stones stay, so the owner of a point on the full board was the first to take it, if only after the win."""
        returns, first, second = self._filled(states, seeds, plays_in_one_kernel(self, Hex._filled))
        owners = bb.owners(first, second, self.width)
        legal = jax.vmap(self.legal_action_mask, in_axes=-1, out_axes=-1)(states)
        return returns, jnp.where(legal, jnp.pad(owners, ((0, 1), (0, 0)), constant_values=-1), -1)

    def _filled(self, states: HexState, seeds: jax.Array, whole: bool) -> tuple[jax.Array, bb.Rows, bb.Rows]:
        """(results, the first player's stones, the second's) of random games, played as one kernel or move after move
        in all lanes; finished ones stay as they are."""
        move, width, zero = _random_move(self), self.width, jnp.zeros(seeds.shape, jnp.int32)
        start = bb.unpack(states.own), bb.unpack(states.opp), states.player, states.won, seeds, zero, zero

        def going_on(carry: Playing) -> jax.Array:
            own, opp, _, won, *_ = carry
            return ~won & bb.some(bb.complement(bb.either(own, opp), width))

        own, opp, player, won, *_ = while_live(lambda c: move(*c), going_on, start, whole)
        first, second = bb.choose(player == 0, own, opp), bb.choose(player == 0, opp, own)
        wins = jnp.where(won, player == 1, self._connected(first, jnp.zeros_like(player)))
        result = jnp.where(wins, 1.0, -1.0).astype(jnp.float32)
        return jnp.stack([result, -result]), first, second

    def endless_games(self) -> EndlessGames:
        """To full boards."""
        move = _random_move(self, restart=True)

        def start(seeds: jax.Array) -> Playing:
            rows = [jnp.zeros(seeds.shape, bb.row_type(self.width))] * self.height
            zero = jnp.zeros(seeds.shape, jnp.int32)
            return rows, rows, zero, zero > 0, seeds, zero, zero

        return EndlessGames(start, lambda carry: move(*carry), lambda carry: carry[-2:], elementwise=True)

    # -- hooks -------------------------------------------------------------------------------

    def end_reason(self, drawn: bool) -> str:
        return "connected"

    def why_illegal(self, state: HexState, point: tuple[int, int] | None) -> str:
        return (
            "only the second player's first move may be a swap" if point is None else super().why_illegal(state, point)
        )

    @property
    def common_name(self) -> str:
        return "Hex"

    @property
    def family(self) -> str:
        return "hex"

    @property
    def spec(self) -> str:
        return f"hex:{self.width}"

    def stones(self, state: HexState) -> np.ndarray:
        return bb.drawn(state.own, state.opp, int(state.player), self.width)

    def action_text(self, action: int) -> str:
        return SWAP if action == self.swap_action else vertex(divmod(action, self.width), self.height)

    def point_text(self, point: tuple[int, int] | None) -> str:
        return SWAP if point is None else super().point_text(point)

    def point_action(self, point: tuple[int, int] | None) -> int:
        return self.swap_action if point is None else super().point_action(point)

    def parse_action(self, text: str) -> int:
        word = text.strip().lower()
        if word == "pass":
            raise UserError("there is no pass in hex")
        return self.swap_action if word in (SWAP, "swap-pieces") else super().parse_action(text)


@functools.cache
def _on_first_side(game: Hex) -> Callable:
    @fused
    def on_first_side(stones: bb.Rows, player: jax.Array) -> bb.Rows:
        """Those of the row above, or of the first column."""
        top, *others = stones
        return [jnp.where(player == 0, top, top & 1), *bb.only_if(player == 1, [row & 1 for row in others])]

    return on_first_side


@functools.cache
def _put(game: Hex) -> Callable:
    @fused
    def put(
        own: bb.Rows, opp: bb.Rows, player: jax.Array, won: jax.Array, row: jax.Array, column: jax.Array
    ) -> tuple[bb.Rows, bb.Rows, jax.Array]:
        swaps = ~won & (row == game.height)
        # A swap: the one stone there is, at (r, c) from above, becomes the mover's at (H - 1 - c, W - 1 - r).
        r, c, bits = jnp.int32(0), jnp.int32(0), jnp.zeros_like(opp[0])
        for i, line in enumerate(opp):
            r, bits = jnp.where(line != 0, i, r), bits | line
        for i in range(1, game.width):
            c = jnp.where(bits >> i != 0, i, c)
        row = jnp.where(swaps, game.height - 1 - c, row)
        column = jnp.where(swaps, game.width - 1 - r, column)
        mine = bb.either(own, bb.point_rows(row, column, ~won, game.height, bb.row_type(game.width)))
        theirs = bb.only_if(~swaps, opp)
        return bb.choose(won, own, theirs), bb.choose(won, opp, mine), jnp.where(won, player, 1 - player)

    return put


@functools.cache
def _random_move(game: Hex, restart: bool = False) -> Callable[[*Playing], Playing]:
    """``move(own, opp, player, won, seed, turns, games)``: a stone on any empty point, in every lane where there is
    one, over the same arguments again; with ``restart`` an empty board follows a full one. Nobody looks whether sides
    are connected."""

    def move(
        own: bb.Rows, opp: bb.Rows, player: jax.Array, won: jax.Array, seed: jax.Array, turns: jax.Array,
        games: jax.Array,
    ) -> Playing:  # fmt: skip
        point, found = bb.random_point(bb.complement(bb.either(own, opp), game.width), random_bits(seed, turns))
        on, mine = found & ~won, bb.either(own, point)
        own, opp, player = bb.choose(on, opp, own), bb.choose(on, mine, opp), jnp.where(on, 1 - player, player)
        if restart:
            full = ~bb.some(bb.complement(bb.either(own, opp), game.width))
            own, opp = bb.only_if(~full, own), bb.only_if(~full, opp)
            player, games = jnp.where(full, 0, player), games + full
        return own, opp, player, won, seed, turns + on, games

    return fused(move)
