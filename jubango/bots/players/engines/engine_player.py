"""An engine as a bot, whatever protocol it speaks: a process for every game under way, each with a named way to fail
(docs/engines.md)."""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from jubango.bots.config import EngineConfig
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest, ScoringVerdict
from jubango.bots.players.engines.engine import Engine, EngineFailure, brief
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.rules.game import Game, State

STARTS = 3  # that have to fail one after another before an engine is given up
E = TypeVar("E", bound=Engine)
P = TypeVar("P")


class EnginePlayer(BatchPlayer, Generic[E, P]):
    """Runs up to ``bot.processes`` engines; the arena keeps no more games of this bot under way. What is said to them
    is the protocol's, a subclass."""

    def __init__(self, game: Game, bot: EngineConfig) -> None:
        if os.name != "posix":
            raise UserError(f'bot "{bot.name}": engines need Linux or macOS')
        self._game, self._bot = game, bot
        self._lock = threading.Lock()  # for the next two
        self._living: set[E] = set()
        self._closed = False
        self._idle: list[E] = []
        self._playing: dict[str, tuple[E, Sequence[int]]] = {}  # game -> (engine, moves it has seen)
        self._moves: dict[str, Sequence[int]] = {}  # of the games, which grow
        self._threads = ThreadPoolExecutor(max_workers=bot.processes)
        self._answers: list[Future[MoveAnswer]] = []
        try:
            self._idle.append(self._start())  # before any game does
        except EngineFailure as failure:
            raise UserError(f'bot "{bot.name}": {failure}; check its command') from None
        except BaseException:
            self.close()
            raise

    # -- what a protocol says --------------------------------------------------------------------

    @abstractmethod
    def _positions(self, requests: Sequence[MoveRequest], states: State) -> Sequence[P]:
        """What the protocol shows of positions."""

    @abstractmethod
    def _launch(self) -> E:
        """A new process, to which nothing has been said. Raises EngineFailure."""

    @abstractmethod
    def _greet(self, engine: E) -> None:
        """The first words to a new engine. Raises EngineFailure."""

    @abstractmethod
    def _set_up(self, engine: E, game: Game) -> None:
        """A game begins. Raises EngineFailure."""

    def _catch_up(self, engine: E, request: MoveRequest, seen: int) -> None:
        """Tell the engine the moves that it has not seen. Raises EngineFailure, of kind "refused" if it takes one for
        illegal."""
        return

    @abstractmethod
    def _move(self, engine: E, request: MoveRequest, position: P) -> MoveAnswer:
        """What it plays. Raises EngineFailure."""

    def _game_over(self, engine: E, result: str, moves: Sequence[int]) -> None:
        """Nobody waits for what it says to that."""
        return

    def _verdict(self, engine: E) -> ScoringVerdict:
        """On a game that has been played out, asked of protocols that judge. Raises EngineFailure."""
        raise NotImplementedError

    # -- as a player -----------------------------------------------------------------------------

    @property
    def works_here(self) -> bool:
        return False

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        for request, position in zip(requests, self._positions(requests, states), strict=True):
            self._moves[request.game_id] = request.moves
            self._answers.append(self._threads.submit(self._answer, request, position))

    def advance(self) -> list[MoveAnswer]:
        ready = [future for future in self._answers if future.done()]
        if not ready and self._answers:
            time.sleep(0.002)
        self._answers = [future for future in self._answers if future not in ready]
        return [future.result() for future in ready]

    def finish(self, game_id: str, result: str = "") -> None:
        engine, _ = self._playing.pop(game_id, (None, ()))
        moves = self._moves.pop(game_id, ())
        if engine is not None:
            if result:
                self._game_over(engine, result, moves)
            self._idle.append(engine)

    def close(self) -> None:
        """End all engines, those that are thinking too: whoever waits for one gets its failure at once."""
        with self._lock:
            self._closed = True
            for engine in self._living:
                engine.stop()
        self._threads.shutdown(cancel_futures=True)
        for engine in list(self._living):
            self._end(engine)

    # -- in the threads, one for each game -------------------------------------------------------

    def _answer(self, request: MoveRequest, position: P) -> MoveAnswer:
        """The move that is wanted, or the verdict on a finished game: an engine that fails at that has none, but has
        not lost. One that refuses a move of the others is sound, and can play other games."""
        engine, seen = self._playing.pop(request.game_id, (None, ()))
        if engine is not None and list(request.moves[: len(seen)]) != list(seen):  # moves were taken back
            self._idle.append(engine)
            engine = None
        if engine is None:
            engine, seen = self._ready_engine(request.game), ()
        try:
            self._catch_up(engine, request, len(seen))
            if request.wanted == "verdict":
                answer = MoveAnswer(request.lane, verdict=self._verdict(engine))
            else:
                answer = self._move(engine, request, position)
        except EngineFailure as failure:
            if failure.kind == "refused":
                self._playing[request.game_id] = (engine, ())
            else:
                self._end(engine)
            if request.wanted == "verdict":
                refused = failure.kind == "refused"
                return MoveAnswer(
                    request.lane, verdict=ScoringVerdict(self._bot.name, problem=str(failure), refused=refused)
                )
            return MoveAnswer(request.lane, event=failure.kind, detail=str(failure))
        own = () if request.wanted == "verdict" else (answer.action,)
        self._playing[request.game_id] = (engine, [*request.moves, *own])
        return answer

    def _limit(self, request: MoveRequest) -> float:
        """Seconds for a move; an engine that oversteps the game's clock is stopped soon after."""
        return min(self._bot.move_seconds, request.clock + 1) if request.clock else self._bot.move_seconds

    def _action(self, text: str, request: MoveRequest, said: str) -> int:
        """The move that an answer means. Raises EngineFailure if there is none in it, whatever it holds, ``said`` being
        what has been said."""
        try:
            action = self._game.parse_action(text)
        except Exception:
            raise EngineFailure("illegal", said) from None
        if not request.legal[action]:
            raise EngineFailure("illegal", f"played {brief(text).upper()}, which is illegal")
        return action

    def _ready_engine(self, game: Game | None) -> E:
        """At the beginning of a game. One that has not outlived the pause since its last game costs no game; it is
        replaced. Raises CannotGoOn."""
        while True:
            try:
                engine = self._idle.pop()
            except IndexError:  # asked for by several threads at once
                break
            try:
                self._set_up(engine, game or self._game)
            except EngineFailure:
                self._end(engine)
            else:
                return engine
        for _ in range(STARTS):
            try:
                return self._start(game)
            except EngineFailure as failure:
                reason = failure
        raise CannotGoOn(f'bot "{self._bot.name}": {reason}')

    def _start(self, game: Game | None = None) -> E:
        """A new engine at the beginning of a game. Raises EngineFailure."""
        with self._lock:
            if self._closed:
                raise EngineFailure("crash", "play has ended")
            engine = self._launch()
            self._living.add(engine)
        try:
            self._greet(engine)
            self._set_up(engine, game or self._game)
        except EngineFailure:
            self._end(engine)
            raise
        return engine

    def _end(self, engine: E) -> None:
        with self._lock:
            self._living.discard(engine)
        engine.kill()
