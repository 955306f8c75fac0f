"""The Game protocol: pure rules of one unbatched state; callers ``vmap``.

Shape legend, used throughout the package:
    H, W  rows and columns of the board; row 0 is the top row, column 0 the left one
    A     num_actions
    B     lanes: games played at once. A batch of states carries B as the LAST axis of every
          array (``jax.vmap(game.step, in_axes=-1, out_axes=-1)``), which keeps a board row of
          all lanes contiguous.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.dice import mix, random_bits
from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.coordinates import parse_vertex, vertex

State: TypeAlias = Any  # a pytree of arrays, one type per game; a game's own methods name theirs


class Game(ABC):
    """Rules. Subclasses are frozen dataclasses of their parameters, hence hashable and static.

    What a search must carry in every node is the state; keep it to a few words. A game whose
    legality depends on the far past keeps that in the state too and drops it in
    :meth:`without_history`, which is what tree nodes hold.
    """

    name: ClassVar[str]
    num_players: ClassVar[int] = 2
    counts_points: ClassVar[bool] = False  # the board's points are the players' in the end, and they are counted
    height: int
    width: int

    # -- the rules ---------------------------------------------------------------------------

    @property
    def compiled_as(self) -> Game:
        """The game that programs are compiled for: by default this one. A game whose states carry numbers of its rules
        (Go's komi) gives itself without them: games that are equal in this share every program."""
        return self

    @property
    @abstractmethod
    def num_actions(self) -> int:
        """A: actions are int32 in [0, A)."""

    @property
    @abstractmethod
    def max_plies(self) -> int:
        """No game is longer than this many moves."""

    @abstractmethod
    def init(self) -> State:
        """The first position."""

    @abstractmethod
    def step(self, state: State, action: jax.Array) -> State:
        """The state after a legal ``action``; a finished game stays as it is."""

    @abstractmethod
    def legal_action_mask(self, state: State) -> jax.Array:
        """bool [A]; all false when the game is over."""

    @abstractmethod
    def current_player(self, state: State) -> jax.Array:
        """int32: the player to move, 0 being the one who moves first (Black)."""

    @abstractmethod
    def is_terminal(self, state: State) -> jax.Array:
        """bool."""

    @abstractmethod
    def returns(self, state: State) -> jax.Array:
        """float32 [num_players] in [-1, 1]; zeros before the end; zero-sum for two players."""

    @abstractmethod
    def observe(self, state: State) -> jax.Array:
        """float32 [H, W, C]: feature planes from the view of the player to move."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """(H, W, C) of :meth:`observe`."""
        return jax.eval_shape(lambda: self.observe(self.init())).shape

    def heuristic(self, state: State) -> jax.Array:
        """float32 in [-1, 1]: a rough guess at the value for the player to move; even by default."""
        return jnp.zeros((), jnp.float32)

    def without_history(self, state: State) -> State:
        """The state less what only repetition rules need."""
        return state

    def transposition_key(self, state: State) -> jax.Array:
        """uint32 [2]: equal for positions a search may treat as one, different for others but for a
        chance of 2^-64. This plain version mixes everything that is in the state."""
        words = [jnp.ravel(x).astype(jnp.uint32) for x in jax.tree.leaves(self.without_history(state))]
        flat = jnp.concatenate([w for w in words if w.size])
        place = jnp.arange(1, flat.size + 1, dtype=jnp.uint32)
        salts = (0x9E3779B9, 0x85EBCA77)
        return jnp.stack(
            [mix(jnp.sum(mix(mix(flat + place * jnp.uint32(s)) ^ place), dtype=jnp.uint32)) for s in salts]
        )

    # -- for networks ------------------------------------------------------------------------

    @property
    def family(self) -> str:
        """The rules whatever the board's size: one network plays a whole family. By default this game alone."""
        return self.spec

    @property
    def actions_are(self) -> Literal["points", "columns", "dense"]:
        """How a network tells actions apart: "points", with pass as one more, where action i is point i row by row;
        "columns"; "dense": nothing is known of them. By default points where there are as many."""
        return "points" if self.num_actions - self.height * self.width in (0, 1) else "dense"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        """(int32 [S, H * W], int32 [S, A]): where each point and each action of a board that has been turned or
        mirrored comes from, for every such change that the rules do not notice. By default the one that changes
        nothing."""
        height, width, _ = self.observation_shape
        return np.arange(height * width)[None], np.arange(self.num_actions)[None]

    # -- the hot path: lanes -----------------------------------------------------------------

    def random_playout(self, states: State, seeds: jax.Array) -> jax.Array:
        """Play every lane to the end with uniformly random moves.

        states: without history, B as the last axis. seeds: uint32 [B]; a lane's game depends on
        its state and its seed alone. Returns float32 [num_players, B].

        This plain version serves any game; the package's own games override it.
        """
        return self._random_games(states, seeds, lambda nothing, states, action: nothing, ())[0]

    def random_playout_with_firsts(self, states: State, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """As :meth:`random_playout`, and int32 [A, B]: the player who was the first to take an action in that game, or
        -1 (all moves as first: Gelly & Silver 2011, section 4)."""
        actions = jnp.arange(self.num_actions)[:, None]

        def note(firsts: jax.Array, states: State, action: jax.Array) -> jax.Array:
            live = ~jax.vmap(self.is_terminal, in_axes=-1)(states)
            mover = jax.vmap(self.current_player, in_axes=-1)(states)
            return jnp.where((actions == action) & live & (firsts < 0), mover, firsts)

        nobody = jnp.full((self.num_actions, seeds.shape[0]), -1, jnp.int32)
        return self._random_games(states, seeds, note, nobody)

    def tactical_playout(self, states: State, seeds: jax.Array) -> jax.Array:
        """As :meth:`random_playout`, with the tactics that the game knows of, if any, before chance."""
        return self.random_playout(states, seeds)

    def tactical_playout_with_firsts(self, states: State, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """As :meth:`random_playout_with_firsts`, by :meth:`tactical_playout`'s moves."""
        return self.random_playout_with_firsts(states, seeds)

    def random_ends(self, states: State, seeds: jax.Array) -> State:
        """The last positions of random games, as :meth:`random_playout` begins them."""
        step = jax.vmap(self.step, in_axes=(-1, 0), out_axes=-1)
        return self._random_games(states, seeds, lambda _, states, action: step(states, action), states)[1]

    def _random_games(
        self, states: State, seeds: jax.Array, note: Callable[[Any, State, jax.Array], Any], noted: Any
    ) -> tuple[jax.Array, Any]:
        """(results of random games, what ``note(noted, states, action)`` makes of every move)."""
        step = jax.vmap(self.step, in_axes=(-1, 0), out_axes=-1)
        legal_mask = jax.vmap(self.legal_action_mask, in_axes=-1, out_axes=-1)
        terminal = jax.vmap(self.is_terminal, in_axes=-1)

        def body(carry: tuple[State, jax.Array, Any]) -> tuple[State, jax.Array, Any]:
            states, t, noted = carry
            legal = legal_mask(states)  # [A, B]
            rank = jnp.cumsum(legal.astype(jnp.int32), axis=0)
            total = rank[-1].astype(jnp.uint32)
            bits = random_bits(seeds, jnp.full(seeds.shape, t))
            pick = (((bits >> 16) * total) >> 16).astype(jnp.int32)
            action = jnp.argmax((rank == pick + 1) & legal, axis=0).astype(jnp.int32)
            return step(states, action), t + 1, note(noted, states, action)

        def going_on(carry: tuple[State, jax.Array, Any]) -> jax.Array:
            return ~jnp.all(terminal(carry[0])) & (carry[1] < self.max_plies)

        states, _, noted = while_loop(going_on, body, (states, jnp.int32(0), noted))
        return jax.vmap(self.returns, in_axes=-1, out_axes=-1)(states), noted

    # -- words and pictures ------------------------------------------------------------------

    @property
    def spec(self) -> str:
        """The canonical spec string, with which ``make_game(game.spec) == game``: by default the game's name and every
        field that differs from its default."""
        own: Any = self
        changed = [(f.name, getattr(self, f.name)) for f in fields(own) if getattr(self, f.name) != f.default]
        texts = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in changed]
        return ",".join([self.name, *texts])

    @abstractmethod
    def stones(self, state: State) -> np.ndarray:
        """int8 [H, W] for display: 0 empty, 1 the first player's (Black), 2 the second's."""

    def action_point(self, state: State, action: int) -> tuple[int, int] | None:
        """The (row, column) where ``action`` puts a stone in ``state``; None for a pass."""
        del state
        return divmod(action, self.width) if action < self.height * self.width else None

    def move_points(self, actions: list[int]) -> list[tuple[int, int] | None]:
        """The points of a game's moves from the first position on."""
        return [self.action_point(None, action) for action in actions]

    def last_point(self, state: State, action: int) -> tuple[int, int] | None:
        """Where the stone of ``action`` lies in ``state``, the position it led to; None for a pass."""
        return self.action_point(state, action)

    @property
    def pass_action(self) -> int:
        """The action that leaves the board as it is; -1 where there is none."""
        return -1

    def open_actions(self, state: State) -> np.ndarray:
        """bool [A]: moves on the board that there is no reason to pass before, as nobody owns these points yet. None by
        default."""
        return np.zeros(self.num_actions, bool)

    def point_action(self, point: tuple[int, int] | None) -> int:
        """The action that puts a stone on ``point``; None is the pass. Raises UserError."""
        if point is None:
            raise UserError(f"there is no pass in {self.spec}")
        return point[0] * self.width + point[1]

    def action_text(self, action: int) -> str:
        """``D4``, ``pass``."""
        return vertex(divmod(action, self.width), self.height)

    def point_text(self, point: tuple[int, int] | None) -> str:
        """What people call a point: ``D4``, ``pass``."""
        return vertex(point, self.height)

    def parse_action(self, text: str) -> int:
        """The inverse of :meth:`action_text`. Raises UserError."""
        return self.point_action(parse_vertex(text, self.height, self.width))

    def parse_move(self, state: State, text: str) -> int:
        """The action that a text means in ``state``. Raises UserError, also for a point where no stone would lie."""
        del state
        return self.parse_action(text)

    def margin(self, state: State) -> jax.Array:
        """float32: by how much the first player has won a finished game: in Go points, elsewhere the return."""
        return self.returns(state)[0]

    def owners(self, state: State) -> jax.Array:
        """int8 [H * W]: 1 for a point that counts for the first player as the position stands, -1 for the second, where
        the game ``counts_points``; else zeros."""
        return jnp.zeros(self.height * self.width, jnp.int8)

    def margin_text(self, margin: float) -> str:
        """The result of a finished game as SGF's RE: ``B+3.5``, ``W+``, ``0``."""
        return "0" if margin == 0 else ("B+" if margin > 0 else "W+")

    def result_text(self, state: State) -> str:
        """:meth:`margin_text` of a finished game's last position."""
        return self.margin_text(self.final_margin(state))

    def final_margin(self, state: State) -> float:
        """:meth:`margin` of a finished game's last position."""
        return float(_compiled_margin(self.compiled_as)(state))


def square_symmetries(height: int, width: int) -> np.ndarray:
    """int32 [S, H * W]: where each point of a board comes from that has been mirrored and, if it is square, turned;
    unchanged first. S is 8 or 4."""
    points = np.arange(height * width).reshape(height, width)
    turned = [points, points[::-1], points[:, ::-1], points[::-1, ::-1]]
    if height == width:
        turned += [board.T for board in turned]
    return np.stack([board.reshape(-1) for board in turned]).astype(np.int32)


@functools.cache
def _compiled_margin(game: Game) -> Callable[[State], jax.Array]:
    return jit(game.margin)
