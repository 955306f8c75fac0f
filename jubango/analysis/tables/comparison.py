"""What changed between two runs: of every bot that is in both its strength, games, seconds and failures.

Each run is rated by itself, and its ratings have a zero of their own, so that only differences within a run mean
something. A bot's change is measured against the *reference*: the other bots that are in both runs and have the same
settings, which are taken to be as strong as they were. With x the ratings of the second run minus those of the first,
the change of bot i is

    x_i - sum over the reference of w_r x_r,    sum of w_r = 1,

which no choice of zeros touches. The runs share no games, so the covariance of x is the sum of the two runs' joint
covariances, V = V_1 + V_2. The weights w make the variance of the change least (generalised least squares; Aitken
1936): a bot of the reference whose own rating is uncertain counts little. The 95 % error and the
likelihood of superiority (that the bot is stronger in the second run than in the first) follow from that variance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from jubango.analysis.ratings.ratings import Z95, RatingList, rate, superiority
from jubango.analysis.ratings.results import counted
from jubango.analysis.tables.tables import failures_in, frame_results
from jubango.analysis.tables.verdicts import signed
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable

CHANGE_HEADINGS = ("bot", "change", "±95%", "LOS", "games", "s/game", "failures", "settings")
CHANGE_ALIGN = "lrrrrrll"


class RunGames(NamedTuple):
    """What there is of a run."""

    label: str  # what people know it by
    game: str
    settings: Mapping[str, str]  # of all its bots, in words that differ where the settings do
    games: pd.DataFrame  # with the columns of results.sqlite


class Change(NamedTuple):
    """Of a bot's strength, Elo; nan where nothing says how much."""

    elo: float = math.nan
    error: float = math.nan  # half the width of its 95 % interval
    los: float = math.nan  # the probability that it is stronger than before


@dataclass(frozen=True, repr=False)
class Comparison:
    """What changed from the first run to the second."""

    runs: tuple[RunGames, RunGames]
    reference: tuple[str, ...]  # the bots against which changes are measured
    frame: pd.DataFrame  # a row for each bot: those in both runs, the surest change first, then the others
    remarks: tuple[str, ...]  # what has to be said beside it

    @property
    def rows(self) -> list[list[str]]:
        """A row of texts for each bot, as CHANGE_HEADINGS say: the first run's number, an arrow, the second's."""
        rows = self.frame.to_dict("records")
        return [
            [
                printable(row["name"]), *_change_texts(Change(row["change"], row["error"], row["los"])),
                _pair(row["games_first"], row["games_second"], "d"),
                _pair(row["seconds_first"], row["seconds_second"], ".3g"),
                _failures(row["failures_first"], row["failures_second"]), row["settings"],
            ]
            for row in rows
        ]  # fmt: skip

    @property
    def summary(self) -> dict[str, object]:
        """All of it, for JSON."""
        first, second = (
            {"run": run.label, "game": run.game, "games": len(run.games), "bots": list(run.settings)}
            for run in self.runs
        )
        bots = self.frame.astype(object).where(self.frame.notna(), None).to_dict("records")
        said = {"reference": list(self.reference), "bots": bots, "remarks": list(self.remarks)}
        return {"first": first, "second": second, **said}

    def __str__(self) -> str:
        table = pd.DataFrame(self.rows, columns=list(CHANGE_HEADINGS)).to_string(index=False)
        return "\n".join([*heads(self), "", table, "", *map(printable, self.remarks)])

    __repr__ = __str__


def heads(comparison: Comparison) -> list[str]:
    """A line on each of the two runs."""
    return [
        printable(f"{which} {run.label}: {run.game}, {len(run.games)} games, {len(run.settings)} bots")
        for which, run in zip(("first: ", "second:"), comparison.runs, strict=True)
    ]


def compared(first: RunGames, second: RunGames) -> Comparison:
    """Raises UserError if no bot is in both."""
    both = [name for name in first.settings if name in second.settings]
    if not both:
        raise UserError(
            f"{first.label} and {second.label} have no bot in common, by its name; {shell.command('rate')} takes both"
        )
    same = tuple(name for name in both if first.settings[name] == second.settings[name])
    ratings = [rate(frame_results(run.games), players=run.settings) for run in (first, second)]
    found = changes(ratings[0], ratings[1], both, same)
    alone = [name for run in (first, second) for name in run.settings if name not in found]
    said = {name: "same" if name in same else "other" for name in both}
    said |= {name: "first only" if name in first.settings else "second only" for name in alone}
    frame = pd.DataFrame({"name": [*both, *alone]})
    frame["settings"] = [said[name] for name in frame["name"]]
    own = [found.get(name, Change()) for name in frame["name"]]
    frame[["change", "error", "los"]] = np.array(own, float).reshape(-1, 3)
    played = [_played(run) for run in (first, second)]
    for column in ("games", "seconds", "failures", "spec"):
        for which, run in zip(("first", "second"), played, strict=True):
            frame[f"{column}_{which}"] = [run.get(name, NOT_THERE)._asdict()[column] for name in frame["name"]]
    frame = frame.astype({"games_first": "Int64", "games_second": "Int64"})
    sure = (frame["change"] / frame["error"]).abs().fillna(-1.0)
    order = sorted(range(len(both)), key=lambda i: -sure[i])
    frame = frame.loc[[*order, *range(len(both), len(frame))]].reset_index(drop=True)
    return Comparison((first, second), same, frame, tuple(_remarks(first, second, both, same)))


