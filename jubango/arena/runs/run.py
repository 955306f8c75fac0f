"""A tournament that has been played, or is being played: its games, its ratings, and what they say."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pandas as pd

from jubango.analysis.ratings.best_arm import BestState
from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.analysis.ratings.results import Result, decided, distinct_games
from jubango.analysis.ratings.sprt import SequentialTest, SprtState
from jubango.analysis.report.run_page import RunPage
from jubango.analysis.tables.tables import crosstable, failures_in, frame_results, ratings_frame, record_result
from jubango.analysis.tables.verdicts import Verdict, scored, verdict
from jubango.arena.games.pool import GamePool
from jubango.arena.schedule.formats import OPEN, Tally
from jubango.arena.schedule.pace import Pace, Playing
from jubango.arena.schedule.pairings import GameTask, Pairing, game_id, pairing
from jubango.arena.schedule.plan import Plan
from jubango.arena.text.console import Console
from jubango.arena.text.standings import print_standings, standings_html
from jubango.bots.config import EngineConfig, RandomConfig, SearchConfig
from jubango.sgf_games.base.errors import CannotGoOn, UserError, nearest
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.records.record import GameRecord, place_in_pairing

REPEATED = 0.9  # of the games at most are distinct: a test should say so


def page_of(plan: Plan, machines: Sequence[str]) -> RunPage:
    """The page of a run that has no games yet."""
    made = [f"Seed {plan.seed}.", *(f"Played with {machine}." for machine in machines)]
    return RunPage(plan.name, plan.game, {bot.name: bot.spec for bot in plan.bots}, made)


class Kept(Protocol):
    """Where finished games are kept."""

    @property
    def folder(self) -> Path | None: ...

    @property
    def notes(self) -> list[str]:
        """What people should know of what was found there."""
        ...

    def claimed(self, plan: Plan) -> AbstractContextManager[None]:
        """For as long as games of ``plan`` are added."""
        ...

    def forget(self, reasons: Sequence[str]) -> None: ...

    def begin(self, plan: Plan) -> None: ...

    @property
    def machines(self) -> list[str]:
        """Where the games were played: versions and machines."""
        ...

    def add(self, records: list[GameRecord]) -> None: ...

    def frame(self) -> pd.DataFrame:
        """A row for each game, with the columns of ``results.sqlite``, in the order of their ids."""
        ...

    def moves(self) -> pd.DataFrame:
        """A row for each move of these games."""
        ...

    def conclude(self, run: Run) -> None: ...


class Run:
    """What has been played of a plan. While it is being played it grows; dashboards show it.

    Prints as the standings and the crosstable, in a notebook too.
    """

    def __init__(self, plan: Plan, kept: Kept) -> None:
        self.plan, self.kept = plan, kept
        games = kept.frame()
        self._results = dict(zip(games["game_id"], frame_results(games), strict=True))  # undecided ones too
        self._test = SequentialTest(plan.sprt) if plan.sprt else None
        self._race = plan.format.race()
        self.before = len(self._results)  # games that were done when playing began
        self.tallies: dict[Pairing, Tally] = {}
        columns = (games[column] for column in ("game_id", "black", "white", "score"))
        for own, black, white, score in zip(*columns, strict=True):
            self._look(own, black, white, score)
            self._count(black, white, score)
        self.pace = _pace_of(plan, self._missing_games(), games)
        self._ended: list[GameRecord] = []  # not kept yet
        self.latest: deque[GameRecord] = deque(maxlen=8)  # that ended, for display
        self._due = 0.0  # when they may be
        self.notes = list(kept.notes)  # for people, to be told once
        self.table: GamePool | None = None  # at work

    def add(self, records: list[GameRecord]) -> None:
        """These games have ended; they are finished when they have been kept, by :meth:`settle`."""
        self._ended += records

    def settle(self, now: bool = False) -> None:
        """Keep the games that have ended, together, as a flush to the disk takes as long for many as for one: ``now``,
        or when that takes no more than a tenth of the time, or when half a second has passed. Raises CannotGoOn."""
        began = time.perf_counter()
        if not self._ended or (began < self._due and not now):
            return
        try:
            self.kept.add(self._ended)
        except CannotGoOn:
            self._ended = []
            raise
        records, self._ended = self._ended, []
        self.latest += records
        ended = time.perf_counter()
        self._due = ended + min(9 * (ended - began), 0.5)
        self._results |= {record.game_id: record_result(record) for record in records}
        for record in records:
            self._look(record.game_id, record.black, record.white, record.score)
            self._count(record.black, record.white, record.score)
            pair, moves = pairing(record.black, record.white), len(record.moves) - record.opening_plies
            self.pace.add(Playing(record.game_id, pair, moves, record.seconds))

    def _count(self, black: str, white: str, score: float) -> None:
        """A game has ended."""
        pair = pairing(black, white)
        games, first, second = self.tallies.get(pair, Tally())
        if math.isnan(score):
            self.tallies[pair] = Tally(games + 1, first, second)
        else:
            own = score if black == pair[0] else 1 - score
            self.tallies[pair] = Tally(games + 1, first + own, second + 1 - own)

    def next_games(self) -> Iterator[GameTask]:
        """Those that are to be played as far as the results tell, in their order. Raises CannotGoOn."""
        self.settle(now=True)
        self.pace.missing = self._missing_games()
        if self._race:
            tasks = self.plan.duels([] if self.decided else self._race.schedule)
        else:
            tasks = self.plan.tasks(self.plan.format.known(self.tallies))
        return (task for task in tasks if task.game_id not in self._results)

    def _missing_games(self) -> dict[Pairing, int]:
        if self._race:
            wanted = Counter((duel.first, duel.second) for duel in self._race.schedule for _ in range(2))
        else:
            wanted = Counter(
                {pair: games for one in self.plan.format.known(self.tallies) for pair, games in one.items()}
            )
        return {pair: games - self.tallies.get(pair, Tally()).games for pair, games in wanted.items()}

    def _look(self, game_id: str, black: str, white: str, score: float) -> None:
        """Show a game that has ended to the test, and to the search for the best."""
        place = place_in_pairing(game_id) if self._test or self._race else None
        if place is None:
            return
        if self._test:
            self._test.add(place[1], score if black == self.plan.bots[0].name else 1 - score)
        if self._race:
            first, second = pairing(black, white)
            self._race.add(first, second, place[1], score if black == first else 1 - score)

    @property
    def sprt(self) -> SprtState | None:
        """Where the plan's test stands, if it has one: of the first bot against the second."""
        return self._test.state if self._test else None

    @property
    def best(self) -> BestState | None:
        """Where the search for the best bot stands, if that is the plan's format."""
        return self._race.state if self._race else None

    @property
    def told(self) -> list[str]:
        """What the plan's test says, or its search for the best, or its rounds, in words."""
        if self._race:
            return [printable(str(self._race.state)), *self._repeated]
        first, second = (printable(bot.name) for bot in self.plan.bots[:2])
        if self.sprt:
            ended = (
                [] if self.decided or self.missing else ["the games of the match are all played: more of them go on"]
            )
            return [*self.sprt.told(first, second), *ended, *self._repeated]
        return self.plan.format.told(self.tallies)

    @property
    def _repeated(self) -> list[str]:
        """That a test takes games for evidence which were played again."""
        games, distinct = decided(self.results), distinct_games(self.results)
        if distinct is None or distinct > REPEATED * len(games):
            return []
        said = f"but only {distinct} of {len(games)} games are distinct, and the test takes each for new evidence"
        return [said if self.plan.openings else f'{said}: openings (openings = "random") make others']

    @property
    def rounds(self) -> list[list[dict[str, object]]]:
        """Of a knockout's and a Swiss tournament's rounds so far the matches: the two bots, their points, how many
        games that were."""
        if self.plan.format.kind in OPEN or self._race:
            return []
        return [
            [
                {"bots": list(pair), "points": [tally.first, tally.second], "games": tally.games}
                for pair in one
                for tally in [self.tallies.get(pair, Tally())]
            ]
            for one in self.plan.format.known(self.tallies)
        ]

    @property
    def decided(self) -> bool:
        """Has the plan's test, or its search for the best, come to its end?"""
        return (self._test is not None and bool(self._test.state.accepted)) or bool(self._race and self._race.decided)

    @property
    def finished(self) -> set[str]:
        """The ids of all games that have ended, those included that count for nothing."""
        return set(self._results)

    @property
    def results(self) -> list[Result]:
        """The games that count: all, until the plan's test or its search for the best has decided; then those on which
        it has, whatever else had ended by then. At the end in the order of their ids, however they were played."""
        if self._evidence is not None:
            return [self._results[own] for own in sorted(self._evidence & self._results.keys())]
        whole = not self._race and len(self._results) >= self.plan.format.total(self.tallies)
        return [result for _, result in sorted(self._results.items())] if whole else list(self._results.values())

    @property
    def left_out(self) -> list[str]:
        """The ids of the games that count for nothing, as they are behind those on which the plan's test, or its search
        for the best, has decided: which of these had ended by then is chance."""
        return [] if self._evidence is None else sorted(self._results.keys() - self._evidence)

    @property
    def counting(self) -> pd.DataFrame:
        """The rows of ``games`` that count."""
        games = self.games
        return games[~games["game_id"].isin(self.left_out)].reset_index(drop=True)

    @property
    def _evidence(self) -> set[str] | None:
        """The games on which the test, or the search for the best, has decided; None if none has."""
        if self._test is not None and self._test.state.accepted:
            first, second = self.plan.bots
            return {game_id(pairing(first.name, second.name), number) for number in range(self._test.looked)}
        if self._race and self._race.decided:
            duels = self._race.schedule[: self._race.state.pairs]
            return {game_id((d.first, d.second), number) for d in duels for number in (2 * d.number, 2 * d.number + 1)}
        return None

    def seconds_left(self, elapsed: float) -> float | None:
        """Until the end, with ``elapsed`` seconds of playing behind; None if nobody knows yet."""
        if not self.missing:
            return 0.0
        now = time.perf_counter()
        lanes = self.table.lanes if self.table else []
        under_way = [
            Playing(task.game_id, pairing(task.black, task.white), len(lane.moves) - lane.opening, now - lane.began)
            for lane in lanes
            if lane and (task := lane.task)
        ]
        rounds = () if self._race else self.plan.format.to_come(self.tallies)
        return self.pace.left(under_way, elapsed, len(lanes) or min(self.missing, self.plan.games_at_once), rounds)

    @property
    def folder(self) -> Path | None:
        """Where the games are kept, if they are on disk."""
        return self.kept.folder

    @property
    def missing(self) -> int:
        """Games of the plan that are still to be played."""
        return 0 if self.decided else self.total - len(self._results)

    @property
    def total(self) -> int:
        """How many games the plan has, as far as the results tell; where its test has decided, as many as count."""
        if self.decided:
            return len(self.results)
        return 2 * len(self._race.schedule) if self._race else self.plan.format.total(self.tallies)

    @property
    def games(self) -> pd.DataFrame:
        """A row for each game, :attr:`left_out` included, as in ``results.sqlite``: game_id, game, black, white,
        black_spec, white_spec, seed, result, score (Black's; NaN if void), reason, detail, plies, moves, seconds, date,
        event, opening, opening_plies, counted, sgf."""
        return self.kept.frame()

    @property
    def moves(self) -> pd.DataFrame:
        """A row for each move: game_id, ply, player, colour, move, opening_move, visits, simulations, win_rate,
        prior, seconds, clock_left, periods_left; see docs/tables.md."""
        return self.kept.moves()

    @property
    def ratings(self) -> pd.DataFrame:
        """Columns rank, name, elo, error (half of the 95 % interval), pair_error (the same by the
        spread between pairs of games), games, wins, draws, losses, score, group, of the losses time, forfeit and
        resignation, and distinct_games (NA if no moves are known)."""
        return ratings_frame(self.rating_list)

    @property
    def crosstable(self) -> pd.DataFrame:
        """The row's wins-draws-losses against the column, the strongest first."""
        return crosstable(self.results, [r.name for r in self.rating_list.ratings])

    @property
    def rating_list(self) -> RatingList:
        """The ratings with their joint covariance and the advantage of the first move."""
        return rate(self.results, players=[bot.name for bot in self.plan.bots])

    @property
    def verdict(self) -> Verdict:
        """Who of two bots is stronger. Raises UserError if there are more than two; then see :meth:`compare`."""
        if len(self.plan.bots) != 2:
            raise UserError(f"a verdict is on two bots, here are {len(self.plan.bots)}; see compare(NAME, NAME)")
        return self.compare(*(bot.name for bot in self.plan.bots))

    def compare(self, first: str, second: str) -> Verdict:
        """Who of two bots is stronger, by all games of the run. Raises UserError for an unknown name."""
        ratings = self.rating_list
        names = [r.name for r in ratings.ratings]
        for name in (first, second):
            if name not in names:
                raise UserError(f'no bot is called "{name}" here{nearest(name, names)}')
        return verdict(ratings, self.results, first, second)

    def save_report(self, path: Path | str) -> None:
        """Write the run as one HTML page, with every game to be replayed. Raises UserError."""
        report, moves = page_of(self.plan, self.kept.machines), self.moves
        report.add(self.counting, moves[~moves["game_id"].isin(self.left_out)])
        try:
            write_safely(Path(path), report.page(report.summary(self.total, self.told)).encode())
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from None

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """Of every bot that has failed: how many games it has lost by time, crash, error or illegal moves."""
        return failures_in(self.counting)

    @property
    def remarks(self) -> list[str]:
        """How games with engines were scored, and how many are void; nothing where there is nothing to say."""
        return scored(self.results)

    def __str__(self) -> str:
        console = Console(width=200, force_terminal=False, force_jupyter=False, color_system=None)
        with console.capture() as text:
            print_standings(console, self.rating_list, self.results)
        return f"{printable(self._title)}\n{text.get().rstrip()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return standings_html(self._title, self.rating_list, self.results)

    @property
    def _title(self) -> str:
        count = f"{len(self.results)} games"
        if self.missing:
            count = f"{len(self.results)} of {self.total} games, {self.missing} are missing"
        return f"{self.plan.name}, {self.plan.game.spec}: {count}"


def _pace_of(plan: Plan, missing: dict[Pairing, int], games: pd.DataFrame) -> Pace:
    """What is known of the time that a plan's games take before they are played, ``games`` having been."""
    work = {
        bot.name: float(max(1, bot.simulations)) if isinstance(bot, SearchConfig) else 1.0
        for bot in plan.bots
        if isinstance(bot, RandomConfig) or (isinstance(bot, SearchConfig) and not bot.seconds and not plan.timed)
    }
    pace = Pace(missing, work, {bot.name: bot.processes for bot in plan.bots if isinstance(bot, EngineConfig)})
    columns = (games[column] for column in ("black", "white", "plies", "opening_plies", "seconds"))
    for black, white, plies, opening, seconds in zip(*columns, strict=True):
        pace.known(pairing(black, white), plies - opening, seconds)
    return pace
