"""A tuning that has been played, or is being played: what has been tried, and what it says of the best settings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jubango.analysis.tables.tables import games_frame
from jubango.analysis.tables.verdicts import signed
from jubango.analysis.tuning.response import Estimate, Response, Trials, spread
from jubango.analysis.tuning.response_plot import Axis, save_response
from jubango.arena.games.pool import GameTable
from jubango.arena.runs.run import Run
from jubango.arena.runs.work_folder import writing
from jubango.arena.schedule.pairings import GameTask, game_id, pairing
from jubango.arena.schedule.plan import Plan
from jubango.arena.tuning.plan import TUNED, Setting, TunePlan
from jubango.bots.config import SearchConfig
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.base.specs import value_text
from jubango.sgf_games.library.database import DATABASE
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.records.record import Failure, GameRecord

if TYPE_CHECKING:
    import pandas as pd

SETTINGS_TABLE = "settings.csv"
PICTURE = "tune.png"
UNKNOWN = 1.6  # of the 2 that a range is wide: an interval that says nothing
EDGE = 0.98  # a place in [-1, 1] from which on it is at the end of its range


class Trial(NamedTuple):
    """Settings that are tried in a pair of games; a row of ``settings.csv``."""

    number: int  # from 1
    round: int  # from 1
    opponent: int
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """Of the bot with these settings."""
        return f"{TUNED}-{self.number:05d}"


class BestSetting(NamedTuple):
    """What is known of a setting: its best value, and the 95 % interval of where that is."""

    key: str
    value: float
    low: float
    high: float
    start: float  # without tuning


class Tuning:
    """What has been played of a tuning's plan, and what it says. Prints as the best settings so far.

    It grows while it is being played. ``folder`` is where it is kept, None if that has gone.
    """

    def __init__(self, plan: TunePlan, folder: Path) -> None:
        self.plan = plan
        self.folder: Path | None = folder
        self.trials = _read_trials(folder, plan)
        self.scores: dict[str, float] = {}  # the tuned bot's in each finished game; nan: not decided
        if Folder(folder).has(DATABASE):
            games = games_frame(folder)
            for row in zip(*(games[key] for key in ("game_id", "black", "score", "reason")), strict=True):
                self._count(*row)
        self.before = self.done  # games that were finished when playing began
        self.notes: list[str] = []  # for people, to be told once
        self.confirmed: Run | None = None  # the match of the best settings against those without tuning
        self.table: GameTable | None = None  # at work
        self._fitted: tuple[int, Response | None] = (-1, None)

    # -- how far it is -----------------------------------------------------------------------

    @property
    def total(self) -> int:
        """The number of games in all."""
        return max(self.plan.games, 2 * len(self.trials))

    @property
    def done(self) -> int:
        """The number of games that are finished."""
        return len(self.scores)

    @property
    def missing(self) -> int:
        """The number of games that are still to be played."""
        return self.total - self.done

    @property
    def round(self) -> int:
        """The round that is being played, from 1; 0 before the first."""
        return self.trials[-1].round if self.trials else 0

    @property
    def tried(self) -> list[SearchConfig]:
        """The bots of this round, one for each of its trials."""
        return [self.plan.bot(trial.values, trial.name) for trial in self._now]

    @property
    def round_plan(self) -> Plan:
        """How the games of this round are played, by these bots and their opponents."""
        return replace(self.plan.playing, bots=(*self.tried, *self.plan.opponents))

    @property
    def _now(self) -> list[Trial]:
        """The trials of this round."""
        return [trial for trial in self.trials if trial.round == self.round]

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that plays; none where this process does."""
        return self.table.hosts if self.table else ()

    def tasks(self) -> list[GameTask]:
        """The games of this round that are still to be played; all before are finished."""
        tasks = [self.plan.playing.task(self._pair(trial), number) for trial in self._now for number in _numbers(trial)]
        return [task for task in tasks if task.game_id not in self.scores]

    def propose(self) -> list[Trial]:
        """The trials of the next round, none after the last. They depend on the seed and on the results of earlier
        rounds.
        """
        plan, number = self.plan, len(self.trials)
        pairs = min(plan.games_per_round, plan.games - 2 * number) // 2
        if pairs <= 0:
            return []
        rng = np.random.default_rng([plan.playing.seed, self.round + 1])
        response, size = self.fit(), len(plan.settings)
        places = spread(pairs, size, rng.random(size)) if response is None else response.tries(pairs, rng)
        new = [
            Trial(number + i, self.round + 1, (number + i - 1) % len(plan.opponents), plan.values(place))
            for i, place in enumerate(places, 1)
        ]
        self.trials += new
        return new

    def add(self, records: Sequence[GameRecord]) -> None:
        """Takes in and stores games that are finished.

        records: the games.
        """
        for record in records:
            self._count(record.game_id, record.black, record.score, record.reason)

    def _count(self, game_id: str, black: str, score: float, reason: str) -> None:
        own = score if black.startswith(TUNED) else 1 - score
        self.scores[game_id] = math.nan if reason in list(Failure) else own  # an engine's failure says nothing

    def _pair(self, trial: Trial) -> tuple[str, str]:
        return pairing(trial.name, self.plan.opponents[trial.opponent].name)

    def points(self, trial: Trial) -> float:
        """The points of a trial's two games, 0 to 2; nan if they are not both finished and decided."""
        pair = self._pair(trial)
        return sum(self.scores.get(game_id(pair, number), math.nan) for number in _numbers(trial))

    # -- what it says ------------------------------------------------------------------------

    def fit(self) -> Response | None:
        """The response fitted to all pairs that have been played; None before the first pair."""
        played = [(trial, points) for trial in self.trials if not math.isnan(points := self.points(trial))]
        if self._fitted[0] != len(played):
            self._fitted = len(played), self._response_to(played) if played else None
        return self._fitted[1]

    @property
    def latest(self) -> Response | None:
        """The response as it was last fitted; nothing is computed."""
        return self._fitted[1]

    def _response_to(self, played: list[tuple[Trial, float]]) -> Response:
        plan = self.plan
        places = np.array([plan.place(trial.values) for trial, _ in played])
        opponents = np.array([trial.opponent for trial, _ in played])
        trials = Trials(places, opponents, np.array([points for _, points in played]))
        return Response(trials, len(plan.settings), len(plan.opponents), plan.known())

    @property
    def best(self) -> list[BestSetting]:
        """The best settings by the latest response; before there is one, those without tuning, with no interval."""
        plan, response = self.plan, self.latest
        start = plan.values_of(plan.start)
        if response is None:
            return [
                BestSetting(s.key, value, s.low, s.high, value) for s, value in zip(plan.settings, start, strict=True)
            ]
        places = response.optimum.place, response.optimum.low, response.optimum.high
        columns = [plan.values(place) for place in places]
        return [BestSetting(s.key, *row) for s, *row in zip(plan.settings, *columns, start, strict=True)]

    @property
    def bot(self) -> SearchConfig:
        """The bot with the best settings, called by its spec string."""
        bot = self.plan.bot([found.value for found in self.best])
        return bot.model_copy(update={"name": bot.usual_name})

    @property
    def spec(self) -> str:
        """The spec string of the bot with the best settings, to paste."""
        return self.bot.spec

    @property
    def against(self) -> dict[str, Estimate]:
        """Elo of the best settings over each opponent, by the latest response."""
        response = self.latest
        if response is None:
            return {}
        place = response.optimum.place
        return {bot.name: response.elo(place, i) for i, bot in enumerate(self.plan.opponents)}

    @property
    def gain(self) -> Estimate | None:
        """Elo of the best settings over those without tuning, by the latest response; None where it does not reach
        these.
        """
        response, start = self.latest, self.plan.values_of(self.plan.start)
        inside = all(setting.holds(value) for setting, value in zip(self.plan.settings, start, strict=True))
        return response.gain(response.optimum.place, self.plan.place(start)) if response and inside else None

    @property
    def told(self) -> list[str]:
        """Lines of text for people, beside the tables of settings and opponents."""
        lines = list(self.remarks)
        start = self.plan.start.model_copy(update={"name": ""})
        met = any(bot.model_copy(update={"name": ""}) == start for bot in self.plan.opponents)
        if not met and self.gain is not None:
            lines.insert(0, f"predicted: {elo_text(self.gain)} over the settings without tuning")
        return [*lines, *(self.confirmed.told if self.confirmed else [])]

    @property
    def remarks(self) -> list[str]:
        """Lines of text: doubts about the best settings, if there are any."""
        if self.latest is None:
            return []
        remarks, best = [], self.latest.optimum
        for setting, place, low, high in zip(self.plan.settings, best.place, best.low, best.high, strict=True):
            if high - low > UNKNOWN:
                remarks.append(f"{setting.key}: these games do not tell where it is best")
            elif abs(place) >= EDGE:
                end = "low" if place < 0 else "high"
                remarks.append(
                    f"{setting.key}: the best is at the end of its range, {setting.range}; try another {end}"
                )
        return remarks

    @property
    def summary(self) -> dict[str, object]:
        """The best settings, the gain and the opponents, as JSON has them."""
        test = self.confirmed.sprt if self.confirmed else None
        return {
            "bot": self.spec,
            "games": self.done,
            "settings": [found._asdict() for found in self.best],
            "against": {name: elo._asdict() for name, elo in self.against.items()},
            "gain": self.gain._asdict() if self.gain else None,
            "remarks": self.remarks,
            "confirmed": test.summary if test else None,
        }

    @property
    def frame(self) -> pd.DataFrame:
        """A pandas frame with a row for each pair of games.

        Its columns are number, round, opponent, the settings, and points (of two; NaN if not both games are finished
        and decided).
        """
        import pandas as pd

        keys = [setting.key for setting in self.plan.settings]
        names = [bot.name for bot in self.plan.opponents]
        rows = [(t.number, t.round, names[t.opponent], *t.values, self.points(t)) for t in self.trials]
        return pd.DataFrame(rows, columns=["number", "round", "opponent", *keys, "points"])

    def plot(self, path: Path | str) -> None:
        """Draws the response with what has been tried into a file; nothing before the first pair.

        path: its ending says of what kind: PNG or SVG.
        """
        if self.latest is not None:
            axes = [Axis(setting.key, setting.exact, setting.log) for setting in self.plan.settings]
            whom = " and ".join(printable(bot.name) for bot in self.plan.opponents)
            save_response(Path(path), self.latest, axes, f"{self.plan.playing.game.spec}: {printable(self.spec)}", whom)

    def save(self) -> None:
        """Writes the table of what has been tried.

        Raises CannotGoOn where it cannot be written.
        """
        assert self.folder is not None
        text = self.frame.to_csv(index=False, lineterminator="\n")
        with writing(self.folder / SETTINGS_TABLE):
            Folder(self.folder).write(SETTINGS_TABLE, text.encode())

    def __str__(self) -> str:
        lines = [f"{self.spec}, after {self.done} of {self.total} games"]
        if self.latest is not None:
            lines += [f"{one.key} = {value_text(one.value)} (95 %: {interval_text(one)})" for one in self.best]
            lines += [f"predicted: {elo_text(elo)} against {printable(name)}" for name, elo in self.against.items()]
        return "\n".join([*lines, *self.told])

    __repr__ = __str__


