"""What a player that looks at one position at a time is shown of it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from random import Random

import jax
import numpy as np

from jubango.bots.players.batch_player import MoveRequest
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State

STONE_MARKS = "XO"  # of the players' stones in text
LONGEST_WRONG_MOVE = 60  # characters of what is no move


@dataclass(frozen=True, eq=False)
class PositionToPlay:
    """A position in which a player is to move, with all that it may know. ``print(position)`` shows the board."""

    game: Game  # the rules: action_text, parse_action, height, width, and the functions of states
    state: State  # the position as the rules have it, arrays on the host
    player: int  # to move: 0 has moved first (Black, X), 1 second (White, O)
    legal_actions: tuple[int, ...]  # numbers of the legal moves
    actions: tuple[int, ...]  # numbers of the moves so far
    seed: int  # uint32: of all random numbers of this move, the same when the game is played again
    seconds: float | None  # a fair share of the clock for this move; None: no clock
    clock: float | None  # seconds until the clock runs out; None: no clock
    game_id: str

    @functools.cached_property
    def legal_moves(self) -> tuple[str, ...]:
        """``("D4", "pass")``, in the order of :attr:`legal_actions`."""
        return tuple(map(self.game.action_text, self.legal_actions))

    @functools.cached_property
    def moves(self) -> tuple[str, ...]:
        """The moves so far."""
        return tuple(map(self.game.action_text, self.actions))

    @functools.cached_property
    def stones(self) -> np.ndarray:
        """int8 [H, W]: 0 empty, 1 the first player's, 2 the second's; row 0 is the top."""
        return np.asarray(self.game.stones(self.state))

    @functools.cached_property
    def board(self) -> str:
        """A line a row, the top one first: ``.`` empty, ``X`` the first player's, ``O`` the second's."""
        return "\n".join("".join(f".{STONE_MARKS}"[stone] for stone in row) for row in self.stones)

    @property
    def mark(self) -> str:
        """``X`` or ``O``: the player to move, as :attr:`board` has it."""
        return STONE_MARKS[self.player]

    @functools.cached_property
    def random(self) -> Random:
        """Dice for this move, thrown by :attr:`seed`."""
        return Random(self.seed)

    def __str__(self) -> str:
        return f"{self.board}\n{self.mark} to move"


def positions_of(game: Game, requests: Sequence[MoveRequest], states: State) -> list[PositionToPlay]:
    """What each request shows. states: the whole batch of lanes, batch axis last."""
    here = jax.device_get(states)

    def position(request: MoveRequest) -> PositionToPlay:
        return PositionToPlay(
            game=request.game or game,
            state=jax.tree.map(lambda x: np.array(x[..., request.lane]), here),
            player=request.colour,
            legal_actions=tuple(request.legal.nonzero()[0].tolist()),
            actions=tuple(request.moves),
            seed=request.seed,
            seconds=request.limit.seconds or None,
            clock=request.clock or None,
            game_id=request.game_id,
        )

    return [position(request) for request in requests]


def action_of(position: PositionToPlay, move: object) -> int:
    """The action that ``move`` means, a text like "D4" or a number. Raises UserError for what is no legal move."""
    try:
        action = position.game.parse_action(move) if isinstance(move, str) else index(move)  # type: ignore[arg-type]
    except Exception:  # whatever the rules make of a strange text
        raise UserError(f"{_shown(move)}, which is no move of {position.game.spec}") from None
    if isinstance(move, bool) or action not in position.legal_actions:
        raise UserError(f"{_shown(move)}, which is illegal")
    return action


def _shown(move: object) -> str:
    text = " ".join(repr(move).split())
    return text if len(text) <= LONGEST_WRONG_MOVE else f"{text[: LONGEST_WRONG_MOVE - 3]}..."
