"""A query of KataGo's JSON analysis protocol: what it may say, checked."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jubango.bots.gtp_server.kata_rules import rules_named
from jubango.bots.gtp_server.session import Session, TurnToMove, is_player, player_of
from jubango.bots.gtp_server.wire import GtpError
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game

LARGEST_QUERY_BOARD = 25  # side of a board
LONGEST_QUERY = 2_000  # more than the rules here let a game last on the largest board
LONGEST_TIME = 1e9  # seconds
LARGEST_INT = 2**31  # whole numbers are less than that from zero
TERRITORY = ("japanese", "korean", "stone-scoring", "ancient-territory", "ancient-area")
VIEWS = ("BLACK", "WHITE", "SIDETOMOVE")
KNOWN = {
    "id", "moves", "initialStones", "initialPlayer", "rules", "komi", "boardXSize", "boardYSize", "analyzeTurns",
    "maxVisits", "analysisPVLen", "includeOwnership", "includeMovesOwnership", "includePolicy", "overrideSettings",
    "reportDuringSearchEvery", "firstReportDuringSearchAfter", "priority", "priorities", "avoidMoves", "allowMoves",
}  # fmt: skip


class QueryStopped(Exception):
    """Nobody wants it any more."""


class QueryError(Exception):
    """What is wrong with a query, and in which field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Query:
    """What is to be analysed, and what is to be said of it."""

    id: str
    game: Game
    stones: list[tuple[int, Point]]  # (colour, place) before the first move
    first: int  # who moves first
    moves: list[tuple[int, int]]  # (player, action)
    priorities: dict[int, int]  # of the turns that are wanted, by the number of moves before them
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


class QueryReplay:
    """The positions of queries, one query after another: the next mostly has the moves of the one before and one more,
    and plays no other."""

    def __init__(self) -> None:
        self._from: tuple[Game, list[tuple[int, Point]], int] | None = None
        self._session: Session | None = None

    def at(self, query: Query, number: int, stopped: Callable[[], bool] = lambda: False) -> tuple[Session, TurnToMove]:
        """The game and its position after so many moves. Raises QueryError for stones and moves against the rules, and
        Stopped as soon as it is ``stopped``."""
        begun = query.game, query.stones, query.first
        if self._session is None or self._from != begun:
            self._from, self._session = begun, _begun(query)
        session, moves = self._session, query.moves
        pairs = zip(session.played, moves, strict=False)
        same = sum(1 for _ in itertools.takewhile(lambda pair: (pair[0].player, pair[0].action) == pair[1], pairs))
        if same < len(moves):
            session.undo(len(session.played) - same)
        for player, action in moves[same:]:
            if stopped():
                raise QueryStopped
            try:
                session.play(player, action)
            except GtpError:
                text = query.game.action_text(action)
                raise QueryError(f"Illegal move {len(session.played)}: {text}", "moves") from None
        to_move = moves[number][0] if number < len(moves) else 1 - moves[-1][0] if moves else query.first
        before = session.after(number)
        return before, before.turn(to_move)


def _begun(query: Query) -> Session:
    session = Session(query.game)
    if query.stones or query.first:
        try:
            session.set_up(query.stones, query.first)
        except GtpError as error:
            raise QueryError(str(error), "initialStones") from None
    return session


def read_query(said: Mapping[str, Any]) -> Query:
    """What costs nothing to check is checked: moves are played when the query's turn comes. Raises QueryError."""
    warnings = [(key, "Unexpected or unused field") for key in said if key not in KNOWN]
    moves = _pairs(said, "moves")
    if len(moves) > LONGEST_QUERY:
        raise QueryError(f"Must be at most {LONGEST_QUERY} moves; these are {len(moves)}", "moves")
    session = Session(_game(said, warnings))
    player = said.get("initialPlayer")
    if player is not None and not (isinstance(player, str) and is_player(player)):
        raise QueryError('Must be "B" or "W"', "initialPlayer")
    try:
        stones = [(colour, session.point(vertex)) for colour, vertex in _pairs(said, "initialStones")]
    except GtpError as error:
        raise QueryError(str(error), "initialStones") from None
    actions = []
    for number, (mover, vertex) in enumerate(moves):
        try:
            actions.append((mover, session.action(vertex)))
        except GtpError:
            raise QueryError(f"Illegal move {number}: {vertex}", "moves") from None
    settings = said.get("overrideSettings", {})
    if not isinstance(settings, dict):
        raise QueryError("Must be an object", "overrideSettings")
    view = str(settings.get("reportAnalysisWinratesAs", "BLACK")).upper()
    if view not in VIEWS:
        raise QueryError(f"reportAnalysisWinratesAs is one of {', '.join(VIEWS)}", "overrideSettings")
    every = _number(said, "reportDuringSearchEvery", math.inf, 0.001, 1e6)
    visits = _number(said, "maxVisits", 0, 1, LARGEST_INT)
    return Query(
        id=_id(said),
        game=session.game,
        stones=stones,
        first=player_of(player) if player is not None else moves[0][0] if moves else 0,
        moves=actions,
        priorities=_priorities(said, _turns(said, len(moves))),
        visits=int(visits) or None,
        seconds=_seconds(settings),
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


def _game(said: Mapping[str, Any], warnings: list[tuple[str, str]]) -> Game:
    width, height = (_whole(said, key, 1, LARGEST_QUERY_BOARD) for key in ("boardXSize", "boardYSize"))
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
        return make_game(f"go:{width}x{height},komi={komi!r},ko={ko},suicide={str(suicide).lower()}")
    except UserError:
        raise QueryError("Must be a whole or half number", "komi") from None


def _whole(said: Mapping[str, Any], key: str, least: int, most: int) -> int:
    value = said.get(key)
    if type(value) is not int or not least <= value <= most:
        raise QueryError(f"Must be an integer from {least} to {most}", key)
    return value


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) <= LARGEST_INT


def _number(said: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = said.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise QueryError(f"Must be a number from {least:g} to {most:g}", key)
    return value


def _seconds(settings: Mapping[str, Any]) -> float:
    try:
        return _number(settings, "maxTime", math.inf, 0, LONGEST_TIME)
    except QueryError as error:
        raise QueryError(f"maxTime: {error}", "overrideSettings") from None


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
        return dict.fromkeys(turns, int(_number(said, "priority", 0, -LARGEST_INT, LARGEST_INT)))
    if not isinstance(value, list) or len(value) != len(turns) or not all(map(_is_whole, value)):
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
            if not _is_whole(own.get("untilDepth", 1)) or own.get("untilDepth", 1) < 1:
                raise ValueError
            found.append((player_of(own["player"]), vertices))
        except (TypeError, KeyError, ValueError, AttributeError, GtpError):
            raise QueryError("Must be an array of {player, moves, untilDepth}", key) from None
    return found
