"""Other people's engines that say what they think of positions: started, and their protocol found out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from types import TracebackType

from jubango.bots.players.engines.analysts.analyst import (
    Analyst,
    EngineLimits,
    EngineQuestion,
    EngineResult,
    Look,
    Seen,
)
from jubango.bots.players.engines.analysts.gtp_analyst import GtpAnalyst
from jubango.bots.players.engines.analysts.json_analyst import JsonAnalyst, JsonLines
from jubango.bots.players.engines.analysts.kata_rules import has_named_rules
from jubango.bots.players.engines.engine import Engine, EngineFailure, brief
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.rules.game import Game

FIRST_WORDS = '{"id": "jubango", "action": "query_version"}'  # an error to engines of GTP
SILENCE = 300.0  # seconds without a word
MOST_NOISE = 10_000  # lines before an answer to the first words
ENDLESS_SILENCE = 86_400.0


class AnalysisEngine:
    """A running engine that says what it thinks of positions of Go, to be asked again and again; ``with`` ends it.

    It speaks KataGo's JSON analysis protocol, or the Go Text Protocol with ``kata-analyze`` or ``lz-analyze``: the
    first line that it is told is a query of its version in JSON, which an engine of GTP answers with an error.

    command: how it is started, as on a command line: ``katago analysis -model M -config C``.
    silence: after so many seconds without a word it is given up.

    Raises UserError if it cannot be started, and if it shows no thoughts.
    """

    def __init__(self, command: str, silence: float = SILENCE) -> None:
        if os.name != "posix":
            raise UserError("engine: engines need Linux or macOS")
        if not isinstance(command, str) or not command.strip():
            raise UserError("engine: should be a command, like katago analysis -model M -config C")
        if not 0 < silence <= ENDLESS_SILENCE:
            raise UserError(f"engine: silence={silence}: should be above 0 and at most {ENDLESS_SILENCE:g} seconds")
        self.command = command
        engine = None
        try:
            engine = Engine(command)
            self._analyst = _recognised(engine, silence)
        except EngineFailure as failure:
            if engine is not None:
                engine.kill()
            raise UserError(f'engine "{brief(command)}": {failure}') from None
        except BaseException:
            if engine is not None:
                engine.kill()
            raise

    @property
    def name(self) -> str:
        """Its name and version, and its network where it says so: ``KataGo 1.16.4, kata1-b10c128``."""
        name, model = self._analyst.name, self._analyst.model
        return f"{name}, {model}" if model and model not in name else name

    @property
    def digest(self) -> str:
        """SHA-256 of its command."""
        return hashlib.sha256(self.command.encode()).hexdigest()

    @property
    def notes(self) -> list[str]:
        """What people should know of its answers, its warnings among them."""
        return self._analyst.notes

    def ask(
        self, questions: Sequence[EngineQuestion], limits: EngineLimits, look: Look = lambda done: None,
        seen: Seen | None = None,
    ) -> Iterator[tuple[int, EngineResult | None]]:  # fmt: skip
        """What it says of every question, by the question's place, in any order; None if it had not begun with it when
        it was stopped.

        questions: all at once, of one game or many.
        limits: how long it looks at each.
        look: called with how many are answered; False stops it.
        seen: called, some times a second, with a question's place and what is known of it by now.

        Raises UserError where it refuses a question, and CannotGoOn where it dies or falls silent.
        """
        for question in questions:
            check_known(question.line.game)
        try:
            yield from self._analyst.answers(questions, limits, look, seen)
        except EngineFailure as failure:
            kind = UserError if failure.kind == "error" else CannotGoOn
            raise kind(f'engine "{self._analyst.name}": {failure}') from None

    def close(self) -> None:
        """End it, with all that it has started."""
        self._analyst.kill()

    def __enter__(self) -> AnalysisEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<AnalysisEngine {self.name}>"


def check_known(game: Game) -> None:
    """Raises UserError for a game that engines do not know."""
    if not has_named_rules(game):
        raise UserError(f"engines analyse Go, not {game.spec}; leave out the engine, and a bot of jubango does it")


def _recognised(engine: Engine, silence: float) -> Analyst:
    """By what it answers to the first words. Raises EngineFailure."""
    engine.post(FIRST_WORDS)
    said, lines = "", 0
    while True:
        heard = JsonLines(patient=True)
        try:
            engine.wait(heard, "its first question", silence)
        except EngineFailure as failure:
            told = f"; it said: {brief(said)}" if said and "it said" not in str(failure) else ""
            raise EngineFailure(failure.kind, f"{failure}{told}") from None
        for line in heard.lines:
            if line.startswith(("=", "?")):
                return GtpAnalyst(engine, silence)
            if line.startswith("{"):
                return _json_analyst(engine, line, silence)
            said = line  # what is for people
            lines += 1
            if lines > MOST_NOISE:
                engine.fail("error", f"speaks neither KataGo's JSON protocol nor GTP; it said: {brief(said)}")


def _json_analyst(engine: Engine, line: str, silence: float) -> JsonAnalyst:
    """Raises EngineFailure where the line is no answer to the first words."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = {}
    if "version" not in reply and "error" not in reply:
        engine.fail("error", f"speaks neither KataGo's JSON protocol nor GTP: it answered with {brief(line)}")
    return JsonAnalyst(engine, str(reply.get("version", "")), silence)
