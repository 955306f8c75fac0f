"""Ratings and crosstables as people read them: on a terminal and in a notebook."""

from __future__ import annotations

import math
from html import escape

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jubango.analysis.ratings import Rating, RatingList
from jubango.analysis.results import Result, crosstable_cells
from jubango.analysis.verdicts import MOST_IN_CROSSTABLE, evidence, remarks, signed
from jubango.sgf_games.printable import printable

HEADINGS = ("#", "bot", "Elo", "±95%", "games", "W-D-L", "score")


def standings_rows(ratings: RatingList) -> list[tuple[str, ...]]:
    """A row of texts for each bot, as :data:`HEADINGS` say: Elo with its 95 % error, wins-draws-losses, score."""
    return [
        (
            str(i), printable(r.name), *_rating(r), str(r.games), f"{r.wins:.0f}-{r.draws:.0f}-{r.losses:.0f}",
            f"{100 * r.score:.1f} %" if r.games else "",
        )
        for i, r in enumerate(ratings.ratings, 1)
    ]  # fmt: skip


def _rating(rating: Rating) -> tuple[str, str]:
    if not rating.games:
        return "", ""
    if math.isinf(rating.error):
        return signed(rating.elo) if math.isinf(rating.elo) else "?", ""
    return signed(rating.elo), f"{rating.error:.0f}"


def cross_rows(results: list[Result], ratings: RatingList) -> list[list[str]]:
    """For each bot its wins-draws-losses against every other, in the order of the ratings."""
    cells = crosstable_cells(results, [r.name for r in ratings.ratings])
    return [["—" if j == i else cell or "·" for j, cell in enumerate(row)] for i, row in enumerate(cells)]


def standings_table(ratings: RatingList, rows: int, width: int | None = None) -> Table:
    """The first ``rows`` of the standings."""
    table = Table(box=None, padding=(0, 1), header_style="bold", width=width, pad_edge=False)
    table.add_column(HEADINGS[0], justify="right", no_wrap=True)
    table.add_column(HEADINGS[1], overflow="ellipsis", no_wrap=True, ratio=1)
    for heading in HEADINGS[2:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, name, *rest in standings_rows(ratings)[:rows]:
        table.add_row(rank, Text(name), *rest)
    return table


def cross_table(results: list[Result], ratings: RatingList) -> Table:
    """Wins-draws-losses of the row against the column; columns are numbered as the rows."""
    table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("row against column", overflow="ellipsis", no_wrap=True, max_width=32)
    for i in range(1, len(ratings.ratings) + 1):
        table.add_column(str(i), justify="center", no_wrap=True)
    for i, (r, row) in enumerate(zip(ratings.ratings, cross_rows(results, ratings), strict=True), 1):
        table.add_row(str(i), Text(printable(r.name)), *row)
    return table


def print_standings(console: Console, ratings: RatingList, results: list[Result]) -> None:
    """The standings, the remarks, the crosstable if there are not too many bots, and what the games were."""
    console.print(standings_table(ratings, len(ratings.ratings)))
    for remark in remarks(ratings):
        console.print(f"\n{remark}", highlight=False, markup=False)
    if len(ratings.ratings) <= MOST_IN_CROSSTABLE:
        console.print()
        console.print(cross_table(results, ratings))
    for i, line in enumerate(evidence(ratings, results)):
        console.print(f"\n{line}" if not i else line, highlight=False, markup=False, soft_wrap=True)


def standings_html(title: str, ratings: RatingList, results: list[Result]) -> str:
    """The same as HTML; whatever users have named is escaped."""
    frame = pd.DataFrame(standings_rows(ratings), columns=list(HEADINGS))
    parts = [f"<b>{escape(printable(title))}</b>", frame.to_html(index=False, border=0)]
    parts += [f"<p>{escape(printable(remark))}</p>" for remark in remarks(ratings)]
    if len(ratings.ratings) <= MOST_IN_CROSSTABLE:
        order = [printable(r.name) for r in ratings.ratings]
        cross = pd.DataFrame(cross_rows(results, ratings), columns=[str(i + 1) for i in range(len(order))])
        cross.insert(0, "row against column", order)
        cross.insert(0, "#", [str(i + 1) for i in range(len(order))])
        parts.append(cross.to_html(index=False, border=0))
    parts += [f"<p>{escape(line)}</p>" for line in evidence(ratings, results)]
    return "\n".join(parts)
