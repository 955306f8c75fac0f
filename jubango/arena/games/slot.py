"""A game under way, and as much of it as another process needs to go on with it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from jubango.arena.schedule.pairings import GameTask
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.players.batch_player import ScoringVerdict
from jubango.bots.players.clock import Clock
from jubango.bots.players.player import PlayerConfig
from jubango.sgf_games.records.thoughts import Thought

MOST_REMEMBERED = 2**27  # bytes of what players remember, of all games under way that are kept


@dataclass(frozen=True)
class Begun:
    """A game between two moves. Seeds, openings and colours are its task's; what players have in mind they have again
    by its moves."""

    moves: tuple[int, ...]  # those of its opening first
    thoughts: tuple[Thought, ...]  # one per move
    seconds: float  # so far
    clocks: tuple[tuple[float, int], ...] = ()  # Black's and White's: main time and periods that are left
    time_left: tuple[tuple[float, int], ...] = ()  # what they showed after each move
    disputed: str = ""  # why it went on after it had been played out
    cleaners: frozenset[str] = frozenset()  # who since then captures what is dead
    remembered: tuple[bytes, ...] = ()  # by Black and White beyond the moves, as far as either needs to

    @property
    def size(self) -> int:
        """Bytes that players remember."""
        return sum(map(len, self.remembered))


@dataclass
class GameSlot:
    """A game under way."""

    task: GameTask
    moves: list[int] = field(default_factory=list)
    thoughts: list[Thought] = field(default_factory=list)  # one per move
    # By the block's watch where it is asked of a player that works here, else by the wall's; of one that goes on by
    # itself, when it was last heard of.
    asked_at: float = 0.0
    clocks: tuple[Clock, ...] = ()  # Black's and White's, if there is a time control
    time_left: list[tuple[float, int]] = field(default_factory=list)  # what they showed after each move
    began: float = field(default_factory=time.perf_counter)
    renewed: int = 0  # how often it went on otherwise than by a move
    opening: int = 0  # moves that were made for the players
    values: list[float] = field(default_factory=list)  # of the moves, what their players said, for Black; or nan
    verdicts: list[ScoringVerdict] = field(default_factory=list)  # so far, if it has been played out
    played_out: bool = False
    disputed: str = ""  # why it went on after it had been played out
    counted: str = ""  # the engines' own scores, where they differ
    cleaners: set[str] = field(default_factory=set)  # who since then captures what is dead

    @property
    def game_id(self) -> str:
        """What players know the game by: another one after moves were taken back, or when it goes on after two passes,
        so that they look anew."""
        return f"{self.task.game_id}#{self.renewed}" if self.renewed else self.task.game_id

    def begun(self, remembered: tuple[bytes, ...] = ()) -> Begun:
        """As it stands now, between two moves; what is ``remembered`` its players say."""
        return Begun(
            tuple(self.moves),
            tuple(self.thoughts),
            time.perf_counter() - self.began,
            tuple((clock.main, clock.periods) for clock in self.clocks),
            tuple(self.time_left),
            self.disputed,
            frozenset(self.cleaners),
            remembered,
        )

    def go_on(self, begun: Begun) -> bool:
        """Take over all but the moves. False: that cannot be, as it is no game of this task's."""
        moves, clocks = len(begun.moves), len(self.clocks)
        if (len(begun.thoughts), len(begun.clocks), len(begun.time_left)) != (moves, clocks, moves * bool(clocks)):
            return False
        for clock, (main, periods) in zip(self.clocks, begun.clocks, strict=True):
            if main < 0 or not 0 <= periods <= clock.control.periods:
                return False
            clock.main, clock.periods = main, periods
        self.thoughts, self.time_left = list(begun.thoughts), list(begun.time_left)
        self.disputed, self.cleaners = begun.disputed, set(begun.cleaners)
        self.began = time.perf_counter() - begun.seconds
        return True


def goes_on_elsewhere(bot: BotConfig) -> bool:
    """Can another process find the bot's next moves, by those made so far and what it remembers? A player in Python may
    remember what nobody sees."""
    return not isinstance(bot, PlayerConfig)


def remembers(bot: BotConfig, timed: bool) -> bool:
    """Does the bot find its moves by its earlier searches, too? If moves depend on the machine's speed anyway, it may
    as well begin with an empty tree."""
    return isinstance(bot, SearchConfig) and bot.reuse and not (timed or bot.seconds)
