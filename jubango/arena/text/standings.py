"""Ratings and crosstables as people read them: on a terminal, in a notebook, in a text of their own."""

from __future__ import annotations

import io
from collections.abc import Collection
from html import escape

import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jubango.analysis.ratings.ratings import RatingList
from jubango.analysis.ratings.results import Result
from jubango.analysis.tables.markup import latex_comment, latex_table, markdown_paragraph, markdown_table
from jubango.analysis.tables.standings import ALIGN, HEADINGS, cross_rows, over_the_next, standings_rows
from jubango.analysis.tables.verdicts import MOST_IN_CROSSTABLE, evidence, remarks
from jubango.arena.text.console import Console
from jubango.arena.text.names import SHORTEST_NAME, short_names, stay_apart, widest
from jubango.bots.config import LONGEST_NAME
from jubango.sgf_games.base.printable import printable

FEWER = (), ("±pairs",), ("±pairs", "W-D-L"), ("±pairs", "W-D-L", "games")  # columns that go where room is short


def standings_table(
    ratings: RatingList, rows: int, room: int = 2 * LONGEST_NAME, without: Collection[str] = (), los: bool = False
) -> Table:  # fmt: skip
    """The first ``rows`` of the standings, ``without`` some columns, names taking ``room`` columns of the screen at
    most; ``los``: with the likelihood of superiority over the next."""
    table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    kept = [i for i, heading in enumerate(HEADINGS) if heading not in without]
    for i in kept:
        table.add_column(HEADINGS[i], justify="left" if HEADINGS[i] == "bot" else "right", no_wrap=True)
    if los:
        table.add_column("LOS", justify="right", no_wrap=True)
    names = short_names([printable(r.name) for r in ratings.ratings], room)
    for name, row, over in list(zip(names, standings_rows(ratings), over_the_next(ratings), strict=True))[:rows]:
        cells = [Text(name) if HEADINGS[i] == "bot" else row[i] for i in kept]
        table.add_row(*cells, *([over] if los else []))
    return table


def standings_for(width: int, ratings: RatingList, rows: int, clear: int = 0, los: bool = False) -> Table | None:
    """The standings in ``width`` columns of the screen, with as many of their own as leave room for names that stay
    apart; None if there is no such room. With ``clear`` names need so much, or all that they have; with ``los`` they
    have the likelihood of superiority over the next, if there is room."""
    names = [printable(r.name) for r in ratings.ratings]
    longest = widest(names)
    for without, more in [(FEWER[0], True)] * los + [(one, False) for one in FEWER]:
        room = width - natural_width(standings_table(ratings, rows, without=("bot", *without), los=more)) - 2
        if room >= min(longest, max(clear, SHORTEST_NAME)) and stay_apart(names, room):
            return standings_table(ratings, rows, room, without, more)
    return None


def shortest_standings(ratings: RatingList, rows: int) -> Table:
    """The standings where there is no room for names that stay apart: their places tell bots apart."""
    return standings_table(ratings, rows, SHORTEST_NAME, FEWER[-1])


def cross_table(results: list[Result], ratings: RatingList, room: int = 32) -> Table:
    """Wins-draws-losses of the row against the column; columns are numbered as the rows. Without names if there is no
    ``room`` for them."""
    table = Table(box=None, padding=(0, 1), header_style="bold", pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    if room:
        table.add_column("row against column", no_wrap=True)
    for i in range(1, len(ratings.ratings) + 1):
        table.add_column(str(i), justify="center", no_wrap=True)
    names = short_names([printable(r.name) for r in ratings.ratings], room)
    for i, (name, row) in enumerate(zip(names, cross_rows(results, ratings), strict=True), 1):
        table.add_row(str(i), *([Text(name)] if room else []), *row)
    return table


def cross_for(width: int, results: list[Result], ratings: RatingList) -> Table | None:
    """The crosstable in ``width`` characters, with whole names if they fit, and without any if they do not stay apart;
    None if there is no room."""
    names = [printable(r.name) for r in ratings.ratings]
    rooms = (widest(names), 32, 20, 0)
    tables = (cross_table(results, ratings, room) for room in rooms if not room or stay_apart(names, room))
    return next((table for table in tables if natural_width(table) <= width), None)


def natural_width(table: RenderableType) -> int:
    """Characters that it takes when nothing is cut."""
    wide = Console(width=10_000, file=io.StringIO(), force_terminal=False, color_system=None)
    return wide.measure(table).maximum


def print_standings(console: Console, ratings: RatingList, results: list[Result]) -> None:
    """The standings, the remarks, the crosstable if there are not too many bots, and what the games were."""
    every = len(ratings.ratings)
    console.print(standings_for(console.width, ratings, every) or shortest_standings(ratings, every))
    for remark in remarks(ratings):
        console.print(f"\n{remark}")
    if every <= MOST_IN_CROSSTABLE:
        console.print()
        console.print(cross_for(console.width, results, ratings) or "the crosstable is wider than this terminal")
    for i, line in enumerate(map(printable, evidence(ratings, results))):
        console.sentence(f"\n{line}" if not i else line)


def standings_text(title: str, ratings: RatingList, results: list[Result]) -> str:
    """The same as text under a title."""
    console = Console(width=200, force_terminal=False, force_jupyter=False, color_system=None)
    with console.capture() as text:
        print_standings(console, ratings, results)
    return f"{printable(title)}\n{text.get().rstrip()}"


def standings_markdown(ratings: RatingList, results: list[Result], more: Collection[str] = ()) -> str:
    """The same as GitHub's Markdown, ``more`` lines at the end."""
    parts = [markdown_table(*table) for table in _plain_tables(ratings, results)]
    before, after = remarks(ratings), [*evidence(ratings, results), *more]
    parts[1:1] = [f"{markdown_paragraph(line)}\n" for line in before]
    return "\n".join([*parts, *(f"{markdown_paragraph(line)}\n" for line in after)])


def standings_latex(ratings: RatingList, results: list[Result], more: Collection[str] = ()) -> str:
    """The same as LaTeX: a ``tabular`` of the ratings and one of the crosstable; what is said is in comments."""
    tables = [latex_table(*table) for table in _plain_tables(ratings, results)]
    said = map(latex_comment, [*remarks(ratings), *evidence(ratings, results), *more])
    return "\n".join(["% needs \\usepackage{booktabs}\n" + tables[0], *tables[1:], "".join(said)])


def _plain_tables(ratings: RatingList, results: list[Result]) -> list[tuple[list[str], list[list[str]], str]]:
    """(headings, rows, alignment) of the ratings and, if there are not too many bots, of the crosstable."""
    tables = [(list(HEADINGS), list(map(list, standings_rows(ratings))), ALIGN)]
    names = [rating.name for rating in ratings.ratings]
    if len(names) <= MOST_IN_CROSSTABLE:
        numbers = [str(i) for i in range(1, len(names) + 1)]
        rows = zip(numbers, names, cross_rows(results, ratings), strict=True)
        cells = [[number, name, *row] for number, name, row in rows]
        tables.append((["#", "row against column", *numbers], cells, "rl" + "c" * len(names)))
    return tables


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
    parts += [f"<p>{escape(printable(line))}</p>" for line in evidence(ratings, results)]
    return "\n".join(parts)
