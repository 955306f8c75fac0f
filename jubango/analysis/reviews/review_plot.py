"""A game's win rate and lead as curves: on matplotlib axes, as PNG or SVG, and in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.text import Text

from jubango.analysis.positions.plot import drawable, font_names, save_figure
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.base.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK, PALE, LINE = "#333333", "#e9e4d8", "#1f4e79"
GRADE_COLOURS = {"inaccuracy": "#c9a227", "mistake": "#d9731a", "blunder": "#c0261c", "surprise": "#2a8f4e"}
BLOCKS = " ▁▂▃▄▅▆▇█"
NARROWEST = 20  # characters


class Mark(NamedTuple):
    """A graded move in the curves."""

    number: int
    player: int
    grade: str
    sign: str


class Curves(NamedTuple):
    """What is drawn of a game: a value for the position before the first move and after each."""

    win_rates: Sequence[float]  # Black's
    errors: Sequence[float]  # halves of 95 % intervals
    leads: Sequence[float | None]  # Black's, in points
    marks: Sequence[Mark]
    title: str

    @property
    def has_leads(self) -> bool:
        return any(lead is not None for lead in self.leads)


def draw_win_rates(curves: Curves, axes: Axes) -> None:
    """Black's win rate, its 95 % interval, and the graded moves."""
    rates, errors = 100 * np.array(curves.win_rates), 100 * np.array(curves.errors)
    moves = np.arange(len(rates))
    axes.fill_between(moves, 0, rates, color=DARK, alpha=0.85, linewidth=0)
    axes.fill_between(moves, rates, 100, color=PALE, linewidth=0)
    axes.fill_between(
        moves, (rates - errors).clip(0), (rates + errors).clip(None, 100), color=LINE, alpha=0.35, linewidth=0
    )
    axes.plot(moves, rates, color=LINE, linewidth=1.2)
    axes.axhline(50, color="#888888", linewidth=0.8, linestyle="--")
    for mark in curves.marks:
        face = "#000000" if mark.player == 0 else "#ffffff"
        axes.plot(
            mark.number, rates[mark.number], "o", markersize=6, markerfacecolor=face,
            markeredgecolor=GRADE_COLOURS.get(mark.grade, LINE), markeredgewidth=1.8, zorder=5,
        )  # fmt: skip
    axes.set(xlim=(0, max(1, len(rates) - 1)), ylim=(0, 100), ylabel="Black's win rate in %")


def draw_leads(curves: Curves, axes: Axes) -> None:
    """Black's lead in points."""
    leads = np.array([np.nan if lead is None else lead for lead in curves.leads])
    moves = np.arange(len(leads))
    axes.fill_between(moves, 0, leads, where=leads >= 0, color=DARK, alpha=0.85, interpolate=True, linewidth=0)
    axes.fill_between(moves, 0, leads, where=leads <= 0, color=PALE, interpolate=True, linewidth=0)
    axes.plot(moves, leads, color=LINE, linewidth=1.2)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set(xlim=(0, max(1, len(leads) - 1)), ylabel="Black's lead in points")


def figure_of(curves: Curves, figure: Figure | None = None) -> Figure:
    """The curves below each other, on a new figure if none is given; graded moves explained below. Raises UserError
    where matplotlib is not installed."""
    need("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = figure or Figure(figsize=(9, 5.6 if curves.has_leads else 3.6), dpi=150, layout="constrained")
    rows = figure.subplots(1 + curves.has_leads, 1, sharex=True, squeeze=False)[:, 0]
    draw_win_rates(curves, rows[0])
    if curves.has_leads:
        draw_leads(curves, rows[1])
    rows[-1].set_xlabel("move")
    text, families = drawable(printable(curves.title), font_names())
    rows[0].set_title(text, fontsize=10, fontfamily=families, parse_math=False)
    seen = [grade for grade in GRADE_COLOURS if any(mark.grade == grade for mark in curves.marks)]
    if seen:
        handles = [
            Line2D(
                [],
                [],
                marker="o",
                linestyle="",
                markerfacecolor="#bbbbbb",
                markeredgecolor=GRADE_COLOURS[grade],
                label=grade,
            )
            for grade in seen
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def save_graph(path: Path | str, curves: Curves) -> None:
    """Write the curves as a picture, of the kind that the file's name says. Raises OSError, ValueError."""
    save_figure(path, figure_of(curves))


# -- the terminal --------------------------------------------------------------------------------


def graph_text(curves: Curves, width: int, height: int = 8) -> Text:
    """Black's win rate as columns of blocks, and below it where Black and White made graded moves; then the lead. It is
    ``width`` characters wide; where there are more positions than columns, a column is the mean of several."""
    room = max(NARROWEST, width) - 8
    rates = _columns([100 * rate for rate in curves.win_rates], room)
    text = Text("Black's win rate\n", style="bold", no_wrap=True)
    text.append(_bars(rates, 0, 100, height, {0: "100 %", height // 2: " 50 %", height - 1: "  0 %"}))
    places = _places(len(curves.win_rates), room)
    for player in (0, 1):
        row = [" "] * len(rates)
        for mark in sorted(curves.marks, key=lambda mark: len(mark.sign)):
            if mark.player == player:
                row[places[mark.number]] = "‼" if mark.sign == "??" else mark.sign[:1] if mark.sign != "?!" else "·"
        text.append(f"{('Black', 'White')[player]:>6} ", style="dim")
        text.append("".join(row).rstrip() + "\n")
    if curves.has_leads:
        leads = _columns([np.nan if lead is None else lead for lead in curves.leads], room)
        top = max(1.0, float(np.nanmax(np.abs(leads))))
        text.append("Black's lead in points\n", style="bold")
        labels = {0: f"{top:+5.0f}", height // 2: "    0", height - 1: f"{-top:+5.0f}"}
        text.append(_bars(leads, -top, top, height, labels))
    last = len(curves.win_rates) - 1
    text.append(f"{'move':>6} ", style="dim")
    text.append(f"0{str(last).rjust(max(1, len(rates) - 1))}\n", style="dim")
    return text


def _places(positions: int, room: int) -> np.ndarray:
    """The column of every position."""
    columns = min(positions, room)
    return np.arange(positions) * columns // positions


def _columns(values: Sequence[float], room: int) -> np.ndarray:
    """The mean of each column's positions."""
    place, numbers = _places(len(values), room), np.array(values, float)
    return np.array(
        [
            np.nanmean(numbers[place == i]) if np.isfinite(numbers[place == i]).any() else np.nan
            for i in range(place[-1] + 1)
        ]
    )


def _bars(values: np.ndarray, low: float, high: float, height: int, labels: dict[int, str]) -> str:
    """Rows of blocks from the top; each column is filled from below."""
    eighths = np.nan_to_num(np.round((values - low) / (high - low) * 8 * height)).astype(int).clip(0, 8 * height)
    rows = []
    for row in range(height):
        floor = 8 * (height - 1 - row)
        line = "".join(BLOCKS[min(8, max(0, full - floor))] for full in eighths.tolist())
        rows.append(f"{labels.get(row, ''):>6}▕{line}\n")
    return "".join(rows)