def changes(
    first: RatingList, second: RatingList, names: Sequence[str], reference: Collection[str]
) -> dict[str, Change]:  # fmt: skip
    """How much stronger each of ``names`` is in the second list than in the first, against those of ``reference``,
    itself excepted; see the module."""
    places = [[[r.name for r in ratings.ratings].index(name) for name in names] for ratings in (first, second)]
    before, after = (ratings.places[at] for ratings, at in zip((first, second), places, strict=True))
    sets = [ratings.sets[at] for ratings, at in zip((first, second), places, strict=True)]
    covariances = [ratings.covariance[np.ix_(at, at)] for ratings, at in zip((first, second), places, strict=True)]
    x, v = after - before, covariances[0] + covariances[1]
    usual = np.array([name in reference for name in names], bool)
    found = {}
    for i, name in enumerate(names):
        others = usual & (sets[0] == sets[0][i]) & (sets[1] == sets[1][i])
        others[i] = False
        found[name] = _change(x, v, i, np.flatnonzero(others))
    return found


def _change(x: np.ndarray, v: np.ndarray, i: int, others: np.ndarray) -> Change:
    """Of bot ``i`` against ``others``; x [n] is what has been added to the ratings, v [n, n] its covariance."""
    n = len(others)
    if not n:
        return Change()
    scale = max(float(v.diagonal().max()), 1e-9)
    # The weights of least variance, and the multiplier of their sum's being 1.
    system, target = np.ones((n + 1, n + 1)), np.ones(n + 1)
    system[:n, :n], target[:n] = v[np.ix_(others, others)] / scale, v[others, i] / scale
    system[n, n] = 0.0
    contrast = np.zeros(len(x))
    contrast[i], contrast[others] = 1.0, -np.linalg.lstsq(system, target, rcond=None)[0][:n]
    gap, sigma = float(contrast @ x), math.sqrt(max(0.0, float(contrast @ v @ contrast)))
    return Change(gap, Z95 * sigma, superiority(gap, sigma))


class _Played(NamedTuple):
    games: int | None
    seconds: float  # mean of a game; nan if no game says it
    failures: str  # games lost by them: "3 crash, 1 time"
    spec: str


NOT_THERE = _Played(None, math.nan, "", "")


def _played(run: RunGames) -> dict[str, _Played]:
    """Of every bot of a run."""
    failed, games = failures_in(run.games), run.games
    seconds = games["seconds"].where(games["seconds"] > 0)  # a row that was made again from its SGF knows none
    found = {}
    for name, spec in run.settings.items():
        own = (games["black"] == name) | (games["white"] == name)
        found[name] = _Played(int(own.sum()), float(seconds[own].mean()), counted(failed.get(name, {})), spec)
    return found


def _remarks(first: RunGames, second: RunGames, both: Sequence[str], same: Sequence[str]) -> list[str]:
    said = []
    if first.game != second.game:
        said.append(
            f"the runs are of different games, {first.game} and {second.game}, in which bots may differ otherwise"
        )
    if len(same) > 1:
        said.append(f"measured against the bots in both with the same settings, each against the others: {_some(same)}")
    elif same:
        said.append(f"measured against {same[0]}, the one bot in both with the same settings")
    else:
        said.append("no bot is in both with the same settings, so that there is nothing to measure a change against")
    said += [f"{name}: {first.settings[name]} → {second.settings[name]}" for name in both if name not in same]
    key = ["game_id", "seed", "moves"]
    again = len(first.games[key].merge(second.games[key]))
    if again:
        said.append(
            f"{again} games are in both, move by move; runs are taken for independent, so that errors are too large "
            "rather than too small"
        )
    return said


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _change_texts(change: Change) -> tuple[str, str, str]:
    if math.isnan(change.elo):
        return "", "", ""
    return signed(change.elo), f"{change.error:.0f}", f"{100 * change.los:.1f} %"


def _failures(first: str, second: str) -> str:
    return f"{first or 'none'} → {second or 'none'}" if first or second else ""


def _pair(first: Any, second: Any, form: str) -> str:
    texts = ["–" if pd.isna(value) else format(value, form) for value in (first, second)]
    return texts[0] if texts[0] == texts[1] else " → ".join(texts)
