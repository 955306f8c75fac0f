"""A finished game, as everything above the rules sees it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from enum import StrEnum

from jubango.sgf_games.records.thoughts import unpacked


class Failure(StrEnum):
    """How a game may end that is neither played out nor resigned. Such games can be played again."""

    time = "time"
    crash = "crash"
    error = "error"
    illegal = "illegal"
    refused = "refused"  # nobody's loss: the game is void


VOID = "Void"  # the result of a game that nobody has won or lost


@dataclass(frozen=True)
class GameRecord:
    """One game. Player 0 is Black and moves first unless the set-up says otherwise.

    ``result`` is SGF's RE (``B+3.5``, ``W+R``, ``B+T``, ``W+F``, ``0``, ``Void``); ``score`` is what
    Black got of one point, nan in a void game; ``reason`` is "score", "line", "full" or "end" (played out),
    "resign", "adjudicated", or a :class:`Failure`. Games of engines that are played out may also end by "agreed"
    (dead stones were taken off), "cleanup" (after play went on because they were disputed) or
    "disputed".
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
    comments: tuple[str, ...] = field(default=())  # one per move, may be empty texts; beside the thoughts
    thoughts: bytes = b""  # what the players thought of their moves; see jubango.sgf_games.records.thoughts
    main_time: float = 0.0  # seconds of each player; without a clock 0
    overtime: str = ""  # what comes on top, as SGF's OT: "1 fischer", "3x30 byo-yomi"; without a clock ""
    time_left: tuple[tuple[float, int], ...] = ()  # per move its player's clock after it: seconds, byo-yomi periods
    opening: str = ""  # its name, if the first moves were not the players' own
    opening_plies: int = 0  # how many
    counted: str = ""  # engines' own scores that are not the result: "gnugo B+3.5; pachi B+4"
    written: bytes = field(default=b"", compare=False, repr=False)  # as SGF, if whoever has played it has done that

    @property
    def score(self) -> float:
        """Black's score: 1, 0.5 or 0; nan in a void game."""
        return score_of(self.result)

    @property
    def notes(self) -> list[str]:
        """What is said of each move, of as many as anything is: its player's thoughts in words, and the comment."""
        thoughts = unpacked(self.thoughts).texts if self.thoughts else ()
        both = itertools.zip_longest(thoughts, self.comments, fillvalue="")
        return ["\n".join(filter(None, own)) for own in both]


def place_in_pairing(game_id: str) -> tuple[str, int] | None:
    """(the two bots, the game's number among theirs, from 0) of a game of a tournament: ``a~b~00001``; else None."""
    bots, _, number = game_id.rpartition("~")
    return (bots, int(number) - 1) if bots and number.isdigit() else None


def score_of(result: str) -> float:
    """Black's score for a result such as ``W+R``; a draw is ``0`` or ``Draw``. nan for ``Void`` and ``?``."""
    return {"B": 1.0, "W": 0.0, "0": 0.5, "D": 0.5}.get(result[:1].upper(), math.nan)
