"""The protocol of a player: asked for moves in many games, it answers when it has them.

A search, alpha-beta, an engine and a person are players alike; :mod:`jubango.bots.roster` makes them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jubango.bots.config import BotConfig
from jubango.bots.players.clock import NO_LIMIT, MoveTime
from jubango.sgf_games.records.thoughts import Thought
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game, State


class WholeGame(NamedTuple):
    """What a player that answers for both sides needs to go on by itself."""

    bots: tuple[BotConfig, BotConfig]  # Black and White
    seeds: Callable[[int], int]  # uint32, of the move with this number, from 0


class MoveRequest(NamedTuple):
    """Find a move in one lane. ``seed`` is all the randomness there is: the same request, alone or
    among others, gets the same answer."""

    lane: int
    game_id: str
    bot: BotConfig
    seed: int  # uint32
    legal: np.ndarray  # bool [A]
    moves: Sequence[int]  # the game so far; it grows with every answer, those that come unasked too
    colour: int  # 0 Black, 1 White
    limit: MoveTime = NO_LIMIT  # by the game's clock
    clock: float = 0.0  # seconds until the flag falls; 0: no clock
    whole: WholeGame | None = None  # if the player has both sides: the moves after this one may come unasked
    game: Game | None = None  # that is played, if its komi may be its own
    wanted: Literal["move", "cleanup", "verdict"] = "move"  # the latter two of players that judge
    judged: bool = False  # dead stones will be taken off before the points are counted


class RecalledGame(NamedTuple):
    """A game that goes on here."""

    game_id: str
    moves: Sequence[int]  # so far
    remembered: bytes  # what :meth:`BatchPlayer.remembered` said of it, elsewhere


class ScoringVerdict(NamedTuple):
    """What a player says of a game that has been played out: its dead stones, or who has won, or why neither."""

    name: str  # of the bot
    dead: tuple[Point, ...] | None = None
    winner: str = ""  # "B", "W" or "0"
    problem: str = ""
    refused: bool = False  # it takes the others' last moves for illegal
    own_score: str = ""  # what it makes of the score itself, "B+3.5"
    cleans_up: bool = False  # if play goes on it can capture what is dead, asked for a "cleanup" in place of a move


class MoveAnswer(NamedTuple):
    """A move, or what happened in its place, or the verdict where that was wanted.

    ``event`` is empty, "resign", "undo" (a person takes back), "swap" (a person changes sides), "refused" (an engine
    takes a legal move of the others for illegal), or what an external engine did wrong: "time", "crash", "illegal",
    "error".
    """

    lane: int
    action: int = -1
    thought: Thought | None = None
    event: str = ""
    detail: str = ""
    seconds: float | None = None  # that the move took by the player's own clock; None: as long as the answer
    goes_on: bool = False  # the player is already at work on the next move of this game
    verdict: ScoringVerdict | None = None


class BatchPlayer(ABC):
    """Answers move requests for one or more bots."""

    @property
    def simulations(self) -> int:
        """Made so far by a search, for the dashboard."""
        return 0

    @abstractmethod
    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        """Take on requests; ``states`` is the whole batch of lanes, batch axis last."""

    @abstractmethod
    def advance(self) -> list[MoveAnswer]:
        """Go on for a while, a quarter of a second at most; returns what is ready: of a lane one answer, or several
        moves in their order, which say that the player ``goes_on`` where it does. Raises CannotGoOn if it never will
        again."""

    @property
    def next_look(self) -> float:
        """Seconds until it has to look whether the time of a move is up; inf: there is nothing to look for."""
        return math.inf

    def start(self, most: float, at_once: bool) -> None:
        """Work on what has been begun, for ``most`` seconds at most: ``at_once``, in the background, so that
        :meth:`advance` waits for it, or by that. Nothing is begun in between."""
        return

    def rescale(self, factor: float) -> None:
        """Other games have begun or ended meanwhile, so that a second of a game's clock is ``factor`` times as long:
        what is left to moves of the time that their clocks give them is so, too."""
        return

    def hurry(self) -> None:
        """Answer with what there is, as soon as there is anything."""
        return

    def hold(self) -> None:
        """Make no moves unasked but those that are already under way."""
        return

    @property
    def patient(self) -> bool:
        """Does its answer take a while? What answers at once is not left waiting for the others."""
        return True

    @property
    def works_here(self) -> bool:
        """Does :meth:`advance` work towards the answers, rather than only look for them?"""
        return True

    @property
    def judges(self) -> bool:
        """Can it be asked for its verdict on a game that has been played out?"""
        return False

    def remembered(self, lane: int, game_id: str) -> bytes:
        """What it has in mind of a game beyond its moves, for :meth:`recall`; nothing of most players."""
        return b""

    def recall(self, games: Mapping[int, RecalledGame]) -> list[int]:
        """Have in mind what another process had, before it is asked in these lanes, where nothing is under way. Returns
        the lanes where that cannot be."""
        return list(games)

    def finish(self, game_id: str, result: str = "") -> None:
        """The game is over, or, without a ``result``, goes on under another id."""
        return

    def close(self) -> None:
        """No more games."""
        return
