"""The page of a run: standings, crosstable, Elo, which is stronger and how surely, how the games ended, how fast, and
all games to be replayed. It grows with the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.analysis.ratings.results import Result, decided
from jubango.analysis.ratings.sprt import SprtState
from jubango.analysis.report.elo_plot import elo_plot
from jubango.analysis.report.gauge import gauge
from jubango.analysis.report.page import board_facts, page, part, plain
from jubango.analysis.tables.standings import HEADINGS, cross_rows, standings_rows
from jubango.analysis.tables.tables import frame_results
from jubango.analysis.tables.verdicts import evidence, remarks
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import initial_state, rules
from jubango.sgf_games.rules.game import Game

if TYPE_CHECKING:
    import pandas as pd

MOST_IN_GRID = 40  # players in a table of all against all
GAMES_WITH_BOARDS = 300  # games whose boards are worked out here, where a page does not know the rules

# How games end, in words; what engines say is in docs/engines.md.
REASONS = {
    "score": "two passes, and the board was counted", "line": "a row that wins", "full": "the board is full",
    "end": "no move was left", "resign": "resigned",
    "adjudicated": "both sides said who wins", "time": "a flag fell, or a move took too long",
    "crash": "an engine ended or fell silent", "error": "an engine answered with an error",
    "illegal": "an engine's illegal move", "refused": "an engine refused a legal move",
    "agreed": "counted without the stones that both sides call dead", "cleanup": "counted after play went on",
    "disputed": "counted while it was disputed what is dead",
}  # fmt: skip


class RunPage:
    """What is known of a run's games so far. ``add`` more of them, and ask for the page again.

    players: what each is, by its name. made: lines on how its games come about.
    """

    def __init__(self, title: str, game: Game, players: Mapping[str, str], made: Sequence[str] = ()) -> None:
        self.title, self.game, self.players, self.made = title, game, dict(players), list(made)
        self.results: list[Result] = []
        self.games: list[list[object]] = []  # a row for each game, as run.js reads it
        self.changes: dict[str, list[list[int]]] = {}  # what moves changed on the board, by the games' ids
        self._names = {name: i for i, name in enumerate(self.players)}
        self._endings: dict[str, Counter[str]] = {}
        self._speed: pd.DataFrame | None = None  # sums over each player's moves, as _sums has them
        self._plies, self._seconds, self._dates = 0, 0.0, ("", "")

    def add(self, games: pd.DataFrame, moves: pd.DataFrame) -> None:
        """Finished games and their moves, as ``games_frame`` and ``moves_frame`` of
        :mod:`jubango.analysis.tables.tables` have them."""
        results = frame_results(games)
        self.results += results
        rates = _black_rates(moves)
        columns = ("game_id", "black", "white", "result", "reason", "detail", "moves", "opening_plies")
        for row, result in zip(zip(*(games[name].tolist() for name in columns), strict=True), results, strict=True):
            game_id, black, white, text, reason, detail, played, opening = row
            place = [self._names.setdefault(name, len(self._names)) for name in (black, white)]
            self.games.append([*place, text, reason, detail, played, rates.get(game_id, ""), opening, game_id])
            won = "undecided" if math.isnan(result.score) else ("white", "drawn", "black")[round(2 * result.score)]
            self._endings.setdefault(reason, Counter())[won] += 1
            if (
                self.game.placing is None
                and len(self.changes) < GAMES_WITH_BOARDS
                and self.game.height * self.game.width
            ):
                self._follow(game_id, played.split())
        self._plies += int(games["plies"].sum())
        self._seconds += float(games["seconds"].sum())
        dates = [date for date in games["date"] if date]
        if dates:
            self._dates = min([self._dates[0] or dates[0], *dates]), max([self._dates[1], *dates])
        sums = _sums(moves)
        self._speed = sums if self._speed is None else self._speed.add(sums, fill_value=0)

    def _follow(self, game_id: str, moves: Sequence[str]) -> None:
        with suppress(UserError):  # moves of a game that has changed since
            self.changes[game_id] = _changes(self.game, moves)

    @property
    def names(self) -> list[str]:
        """The players, as the games number them."""
        return list(self._names)

    def summary(
        self, total: int | None = None, told: Iterable[str] = (), live: str = "", test: SprtState | None = None
    ) -> str:
        """All but the games, as HTML. told: what the run's test or its rounds say; live: how the run goes on; test:
        where the first player's against the second stands, if the run has one."""
        ratings = rate(self.results, players=list(self.players))
        names = [rating.name for rating in ratings.ratings]
        small = len(names) <= MOST_IN_GRID
        done, total = len(self.results), max(total or 0, len(self.results))
        games = f"{done:,} of {total:,} games" if done < total else f"{done:,} games"
        facts = [self.game.spec, f"{len(names)} players", games]
        said, told = evidence(ratings, self.results), list(told)
        first = [*said[:1], *told] if len(names) == 2 and decided(self.results) else []  # which is stronger
        said = said[1:] if first else [*said, *told]
        return part(
            "summary", title=self.title, facts=facts, done=done, total=total, live=live, most=MOST_IN_GRID,
            standings=standings_rows(ratings) if self.results else [], headings=HEADINGS, remarks=remarks(ratings),
            elo=elo_plot(ratings), cross=_shaded(names, cross_rows(self.results, ratings), _points) * small,
            superiority=_shaded(names, _likelihoods(ratings), _percent) * small, first=first, said=said,
            endings=self._ending_rows(), speed=self._speed_rows(names), pace=self._pace(),
            bots=list(self.players.items()), made=self.made,
            gauge=gauge(test) if test else None,
        )  # fmt: skip

    def page(self, summary: str, live: bool = False) -> str:
        """The page as HTML, with what :meth:`summary` says; ``live``, it asks its server for what is new."""
        data = {"game": board_facts(self.game), "live": live, **self.more(0)}
        return page("run", self.title, data, live, summary=summary)

    def more(self, since: int) -> dict[str, object]:
        """What a page lacks that has the first ``since`` games, for JSON."""
        games = self.games[since:]
        own = {str(row[-1]) for row in games}
        changes = {game_id: found for game_id, found in self.changes.items() if game_id in own}
        return {"names": plain(self.names), "games": plain(games), "changes": changes}

    def _ending_rows(self) -> list[dict[str, object]]:
        order = sorted(self._endings.items(), key=lambda item: (-item[1].total(), item[0]))
        kinds = ("black", "drawn", "white", "undecided")
        return [
            {"reason": reason, "words": REASONS.get(reason, ""), "games": count.total()} | {k: count[k] for k in kinds}
            for reason, count in order
        ]

    def _speed_rows(self, names: Sequence[str]) -> list[dict[str, str]]:
        rows = []
        for name in names:
            if self._speed is None or name not in self._speed.index:
                continue
            own = self._speed.loc[name]
            rows.append({
                "name": name, "moves": f"{own['moves']:,.0f}",
                "seconds": f"{own['seconds'] / own['timed']:.3g}" if own["timed"] else "",
                "simulations": f"{own['simulations'] / own['searches']:,.0f}" if own["searches"] else "",
                "rate": f"{own['counted'] / own['spent']:,.0f}" if own["spent"] else "",
            })  # fmt: skip
        return rows

    def _pace(self) -> list[str]:
        import pandas as pd

        games = len(self.games)
        if not games:
            return []
        said = [f"{self._plies / games:,.1f} moves and {self._seconds / games:,.3g} seconds a game on average"]
        ends = pd.Series(pd.to_datetime(list(self._dates), errors="coerce", format="ISO8601", utc=True))
        if games > 1 and ends.notna().all():
            spent = ends.diff().dt.total_seconds().iloc[1]
            first, last = ends.dt.strftime("%Y-%m-%d %H:%M")
            hours = f": {3600 * (games - 1) / spent:,.0f} games an hour, pauses included" if spent > 0 else ""
            said.append(f"The first game ended {first}, the last {last} (UTC){hours}")
        return said


