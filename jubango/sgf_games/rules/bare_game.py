"""What a game has to be: pure rules of one unbatched state; callers ``vmap``.

Shape legend, used throughout the package:
    H, W  rows and columns of the board; row 0 is the top row, column 0 the left one
    A     num_actions
    B     lanes: games played at once. A batch of states carries B as the LAST axis of every
          array (``jax.vmap(game.step, in_axes=-1, out_axes=-1)``), which keeps a board row of
          all lanes contiguous.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from typing_extensions import TypeVar

from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.random_numbers import mix, random_bits

State: TypeAlias = Any  # a pytree of arrays: the state of a game that is not known to type checkers
StateT = TypeVar("StateT", default=Any)  # that of one that is: class Nim(Game[Heap])


class EndlessGames(NamedTuple):
    """Random games in lanes, one after another in each, for as long as they are asked for: what speeds are told by."""

    start: Callable[[jax.Array], Any]  # of seeds, uint32 [B]: games at their beginning
    turn: Callable[[Any], Any]  # one random move in every lane; a game that has ended begins anew
    counts: Callable[[Any], tuple[jax.Array, jax.Array]]  # int32 [B] each: the moves and the games so far
    elementwise: bool = False  # whether a turn is elementwise over arrays [B] and nothing else


class BareGame(ABC, Generic[StateT]):
    """The first half of :class:`jubango.sgf_games.rules.game.Game`: the rules, what networks ask of them, and random
    games in many lanes at once."""

    num_players: ClassVar[int] = 2
    height: int
    width: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "random_playout_with_firsts" in vars(cls):
            said = f"{cls.__name__}.random_playout_with_firsts is now called random_playout_with_amaf"
            warnings.warn(said, DeprecationWarning, stacklevel=2)
            cls.random_playout_with_amaf = vars(cls)["random_playout_with_firsts"]  # type: ignore[method-assign]

    # -- the rules ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def num_actions(self) -> int:
        """A: actions are int32 in [0, A)."""

    @property
    @abstractmethod
    def max_plies(self) -> int:
        """No game is longer than this many moves."""

    @abstractmethod
    def init(self) -> StateT:
        """The first position."""

    @abstractmethod
    def step(self, state: StateT, action: jax.Array) -> StateT:
        """The state after a legal ``action``; a finished game stays as it is."""

    @abstractmethod
    def legal_action_mask(self, state: StateT) -> jax.Array:
        """bool [A]; all false when the game is over."""

    @abstractmethod
    def current_player(self, state: StateT) -> jax.Array:
        """int32: the player to move, 0 being the one who moves first (Black)."""

    @abstractmethod
    def is_terminal(self, state: StateT) -> jax.Array:
        """bool."""

    @abstractmethod
    def returns(self, state: StateT) -> jax.Array:
        """float32 [num_players] in [-1, 1]; zeros before the end; zero-sum for two players."""

    @abstractmethod
    def observe(self, state: StateT) -> jax.Array:
        """float32 [H, W, C]: feature planes from the view of the player to move."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """(H, W, C) of :meth:`observe`."""
        return jax.eval_shape(lambda: self.observe(self.init())).shape

    def heuristic(self, state: StateT) -> jax.Array:
        """float32 in [-1, 1]: a rough guess at the value for the player to move; even by default."""
        return jnp.zeros((), jnp.float32)

    def without_history(self, state: StateT) -> StateT:
        """The state less what only repetition rules need."""
        return state

    def transposition_key(self, state: StateT) -> jax.Array:
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

    # -- for priors without a network ---------------------------------------------------------

    @property
    def pattern_classes(self) -> np.ndarray:
        """int32 [K]: of each kind of pattern that :meth:`patterns` tells apart the first of those that are the same but
        turned or mirrored, which have one weight. Empty if the game knows of none."""
        return np.zeros(0, np.int32)

    def patterns(self, state: StateT) -> jax.Array:
        """int32 [A, F]: the kinds of the patterns that each action has, the same number for all."""
        return jnp.zeros((self.num_actions, 0), jnp.int32)

    # -- the hot path: lanes -----------------------------------------------------------------

    def random_playout(self, states: StateT, seeds: jax.Array) -> jax.Array:
        """Play every lane to the end with uniformly random moves.

        states: without history, B as the last axis. seeds: uint32 [B]; a lane's game depends on
        its state and its seed alone. Returns float32 [num_players, B].

        This plain version serves any game; the package's own games override it.
        """
        return self._random_games(states, seeds, lambda nothing, states, action: nothing, ())[0]

    def random_playout_with_amaf(self, states: StateT, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """As :meth:`random_playout`, and int32 [A, B]: the player who was the first to take an action in that game, or
        -1 (all moves as first: Gelly & Silver 2011, section 4)."""
        actions = jnp.arange(self.num_actions)[:, None]

        def note(amaf: jax.Array, states: StateT, action: jax.Array) -> jax.Array:
            live = ~jax.vmap(self.is_terminal, in_axes=-1)(states)
            mover = jax.vmap(self.current_player, in_axes=-1)(states)
            return jnp.where((actions == action) & live & (amaf < 0), mover, amaf)

        nobody = jnp.full((self.num_actions, seeds.shape[0]), -1, jnp.int32)
        return self._random_games(states, seeds, note, nobody)

    def tactical_playout(self, states: StateT, seeds: jax.Array) -> jax.Array:
        """As :meth:`random_playout`, with the tactics that the game knows of, if any, before chance."""
        return self.random_playout(states, seeds)

    def tactical_playout_with_firsts(self, states: StateT, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
        """As :meth:`random_playout_with_amaf`, by :meth:`tactical_playout`'s moves."""
        return self.random_playout_with_amaf(states, seeds)

    def random_ends(self, states: StateT, seeds: jax.Array) -> StateT:
        """The last positions of random games, as :meth:`random_playout` begins them."""
        step = jax.vmap(self.step, in_axes=(-1, 0), out_axes=-1)
        return self._random_games(states, seeds, lambda _, states, action: step(states, action), states)[1]

    def endless_games(self) -> EndlessGames:
        """Random games for measuring. This plain version serves any game."""

        def start(seeds: jax.Array) -> Any:
            lanes, zero = seeds.shape[0], jnp.zeros(seeds.shape, jnp.int32)
            first = jax.tree.map(jnp.asarray, self.init())
            return jax.tree.map(lambda x: jnp.repeat(x[..., None], lanes, axis=-1), first), seeds, zero, zero

        def turn(carry: Any) -> Any:
            states, seeds, moves, games = carry
            after = jax.vmap(self.step, in_axes=(-1, 0), out_axes=-1)(
                states, self._random_actions(states, seeds, moves)
            )
            over = jax.vmap(self.is_terminal, in_axes=-1)(after)
            first = jax.tree.map(jnp.asarray, self.init())
            after = jax.tree.map(lambda x, new: jnp.where(over, x[..., None], new), first, after)
            return after, seeds, moves + 1, games + over

        return EndlessGames(start, turn, lambda carry: carry[2:])

    def _random_actions(self, states: StateT, seeds: jax.Array, number: jax.Array) -> jax.Array:
        """int32 [B]: of the legal ones, by the lanes' random numbers of this ``number``, int32 [B]."""
        legal = jax.vmap(self.legal_action_mask, in_axes=-1, out_axes=-1)(states)  # [A, B]
        rank = jnp.cumsum(legal.astype(jnp.int32), axis=0)
        bits = random_bits(seeds, number)
        pick = (((bits >> 16) * rank[-1].astype(jnp.uint32)) >> 16).astype(jnp.int32)
        return jnp.argmax((rank == pick + 1) & legal, axis=0).astype(jnp.int32)

    def _random_games(
        self, states: StateT, seeds: jax.Array, note: Callable[[Any, StateT, jax.Array], Any], noted: Any
    ) -> tuple[jax.Array, Any]:
        """(results of random games, what ``note(noted, states, action)`` makes of every move)."""
        step = jax.vmap(self.step, in_axes=(-1, 0), out_axes=-1)
        terminal = jax.vmap(self.is_terminal, in_axes=-1)

        def body(carry: tuple[StateT, jax.Array, Any]) -> tuple[StateT, jax.Array, Any]:
            states, t, noted = carry
            action = self._random_actions(states, seeds, jnp.full(seeds.shape, t))
            return step(states, action), t + 1, note(noted, states, action)

        def going_on(carry: tuple[StateT, jax.Array, Any]) -> jax.Array:
            return ~jnp.all(terminal(carry[0])) & (carry[1] < self.max_plies)

        states, _, noted = while_loop(going_on, body, (states, jnp.int32(0), noted))
        return jax.vmap(self.returns, in_axes=-1, out_axes=-1)(states), noted
