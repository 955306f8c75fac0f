"""Games as their environments have them: seen as in pgx, and over where the environment ends.

``env("go:9").game`` is one of these. Its ``observe`` is what the environment's states show as ``observation``, so that
a search of it asks a network about what the network has learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.compute.kernels import fused
from jubango.sgf_games.rules.game import State
from jubango.sgf_games.rules.go.board import board_key
from jubango.sgf_games.rules.go.go import Go
from jubango.sgf_games.rules.go.moves import chains_with_two_liberties
from jubango.sgf_games.rules.go.state import GoTrail
from jubango.sgf_games.rules.lines.connect_four import ConnectFour
from jubango.sgf_games.rules.lines.mnk import LineGame, LineState, Mnk

Observation: TypeAlias = Literal["pgx", "game"]  # what states show: pgx's planes, or what the game's own observe says
BOARDS_SEEN = 8  # positions in an observation of Go, the present one included
PLANE_BITS = (1 << 2 * BOARDS_SEEN) - 1  # their bits in a word


class TwoPlanes(LineGame):
    """Seen as in pgx."""

    def observe(self, state: LineState) -> jax.Array:
        """bool [H, W, 2]: own stones, the opponent's."""
        columns = jnp.arange(self.width, dtype=state.own.dtype)
        planes = jnp.stack([state.own, state.opp], axis=-1)
        return ((planes[:, None, :] >> columns[:, None]) & 1).astype(bool)


@dataclass(frozen=True)
class MnkOfEnv(TwoPlanes, Mnk):
    """Stones in a row, seen as pgx shows tic-tac-toe."""


@dataclass(frozen=True)
class ConnectFourOfEnv(TwoPlanes, ConnectFour):
    """Connect four, seen as in pgx."""


class GoStateOfEnv(NamedTuple):
    """A :class:`jubango.sgf_games.rules.go.go.GoState`, and what its environment knows besides."""

    own: jax.Array
    opp: jax.Array
    ko: jax.Array
    last: jax.Array
    passes: jax.Array
    player: jax.Array
    ply: jax.Array
    komi: jax.Array
    past: jax.Array
    trail: GoTrail
    seen: jax.Array  # uint32 [H * W]: bit i is plane i of the observation; [0] where that is the game's own
    met: jax.Array  # uint32 [M, 2]: a 64-bit key of the board after each move; M is 0 in tree nodes and under superko