def _black_rates(moves: pd.DataFrame) -> dict[str, str]:
    """Of every game with any Black's win rate in percent, as its players saw it: ``53,,61``, one for each move."""
    rate = (100 * moves["win_rate"]).round()
    black = rate.where(moves["colour"] == "black", 100 - rate)
    texts = black.map(lambda value: "" if value != value else str(int(value)), na_action=None)
    joined = texts.groupby(moves["game_id"], sort=False).agg(",".join)
    return {str(key): text for key, text in joined.items() if text.strip(",")}


def _sums(moves: pd.DataFrame) -> pd.DataFrame:
    """Of every player, openings left out: its moves; those that are timed and their seconds; those with a search and
    their simulations; the simulations that are timed, and the seconds of these."""
    own = moves[~moves["opening_move"].astype(bool)]
    timed, searched = own["seconds"].notna(), own["simulations"].notna()
    seconds, simulations = own["seconds"].fillna(0.0), own["simulations"].astype("Float64").fillna(0.0)
    columns = {
        "moves": timed | True, "timed": timed, "seconds": seconds, "searches": searched, "simulations": simulations,
        "counted": simulations.where(timed, 0.0), "spent": seconds.where(searched, 0.0),
    }  # fmt: skip
    return own[["player"]].assign(**columns).groupby("player").sum().astype(float)


def _changes(game: Game, moves: Sequence[str]) -> list[list[int]]:
    """What each move changed on the board: points and their colours, one after another. Raises UserError."""
    state, compiled = initial_state(game), rules(game)
    before, found = game.stones(state).ravel(), []
    for text in moves:
        state = compiled.step(state, game.parse_action(text))
        after = game.stones(state).ravel()
        where = np.flatnonzero(after != before)
        found.append([int(value) for point in where for value in (point, after[point])])
        before = after
    return found


def _likelihoods(ratings: RatingList) -> list[list[str]]:
    rows = 100 * ratings.superiority
    return [
        ["—" if i == j else f"{value:.1f}" for j, value in enumerate(row)] for i, row in enumerate(rows)
    ]  # fmt: skip


def _shaded(
    names: Sequence[str], rows: Sequence[Sequence[str]], share: Callable[[str], float | None]
) -> list[dict[str, object]]:
    """A table of all against all: the texts of its cells, and how far the ``share`` of each is above or below a half,
    as the style has it (win1 to win4, loss1 to loss4)."""
    found: list[dict[str, object]] = []
    for name, row in zip(names, rows, strict=True):
        cells = []
        for text in row:
            part = share(text)
            level = 0 if part is None else round(8 * (part - 0.5))
            cells.append({"text": text, "shade": f"{'win' if level > 0 else 'loss'}{abs(level)}" if level else ""})
        found.append({"name": name, "cells": cells})
    return found


def _points(text: str) -> float | None:
    """The share of points in wins-draws-losses."""
    counts = text.split("-")
    if len(counts) != 3:
        return None
    wins, draws, losses = map(int, counts)
    return (wins + draws / 2) / max(1, wins + draws + losses)


def _percent(text: str) -> float | None:
    return None if text == "—" else float(text) / 100
