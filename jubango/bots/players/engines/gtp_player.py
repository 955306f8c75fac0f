"""An external GTP program as a bot."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from jubango.bots.config import GtpConfig
from jubango.bots.players.batch_player import MoveAnswer, MoveRequest, ScoringVerdict
from jubango.bots.players.engines.engine import EngineFailure, ErrorAnswer, brief
from jubango.bots.players.engines.engine_player import EnginePlayer
from jubango.bots.players.engines.gtp import GtpEngine
from jubango.bots.players.engines.verdict import verdict_of
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game, State

GTP_COLOURS = ("b", "w")
MOVE_COMMANDS = {"move": "genmove", "cleanup": "kgs-genmove_cleanup"}


class GtpPlayer(EnginePlayer[GtpEngine, None]):
    """Plays Go, and judges what is dead."""

    def __init__(self, game: Game, bot: GtpConfig) -> None:
        if game.dialect != "go":
            raise UserError(f'bot "{bot.name}": GTP engines play Go, not {game.spec}; use = "process" plays any game')
        if game.width != game.height:
            raise UserError(f'bot "{bot.name}": GTP engines play on square boards, not {game.spec}')
        super().__init__(game, bot)

    @property
    def judges(self) -> bool:
        return True

    def _positions(self, requests: Sequence[MoveRequest], states: State) -> list[None]:
        return [None] * len(requests)

    def _launch(self) -> GtpEngine:
        return GtpEngine(self._bot.command)

    def _greet(self, engine: GtpEngine) -> None:
        engine.ask("protocol_version", self._bot.start_seconds)

    def _set_up(self, engine: GtpEngine, game: Game) -> None:
        komi = game.komi_of()
        for command in (f"boardsize {self._game.width}", "clear_board", f"komi {komi:g}"):
            engine.ask(command, self._bot.start_seconds)

    def _catch_up(self, engine: GtpEngine, request: MoveRequest, seen: int) -> None:
        first = (request.colour + len(request.moves)) % 2
        for i, action in enumerate(request.moves[seen:], seen):
            try:
                engine.ask(
                    f"play {GTP_COLOURS[(first + i) % 2]} {self._game.action_text(action)}", self._bot.move_seconds
                )
            except ErrorAnswer as failure:
                raise EngineFailure("refused", str(failure)) from None

    def _move(self, engine: GtpEngine, request: MoveRequest, position: None) -> MoveAnswer:
        limit, before = self._limit(request), engine.seconds
        if request.clock:
            self._tell_time(engine, request, limit)
        text = engine.ask(f"{MOVE_COMMANDS[request.wanted]} {GTP_COLOURS[request.colour]}", limit).lower()
        if text == "resign":
            return MoveAnswer(request.lane, event="resign")
        action = self._action(text, request, f"genmove answered {brief(text)!r}")
        return MoveAnswer(request.lane, action, seconds=engine.seconds - before)

    def _tell_time(self, engine: GtpEngine, request: MoveRequest, limit: float) -> None:
        """GTP 2, section 4.2; an engine need not know the commands."""
        left = max(1, int(request.clock))
        for command in (f"time_settings {left} 0 0", f"time_left {GTP_COLOURS[request.colour]} {left} 0"):
            with contextlib.suppress(ErrorAnswer):
                engine.ask(command, limit)

    def _verdict(self, engine: GtpEngine) -> ScoringVerdict:
        return verdict_of(engine, self._bot.name, self._game.width, self._bot.move_seconds)
