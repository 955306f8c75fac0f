"""Games of pgx (Koyamada et al. 2023) as ``pgx:NAME``, when pgx is installed: othello, hex, ...

Two players, no chance, nothing hidden. A state is pgx's own without the observation, which is
computed when it is asked for; it takes kilobytes where the package's own games take a few words,
so their trees are larger and slower.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.compute.machine import present
from jubango.sgf_games.rules.coordinates import COLUMN_LETTERS, Point, vertex
from jubango.sgf_games.rules.game import Game, State, square_symmetries
from jubango.sgf_games.rules.lines.connect_four import falling_points

# What an action is: a point of the board, a column, or a number without a place; and the longest game.
POINTS, COLUMN, NUMBER = "points", "column", "number"
PGX_GAMES = {
    "othello": (POINTS, 128), "hex": (POINTS, 122), "go_9x9": (POINTS, 162), "go_19x19": (POINTS, 722),
    "tic_tac_toe": (POINTS, 9), "connect_four": (COLUMN, 42), "animal_shogi": (NUMBER, 256),
    "gardner_chess": (NUMBER, 256), "shogi": (NUMBER, 512),
}  # fmt: skip
# Of the ways to turn and mirror a board (square_symmetries), those that the rules and the start do not notice.
SYMMETRIES = {
    "othello": (0, 3, 4, 7), "hex": (0, 3), "go_9x9": range(8), "go_19x19": range(8), "tic_tac_toe": range(8),
    "connect_four": (0, 2),
}  # fmt: skip


class PgxState(NamedTuple):
    inner: State  # pgx's own with an empty observation
    first: jax.Array  # int32, pgx's number for the player who moves first
    result: jax.Array  # float32 [2], zeros before the end


@dataclass(frozen=True)
class PgxGame(Game[PgxState]):
    """The pgx environment called ``env``."""

    env: str

    name: ClassVar[str] = "pgx"
    foreign: ClassVar[bool] = True  # its rules are not ours: see jubango.sgf_games.compute.traced

    def __post_init__(self) -> None:
        if self.env not in PGX_GAMES:
            known = f"; known: {', '.join(PGX_GAMES)}"
            raise UserError(
                f'pgx: "{self.env}" is no game that can be played here{nearest(self.env, PGX_GAMES) or known}'
            )
        if importlib.util.find_spec("pgx") is None:
            raise UserError(f"pgx:{self.env} needs pgx; install it with: pip install pgx")

    @property
    def _env(self) -> Any:
        return _environment(self.env)

    @property
    def num_actions(self) -> int:
        return _sizes(self.env).actions

    @property
    def max_plies(self) -> int:
        return PGX_GAMES[self.env][1]

    @property
    def height(self) -> int:  # type: ignore[override]
        return _sizes(self.env).height

    @property
    def width(self) -> int:  # type: ignore[override]
        return _sizes(self.env).width

    @property
    def actions_are(self) -> Literal["points", "columns", "dense"]:
        kind = PGX_GAMES[self.env][0]
        return "columns" if kind == COLUMN else super().actions_are if kind != NUMBER else "dense"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        if self.env not in SYMMETRIES:
            return super().symmetries
        points = square_symmetries(self.height, self.width)[[*SYMMETRIES[self.env]]]
        if PGX_GAMES[self.env][0] == COLUMN:
            return points, points[:, : self.width] % self.width
        others = np.arange(self.height * self.width, self.num_actions, dtype=np.int32)  # the pass, the swap
        return points, np.hstack([points, np.broadcast_to(others, (len(points), others.size))])

    def init(self) -> PgxState:
        inner = _lean(self._env.init(jax.random.PRNGKey(0)))
        return PgxState(inner, inner.current_player.astype(jnp.int32), jnp.zeros(2, jnp.float32))

    def step(self, state: PgxState, action: jax.Array) -> PgxState:
        over = self.is_terminal(state)
        inner = _lean(self._env.step(state.inner, action))
        result = jnp.where(inner.terminated | inner.truncated, self._by_player(state, inner.rewards), 0.0)
        after = PgxState(inner, state.first, result)
        return jax.tree.map(lambda new, old: jnp.where(over, old, new), after, state)

    def _by_player(self, state: PgxState, rewards: jax.Array) -> jax.Array:
        return jnp.where(state.first == 0, rewards, rewards[::-1]).astype(jnp.float32)

    def legal_action_mask(self, state: PgxState) -> jax.Array:
        return state.inner.legal_action_mask & ~self.is_terminal(state)

    def current_player(self, state: PgxState) -> jax.Array:
        return (state.inner.current_player.astype(jnp.int32) - state.first) % 2

    def is_terminal(self, state: PgxState) -> jax.Array:
        return state.inner.terminated | state.inner.truncated

    def returns(self, state: PgxState) -> jax.Array:
        return state.result

    def observe(self, state: PgxState) -> jax.Array:
        """pgx's own planes."""
        return self._env.observe(state.inner).astype(jnp.float32)

    @property
    def spec(self) -> str:
        return f"pgx:{self.env}"

    def stones(self, state: PgxState) -> np.ndarray:
        if PGX_GAMES[self.env][0] == NUMBER:
            return np.zeros((self.height, self.width), np.int8)
        planes = np.asarray(self.observe(state))
        first, second = (1, 2) if int(self.current_player(state)) == 0 else (2, 1)
        return (first * (planes[..., 0] > 0) + second * (planes[..., 1] > 0)).astype(np.int8)

    def action_point(self, state: PgxState, action: int) -> Point | None:
        if PGX_GAMES[self.env][0] != COLUMN:
            return super().action_point(state, action)
        return self.height - 1 - int(np.count_nonzero(self.stones(state)[:, action])), action

    def move_points(self, actions: list[int]) -> list[Point | None]:
        if PGX_GAMES[self.env][0] == COLUMN:
            return falling_points(actions, self.height)
        return super().move_points(actions)

    def last_point(self, state: PgxState, action: int) -> Point | None:
        if PGX_GAMES[self.env][0] != COLUMN:
            return super().last_point(state, action)
        row, column = self.action_point(state, action) or (0, action)
        return row + 1, column

    def point_action(self, point: Point | None) -> int:
        if PGX_GAMES[self.env][0] == COLUMN and point is not None:
            return point[1]
        if point is None and self.num_actions == self.height * self.width + 1:
            return self.num_actions - 1
        return super().point_action(point)

    def action_text(self, action: int) -> str:
        kind = PGX_GAMES[self.env][0]
        if kind == NUMBER:
            return str(action)
        if kind == COLUMN:
            return COLUMN_LETTERS[action]
        return vertex(None if action == self.height * self.width else divmod(action, self.width), self.height)

    def point_text(self, point: Point | None) -> str:
        return self.action_text(self.point_action(point))

    def parse_action(self, text: str) -> int:
        word = text.strip().upper()
        kind = PGX_GAMES[self.env][0]
        if kind == NUMBER and word.isdecimal() and int(word) < self.num_actions:
            return int(word)
        if kind == COLUMN and len(word) == 1 and word in COLUMN_LETTERS[: self.width]:
            return COLUMN_LETTERS.index(word)
        if kind == NUMBER:
            raise UserError(f'"{text}" is no move of {self.spec}; write a number below {self.num_actions}')
        return super().parse_action(text)


class _Sizes(NamedTuple):
    actions: int
    height: int
    width: int


@functools.cache
def _sizes(name: str) -> _Sizes:
    """Known once and for all: pgx makes a position whenever it is asked for one of them."""
    env = _environment(name)
    state = jax.eval_shape(env.init, jax.random.PRNGKey(0))
    (actions,) = state.legal_action_mask.shape
    if PGX_GAMES[name][0] != NUMBER:
        height, width, _ = state.observation.shape
        return _Sizes(actions, height, width)
    width = math.isqrt(actions - 1) + 1  # a board of actions
    return _Sizes(actions, -(-actions // width), width)


@functools.cache
def _environment(name: str) -> Any:
    present()  # pgx makes arrays when it is imported
    with jax.ensure_compile_time_eval():
        import pgx

        return pgx.make(name)


def _lean(state: State) -> State:
    """A pgx state whose leaves are arrays, without its observation."""
    return jax.tree.map(jnp.asarray, state.replace(observation=jnp.zeros((0,), bool)))
