"""Players in Python in many games at once: asked one position after another."""

from __future__ import annotations

import copy
import functools
import os
import queue
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence

from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.player import Player, PlayerConfig
from jubango.bots.players.position import PositionToPlay, action_of, positions_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.own_parts import raised
from jubango.sgf_games.rules.game import Game, State

GATHERING = 0.01  # seconds that answers are waited for so that their moves are made together


class OneByOnePlayer(BatchPlayer):
    """Copies of a :class:`Player`, one for every game under way, called in a thread of their own: games in which others
    are to move go on meanwhile, and nobody's clock runs but the player's."""

    def __init__(self, game: Game, bot: PlayerConfig) -> None:
        self._game, self._original = game, bot.player()
        self._name, self._closed = bot.name, False
        self._playing: dict[tuple[str, int], Player] = {}  # by game and side
        self._moves: dict[str, Sequence[int]] = {}  # of the games, which grow
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[MoveAnswer] = queue.SimpleQueue()
        self._missing = 0  # answers
        # What hangs in a user's code does not keep the program from ending.
        self._thread = threading.Thread(target=self._work, name=f"player {bot.name}", daemon=True)
        self._thread.start()

    @property
    def works_here(self) -> bool:
        return False

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        for request, position in zip(requests, positions_of(self._game, requests, states), strict=True):
            self._missing += 1
            self._calls.put(functools.partial(self._answer, request, position))

    def advance(self) -> list[MoveAnswer]:
        answers: list[MoveAnswer] = []
        until = time.perf_counter() + GATHERING
        while self._missing > len(answers):
            try:
                answers.append(self._answers.get(timeout=max(0.0, until - time.perf_counter())))
            except queue.Empty:
                break
        self._missing -= len(answers)
        return answers

    def finish(self, game_id: str, result: str = "") -> None:
        self._calls.put(functools.partial(self._finish, game_id, result))

    def close(self) -> None:
        """What is being thought about is thought to its end, in vain; games that are over are told of before."""
        self._closed = True
        self._calls.put(None)
        if not self._missing:
            self._thread.join()

    # -- in the thread ---------------------------------------------------------------------------

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

    def _answer(self, request: MoveRequest, position: PositionToPlay) -> None:
        if not self._closed:
            self._answers.put(self._move(request, position))

    def _move(self, request: MoveRequest, position: PositionToPlay) -> MoveAnswer:
        try:
            player = self._player(request, position)
            began = time.perf_counter()
            move = player.play(position)
            spent = time.perf_counter() - began
        except BaseException as error:
            return MoveAnswer(request.lane, event="crash", detail=f"raised {self._told(error)}")
        if isinstance(move, str) and move.strip().lower() == "resign":
            return MoveAnswer(request.lane, event="resign")
        try:
            return MoveAnswer(request.lane, action_of(position, move), seconds=spent)
        except UserError as error:
            return MoveAnswer(request.lane, event="illegal", detail=f"played {error}")

    def _player(self, request: MoveRequest, position: PositionToPlay) -> Player:
        """Whose game it is: a copy of its own for each side of each game."""
        key = request.game_id, request.colour
        if key not in self._playing:
            player = copy.copy(self._original)
            player.start_game(position.game, request.colour)
            self._playing[key] = player
            self._moves[request.game_id] = request.moves
        return self._playing[key]

    def _finish(self, game_id: str, result: str) -> None:
        moves = self._moves.pop(game_id, ())
        for colour in (0, 1):
            player = self._playing.pop((game_id, colour), None)
            if player is not None and result:
                try:
                    player.end_game(result, tuple(map(self._game.action_text, moves)))
                except BaseException as error:
                    warnings.warn(f'bot "{self._name}": end_game raised {self._told(error)}', stacklevel=1)

    def _told(self, error: BaseException) -> str:
        """``ValueError: no such key (my_bot.py:12)``: the line that stands in the player's own file."""
        if os.environ.get("JUBANGO_TRACEBACK"):
            traceback.print_exception(error)
        return raised(error, type(self._original).play)
