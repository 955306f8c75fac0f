"""An engine that speaks KataGo's JSON analysis protocol: queries as fast as it reads them, answers in any order."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jubango.bots.players.engines.analysts.analyst import (
    MOST_LINE,
    Analyst,
    EngineLimits,
    EngineQuestion,
    EngineResult,
    Look,
    Seen,
    ToldMove,
    action_of,
    lead_told,
    number_told,
    ownership_told,
    policy_told,
    result_told,
    variation_of,
    visits_told,
    win_rate_told,
)
from jubango.bots.players.engines.analysts.kata_rules import rules_table
from jubango.bots.players.engines.engine import Answer, Engine, brief, plain
from jubango.sgf_games.base.printable import printable

LONGEST_REPLY = 1 << 24  # bytes of a line
MOST_ASKED = 512  # positions that an engine is asked about at a time
UNLIMITED = 1_000_000_000  # visits, where the time alone is said
SOON, LATER = 0.5, 5.0  # seconds between words on a search under way, of few positions and of many
SEEN_EVERY = 0.1  # where they are looked at
FEW = 4


class JsonLines(Answer):
    """The lines that have come, at least one."""

    longest = LONGEST_REPLY
    early = True

    def __init__(self, patient: bool = False) -> None:
        self.patient = patient
        self.lines: list[str] = []
        self.rest = b""  # the beginning of a line

    def add(self, heard: bytes) -> None:
        *lines, self.rest = (self.rest + heard).split(b"\n") if heard else (self.rest,)
        self.lines += [text for text in (plain(line).strip() for line in lines) if text]
        self.size = len(self.rest)
        self.whole = bool(self.lines)


@dataclass
class _Asked:
    """A query under way: the questions' places by their turns, and how far each is."""

    places: dict[int, int]
    visits: dict[int, int] = field(default_factory=dict)


class JsonAnalyst(Analyst):
    """engine: it has been asked for its version, and has answered with ``version``. silence: seconds without a word
    after which it is given up."""

    def __init__(self, engine: Engine, version: str, silence: float) -> None:
        super().__init__()
        self._engine, self._silence = engine, silence
        self._rest = b""
        self._noise = ""  # what it said last that is no JSON
        self._numbers = itertools.count()
        version = printable(brief(version))
        self.name = version if version[:1].isalpha() else f"KataGo {version}".strip()
        self.model = self._model()

    def kill(self) -> None:
        self._engine.kill()

    def _model(self) -> str:
        """The network that it says it has; older engines do not know the question."""
        own = self._say({"action": "query_models"})
        while True:
            for reply in self._replies("query_models"):
                if reply.get("id") != own and "error" not in reply:
                    continue
                models = reply.get("models")
                named = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
                texts = [str(one.get("internalName") or one.get("name") or "") for one in named]
                return printable(brief(", ".join(filter(None, texts))))

    def _say(self, message: Mapping[str, Any]) -> str:
        own = f"jubango-{next(self._numbers)}"
        self._engine.post(json.dumps({"id": own, **message}))
        return own

    def _replies(self, called: str) -> list[dict[str, Any]]:
        """Those that have come, at least a line. Raises EngineFailure for half a reply."""
        answer = JsonLines()
        answer.rest, self._rest = self._rest, b""
        self._engine.wait(answer, called, self._silence)
        self._rest = answer.rest
        replies = []
        for line in answer.lines:
            if not line.startswith("{"):
                self._noise = line  # what is for people may stand there
                continue
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                self._engine.fail("error", f"answered {called!r} with half a reply: {brief(line)}")
            replies.append(said)
        return replies

    # -- positions ---------------------------------------------------------------------------------

    def answers(
        self, questions: Sequence[EngineQuestion], limits: EngineLimits, look: Look, seen: Seen | None = None
    ) -> Iterator[tuple[int, EngineResult | None]]:
        waiting = deque(_queries(questions))
        every = SEEN_EVERY if seen else SOON if len(questions) <= FEW else LATER
        asked: dict[str, _Asked] = {}
        try:
            yield from self._answered(questions, waiting, asked, limits, look, seen, every)
        finally:
            for own in asked:  # whoever wanted them wants them no more
                self._say({"action": "terminate", "terminateId": own})

    def _answered(
        self, questions: Sequence[EngineQuestion], waiting: deque[dict[int, int]], asked: dict[str, _Asked],
        limits: EngineLimits, look: Look, seen: Seen | None, every: float,
    ) -> Iterator[tuple[int, EngineResult | None]]:  # fmt: skip
        """Empties what is ``waiting``, keeps in ``asked`` what is under way."""
        under_way, done, stopped = 0, 0, False
        while waiting or asked:
            while waiting and not stopped and under_way < MOST_ASKED:
                places = waiting.popleft()
                own = self._say(_query(questions, places, limits, every))
                asked[own] = _Asked(places)
                under_way += len(places)
            for reply in self._replies("a query"):
                self._check(reply, asked, questions)
                query, turn = asked.get(str(reply.get("id"))), reply.get("turnNumber")
                if query is None or not isinstance(turn, int) or turn not in query.places:
                    continue  # an answer to something else
                if reply.get("isDuringSearch"):
                    with contextlib.suppress(ValueError, OverflowError):
                        query.visits[turn] = visits_told(_root(reply).get("visits", 0))
                    if seen and (known := self._result(questions[query.places[turn]], reply)) is not None:
                        seen(query.places[turn], known)
                    continue
                place = query.places.pop(turn)
                query.visits.pop(turn, None)
                if not query.places:
                    del asked[str(reply["id"])]
                done, under_way = done + 1, under_way - 1
                yield place, self._result(questions[place], reply)
            wanted = limits.visits or 0
            parts = sum(min(1.0, seen / wanted) for own in asked.values() for seen in own.visits.values() if wanted)
            if look(done + min(parts, float(under_way))) is False and not stopped:
                stopped = True
                for own in asked:
                    self._say({"action": "terminate", "terminateId": own})
                for places in waiting:
                    yield from ((place, None) for place in places.values())
                waiting.clear()

    def _check(
        self, reply: Mapping[str, Any], asked: Mapping[str, _Asked], questions: Sequence[EngineQuestion]
    ) -> None:
        """Raises EngineFailure for an error. A warning is noted."""
        if "error" in reply:
            query, where = asked.get(str(reply.get("id"))), "a query"
            if query is not None and len(query.places) == 1:
                (place,) = query.places.values()
                where = f"the query {questions[place].where}"
            field_named = f" ({reply['field']})" if reply.get("field") else ""
            self._engine.fail("error", f"answered {where} with the error: {brief(str(reply['error']))}{field_named}")
        if "warning" in reply:
            field_named = f"{reply['field']}: " if reply.get("field") else ""
            self.note(f"{self.name} warns: {field_named}{brief(str(reply['warning']))}")

    def _result(self, question: EngineQuestion, reply: Mapping[str, Any]) -> EngineResult | None:
        """Raises EngineFailure for a reply that lacks what it should have."""
        if reply.get("noResults"):
            return None
        game = question.line.game
        sign, points = (-1.0 if question.player else 1.0), game.height * game.width
        try:
            root, infos = _root(reply), sorted(reply["moveInfos"], key=lambda info: info.get("order", 0))
            moves = [move for info in infos if (move := _told(question, info, sign)) is not None]
            lead, rate = lead_told(root.get("scoreLead")), root.get("winrate")
            found = result_told(
                question, moves, None if rate is None else _rate(rate, sign), visits_told(root["visits"]),
                None if lead is None or not game.counts_points else sign * lead,
                policy_told(reply.get("policy"), points + 1), ownership_told(reply.get("ownership"), points),
            )  # fmt: skip
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            self._engine.fail(
                "error", f"answered the query {question.where} without what a reply has "
                f"({type(error).__name__}: {brief(str(error))}): {brief(json.dumps(reply))}"
            )  # fmt: skip
        if found is None:
            self._engine.fail("error", f"named no legal move {question.where}: {brief(json.dumps(reply))}")
        return found