def _numbers(trial: Trial) -> tuple[int, int]:
    """Of its games, from 0, among all with this opponent and this name: one opening for both."""
    return 2 * (trial.number - 1), 2 * trial.number - 1


def elo_text(elo: Estimate) -> str:
    return f"{signed(elo.value)} Elo (95 %: {signed(elo.low)} to {signed(elo.high)})"


def interval_text(found: BestSetting) -> str:
    return f"{value_text(found.low)} to {value_text(found.high)}"


def _read_trials(folder: Path, plan: TunePlan) -> list[Trial]:
    """What has been tried, by ``settings.csv``. Raises UserError."""
    text = Folder(folder).read_text(SETTINGS_TABLE)
    names = [bot.name for bot in plan.opponents]
    try:
        trials = [
            Trial(
                int(row["number"]), int(row["round"]), names.index(row["opponent"]),
                tuple((int if s.whole else float)(row[s.key]) for s in plan.settings),
            )
            for row in csv.DictReader(io.StringIO(text or ""))
        ]  # fmt: skip
        for number, trial in enumerate(trials, 1):
            last = trials[number - 2].round if number > 1 else 0
            inside = all(map(Setting.holds, plan.settings, trial.values))
            if trial.number != number or trial.round not in (max(1, last), last + 1) or not inside:
                raise ValueError(f"row {number} is none that it would have written")
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        where = f"{folder / SETTINGS_TABLE}: is not what a tuning with these settings wrote"
        raise UserError(f"{where}: {error}; use another --out") from None
    return trials
