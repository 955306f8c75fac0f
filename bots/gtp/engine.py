"""An external GTP program as a bot: a process per game under way, each with a named way to fail."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from jubango.bots.config import GtpConfig
from jubango.bots.gtp.protocol import Engine, EngineFailure
from jubango.bots.gtp.verdict import verdict_of
from jubango.bots.player import MoveAnswer, MoveRequest, Player, Verdict
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go

COLOURS = ("b", "w")
COMMANDS = {"move": "genmove", "cleanup": "kgs-genmove_cleanup"}


class GtpPlayer(Player):
    """Runs up to ``bot.processes`` engines; the arena keeps no more games of this bot under way."""

    def __init__(self, game: Game, bot: GtpConfig) -> None:
        if not isinstance(game, Go):
            raise UserError(f'bot "{bot.name}": GTP engines play Go, not {game.spec}')
        if game.width != game.height:
            raise UserError(f'bot "{bot.name}": GTP engines play on square boards, not {game.spec}')
        self._game, self._bot = game, bot
        self._started: list[Engine] = []  # all of them, to be ended with the player
        self._idle: list[Engine] = []
        self._playing: dict[str, tuple[Engine, int]] = {}  # game -> (engine, moves it has seen)
        self._threads = ThreadPoolExecutor(max_workers=bot.processes)
        self._answers: list[Future[MoveAnswer]] = []
        self._check()

    def _check(self) -> None:
        """Start one engine before any game does. Raises UserError."""
        try:
            engine = self._start()
            self._set_up(engine)
        except EngineFailure as failure:
            raise UserError(f'bot "{self._bot.name}": {failure}; check its command') from None
        self._idle.append(engine)

    def _start(self) -> Engine:
        engine = Engine(self._bot.command)
        self._started.append(engine)
        engine.ask("protocol_version", self._bot.start_seconds)
        return engine

    def _set_up(self, engine: Engine) -> None:
        engine.ask(f"boardsize {self._game.width}", self._bot.start_seconds)
        engine.ask("clear_board", self._bot.start_seconds)
        engine.ask(f"komi {self._game.komi:g}", self._bot.start_seconds)

    @property
    def works_here(self) -> bool:
        return False

    @property
    def judges(self) -> bool:
        return True

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        self._answers += [
            self._threads.submit(self._judge if request.wanted == "verdict" else self._answer, request)
            for request in requests
        ]

    def _judge(self, request: MoveRequest) -> MoveAnswer:
        """The verdict on a finished game; an engine that fails now has none, but it has not lost."""
        try:
            engine = self._caught_up(request)
            verdict = verdict_of(engine, self._bot.name, self._game.width, self._bot.move_seconds)
            self._playing[request.game_id] = (engine, len(request.moves))
        except EngineFailure as failure:
            verdict = Verdict(self._bot.name, problem=str(failure), refused=failure.kind == "refused")
        return MoveAnswer(request.lane, verdict=verdict)

    def _caught_up(self, request: MoveRequest) -> Engine:
        """The engine that plays this game, at its last position. Raises EngineFailure, of kind
        "refused" if it takes a move of the game for illegal."""
        engine, seen = self._playing.pop(request.game_id, (None, 0))
        if engine is None:
            engine = self._free_engine()
            self._set_up(engine)
        first = (request.colour + len(request.moves)) % 2
        for i, action in enumerate(request.moves[seen:], seen):
            try:
                engine.ask(f"play {COLOURS[(first + i) % 2]} {self._game.action_text(action)}", self._bot.move_seconds)
            except EngineFailure as failure:
                if failure.kind != "error":
                    raise
                self._playing[request.game_id] = (engine, i)  # it is sound, and can play other games
                raise EngineFailure("refused", str(failure)) from None
        return engine

    def _answer(self, request: MoveRequest) -> MoveAnswer:
        game, limit = self._game, self._bot.move_seconds
        try:
            engine = self._caught_up(request)
            if request.clock:
                limit = min(limit, request.clock + 1)  # an engine that oversteps is stopped soon after
                self._tell_time(engine, request, limit)
            text = engine.ask(f"{COMMANDS[request.wanted]} {COLOURS[request.colour]}", limit).lower()
        except EngineFailure as failure:
            return MoveAnswer(request.lane, failure=failure.kind, detail=str(failure))
        if text == "resign":
            self._playing[request.game_id] = (engine, len(request.moves))
            return MoveAnswer(request.lane, failure="resign")
        try:
            action = game.parse_action(text)
        except UserError:
            engine.kill()
            return MoveAnswer(request.lane, failure="illegal", detail=f"genmove answered {text!r}")
        if not request.legal[action]:
            engine.kill()
            return MoveAnswer(request.lane, failure="illegal", detail=f"played {text.upper()}, which is illegal")
        self._playing[request.game_id] = (engine, len(request.moves) + 1)
        return MoveAnswer(request.lane, action)

    def _tell_time(self, engine: Engine, request: MoveRequest, limit: float) -> None:
        """GTP 2, section 4.2; an engine need not know the commands."""
        left = max(1, int(request.clock))
        for command in (f"time_settings {left} 0 0", f"time_left {COLOURS[request.colour]} {left} 0"):
            try:
                engine.ask(command, limit)
            except EngineFailure as failure:
                if failure.kind != "error":
                    raise

    def _free_engine(self) -> Engine:
        try:
            return self._idle.pop()
        except IndexError:  # asked for by several threads at once
            return self._start()

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
        self._threads.shutdown(wait=False, cancel_futures=True)
        for engine in self._started:
            engine.kill()
