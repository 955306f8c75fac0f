"""Ratings with their intervals on one scale, as a page draws them."""

from __future__ import annotations

import math

from jubango.analysis.ratings.ratings import RatingList
from jubango.analysis.tables.verdicts import signed


def elo_plot(ratings: RatingList) -> dict[str, list[dict[str, object]]]:
    """Where the ratings and their intervals lie on one scale, in percent of its width, and its ticks."""
    finite = [r for r in ratings.ratings if math.isfinite(r.elo) and math.isfinite(r.error) and r.games]
    ends = [end for r in finite for end in (r.elo - r.error, r.elo + r.error)] or [-1.0, 1.0]
    low, high = min(ends), max(ends)
    low, high = (low, high) if high - low > 1 else (low - 1, high + 1)
    step = nice_step((high - low) / 4)
    low, high = step * math.floor(low / step), step * math.ceil(high / step)

    def at(elo: float) -> float:
        return round(100 * (elo - low) / (high - low), 2)

    rows: list[dict[str, object]] = [
        {"name": r.name, "dot": at(r.elo), "low": at(r.elo - r.error), "high": at(r.elo + r.error),
         "text": f"{signed(r.elo)} ± {r.error:.0f}"}
        if r in finite
        else {"name": r.name, "dot": None, "text": signed(r.elo) if math.isinf(r.elo) else "?" if r.games else ""}
        for r in ratings.ratings
    ]  # fmt: skip
    ticks: list[dict[str, object]] = [
        {"at": at(low + i * step), "text": signed(low + i * step)} for i in range(round((high - low) / step) + 1)
    ]
    return {"rows": rows, "ticks": ticks}


def nice_step(wanted: float) -> float:
    """1, 2 or 5 times a power of ten, not below ``wanted``."""
    power = 10 ** math.floor(math.log10(wanted))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted * (1 - 1e-9))