def _queries(questions: Sequence[EngineQuestion]) -> list[dict[int, int]]:
    """The questions of one line are one query: their places by their turns. What is asked twice is asked by two."""
    lines: dict[tuple[int, int], dict[int, int]] = {}
    times: Counter[tuple[int, int]] = Counter()
    for place, question in enumerate(questions):
        own = id(question.line), question.number
        lines.setdefault((own[0], times[own]), {})[question.number] = place
        times[own] += 1
    return [
        dict(itertools.islice(turns.items(), first, first + MOST_ASKED))
        for turns in lines.values()
        for first in range(0, len(turns), MOST_ASKED)
    ]


def _query(
    questions: Sequence[EngineQuestion], places: Mapping[int, int], limits: EngineLimits, every: float
) -> dict[str, Any]:
    line = questions[next(iter(places.values()))].line
    game = line.game
    settings: dict[str, object] = {"reportAnalysisWinratesAs": "BLACK"}
    said: dict[str, Any] = {
        "moves": [["BW"[player], point] for player, point in line.moves[: max(places)]],
        "initialStones": [["BW"[colour], point] for colour, point in line.stones],
        "initialPlayer": "BW"[line.first],
        "rules": rules_table(game), "komi": game.komi_of(), "boardXSize": game.width, "boardYSize": game.height,
        "analyzeTurns": list(places), "analysisPVLen": MOST_LINE - 1,
        "includePolicy": True, "includeOwnership": True, "reportDuringSearchEvery": every,
        "overrideSettings": settings,
    }  # fmt: skip
    if limits.visits is not None:
        said["maxVisits"] = limits.visits
    if limits.seconds is not None:
        said.setdefault("maxVisits", UNLIMITED)
        settings["maxTime"] = limits.seconds
    return said


def _root(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    root = reply.get("rootInfo")
    return root if isinstance(root, dict) else {}


def _told(question: EngineQuestion, info: Mapping[str, Any], sign: float) -> ToldMove | None:
    game = question.line.game
    action = action_of(game, info["move"])
    if action is None:
        return None
    prior, lead = info.get("prior"), lead_told(info.get("scoreLead"))
    return ToldMove(
        action, visits_told(info["visits"]), _rate(info["winrate"], sign),
        None if prior is None else number_told(prior, -1, 1.01, "a prior"), None if lead is None else sign * lead,
        variation_of(game, list(info.get("pv") or [])),
    )  # fmt: skip


def _rate(black: object, sign: float) -> float:
    """Of the player to move. Raises ValueError for what is no win rate."""
    rate = win_rate_told(black)
    return rate if sign > 0 else 1 - rate
