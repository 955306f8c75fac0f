"""A tournament that has been played, or is being played: its games, its ratings, and what they say."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pandas as pd

from jubango.analysis.ratings.best_arm import BestState
from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.analysis.ratings.results import Result
from jubango.analysis.ratings.sprt import SprtState
from jubango.analysis.tables.tables import crosstable, failures_in, frame_results, ratings_frame, record_result
from jubango.analysis.tables.verdicts import Verdict, scored, verdict
from jubango.arena.games.pool import GameTable
from jubango.arena.runs.ended_games import EndedGames
from jubango.arena.runs.outcome import Outcome
from jubango.arena.runs.page import page_of, write_page
from jubango.arena.runs.under_way import UnderWay
from jubango.arena.schedule.pace import GameUnderWay, Pace
from jubango.arena.schedule.pairings import GameTask, Pairing, pairing
from jubango.arena.schedule.plan import Plan
from jubango.arena.text.standings import standings_html, standings_text
from jubango.bots.config import EngineConfig, RandomConfig, SearchConfig
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.compute.machine import games_at_once
from jubango.sgf_games.records.record import GameRecord


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

    def begin(self, plan: Plan, played_on: Sequence[str] | None = None) -> None:
        """The first game is about to begin, here or on these machines."""
        ...

    @property
    def machines(self) -> list[str]:
        """Where the games were played: versions and machines."""
        ...

    def add(self, records: list[GameRecord]) -> None: ...

    @property
    def under_way(self) -> UnderWay | None:
        """Where games are kept that have not ended; only while ``claimed``."""
        ...

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
        self._outcome = Outcome(plan)
        self.before = len(self._results)  # games that were done when playing began
        columns = (games[column] for column in ("game_id", "black", "white", "score"))
        for own, black, white, score in zip(*columns, strict=True):
            self._outcome.add(own, black, white, score)
        self.pace = _pace_of(plan, self._outcome.missing(), games)
        self._ended = EndedGames(kept.add)
        self.latest: deque[GameRecord] = deque(maxlen=8)  # that ended, for display
        self.notes = list(kept.notes)  # for people, to be told once
        self.table: GameTable | None = None  # at work

    def add(self, records: list[GameRecord]) -> None:
        """Takes games in that have ended; they count as finished once :meth:`settle` has stored them."""
        self._ended.add(records)

    def settle(self, now: bool = False) -> None:
        """Stores the games that have ended.

        now: whether at once, or only if it is time.

        Raises CannotGoOn where they cannot be stored.
        """
        records = self._ended.settle(now)
        self.latest += records
        self._results |= {record.game_id: record_result(record) for record in records}
        for record in records:
            self._outcome.add(record.game_id, record.black, record.white, record.score)
            pair, moves = pairing(record.black, record.white), len(record.moves) - record.opening_plies
            self.pace.add(GameUnderWay(record.game_id, pair, moves, record.seconds))

    def next_games(self) -> Iterator[GameTask]:
        """The games that are to be played as far as the results tell, in their order.

        Raises CannotGoOn where stored games do not fit the plan.
        """
        self.settle(now=True)
        self.pace.missing = self._outcome.missing()
        return (task for task in self._outcome.tasks() if task.game_id not in self._results)

    @property
    def sprt(self) -> SprtState | None:
        """Where the plan's test stands, if it has one: of the first bot against the second."""
        return self._outcome.sprt

    @property
    def best(self) -> BestState | None:
        """Where the search for the best bot stands, if that is the plan's format."""
        return self._outcome.best

    @property
    def told(self) -> list[str]:
        """What the plan's test says, or its search for the best, or its rounds, in words."""
        return self._outcome.told(self.results, bool(self.missing))

    @property
    def rounds(self) -> list[list[dict[str, object]]]:
        """A knockout's or Swiss tournament's rounds so far: the matches, each with two bots, their points and its
        games.
        """
        return self._outcome.rounds

    @property
    def decided(self) -> bool:
        """Whether the plan's test, or its search for the best, has come to its end."""
        return self._outcome.decided

    @property
    def finished(self) -> set[str]:
        """The ids of all games that have ended, those included that count for nothing."""
        return set(self._results)

    @property
    def results(self) -> list[Result]:
        """The games that count, at the end in the order of their ids.

        These are all games, until the plan's test or its search for the best has decided. Then they are those on which
        it has decided, whatever else had ended by then.
        """
        return [self._results[own] for own in self._outcome.counting(self._results.keys())]

    @property
    def left_out(self) -> list[str]:
        """The ids of the games that count for nothing: those behind the ones on which the plan's test has decided.

        Which of these had ended by then is chance. The same holds for a search for the best.
        """
        evidence = self._outcome.evidence
        return [] if evidence is None else sorted(self._results.keys() - evidence)

    @property
    def counting(self) -> pd.DataFrame:
        """The rows of ``games`` that count."""
        games = self.games
        return games[~games["game_id"].isin(self.left_out)].reset_index(drop=True)

    def seconds_left(self, elapsed: float) -> float | None:
        """Seconds until the end, or None while nobody can know.

        elapsed: seconds of playing so far.
        """
        if not self.missing:
            return 0.0
        now = time.perf_counter()
        lanes = self.table.lanes if self.table else []
        under_way = [
            GameUnderWay(
                task.game_id, pairing(task.black, task.white), len(lane.moves) - lane.opening, now - lane.began
            )
            for lane in lanes
            if lane and (task := lane.task)
        ]
        at_once = len(lanes) or min(self.missing, games_at_once(self.plan.games_at_once))
        return self.pace.left(under_way, elapsed, at_once, self._outcome.to_come)

    @property
    def folder(self) -> Path | None:
        """The folder of the games, or None if they are in memory."""
        return self.kept.folder

    @property
    def missing(self) -> int:
        """The number of games of the plan that are still to be played."""
        return 0 if self.decided else self.total - len(self._results)

    @property
    def total(self) -> int:
        """The number of games of the plan, as far as the results tell; after a test's decision, of those that count."""
        return len(self.results) if self.decided else self._outcome.total

    @property
    def games(self) -> pd.DataFrame:
        """A pandas frame with a row for each game, :attr:`left_out` included, with the columns of ``results.sqlite``.

        These are game_id, game, black, white, black_spec, white_spec, seed, result, score (Black's; NaN if void),
        reason, detail, plies, moves, seconds, date, event, opening, opening_plies, counted, sgf. docs/tables.md
        explains them.
        """
        return self.kept.frame()

    @property
    def moves(self) -> pd.DataFrame:
        """A pandas frame with a row for each move.

        Its columns are game_id, ply, player, colour, move, opening_move, visits, simulations, win_rate, prior, seconds,
        clock_left, periods_left. docs/tables.md explains them.
        """
        return self.kept.moves()

    @property
    def ratings(self) -> pd.DataFrame:
        """A pandas frame with a row for each bot, the strongest first.

        Its columns are rank, name, elo, error (half of the 95 % interval), pair_error (the same by the spread between
        pairs of games), games, wins, draws, losses, score, group. Of the losses it has time, forfeit and resignation,
        and last distinct_games (NA if no moves are known).
        """
        return ratings_frame(self.rating_list)

    @property
    def crosstable(self) -> pd.DataFrame:
        """A pandas frame: the row's wins-draws-losses against the column, the strongest first."""
        return crosstable(self.results, [r.name for r in self.rating_list.ratings])

    @property
    def rating_list(self) -> RatingList:
        """The ratings with their joint covariance and the advantage of the first move."""
        return rate(self.results, players=[bot.name for bot in self.plan.bots])

    @property
    def verdict(self) -> Verdict:
        """Which of two bots is stronger, by how much, and how surely.

        Raises UserError if there are more than two; then see :meth:`compare`.
        """
        if len(self.plan.bots) != 2:
            raise UserError(f"a verdict is on two bots, here are {len(self.plan.bots)}; see compare(NAME, NAME)")
        return self.compare(*(bot.name for bot in self.plan.bots))

    def compare(self, first: str, second: str) -> Verdict:
        """Which of two bots is stronger, by all games of the run.

        first, second: their names.

        Raises UserError for an unknown name.
        """
        ratings = self.rating_list
        names = [r.name for r in ratings.ratings]
        for name in (first, second):
            if name not in names:
                raise UserError(f'no bot is called "{name}" here{nearest(name, names)}')
        return verdict(ratings, self.results, first, second)

    def save_report(self, path: Path | str) -> None:
        """Writes the run as one HTML page that replays every game.

        Raises UserError where it cannot be written.
        """
        write_page(Path(path), self.report())

    def report(self) -> str:
        """The run as one HTML page that replays every game."""
        page, moves = page_of(self.plan, self.kept.machines), self.moves
        page.add(self.counting, moves[~moves["game_id"].isin(self.left_out)])
        return page.page(page.summary(self.total, self.told, test=self.sprt))

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """For each bot that has failed: the number of games that it lost by time, crash, error or illegal moves."""
        return failures_in(self.counting)

    @property
    def remarks(self) -> list[str]:
        """How games with engines were scored, and how many are void; nothing where there is nothing to say."""
        return scored(self.results)

    def __str__(self) -> str:
        return standings_text(self._title, self.rating_list, self.results)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return standings_html(self._title, self.rating_list, self.results)

    @property
    def _title(self) -> str:
        count = f"{len(self.results)} games"
        if self.missing:
            count = f"{len(self.results)} of {self.total} games, {self.missing} are missing"
        return f"{self.plan.called}, {self.plan.game.spec}: {count}"


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
