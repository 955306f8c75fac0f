"""How a training run has gone: its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jubango.analysis.positions.plot import picture
from jubango.sgf_games.base.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALIBRATION_BINS = 10
INK, SECOND, FAINT = "#1f4e79", "#b5532a", "#bbbbbb"


def reliability(said: Sequence[tuple[float, float]], bins: int = CALIBRATION_BINS) -> list[tuple[float, float, int]]:
    """(what the network said, what came of it, positions): means of the values and of the results, both as expected
    scores in [0, 1], of positions that it said alike of."""
    if not said:
        return []
    value, result = (np.array(said).T + 1) / 2
    bin_of = np.minimum((value * bins).astype(int), bins - 1)
    return [
        (float(value[bin_of == i].mean()), float(result[bin_of == i].mean()), int((bin_of == i).sum()))
        for i in range(bins)
        if (bin_of == i).any()
    ]


def curve_png(
    rows: Sequence[Mapping[str, float]], elo: Sequence[tuple[float, float, float]],
    games: Sequence[float], ladder: Mapping[str, float], said: Sequence[tuple[float, float]], title: str,
) -> bytes:  # fmt: skip
    """Four plots, as PNG: Elo over hours and over games of self-play, with the ladder's; losses; and the reliability of
    the network's values.

    rows: of ``progress.csv``. elo: (seconds, Elo, half of its 95 % interval) of the networks measured, and ``games``
    how many games each had learnt from. ladder: Elo of who they were measured against. said: (value, result) pairs.
    Raises UserError where matplotlib is not installed.
    """
    need("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2)
    figure.suptitle(f"Training {title}", fontsize=13)
    _strength(axes[0, 0], [seconds / 3600 for seconds, _, _ in elo], elo, ladder, "hours of training")
    _strength(axes[0, 1], list(games), elo, ladder, "games of self-play")
    _losses(axes[1, 0], rows)
    _reliability(axes[1, 1], said)
    return picture(figure)


def _strength(
    axes: Axes, x: list[float], elo: Sequence[tuple[float, float, float]], ladder: Mapping[str, float], label: str
) -> None:
    axes.set_title("Elo, random being 0", fontsize=11)
    axes.set_xlabel(label)
    for name, rating in ladder.items():
        axes.axhline(rating, color=FAINT, linewidth=1, zorder=1)
        axes.annotate(name, (0.995, rating), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8,
                      color="#666666")  # fmt: skip
    if elo:
        _, ratings, errors = zip(*elo, strict=True)
        axes.errorbar(x, ratings, yerr=np.minimum(errors, 1000), color=INK, marker="o", markersize=4, capsize=2)
        axes.set_xlim(left=0)
    else:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)


def _losses(axes: Axes, rows: Sequence[Mapping[str, float]]) -> None:
    hours = [row["seconds"] / 3600 for row in rows]
    axes.set_title("Losses", fontsize=11)
    axes.set_xlabel("hours of training")
    lines = {
        "policy, above the target's entropy": ([row["policy"] - row["target"] for row in rows], INK),
        "policy's entropy": ([row["entropy"] for row in rows], FAINT),
        "outcome": ([row["outcome"] for row in rows], SECOND),
    }
    for name, (values, colour) in lines.items():
        axes.plot(hours, values, label=name, color=colour, linewidth=1.2)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def _reliability(axes: Axes, said: Sequence[tuple[float, float]]) -> None:
    axes.set_title("Reliability of the value, positions not learnt from", fontsize=11)
    axes.set_xlabel("expected score, said by the network")
    axes.set_ylabel("score in the end")
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
    found = reliability(said)
    if found:
        x, y, number = zip(*found, strict=True)
        axes.scatter(x, y, s=8 + 150 * np.array(number) / max(number), color=INK, alpha=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
