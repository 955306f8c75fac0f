"""A query of KataGo's JSON analysis protocol: what it may say, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jubango.bots.gtp.kata_rules import rules_named
from jubango.bots.gtp.session import Session, Turn, is_player, player_of
from jubango.bots.gtp.wire import GtpError
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.go import Go

LARGEST = 25  # side of a board
TERRITORY = ("japanese", "korean", "stone-scoring", "ancient-territory", "ancient-area")
VIEWS = ("BLACK", "WHITE", "SIDETOMOVE")
KNOWN = {
    "id", "moves", "initialStones", "initialPlayer", "rules", "komi", "boardXSize", "boardYSize", "analyzeTurns",
    "maxVisits", "analysisPVLen", "includeOwnership", "includeMovesOwnership", "includePolicy", "overrideSettings",
    "reportDuringSearchEvery", "firstReportDuringSearchAfter", "priority", "priorities", "avoidMoves", "allowMoves",
}  # fmt: skip


class QueryError(Exception):
    """What is wrong with a query, and in which field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Query:
    """What is to be analysed, and what is to be said of it."""

    id: str
    session: Session
    turns: dict[int, Turn]  # by the number of moves before them
    priorities: dict[int, int]
    visits: int | None = None
    seconds: float = math.inf
    pv: int = 15  # moves after the first of a variation
    ownership: bool = False
    moves_ownership: bool = False
    policy: bool = False
    report_every: float = math.inf  # seconds
    first_report: float = math.inf
    view: str = "BLACK"
    avoid: list[tuple[int, list[str]]] = field(default_factory=list)
    allow: list[tuple[int, list[str]]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)  # (field, text)


def read_query(said: Mapping[str, Any]) -> Query:
    """Raises QueryError."""
    warnings = [(key, "Unexpected or unused field") for key in said if key not in KNOWN]
    moves = _pairs(said, "moves")
    session = Session(_game(said, warnings))
    player = said.get("initialPlayer")
    if player is not None and not (isinstance(player, str) and is_player(player)):
        raise QueryError('Must be "B" or "W"', "initialPlayer")
    stones = _pairs(said, "initialStones")
    first = player_of(player) if player is not None else moves[0][0] if moves else 0
    if stones or first:
        with_field = "initialStones"
        try:
            session.set_up([(colour, session.point(vertex)) for colour, vertex in stones], first)
        except GtpError as error:
            raise QueryError(str(error), with_field) from None
    wanted = _turns(said, len(moves))
    turns = {}
    for number in range(len(moves) + 1):
        to_move = moves[number][0] if number < len(moves) else 1 - moves[-1][0] if moves else first
        if number in wanted:
            turns[number] = session.turn(to_move)
        if number < len(moves):
            try:
                session.play(to_move, session.action(moves[number][1]))
            except GtpError:
                raise QueryError(f"Illegal move {number}: {moves[number][1]}", "moves") from None
    settings = said.get("overrideSettings", {})
    if not isinstance(settings, dict):
        raise QueryError("Must be an object", "overrideSettings")
    view = str(settings.get("reportAnalysisWinratesAs", "BLACK")).upper()
    if view not in VIEWS:
        raise QueryError(f"reportAnalysisWinratesAs is one of {', '.join(VIEWS)}", "overrideSettings")
    every = _number(said, "reportDuringSearchEvery", math.inf, 0.001, 1e6)
    visits = _number(said, "maxVisits", 0, 1, 2**31)
    return Query(
        id=_id(said),
        session=session,
        turns={number: turns[number] for number in wanted},
        priorities=_priorities(said, wanted),
        visits=int(visits) or None,
        seconds=_number(settings, "maxTime", math.inf, 0.0, math.inf) or math.inf,
        pv=int(_number(said, "analysisPVLen", 15, 1, 1000)),
        ownership=_flag(said, "includeOwnership"),
        moves_ownership=_flag(said, "includeMovesOwnership"),
        policy=_flag(said, "includePolicy"),
        report_every=every,
        first_report=_number(said, "firstReportDuringSearchAfter", every, 0.001, 1e6),
        view=view,
        avoid=_restrictions(said, "avoidMoves"),
        allow=_restrictions(said, "allowMoves"),
        warnings=warnings,
    )


