"""The picture of a fitted response: where it is highest, how surely, and what was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jubango.analysis.positions.plot import save_figure
from jubango.analysis.tuning.response import Response
from jubango.sgf_games.base.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

INK, SECOND, FAINT = "#1f4e79", "#b5532a", "#bbbbbb"
CURVE_POINTS = 101  # points of a curve
CONTOUR_POINTS = 61  # points of an edge of a contour
TRIAL_BINS = 12  # of what was tried
PANELS_A_ROW = 3  # panels side by side


class Axis(NamedTuple):
    """A setting: what it is called, its value at a place in [-1, 1], whether its scale is logarithmic."""

    key: str
    value: Callable[[float], float]
    log: bool


def save_response(path: Path, response: Response, axes: Sequence[Axis], title: str, whom: str) -> None:
    """Write the picture: of every setting the Elo over ``whom`` with its 95 % interval, the others being at their best;
    the results, in groups with 95 % errors; the interval of the best value; and what was tried. Of two settings a
    contour comes first. Raises UserError where matplotlib is not installed."""
    need("matplotlib", str(path))
    from matplotlib.figure import Figure

    panels = len(axes) + (len(axes) == 2)
    columns = min(panels, PANELS_A_ROW)
    rows = -(-panels // columns)
    figure = Figure(figsize=(max(6.5, 4.6 * columns), 4.2 * rows + 0.4), dpi=110, layout="constrained")
    figure.suptitle(title, fontsize=12)
    grid = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    if len(axes) == 2:
        _contour(grid.pop(0), response, axes)
    for i, axis in enumerate(axes):
        _curve(grid.pop(0), response, i, axis)
    for spare in grid:
        spare.set_visible(False)
    figure.supylabel(f"Elo over {whom}", fontsize=10)
    save_figure(path, figure)


def _curve(plot: Axes, response: Response, number: int, axis: Axis) -> None:
    at = np.linspace(-1, 1, CURVE_POINTS).tolist()
    x = [axis.value(place) for place in at]
    elo, low, high = response.slope(number, at)
    best = response.optimum
    plot.axvspan(axis.value(best.low[number]), axis.value(best.high[number]), color=SECOND, alpha=0.12, linewidth=0)
    plot.axvline(axis.value(best.place[number]), color=SECOND, linewidth=1.2)
    plot.fill_between(x, low, high, color=INK, alpha=0.15, linewidth=0)
    plot.plot(x, elo, color=INK, linewidth=1.8)
    groups = response.scatter(number, TRIAL_BINS)
    centres, found = [axis.value(place) for place, _ in groups], [elo.value for _, elo in groups]
    errors = [elo.high - elo.value for _, elo in groups]
    plot.errorbar(centres, found, errors, fmt="o", color=INK, markersize=4, linewidth=0.8, alpha=0.8)
    tried = [axis.value(place) for place in response.trials.places[:, number]]
    # Where nearly every game is lost an error has no end.
    bottom, top = min(*elo, *found), max(*high[np.argmax(elo) : np.argmax(elo) + 1], *elo, *found)
    margin = 0.15 * (top - bottom) + 10
    plot.set_ylim(bottom - margin, top + margin)
    plot.plot(tried, np.full(len(tried), bottom - 0.9 * margin), "|", color=FAINT, markersize=7, zorder=0)
    _scale(plot.xaxis, axis)
    plot.grid(alpha=0.25)


def _contour(plot: Axes, response: Response, axes: Sequence[Axis]) -> None:
    at = np.linspace(-1, 1, CONTOUR_POINTS)
    x, y = ([axis.value(place) for place in at] for axis in axes)
    places = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    elo = response.elos(places).reshape(CONTOUR_POINTS, CONTOUR_POINTS)
    levels = np.linspace(max(elo.min(), elo.max() - 400), elo.max(), 13)  # far below the best nobody looks
    shades = plot.contourf(x, y, elo, levels, cmap="Blues", extend="min")
    assert plot.figure is not None
    plot.figure.colorbar(shades, ax=plot, format="%+.0f")
    tried = [[axis.value(place) for place in response.trials.places[:, i]] for i, axis in enumerate(axes)]
    plot.plot(*tried, ".", color="black", markersize=2, alpha=0.5)
    best = response.optimum
    ends = [[axis.value(end[i]) for end in (best.place, best.low, best.high)] for i, axis in enumerate(axes)]
    errors = [[[value - low], [high - value]] for value, low, high in ends]
    plot.errorbar(ends[0][0], ends[1][0], errors[1], errors[0], fmt="o", color=SECOND, markersize=6, linewidth=1.5)
    _scale(plot.xaxis, axes[0])
    _scale(plot.yaxis, axes[1])


def _scale(ruler: XAxis | YAxis, axis: Axis) -> None:
    """Its name, its scale, its numbers as people write them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    decades = np.log10(axis.value(1) / axis.value(-1)) if axis.log else 0.0

    ruler.axes.set(**{f"{ruler.axis_name}lim": (axis.value(-1), axis.value(1))})
    ruler.set_label_text(axis.key)
    if axis.log:
        ruler.axes.set(**{f"{ruler.axis_name}scale": "log"})
        ruler.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
        ruler.set_major_formatter("{x:g}")
        ruler.set_minor_formatter(NullFormatter())
