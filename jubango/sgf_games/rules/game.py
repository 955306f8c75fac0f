"""The Game protocol: pure rules of one unbatched state, the words and pictures for people, and hooks.

A hook is a question that programs around the rules ask: may stones be set up, who owns which point, how do stones lie?
Every hook has an answer by default, so a game says what it has and leaves out the rest. docs/extend.md has the table.
The shape legend is in :mod:`jubango.sgf_games.rules.bare_game`.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.random_numbers import mix
from jubango.sgf_games.rules.bare_game import BareGame, StateT
from jubango.sgf_games.rules.bare_game import State as State
from jubango.sgf_games.rules.coordinates import Point, parse_vertex, usual_handicap, vertex

GAMES_PER_ROUND = 64  # random games that are played at once to tell whose points are


class Game(BareGame[StateT]):
    """Rules. Subclasses are frozen dataclasses of their parameters, hence hashable and static.

    What a search must carry in every node is the state; keep it to a few words. A game whose
    legality depends on the far past keeps that in the state too and drops it in
    :meth:`without_history`, which is what tree nodes hold.
    """

    name: ClassVar[str]

    @property
    def compiled_as(self) -> Game:
        """The cache key for compiled programs, by default this game.

        Parameters that are stored in the state (Go's komi) are left out: games that differ only in them share programs.
        """
        return self

    @property
    def family(self) -> str:
        """The rules whatever the board's size: one network plays a whole family. By default this game alone."""
        return self.spec

    # -- hooks: play -------------------------------------------------------------------------

    def has(self, hook: str) -> bool:
        """Whether the game's class defines a hook itself, in place of the default.

        hook: the name of the method, ``"set_up"``.
        """
        return getattr(type(self), hook) is not getattr(Game, hook)

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the dataclass's fields."""
        own: Any = self
        return frozenset(field.name for field in fields(own)) if is_dataclass(own) else frozenset()

    @property
    def pass_action(self) -> int:
        """The action that leaves the board as it is; -1 where there is none."""
        return -1

    def open_actions(self, state: StateT) -> np.ndarray:
        """bool [A]: moves on points that nobody owns yet, so that there is no reason to pass. None by default."""
        return np.zeros(self.num_actions, bool)

    def resumed(self, state: StateT, passes: int = 0) -> StateT:
        """The same position with at most ``passes`` passes made in a row, so that play goes on.

        By default the state itself: what is over stays so.
        """
        del passes
        return state

    def with_player(self, state: StateT, player: int) -> StateT:
        """The same position with ``player`` to move, where either may move. By default the state itself."""
        del player
        return state

    def set_up(self, stones: np.ndarray, player: int) -> StateT:
        """The start of a game from given stones.

        stones: int8 [H, W], 1 the first player's, 2 the second's.
        player: the one to move.

        Raises UserError where stones cannot be set up, as by default.
        """
        raise UserError(f"no stones can be set up in {self.spec}")

    def handicap_points(self, stones: int) -> list[Point]:
        """The points of the first player's handicap stones: by default those that are usual in Go.

        stones: how many.

        Raises UserError where there are none, or stones cannot be set up.
        """
        if not self.has("set_up"):
            raise UserError(f"there are no handicap stones in {self.spec}")
        return usual_handicap(self.height, self.width, stones)

    def why_illegal(self, state: StateT, point: Point | None) -> str:
        """Why ``point`` cannot be played while the game goes on, in few words.

        point: a (row, column); None is the pass.
        """
        return "the point is occupied" if point is not None and self.stones(state)[point] else "the rules forbid it"

    @property
    def remembering(self) -> Game:
        """The same game for searches whose evaluator looks at the last moves: what is left :meth:`without_history` has
        them. By default the game itself."""
        return self

    def katago_inputs(self, states: StateT, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(float32 [B, H, W, 22], float32 [B, 19]): what KataGo's networks are told of positions.

        states: B last.
        legal: bool [B, A], their legal actions.

        Raises UserError for a game that KataGo does not play, as by default.
        """
        raise UserError(f"KataGo's networks do not play {self.spec}")

    # -- hooks: points -----------------------------------------------------------------------

    @property
    def has_komi(self) -> bool:
        """Whether the second player gets points that can be chosen: by default where there is a field ``komi``."""
        return "komi" in self.parameters

    def with_komi(self, komi: float) -> Self:
        """The same game with another komi.

        komi: in points.

        Raises UserError for a game without komi, and for a komi that its rules forbid.
        """
        if not self.has_komi:
            raise UserError(f"there is no komi in {self.spec}")
        own: Any = self
        changed: Self = replace(own, komi=komi)
        return changed

    def priced(self, state: StateT) -> StateT:
        """A state of this game made of one with another komi: by default the ``komi`` of states is replaced."""
        own: Any = self
        one: Any = state
        return one._replace(komi=jnp.float32(own.komi)) if hasattr(one, "komi") else state

    def komi_of(self, state: StateT | None = None) -> float:
        """Points: the komi of the state's game, or of this one.

        By default the state's ``komi``, or else the game's, or 0.
        """
        return float(getattr(state, "komi", getattr(self, "komi", 0.0)))

    def margin(self, state: StateT) -> jax.Array:
        """float32: by how much the first player has won a finished game, by default the return.

        Where the game ``counts_points`` it is in points, komi included, and holds for any position as it stands.
        """
        return self.returns(state)[0]

    def owners(self, state: StateT) -> jax.Array:
        """int8 [H * W]: 1 where a point counts for the first player as the position stands, -1 for the second, else 0.

        Zeros unless the game ``counts_points``.
        """
        return jnp.zeros(self.height * self.width, jnp.int8)

    def dead_stones(self, state: StateT) -> np.ndarray:
        """bool [H, W]: stones that the players take off before they count. None by default."""
        return np.zeros(self.stones(state).shape, bool)

    def without_stones(self, state: StateT, dead: np.ndarray) -> StateT:
        """The position to be counted, without its dead stones: by default set up anew.

        dead: bool [H, W].
        """
        if not dead.any():
            return state
        return self.set_up(np.where(dead, 0, self.stones(state)), int(self.current_player(state)))

    def chains(self, state: StateT) -> list[np.ndarray]:
        """Stones that live and die together, bool [H, W] each, those of the player to move first.

        By default stones of one colour side by side.
        """
        stones, mover = self.stones(state), int(self.current_player(state))
        return [chain for player in (mover, 1 - mover) for chain in connected(stones == 1 + player)]

    def owners_by_playouts(self, state: StateT, rounds: int) -> np.ndarray:
        """float32 [H * W]: the ownership of each point by random games, from 1 (the first player's) to -1 (the
        second's).

        rounds: GAMES_PER_ROUND games each.
        """
        program = _owners_program(self.compiled_as)
        return np.mean([program(self.without_history(state), np.uint32(k)) for k in range(rounds)], axis=0)

    def playout_with_owners(self, states: StateT, seeds: jax.Array, tactical: bool) -> tuple[jax.Array, jax.Array]:
        """(returns [players, B], int32 [A, B]) of a random game from each state: the player who has the point of each
        action at the end, or -1.

        states: B last.
        seeds: uint32 [B].
        tactical: by the moves of :meth:`tactical_playout`.

        Raises UserError unless the game says it.
        """
        raise UserError(
            f"{self.spec} does not say who has its points at the end, as rules with owners=True ask; Go does"
        )

    def playout_margin(self, states: StateT, seeds: jax.Array) -> jax.Array:
        """float32 [B]: by how much the first player has won a random game from each state.

        states: B last.
        seeds: uint32 [B].
        """
        return jax.vmap(self.margin, in_axes=-1)(self.random_ends(states, seeds))

    def end_reason(self, drawn: bool) -> str:
        """The reason why a game ended that was played to its end, a word for its record."""
        del drawn
        return "score" if self.counts_points else "end"

    # -- hooks: how others know the game -----------------------------------------------------

    counts_points: ClassVar[bool] = False  # the board's points are the players' in the end, and they are counted
    on_crossings: ClassVar[bool] = False  # stones lie where lines cross, as in Go; else in squares
    hexagonal: ClassVar[bool] = False  # a point is also beside the one a row down and a column on, as in Hex
    dialect: ClassVar[Literal["", "go"]] = ""  # "go": other programs know it as Go (engines, SGF readers, GUIs)
    strongest_bot: ClassVar[str] = "uct:simulations=12800,c=0.4"  # where no network comes with jubango

    @property
    def star_points(self) -> list[Point]:
        """The points of the board that are marked. None by default."""
        return []

    @property
    def placing(self) -> Literal["go", "drop", "place"] | None:
        """How stones come to lie: "place" (they stay), "drop" (they fall), "go" (they are captured too), or None.

        The script of the pages knows these words. None, the default, sends the pages every stone.
        """
        return None

    @property
    def common_name(self) -> str:
        """The game's name among people and GUIs: by default its spec."""
        return self.spec

    @property
    def rule_set(self) -> str:
        """SGF's RU, for a game that other programs know as Go."""
        return ""

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
    def stones(self, state: StateT) -> np.ndarray:
        """int8 [H, W] for display: 0 empty, 1 the first player's (Black), 2 the second's."""

    def action_point(self, state: StateT, action: int) -> tuple[int, int] | None:
        """The (row, column) where ``action`` puts a stone in ``state``; None for a pass."""
        del state
        return divmod(action, self.width) if action < self.height * self.width else None

    def move_points(self, actions: list[int]) -> list[tuple[int, int] | None]:
        """The points of a game's moves from the first position on."""
        unread: Any = None  # the plain action_point looks at the action alone
        return [self.action_point(unread, action) for action in actions]

    def last_point(self, state: StateT, action: int) -> tuple[int, int] | None:
        """Where the stone of ``action`` lies in ``state``, the position it led to; None for a pass."""
        return self.action_point(state, action)

    def point_action(self, point: tuple[int, int] | None) -> int:
        """The action that puts a stone on ``point``; None is the pass.

        Raises UserError for a point where nothing can be played.
        """
        if point is None:
            if self.pass_action < 0:
                raise UserError(f"there is no pass in {self.spec}")
            return self.pass_action
        return point[0] * self.width + point[1]

    def action_text(self, action: int) -> str:
        """A move as text: ``D4``, ``pass``."""
        return vertex(None if action == self.pass_action else divmod(action, self.width), self.height)

    def point_text(self, point: tuple[int, int] | None) -> str:
        """A point as text: ``D4``, ``pass``."""
        return vertex(point, self.height)

    def parse_action(self, text: str) -> int:
        """The action of a text: the inverse of :meth:`action_text`.

        Raises UserError for a text that names no action.
        """
        return self.point_action(parse_vertex(text, self.height, self.width))

    def parse_move(self, state: StateT, text: str) -> int:
        """The action that a text means in ``state``.

        Raises UserError for a text that names no action, and for a point where no stone would lie.
        """
        del state
        return self.parse_action(text)

    def margin_text(self, margin: float) -> str:
        """The result of a finished game as SGF's RE: ``B+``, ``0``, and in points where they are counted ``W+3.5``."""
        points = f"{abs(margin):g}" if self.counts_points else ""
        return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{points}"

    def result_text(self, state: StateT) -> str:
        """:meth:`margin_text` of a finished game's last position."""
        return self.margin_text(self.final_margin(state))

    def final_margin(self, state: StateT) -> float:
        """:meth:`margin` of a finished game's last position."""
        return float(_compiled_margin(self.compiled_as)(state))


def connected(stones: np.ndarray) -> list[np.ndarray]:
    """Stones side by side, chain by chain, bool [H, W] each."""
    from scipy.ndimage import label

    numbered, count = label(stones)
    return [numbered == number for number in range(1, count + 1)]


def square_symmetries(height: int, width: int) -> np.ndarray:
    """int32 [S, H * W]: where each point of a board comes from that has been mirrored and, if it is square, turned;
    unchanged first. S is 8 or 4."""
    points = np.arange(height * width).reshape(height, width)
    turned = [points, points[::-1], points[:, ::-1], points[::-1, ::-1]]
    if height == width:
        turned += [board.T for board in turned]
    return np.stack([board.reshape(-1) for board in turned]).astype(np.int32)


@functools.cache
def _compiled_margin(game: Game) -> Callable[[StateT], jax.Array]:
    return jit(game.margin)


@functools.lru_cache(maxsize=8)
def _owners_program(game: Game) -> Callable[..., jax.Array]:
    """float32 [H * W]: the mean of the owners at the ends of random games from a state."""

    def owners(state: StateT, seed: jax.Array) -> jax.Array:
        states = jax.tree.map(
            lambda x: jnp.broadcast_to(jnp.asarray(x)[..., None], (*jnp.shape(x), GAMES_PER_ROUND)), state
        )
        ends = game.random_ends(states, mix(seed * GAMES_PER_ROUND + jnp.arange(GAMES_PER_ROUND, dtype=jnp.uint32)))
        return jnp.mean(jax.vmap(game.owners, in_axes=-1)(ends).astype(jnp.float32), axis=0)

    return jit(owners, parts=("owners", game, GAMES_PER_ROUND))