def _id(said: Mapping[str, Any]) -> str:
    if not isinstance(said.get("id"), str):
        raise QueryError("Must be a string", "id")
    text: str = said["id"]
    return text


def _game(said: Mapping[str, Any], warnings: list[tuple[str, str]]) -> Go:
    width, height = (_whole(said, key, 1, LARGEST) for key in ("boardXSize", "boardYSize"))
    given = said.get("rules", "chinese")
    if isinstance(given, str) and given.lower() in TERRITORY:
        warnings.append(("rules", f"{given}: played by area scoring here"))
        given = "chinese"
    try:
        ko, suicide = rules_named(given)
    except GtpError as error:
        raise QueryError(str(error), "rules") from None
    komi = _number(said, "komi", 7.5, -1000, 1000)
    try:
        return Go(width, height, komi, ko, suicide)
    except UserError:
        raise QueryError("Must be a whole or half number", "komi") from None


def _whole(said: Mapping[str, Any], key: str, least: int, most: int) -> int:
    value = said.get(key)
    if type(value) is not int or not least <= value <= most:
        raise QueryError(f"Must be an integer from {least} to {most}", key)
    return value


def _number(said: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = said.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise QueryError(f"Must be a number from {least:g} to {most:g}", key)
    return value


def _flag(said: Mapping[str, Any], key: str) -> bool:
    value = said.get(key, False)
    if not isinstance(value, bool):
        raise QueryError("Must be a boolean", key)
    return value


def _pairs(said: Mapping[str, Any], key: str) -> list[tuple[int, str]]:
    value: Any = said.get(key, [] if key != "moves" else None)
    pairs: list[tuple[int, str]] = []
    items: list[Any] = value if isinstance(value, list) else [None]
    for own in items:
        good = isinstance(own, list) and len(own) == 2 and all(isinstance(text, str) for text in own)
        if not good or not is_player(own[0]):
            raise QueryError('Must be an array of pairs of the form: ["B" or "W", location]', key)
        pairs.append((player_of(own[0]), own[1]))
    return pairs


def _turns(said: Mapping[str, Any], moves: int) -> list[int]:
    turns = said.get("analyzeTurns", [moves])
    if not isinstance(turns, list) or not all(type(turn) is int and 0 <= turn <= moves for turn in turns):
        raise QueryError(f"Must be an array of integers from 0 to {moves}", "analyzeTurns")
    return list(dict.fromkeys(turns))


def _priorities(said: Mapping[str, Any], turns: list[int]) -> dict[int, int]:
    value = said.get("priorities")
    if value is None:
        return dict.fromkeys(turns, int(_number(said, "priority", 0, -(2**31), 2**31)))
    if not isinstance(value, list) or len(value) != len(turns) or not all(type(own) is int for own in value):
        raise QueryError("Must be an array of integers as long as analyzeTurns", "priorities")
    return dict(zip(turns, value, strict=True))


def _restrictions(said: Mapping[str, Any], key: str) -> list[tuple[int, list[str]]]:
    value: Any = said.get(key, [])
    found: list[tuple[int, list[str]]] = []
    items: list[Any] = value if isinstance(value, list) else [None]
    for own in items:
        try:
            vertices = list(own["moves"])
            if not all(isinstance(v, str) and re.fullmatch(r"(?i)pass|[a-z]\d{1,2}", v) for v in vertices):
                raise ValueError
            found.append((player_of(own["player"]), vertices))
        except (TypeError, KeyError, ValueError, AttributeError, GtpError):
            raise QueryError("Must be an array of {player, moves, untilDepth}", key) from None
    return found
