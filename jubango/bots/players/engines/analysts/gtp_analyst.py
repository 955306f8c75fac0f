"""An engine that speaks the Go Text Protocol, with ``kata-analyze`` or ``lz-analyze``: one position after another."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from jubango.bots.players.engines.analysts.analyst import (
    Analyst,
    EngineLimits,
    EngineLine,
    EngineQuestion,
    EngineResult,
    Look,
    Seen,
    Stone,
    ToldMove,
    action_of,
    lead_told,
    number_told,
    ownership_told,
    result_told,
    variation_of,
    visits_told,
    win_rate_told,
)
from jubango.bots.players.engines.analysts.kata_rules import rules_json
from jubango.bots.players.engines.engine import Answer, Engine, ErrorAnswer, brief, plain
from jubango.bots.players.engines.gtp import GtpAnswer
from jubango.bots.players.engines.gtp_player import GTP_COLOURS
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.game import Game

ANALYZE_COMMANDS = ("kata-analyze", "lz-analyze")  # the better one first
INTERVAL = 10  # hundredths of a second between two lines of a search
DEFAULT_SECONDS = 2.0  # a position, where nothing is said
STUCK = 15.0  # seconds without one more visit after which a search has found what it can
PROBE_KOMI = 150.0  # points, with which White has won; as many as the board has, if these are fewer
PROBE_VISITS, PROBE_SECONDS = 2, 30.0
FIELDS = {"rootInfo true": "rootInfo", "ownership true": "ownership"}  # what kata-analyze is asked for beside the moves
Heard = Callable[[str, float], bool | None]  # a line of a search and how much of it is done; False: no more
WORDS = re.compile(r"\b(?=(?:info|rootInfo|ownership)\b)")


class GtpAnalyst(Analyst):
    """engine: it has answered with a GTP error to what is no GTP. silence: seconds without a word after which it is
    given up. Raises EngineFailure for one that shows no thoughts."""

    def __init__(self, engine: Engine, silence: float) -> None:
        super().__init__()
        self._engine, self._silence = engine, silence
        self._commands = set(self._ask("list_commands").split())
        name = self._ask("name") if self._knows("name") else ""
        version = self._ask("version") if self._knows("version") else ""
        self.name = printable(brief(name if version in name else f"{name} {version}".strip()) or brief(engine.command))
        self._analyze = next((own for own in ANALYZE_COMMANDS if own in self._commands), "")
        if not self._analyze:
            engine.fail(
                "error", f"{self.name} knows neither {' nor '.join(ANALYZE_COMMANDS)}: it plays, but shows no thoughts"
            )
        self.model = self._model()
        if self.model:
            self.name = self.name.partition("+")[0]  # KataGo's version ends in a short form of it
        self._fields = list(FIELDS) if self._analyze == ANALYZE_COMMANDS[0] else []
        self._line: EngineLine | None = None  # on its board
        self._played: list[Stone] = []
        self._view: int | None = None  # whose win rates it tells: -1 of the player to move, else 0 or 1

    def kill(self) -> None:
        self._engine.kill()

    def _knows(self, command: str) -> bool:
        return command in self._commands

    def _ask(self, command: str) -> str:
        answer = GtpAnswer()
        answer.longest = 1 << 20
        answer.patient = True
        self._engine.exchange(command, answer, brief(command), self._silence)
        if answer.is_error:
            raise ErrorAnswer("error", f"answered {brief(command)!r} with: {brief(answer.text) or 'an error'}")
        return answer.text

    def _must(self, command: str) -> None:
        """Raises EngineFailure, after which the engine is dead, for an error too."""
        try:
            self._ask(command)
        except ErrorAnswer as error:
            self._engine.fail("error", str(error))

    def _model(self) -> str:
        if not self._knows("kata-get-models"):
            return ""
        try:
            said = json.loads(self._ask("kata-get-models"))
            return printable(brief(", ".join(str(one.get("internalName") or one.get("name")) for one in said)))
        except (ErrorAnswer, ValueError, AttributeError, TypeError):
            return ""

    # -- positions ---------------------------------------------------------------------------------

    def answers(
        self, questions: Sequence[EngineQuestion], limits: EngineLimits, look: Look, seen: Seen | None = None
    ) -> Iterator[tuple[int, EngineResult | None]]:
        if limits == EngineLimits():
            limits = EngineLimits(seconds=DEFAULT_SECONDS)
        stopped = False
        for place, question in enumerate(questions):
            if stopped:
                yield place, None
                continue
            view = self._perspective(question)
            self._show(question.line, question.number)

            def heard(line: str, done: float, place: int = place, question: EngineQuestion = question) -> bool | None:
                if seen is not None:
                    seen(place, self._result(question, line, view))  # noqa: B023 -- before the next one
                return look(place + done)

            told = self._search(question, limits, heard)
            yield place, self._result(question, told, view)
            stopped = look(place + 1) is False

    def _show(self, line: EngineLine, number: int) -> None:
        """Have a position on its board. Raises EngineFailure."""
        moves = list(line.moves[:number])
        same = next(
            (i for i, (a, b) in enumerate(zip(self._played, moves, strict=False)) if a != b),
            min(len(self._played), len(moves)),
        )
        back = len(self._played) - same
        if self._line is None or not _alike(self._line, line) or (back and (not self._knows("undo") or back > same)):
            self._begin(line, line.game.komi_of())
            same = back = 0
        for _ in range(back):
            self._must("undo")
        for player, point in moves[same:]:
            self._must(f"play {GTP_COLOURS[player]} {point}")
        self._line, self._played = line, moves

    def _begin(self, line: EngineLine, komi: float) -> None:
        game = line.game
        if game.width == game.height:
            self._must(f"boardsize {game.width}")
        elif self._knows("rectangular_boardsize"):
            self._must(f"rectangular_boardsize {game.width} {game.height}")
        else:
            self._engine.fail("error", f"{self.name} knows square boards alone, not {game.spec}")
        self._must("clear_board")
        self._must(f"komi {komi:g}")
        rules = rules_json(game)
        if not self._knows("kata-set-rules"):
            self.note(f"{self.name} is told no rules (it does not know kata-set-rules); those of the game are {rules}")
        else:
            self._must(f"kata-set-rules {rules}")
        if line.stones and self._knows("set_position"):
            self._must("set_position " + " ".join(f"{GTP_COLOURS[colour]} {point}" for colour, point in line.stones))
        else:
            for colour, point in line.stones:
                self._must(f"play {GTP_COLOURS[colour]} {point}")
        self._line, self._played = None, []

    # -- searches ----------------------------------------------------------------------------------

    def _search(self, question: EngineQuestion, limits: EngineLimits, heard: Heard) -> str:
        """The last line of a search. Raises EngineFailure."""
        while True:
            fields = " ".join(self._fields)
            command = f"{self._analyze} {GTP_COLOURS[question.player]} {INTERVAL} {fields}".rstrip()
            search = _Search(limits)
            called = f"{command!r} {question.where}"
            self._engine.exchange(command, search, called, self._silence)
            if not search.refused:
                break
            if not self._fields:
                self._engine.fail("error", f"answered {called} with: {brief(search.said) or 'an error'}")
            self._fields.pop()  # an older engine
        while not search.enough:
            if search.news and heard(search.last, min(1.0, search.share)) is False:
                break
            search.more()
            self._engine.wait(search, called, self._silence)
        if not search.ended:
            search.stop()
            self._engine.post("protocol_version")  # any line ends the search; this one has an answer
            self._engine.wait(search, called, self._silence)
        if not search.last:
            self._engine.fail("error", f"said nothing of a move to {called}")
        return search.last

    def _perspective(self, question: EngineQuestion) -> int:
        """Whose win rates it tells, which its settings decide: found out with a komi with which White has won, by
        either player to move. Engines that do not mind the komi tell those of the player to move."""
        game = question.line.game
        if self._view is None:
            komi = min(PROBE_KOMI, game.width * game.height)
            limits, rates = EngineLimits(PROBE_VISITS, PROBE_SECONDS), []
            for player in (0, 1):
                self._begin(EngineLine(game, (), player, ()), komi)
                probe = EngineQuestion(EngineLine(game, (), player, ()), 0, player, question.legal, "on an empty board")
                line = self._search(probe, limits, lambda line, done: None)
                try:
                    told = parsed(line)[0]
                    rates.append(_win_rate(told[0], self._analyze) if told else 0.5)
                except (LookupError, ValueError, OverflowError) as error:
                    self._misunderstood(probe, line, error)
            self._view = 0 if max(rates) < 0.3 else 1 if min(rates) > 0.7 else -1
        return self._view

    def _result(self, question: EngineQuestion, line: str, view: int) -> EngineResult:
        game = question.line.game
        turned = view not in (-1, question.player)  # it tells the other player's
        try:
            moves, root, owners = parsed(line)
            told = [one for words in moves if (one := self._told(game, words, turned)) is not None]
            rate, lead = root.get("winrate"), root.get("scoreLead")
            if lead is None and moves:
                lead = moves[0].get("scoreLead")
            points, owners = lead_told(lead), ownership_told(owners, game.height * game.width)
            black = question.player == 0 if view == -1 else view == 0
            found = result_told(
                question, told, None if rate is None else _seen(win_rate_told(rate), turned),
                visits_told(root["visits"]) if "visits" in root else None,
                None if points is None else (-1 if turned else 1) * points, None,
                owners if owners is None or black else -owners,
            )  # fmt: skip
        except (LookupError, ValueError, OverflowError) as error:
            self._misunderstood(question, line, error)
        if found is None:
            self._engine.fail("error", f"named no legal move {question.where}: {brief(line)}")
        return found

    def _misunderstood(self, question: EngineQuestion, line: str, error: Exception) -> NoReturn:
        """Raises EngineFailure."""
        self._engine.fail(
            "error", f"said what cannot be understood {question.where} ({type(error).__name__}: "
            f"{brief(str(error))}): {brief(line)}"
        )  # fmt: skip

    def _told(self, game: Game, words: dict[str, str], turned: bool) -> ToldMove | None:
        action = action_of(game, words["move"])
        if action is None:
            return None
        prior, lead = words.get("prior"), lead_told(words.get("scoreLead"))
        whole = 10_000.0 if self._analyze == "lz-analyze" else 1.0
        return ToldMove(
            action, visits_told(words["visits"]), _seen(_win_rate(words, self._analyze), turned),
            None if prior is None else number_told(prior, -whole, 1.01 * whole, "a prior") / whole,
            None if lead is None else (-1 if turned else 1) * lead,
            variation_of(game, words.get("pv", "").split()),
        )  # fmt: skip


class _Search(Answer):
    """A search as it is told line by line, until it has had enough and the engine has stopped."""

    def __init__(self, limits: EngineLimits) -> None:
        self._limits, self._began, self._grew = limits, time.monotonic(), time.monotonic()
        self._rest = b""
        self._begun = self._stopping = self._next = False
        self.last = self.said = ""  # the last line about moves; and the answer of an engine that refuses
        self.refused = self.ended = self.news = False
        self.visits = 0
        self.longest = 1 << 22

    def add(self, heard: bytes) -> None:
        *lines, self._rest = (self._rest + heard).split(b"\n")
        self.size = len(self._rest)
        for line in lines:
            self._take(plain(line).strip())
        if lines and self._begun and not self._stopping:
            self.whole = True  # whoever waits has a look

    def _take(self, text: str) -> None:
        if not self._begun:
            self._begun, self.refused = text.startswith(("=", "?")), text.startswith("?")
            self.said = text[1:].strip()
        elif self.refused or not (text or self.ended):  # an empty line ends its answer
            self.ended = self.ended or not text
        elif self.ended:  # what is answered to the line that ended it
            self._next = self._next or text.startswith(("=", "?"))
            self.whole = self.whole or (self._next and not text)
        elif text.startswith("info"):
            visits = self.visits
            with contextlib.suppress(ValueError, OverflowError):  # whoever reads the last line says what is wrong
                moves, root, _ = parsed(text)
                visits = visits_told(root.get("visits", 0)) or sum(visits_told(one.get("visits", 0)) for one in moves)
            if visits > self.visits or not self.last:
                self._grew = time.monotonic()
            self.last, self.visits, self.news = text, visits, True

    @property
    def share(self) -> float:
        """How much of what is wanted is done."""
        limits, spent = self._limits, time.monotonic() - self._began
        done = self.visits / limits.visits if limits.visits else 0.0
        return max(done, spent / limits.seconds if limits.seconds else 0.0)

    @property
    def enough(self) -> bool:
        stuck = bool(self.last) and time.monotonic() - self._grew > STUCK
        return self.ended or (bool(self.last) and self.share >= 1) or stuck

    def more(self) -> None:
        """It is whole when there is more."""
        self.whole = self.news = False

    def stop(self) -> None:
        """It is whole when the engine has stopped, and has answered to what stopped it."""
        self.whole, self._stopping = False, True


def parsed(line: str) -> tuple[list[dict[str, str]], dict[str, str], np.ndarray | None]:
    """The moves of a line, the best first, what it says of the position, and the numbers of ownership. Raises
    ValueError for numbers that are none."""
    moves: list[dict[str, str]] = []
    root: dict[str, str] = {}
    owners = None
    for part in filter(None, map(str.strip, WORDS.split(line))):
        kind, *words = part.split()
        if kind == "ownership":
            owners = np.array([float(word) for word in words])
            continue
        end = words.index("pv") if "pv" in words else len(words)
        found = dict(zip(words[0:end:2], words[1:end:2], strict=False))
        if end < len(words):
            line_after = words[end + 1 :]
            stop = next((i for i, word in enumerate(line_after) if word in ("pvVisits", "pvEdgeVisits")), None)
            found["pv"] = " ".join(line_after[:stop])
        if kind == "rootInfo":
            root = found
        elif "move" in found:
            moves.append(found)
    with contextlib.suppress(ValueError):
        moves.sort(key=lambda move: int(move.get("order", 0)))
    return moves, root, owners


def _alike(one: EngineLine, other: EngineLine) -> bool:
    """Do both begin the same?"""
    return one is other or (one.game, one.stones) == (other.game, other.stones)


def _win_rate(words: dict[str, str], command: str) -> float:
    """0 to 1. Raises LookupError, ValueError."""
    if command == "lz-analyze":
        return number_told(words["winrate"], 0, 10_000, "a win rate") / 10_000
    return win_rate_told(words["winrate"])


def _seen(rate: float, turned: bool) -> float:
    return 1 - rate if turned else rate
