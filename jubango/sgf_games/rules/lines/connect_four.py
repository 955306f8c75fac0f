"""Connect four: stones fall to the lowest empty point of a column; k in a row win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.rules.coordinates import COLUMN_LETTERS, parse_vertex
from jubango.sgf_games.rules.game import square_symmetries
from jubango.sgf_games.rules.lines.mnk import LineGame, LineState


@dataclass(frozen=True)
class ConnectFour(LineGame):
    """An action is a column, 0 the leftmost. Row 0 is the top row."""

    width: int = 7
    height: int = 6
    k: int = 4

    name: ClassVar[str] = "connect_four"

    def __post_init__(self) -> None:
        self._check()

    @property
    def num_actions(self) -> int:
        return self.width

    def playable(self, occupied: bb.Rows) -> bb.Rows:
        floor = jnp.full_like(occupied[0], bb.full_row(self.width))
        return bb.without([*occupied[1:], floor], occupied)

    def point_of(self, state: LineState, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        column = jnp.asarray(action, jnp.int32)
        filled = ((state.own | state.opp) >> column.astype(state.own.dtype)) & 1
        return jnp.int32(self.height - 1) - jnp.sum(filled, dtype=jnp.int32), column

    def legal_action_mask(self, state: LineState) -> jax.Array:
        top = (state.own | state.opp)[:1]
        return ~bb.to_bits(top, self.width) & ~self.is_terminal(state)

    @property
    def family(self) -> str:
        return f"connect_four,k={self.k}"

    @property
    def actions_are(self) -> Literal["columns"]:
        return "columns"

    @property
    def symmetries(self) -> tuple[np.ndarray, np.ndarray]:
        unchanged, _, mirrored, *_ = square_symmetries(self.height, self.width)
        columns = np.arange(self.width, dtype=np.int32)
        return np.stack([unchanged, mirrored]), np.stack([columns, columns[::-1]])

    @property
    def placing(self) -> Literal["drop"] | None:
        return "drop" if type(self) is ConnectFour else None

    @property
    def common_name(self) -> str:
        return "Connect Four" if self.k == 4 else self.spec

    @property
    def spec(self) -> str:
        size = f"{self.width}x{self.height}"
        return f"connect_four:{size}" + (f",k={self.k}" if self.k != 4 else "")

    def action_point(self, state: LineState, action: int) -> tuple[int, int] | None:
        filled = int(np.count_nonzero(self.stones(state)[:, action]))
        return self.height - 1 - filled, action

    def move_points(self, actions: list[int]) -> list[tuple[int, int] | None]:
        return falling_points(actions, self.height)

    def last_point(self, state: LineState, action: int) -> tuple[int, int] | None:
        row, column = self.action_point(state, action) or (0, action)
        return row + 1, column

    def point_action(self, point: tuple[int, int] | None) -> int:
        if point is None:
            raise UserError("there is no pass in connect four")
        return point[1]

    def action_text(self, action: int) -> str:
        return COLUMN_LETTERS[action]

    def parse_action(self, text: str) -> int:
        """A column: ``D``; its number, ``4``, or a point of it, ``D1``, will do as well."""
        word = text.strip().upper()
        if word.isdecimal():
            if len(word) > len(str(self.width)) or not 0 < int(word) <= self.width:
                raise UserError(f'"{text}" is no column; there are 1 to {self.width}')
            return int(word) - 1
        if word in COLUMN_LETTERS and len(word) == 1:
            word += "1"
        return self.point_action(parse_vertex(word, self.height, self.width))

    def parse_move(self, state: LineState, text: str) -> int:
        action, word = self.parse_action(text), text.strip().upper()
        if word.isdecimal() or word in COLUMN_LETTERS:
            return action
        point, named = self.action_point(state, action), parse_vertex(word, self.height, self.width)
        if point is None or point[0] < 0 or point == named:
            return action
        column, below = self.action_text(action), named is not None and named[0] < point[0]
        why = "nothing lies below it" if below else "it is taken"
        raise UserError(f"{word}: {why}; a stone in column {column} comes to lie on {self.point_text(point)}: {column}")


def falling_points(columns: list[int], height: int) -> list[tuple[int, int] | None]:
    """Where stones come to lie that are dropped into ``columns`` one after another."""
    points: list[tuple[int, int] | None] = []
    for i, column in enumerate(columns):
        points.append((height - 1 - columns[:i].count(column), column))
    return points
