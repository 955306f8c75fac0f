"""Any program at any game, by JSON: a line in, a line out (docs/engines.md)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jubango.bots.players.batch_player import MoveAnswer, MoveRequest
from jubango.bots.players.engines.engine import Answer, Engine, EngineFailure, ErrorAnswer, brief, plain
from jubango.bots.players.engines.engine_player import EnginePlayer
from jubango.bots.players.position import STONE_MARKS, PositionToPlay, positions_of
from jubango.sgf_games.rules.game import Game, State

PROTOCOL_VERSION = 1
GAME_OVER_SECONDS = 0.5  # seconds to hear of the last game's end


class ProcessPlayer(EnginePlayer["JsonEngine", PositionToPlay]):
    """Every question holds all that there is to know, so that a program need remember nothing."""

    def _positions(self, requests: Sequence[MoveRequest], states: State) -> list[PositionToPlay]:
        return positions_of(self._game, requests, states)

    def _launch(self) -> JsonEngine:
        return JsonEngine(self._bot.command)

    def _greet(self, engine: JsonEngine) -> None:
        hello = {"type": "hello", "protocol": "jubango", "version": PROTOCOL_VERSION, "bot": self._bot.name}
        version = engine.ask(hello, self._bot.start_seconds).get("version")
        if version != PROTOCOL_VERSION:
            engine.fail(
                "error", f"answered 'hello' without \"version\": {PROTOCOL_VERSION}, which is what jubango speaks"
            )

    def _set_up(self, engine: JsonEngine, game: Game) -> None:
        engine.ask({"type": "new_game", **_described(game)}, self._bot.start_seconds)

    def _move(self, engine: JsonEngine, request: MoveRequest, position: PositionToPlay) -> MoveAnswer:
        before = engine.seconds
        said = engine.ask(_question(position), self._limit(request))
        move = said.get("move")
        if not isinstance(move, str):
            raise EngineFailure("illegal", f"'move' was answered without a \"move\" that is text: {_brief(said)}")
        if move.strip().lower() == "resign":
            return MoveAnswer(request.lane, event="resign")
        action = self._action(move, request, f"'move' was answered with {brief(move)!r}, which is no move")
        return MoveAnswer(request.lane, action, seconds=engine.seconds - before)

    def _game_over(self, engine: JsonEngine, result: str, moves: Sequence[int]) -> None:
        engine.tell({"type": "game_over", "result": result, "moves": [*map(self._game.action_text, moves)]})

    def close(self) -> None:
        if not self._answers:  # nobody thinks: the last games have ended as they should
            for engine in self._idle:
                with contextlib.suppress(EngineFailure):
                    engine.settle(GAME_OVER_SECONDS)
        super().close()


class JsonEngine(Engine):
    """A running program that answers every line, which is a JSON object, with one."""

    _told = ""  # the type of what has been said without waiting for the answer

    def ask(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer. Raises ErrorAnswer for one with an "error", and EngineFailure, after which the engine is dead."""
        self.settle(seconds)
        answer, called = JsonAnswer(), message["type"]
        self.exchange(json.dumps(message), answer, called, seconds)
        return self._read(answer, called)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Say something without waiting for the answer."""
        self.post(json.dumps(message))
        self._told = message["type"]

    def settle(self, seconds: float) -> None:
        """Wait for the answer to what has been told. Raises EngineFailure."""
        if self._told:
            answer, called, self._told = JsonAnswer(), self._told, ""
            self.wait(answer, called, seconds)
            with contextlib.suppress(ErrorAnswer):
                self._read(answer, called)

    def _read(self, answer: JsonAnswer, called: str) -> dict[str, Any]:
        try:
            said = json.loads(answer.line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            what = "what is for people goes to standard error"
            self.fail("error", f"answered {called!r} with no JSON object but: {brief(answer.line)}; {what}")
        if "error" in said:
            raise ErrorAnswer("error", f"answered {called!r} with the error: {brief(str(said['error']))}")
        return said


class JsonAnswer(Answer):
    """A line; empty ones do not count."""

    def __init__(self) -> None:
        self._heard = b""
        self.line = ""

    def add(self, heard: bytes) -> None:
        self._heard += heard
        self.size = len(self._heard)
        *lines, _ = self._heard.split(b"\n")
        self.line = next((text for text in (plain(line).strip() for line in lines) if text), "")
        self.whole = bool(self.line)


def _described(game: Game) -> dict[str, Any]:
    """What a program has to know of the rules."""
    return {"game": game.spec, "width": game.width, "height": game.height, "players": STONE_MARKS}


def _question(position: PositionToPlay) -> dict[str, Any]:
    return {
        "type": "move",
        "game": position.game.spec,
        "board": position.board,
        "to_move": position.mark,
        "legal_moves": position.legal_moves,
        "moves": position.moves,
        "seconds": position.seconds,
        "clock": position.clock,
        "seed": position.seed,
    }


def _brief(said: Mapping[str, Any]) -> str:
    return brief(json.dumps(said))