@dataclass(frozen=True)
class GoOfEnv(Go):
    """Go until the environment ends it: after 2 W H moves. A move that recreates an earlier position, by which one
    loses there, is illegal here, as far as a state knows the past: at the root of a search."""

    observation: Observation = "pgx"

    @property
    def max_plies(self) -> int:
        return 2 * self.width * self.height

    @property
    def pgx_planes(self) -> bool:
        return self.observation == "pgx"

    def set_up(self, stones: np.ndarray, player: int) -> State:
        seen = jnp.zeros(self.height * self.width if self.pgx_planes else 0, jnp.uint32)
        return GoStateOfEnv(*super().set_up(stones, player), seen, jnp.zeros((0, 2), jnp.uint32))

    def step(self, state: State, action: jax.Array) -> State:
        going = ~self.is_terminal(state)
        after = super().step(state, action)
        own, opp = bb.unpack(after.own), bb.unpack(after.opp)
        seen, met = state.seen, state.met
        if self.pgx_planes:
            seen = look_again(seen, as_words(own, self.width), as_words(opp, self.width), after.player, going)
        if met.shape[0]:
            key = self._board_key(own, opp, after.player)
            met = met.at[jnp.where(going, state.ply, met.shape[0])].set(key, mode="drop")
        return GoStateOfEnv(*after, seen, met)

    def legal_action_mask(self, state: State) -> jax.Array:
        legal = super().legal_action_mask(state)
        return legal & ~jnp.append(self._recreating(state), False) if state.met.shape[0] else legal

    def observe(self, state: State) -> jax.Array:
        """bool [H, W, 17]: the last eight boards, each own stones then the opponent's; all ones when White moves."""
        if not self.pgx_planes:
            return super().observe(state)
        return planes_seen(state.seen, self.height, self.width)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.height, self.width, 2 * BOARDS_SEEN + 1) if self.pgx_planes else super().observation_shape

    def without_history(self, state: State) -> State:
        return super().without_history(state)._replace(met=jnp.zeros((0, 2), jnp.uint32))  # type: ignore[call-arg]

    def _recreating(self, state: State) -> jax.Array:
        """bool [H * W]: the points where a stone recreates an earlier position. What a stone leaves that captures
        nothing is the board and the stone; captures, on the last liberties of chains, are made one after another."""
        index = jnp.arange(self.height * self.width)
        own, opp = bb.unpack(state.own), bb.unpack(state.opp)
        known = jnp.arange(state.met.shape[0]) < state.ply

        def met(mine: bb.Rows, theirs: bb.Rows) -> jax.Array:
            key = self._board_key(mine, theirs, state.player)
            return jnp.any(known & jnp.all(state.met == key, axis=-1))

        def added(at: jax.Array) -> jax.Array:
            stone = bb.point_of(at, jnp.bool_(True), self.width, self.height)
            return met(bb.either(own, stone), opp)

        def next_capture(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            left, found = carry
            at = jnp.argmax(left).astype(jnp.int32)
            mine, theirs, _ = self._place(state.own, state.opp, at, jnp.any(left))
            return left & (index != at), found | (left & (index == at) & met(mine, theirs))

        _, safe = chains_with_two_liberties(self.width, own, opp)
        empty = bb.complement(bb.either(own, opp), self.width)
        captures = bb.to_bits(bb.pack(bb.both(empty, bb.near(bb.without(opp, safe), self.width))), self.width)
        found = jax.vmap(added)(index) & ~captures
        return lax.while_loop(lambda carry: jnp.any(carry[0]), next_capture, (captures, found))[1]

    def _board_key(self, own: bb.Rows, opp: bb.Rows, player: jax.Array) -> jax.Array:
        """uint32 [2]: of the stones, ``own`` being those of ``player``."""
        black = player == 0
        return jnp.stack(board_key(bb.choose(black, own, opp), bb.choose(black, opp, own)))


@fused
def look_again(seen: jax.Array, own: jax.Array, opp: jax.Array, player: jax.Array, going: jax.Array) -> jax.Array:
    """What is seen of each point after a move: the boards of the past are seen from the other side now. (As a kernel
    of its own; the compiler would make each word anew for every bit of the observation.)"""
    colour = (player << 2 * BOARDS_SEEN).astype(jnp.uint32)
    return jnp.where(going, (_sides_swapped(seen) << 2) & PLANE_BITS | own | opp << 1 | colour, seen)


def seen_by_the_other(seen: jax.Array) -> jax.Array:
    """The same boards from the other player's view."""
    colour = ~seen & (1 << 2 * BOARDS_SEEN)
    return _sides_swapped(seen) & PLANE_BITS | colour


def planes_seen(seen: jax.Array, height: int, width: int) -> jax.Array:
    """bool [H, W, 17] of the words ``seen``, uint32 [H * W]."""
    planes = (seen[:, None] >> jnp.arange(2 * BOARDS_SEEN + 1, dtype=jnp.uint32)) & 1
    return planes.astype(bool).reshape(height, width, -1)


def as_words(rows: bb.Rows, width: int) -> jax.Array:
    """uint32 [H * W]: 1 where a point is set."""
    columns = jnp.arange(width, dtype=rows[0].dtype)
    return ((bb.pack(rows)[:, None] >> columns) & 1).reshape(-1).astype(jnp.uint32)


def _sides_swapped(seen: jax.Array) -> jax.Array:
    """Own stones for the opponent's, in every board seen."""
    return (seen & 0x5555) << 1 | (seen & 0xAAAA) >> 1
