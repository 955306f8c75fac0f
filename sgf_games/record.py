"""A finished game, as everything above the rules sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Failure(StrEnum):
    """How a player may lose a game without playing it to its end or resigning."""

    time = "time"
    crash = "crash"
    error = "error"
    illegal = "illegal"


@dataclass(frozen=True)
class GameRecord:
    """One game. Player 0 is Black and moves first unless the set-up says otherwise.

    ``result`` is SGF's RE (``B+3.5``, ``W+R``, ``B+T``, ``W+F``, ``0``); ``score`` is what Black
    got of one point; ``reason`` is "score", "line" or "end" (played out), "resign", or a :class:`Failure`.
    """

    game_id: str
    game: str  # spec string
    black: str
    white: str
    black_spec: str
    white_spec: str
    seed: int
    moves: tuple[str, ...]  # action texts, Black first
    result: str
    reason: str
    detail: str = ""
    event: str = ""
    seconds: float = 0.0
    date: str = ""  # ISO 8601
    comments: tuple[str, ...] = field(default=())  # one per move, may be empty texts

    @property
    def score(self) -> float:
        """Black's score: 1, 0.5 or 0."""
        return score_of(self.result)


def score_of(result: str) -> float:
    """Black's score for a result such as ``W+R``; a draw is ``0`` or ``Draw``."""
    return {"B": 1.0, "W": 0.0}.get(result[:1].upper(), 0.5)
