"""Numbers on the points of a board, and the colours that show them.

The scales keep their order in grey and for the colour-blind. Counts and shares go from light to dark, ownership from
white to black, and a difference from purple (less) to orange (more). There a number's sign says what grey does not
(ColorBrewer's OrRd and PuOr).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.sgf.diagram import Cell

Scale = Literal["amount", "difference", "sides"]
Kind = Literal["count", "share", "rate", "difference", "sides"]  # of numbers; all but counts are shown in percent
Colour = tuple[int, int, int]

SCALES: dict[Scale, tuple[Colour, ...]] = {
    "amount": ((254, 240, 217), (253, 204, 138), (252, 141, 89), (227, 74, 51), (179, 0, 0)),
    "difference": ((84, 39, 136), (153, 142, 195), (247, 247, 247), (241, 163, 64), (179, 88, 6)),
    "sides": ((255, 255, 255), (201, 180, 138), (17, 17, 17)),
}
FEWEST = 5  # visits of the most visited move; below, visits and win rates are noise
MOST_LABELS = 40  # numbers in a picture; the smaller ones are colours alone


def scale_colour(share: float, scale: Scale = "amount") -> Colour:
    """RGB for a place in [0, 1] on a scale, 1 being the largest number."""
    colours = SCALES[scale]
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    i = min(int(place), len(colours) - 2)
    low, high = colours[i], colours[i + 1]
    return tuple(round(a + (b - a) * (place - i)) for a, b in zip(low, high, strict=True))  # type: ignore[return-value]


def hex_colour(share: float, scale: Scale = "amount") -> str:
    """The same as ``#rrggbb``."""
    return "#{:02x}{:02x}{:02x}".format(*scale_colour(share, scale))


def short_count(count: int) -> str:
    """At most four characters: 1234, 12k, 1.2M."""
    if count < 10_000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1e6:.1f}M"[:4].rstrip(".")


@dataclass(frozen=True)
class Heat:
    """Numbers on the points of a board: visits are counts, priors shares, win rates rates. Those of the kinds
    "difference" and "sides" are of two sides: positive for the first (Black), negative for the second."""

    grid: np.ndarray  # float [H, W]; NaN where there is nothing to show
    name: str  # what they are, for people
    kind: Kind = "count"

    @property
    def percent(self) -> bool:
        return self.kind != "count"

    @property
    def scale(self) -> Scale:
        """Of the colours."""
        return self.kind if self.kind in ("difference", "sides") else "amount"

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the colour scale: counts and shares begin at nothing, win rates where they do, differences reach
        as far to either side, and whose a point is goes from one to the other."""
        shown = self.grid[~np.isnan(self.grid)]
        if self.scale == "sides":
            return -1.0, 1.0
        if not shown.size:
            return 0.0, 1.0
        if self.scale == "difference":
            most = float(np.abs(shown).max()) or 1.0
            return -most, most
        return (float(shown.min()) if self.kind == "rate" else 0.0), float(shown.max())

    def text(self, value: float) -> str:
        """``1234``, ``12k``; of shares ``53``, ``0.3``; of two sides ``+53``, ``-4``."""
        if self.scale != "amount":
            return f"{100 * value:+.0f}" if abs(value) >= 0.005 else "0"
        if not self.percent:
            return short_count(round(value))
        return f"{100 * value:.0f}" if value >= 0.0995 else f"{100 * value:.1f}"

    def colour(self, value: float) -> str:
        """As ``#rrggbb``."""
        low, high = self.limits
        return hex_colour((value - low) / (high - low) if high > low else 1.0, self.scale)

    def cells(self, most: int | None = None, best: Point | None = None) -> dict[Point, Cell]:
        """What a board shows: on every point its colour, and the number; where there are more than ``most``, only of
        those above all the others, and of ``best``."""
        points = [(int(r), int(c)) for r, c in zip(*np.nonzero(~np.isnan(self.grid)), strict=True)]
        values = {point: float(self.grid[point]) for point in points}
        sizes = sorted(map(abs, values.values()), reverse=True)
        floor = sizes[most] if most is not None and len(sizes) > most else -1.0
        return {
            point: Cell(self.text(value) if abs(value) > floor or point == best else "", self.colour(value))
            for point, value in values.items()
        }


def less(one: Heat, other: Heat, names: tuple[str, str]) -> Heat:
    """What is more in one, as a share, than in the other, neither of counts; ``names`` are whose they are. Where only
    one of the two has a number the other counts as nothing (a win rate: is not compared)."""
    a, b = one.grid, other.grid
    nowhere = np.isnan(a) | np.isnan(b) if one.kind == "rate" else np.isnan(a) & np.isnan(b)
    grid = np.where(nowhere, np.nan, np.nan_to_num(a) - np.nan_to_num(b))
    what = one.name.removesuffix(" in %")
    return Heat(grid, f"{what}: {names[0]} less {names[1]}, in %", "difference")
