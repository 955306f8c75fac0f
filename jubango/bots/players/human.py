"""A person as a player: asked for a move, answers through a function that talks to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jubango.bots.config import HUMAN, BotConfig
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.sgf_games.rules.game import State


class HumanConfig(BotConfig):
    """Whoever sits at the board; there is nothing to set."""

    use: str = HUMAN

    @property
    def spec(self) -> str:
        return HUMAN


class HumanPlayer(BatchPlayer):
    """``ask(request, states)`` returns the answer; it may take as long as people do."""

    def __init__(self, ask: Callable[[MoveRequest, State], MoveAnswer]) -> None:
        self._ask = ask
        self._waiting: list[MoveRequest] = []
        self._states: State = None

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        self._waiting += requests
        self._states = states

    def advance(self) -> list[MoveAnswer]:
        asked, self._waiting = self._waiting, []
        return [self._ask(request, self._states) for request in asked]
