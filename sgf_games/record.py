"""A finished game, as everything above the rules sees it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class GameRecord:
    """One game. Player 0 is Black and moves first unless the set-up says otherwise.

    ``result`` is SGF's RE (``B+3.5``, ``W+R``, ``B+T``, ``W+F``, ``0``); ``score`` is what Black
    got of one point; ``reason`` is "score", "line" or "end" (played out), "resign", or an engine's
    failure: "time", "crash", "illegal", "error".
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
    main_time: float = 0.0  # seconds of each player; without a clock 0
    overtime: str = ""  # what comes on top, as SGF's OT: "1 fischer", "3x30 byo-yomi"; without a clock ""
    time_left: tuple[tuple[float, int], ...] = ()  # per move its player's clock after it: seconds, byo-yomi periods

    @property
    def score(self) -> float:
        """Black's score: 1, 0.5 or 0."""
        return score_of(self.result)


def score_of(result: str) -> float:
    """Black's score for a result such as ``W+R``; a draw is ``0`` or ``Draw``."""
    return {"B": 1.0, "W": 0.0}.get(result[:1].upper(), 0.5)
