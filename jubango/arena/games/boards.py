"""The positions of many games on the device, and what was seen of them last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import jax
import numpy as np

from jubango.sgf_games.compute.machine import device_layout, gathered
from jubango.sgf_games.rules.compiled import FRESH, LEAVE, MOVES_A_STEP, TableProgram, table_program
from jubango.sgf_games.rules.game import Game, State


class Boards:
    """A position in each of ``lanes``, at first the game's first one.

    What is told a lane happens with the next :meth:`step`. After it ``legal`` [lanes, A] says which actions are legal,
    ``player`` who is to move, and ``over`` whether the game has ended.
    """

    def __init__(self, game: Game, lanes: int) -> None:
        self.lanes = lanes
        self._program, size = _program(game, lanes)
        self._told = np.full((MOVES_A_STEP, size), LEAVE, np.int32)
        self._rows = np.zeros(size, int)  # moves to be made in each lane
        self.states = self._program.first()  # on the device, batch axis last
        self._new = np.ones(size, bool)  # lanes at a first position
        self.step()

    def begin(self, i: int) -> None:
        """The lane goes to the first position."""
        if not self._new[i]:
            self._told[0, i] = FRESH

    def move(self, i: int, action: int) -> None:
        """One of up to MOVES_A_STEP moves in a lane."""
        self._told[self._rows[i], i] = action
        self._rows[i] += 1

    @property
    def told(self) -> bool:
        """Is there anything to be done by a step?"""
        return bool((self._told[0] != LEAVE).any())

    def step(self, restart: bool = False) -> int:
        """Do as the lanes are told, and look at them; with ``restart`` a game begins where one ends. Returns how many
        moves were made."""
        moves = int(self._rows.sum())
        self.states, look, self._margins = self._program.step(self.states, self._told, np.bool_(restart))
        self._new &= self._told[0] == LEAVE
        self._new |= self._told[0] == FRESH
        self._told[:] = LEAVE
        self._rows[:] = 0
        seen = gathered(look)
        if restart:
            self._new |= seen[:, -1] > 0
        self.legal = seen[:, :-2].view(bool)
        self.player = seen[:, -2].tolist()
        self.over = seen[:, -1]
        return moves

    def margins(self) -> list[int]:
        """By how much each game has been won, as :meth:`Game.margin_text` takes it."""
        found: list[int] = gathered(self._margins).tolist()
        return found

    def fetched(self, lanes: Sequence[int]) -> list[State]:
        """The positions of these lanes, unbatched, on the host."""
        states = self._fetched()
        return [jax.tree.map(lambda x, i=i: x[..., i], states) for i in lanes]

    def put(self, positions: Mapping[int, State]) -> None:
        """Unbatched states for lanes."""
        states = jax.tree.map(np.array, self._fetched())
        for i, state in positions.items():
            self._new[i] = False
            for mine, new in zip(jax.tree.leaves(states), jax.tree.leaves(state), strict=True):
                mine[..., i] = new
        self.states = jax.device_put(states, jax.tree.map(lambda x: x.sharding, self.states))
        self.step()

    def _fetched(self) -> State:
        return jax.tree.map(lambda x: gathered(x, axis=x.ndim - 1), self.states)


def compile_boards(game: Game, lanes: int, aside: Executor) -> None:
    """Trace the program of :class:`Boards`, and compile it in ``aside``."""
    _program(game, lanes)[0].ahead(aside)


def _program(game: Game, lanes: int) -> tuple[TableProgram, int]:
    """And how many lanes it has."""
    number, size = device_layout(lanes)
    return table_program(game, size, number), size
