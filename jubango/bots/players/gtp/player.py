"""An external GTP program as a bot: a process per game under way, each with a named way to fail (docs/engines.md)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from jubango.bots.config import GtpConfig
from jubango.bots.players.gtp.protocol import Engine, EngineFailure, ErrorAnswer, brief
from jubango.bots.players.gtp.verdict import verdict_of
from jubango.bots.players.player import MoveAnswer, MoveRequest, Player, Verdict
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.rules.go.go import Go

COLOURS = ("b", "w")
STARTS = 3  # that have to fail one after another before an engine is given up
COMMANDS = {"move": "genmove", "cleanup": "kgs-genmove_cleanup"}


class GtpPlayer(Player):
    """Runs up to ``bot.processes`` engines; the arena keeps no more games of this bot under way."""

    def __init__(self, game: Game, bot: GtpConfig) -> None:
        if os.name != "posix":
            raise UserError(f'bot "{bot.name}": GTP engines need Linux or macOS')
        if not isinstance(game, Go):
            raise UserError(f'bot "{bot.name}": GTP engines play Go, not {game.spec}')
        if game.width != game.height:
            raise UserError(f'bot "{bot.name}": GTP engines play on square boards, not {game.spec}')
        self._game, self._bot = game, bot
        self._lock = threading.Lock()  # for the next two
        self._living: set[Engine] = set()
        self._closed = False
        self._idle: list[Engine] = []
        self._playing: dict[str, tuple[Engine, int]] = {}  # game -> (engine, moves it has seen)
        self._threads = ThreadPoolExecutor(max_workers=bot.processes)
        self._answers: list[Future[MoveAnswer]] = []
        try:
            self._idle.append(self._start())  # before any game does
        except EngineFailure as failure:
            raise UserError(f'bot "{bot.name}": {failure}; check its command') from None
        except BaseException:
            self.close()
            raise

    @property
    def works_here(self) -> bool:
        return False

    @property
    def judges(self) -> bool:
        return True

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        self._answers += [self._threads.submit(self._answer, request) for request in requests]

    def advance(self) -> list[MoveAnswer]:
        ready = [future for future in self._answers if future.done()]
        if not ready and self._answers:
            time.sleep(0.002)
        self._answers = [future for future in self._answers if future not in ready]
        return [future.result() for future in ready]

    def finish(self, game_id: str) -> None:
        engine, _ = self._playing.pop(game_id, (None, 0))
        if engine is not None:
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

    def _answer(self, request: MoveRequest) -> MoveAnswer:
        """The move that is wanted, or the verdict on a finished game: an engine that fails at that has none, but has
        not lost. One that refuses a move of the others is sound, and can play other games."""
        engine, seen = self._playing.pop(request.game_id, (None, 0))
        if engine is None:
            engine = self._ready_engine(request.game)
        try:
            self._catch_up(engine, request, seen)
            if request.wanted == "verdict":
                verdict = verdict_of(engine, self._bot.name, self._game.width, self._bot.move_seconds)
                answer = MoveAnswer(request.lane, verdict=verdict)
            else:
                answer = self._move(engine, request)
        except EngineFailure as failure:
            if failure.kind == "refused":
                self._playing[request.game_id] = (engine, 0)
            else:
                self._end(engine)
            if request.wanted == "verdict":
                refused = failure.kind == "refused"
                return MoveAnswer(request.lane, verdict=Verdict(self._bot.name, problem=str(failure), refused=refused))
            return MoveAnswer(request.lane, failure=failure.kind, detail=str(failure))
        self._playing[request.game_id] = (engine, len(request.moves) + (request.wanted != "verdict"))
        return answer

    def _catch_up(self, engine: Engine, request: MoveRequest, seen: int) -> None:
        """Tell the engine the moves that it has not seen. Raises EngineFailure, of kind "refused" if it takes one for
        illegal."""
        first = (request.colour + len(request.moves)) % 2
        for i, action in enumerate(request.moves[seen:], seen):
            try:
                engine.ask(f"play {COLOURS[(first + i) % 2]} {self._game.action_text(action)}", self._bot.move_seconds)
            except ErrorAnswer as failure:
                raise EngineFailure("refused", str(failure)) from None

    def _move(self, engine: Engine, request: MoveRequest) -> MoveAnswer:
        """Raises EngineFailure."""
        limit, before = self._bot.move_seconds, engine.seconds
        if request.clock:
            limit = min(limit, request.clock + 1)  # an engine that oversteps is stopped soon after
            self._tell_time(engine, request, limit)
        text = engine.ask(f"{COMMANDS[request.wanted]} {COLOURS[request.colour]}", limit).lower()
        if text == "resign":
            return MoveAnswer(request.lane, failure="resign")
        return MoveAnswer(request.lane, self._action(text, request), seconds=engine.seconds - before)

    def _tell_time(self, engine: Engine, request: MoveRequest, limit: float) -> None:
        """GTP 2, section 4.2; an engine need not know the commands."""
        left = max(1, int(request.clock))
        for command in (f"time_settings {left} 0 0", f"time_left {COLOURS[request.colour]} {left} 0"):
            with contextlib.suppress(ErrorAnswer):
                engine.ask(command, limit)

    def _action(self, text: str, request: MoveRequest) -> int:
        """The move that an answer means. Raises EngineFailure if there is none in it, whatever it holds."""
        try:
            action = self._game.parse_action(text)
        except Exception:
            raise EngineFailure("illegal", f"genmove answered {brief(text)!r}") from None
        if not request.legal[action]:
            raise EngineFailure("illegal", f"played {brief(text).upper()}, which is illegal")
        return action

    def _ready_engine(self, game: Game | None) -> Engine:
        """At the beginning of a game. One that has not outlived the pause since its last game costs no game; it is
        replaced. Raises CannotGoOn."""
        while True:
            try:
                engine = self._idle.pop()
            except IndexError:  # asked for by several threads at once
                break
            try:
                self._set_up(engine, game)
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

    def _start(self, game: Game | None = None) -> Engine:
        """A new engine at the beginning of a game. Raises EngineFailure."""
        with self._lock:
            if self._closed:
                raise EngineFailure("crash", "play has ended")
            engine = Engine(self._bot.command)
            self._living.add(engine)
        try:
            engine.ask("protocol_version", self._bot.start_seconds)
            self._set_up(engine, game)
        except EngineFailure:
            self._end(engine)
            raise
        return engine

    def _set_up(self, engine: Engine, game: Game | None) -> None:
        """For a game with a komi of its own, if one is given."""
        komi = game.komi if isinstance(game, Go) else self._game.komi
        for command in (f"boardsize {self._game.width}", "clear_board", f"komi {komi:g}"):
            engine.ask(command, self._bot.start_seconds)

    def _end(self, engine: Engine) -> None:
        with self._lock:
            self._living.discard(engine)
        engine.kill()
