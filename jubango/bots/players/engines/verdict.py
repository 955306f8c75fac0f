"""What an engine says of a game that has been played out: which stones are dead, or at least who has won."""

from __future__ import annotations

import re

from jubango.bots.players.batch_player import ScoringVerdict
from jubango.bots.players.engines.engine import ErrorAnswer
from jubango.bots.players.engines.gtp import GtpEngine
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.coordinates import Point, parse_vertex

SCORE = re.compile(r"0|[BW](\+[\d.]*)?")


def verdict_of(engine: GtpEngine, name: str, size: int, seconds: float) -> ScoringVerdict:
    """``final_status_list dead``, or the winner of ``final_score`` if the engine has no such list; the score is kept
    beside it. Raises EngineFailure if the engine is no more."""
    cleans_up = (_asked(engine, "known_command kgs-genmove_cleanup", seconds) or "").lower() == "true"
    listed = _asked(engine, "final_status_list dead", seconds)
    dead = None if listed is None else _points(listed, size)
    said = (_asked(engine, "final_score", seconds) or "").upper().split()
    count = said[0] if said and SCORE.fullmatch(said[0]) else ""
    if dead is not None:
        return ScoringVerdict(name, dead, own_score=count, cleans_up=cleans_up)
    if not count:
        return ScoringVerdict(name, problem="names neither dead stones nor a score")
    return ScoringVerdict(name, winner=count[0], own_score=count, cleans_up=cleans_up)


def _asked(engine: GtpEngine, command: str, seconds: float) -> str | None:
    """The answer; None if it is an error."""
    try:
        return engine.ask(command, seconds)
    except ErrorAnswer:
        return None


def _points(text: str, size: int) -> tuple[Point, ...] | None:
    """The points of a list of vertices; None if it is none."""
    try:
        points = [parse_vertex(word, size, size) for word in text.split()]
    except UserError:
        return None
    return tuple(point for point in points if point is not None)
