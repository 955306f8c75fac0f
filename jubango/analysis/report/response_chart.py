"""A tuning's response to one setting as a page draws it, in percent of the chart's width and height."""

from __future__ import annotations

import math

import numpy as np

from jubango.analysis.report.elo_plot import nice_step
from jubango.analysis.tables.verdicts import signed
from jubango.analysis.tuning.response import Response
from jubango.analysis.tuning.response_plot import CURVE_POINTS, TRIAL_BINS, Axis

PLACES = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the range that have a number below them


def response_chart(response: Response, number: int, axis: Axis) -> dict[str, object]:
    """The Elo over the range of setting ``number``, the others being at their best, with its 95 % interval; the results
    in groups; the interval of the best value. As :func:`~jubango.analysis.tuning.response_plot.save_response` has it.
    """
    at = np.linspace(-1, 1, CURVE_POINTS)
    elo, low, high = response.slope(number, at.tolist())
    groups = response.scatter(number, TRIAL_BINS)
    found = [one.value for _, one in groups]
    bottom, top = min(*elo, *found), max(high[int(np.argmax(elo))], *elo, *found)
    step = nice_step(max(top - bottom, 1.0) / 3)
    bottom, top = step * math.floor(bottom / step), step * math.ceil(top / step)

    def x(place: float) -> float:
        return round(50 + 50 * float(place), 2)

    def y(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * (top - float(value)) / (top - bottom))), 2)

    def points(places: np.ndarray, values: np.ndarray) -> str:
        return "L".join(f"{x(place)} {y(value)}" for place, value in zip(places, values, strict=True))

    best = response.optimum
    ends = x(best.low[number]), x(best.high[number])
    return {
        "key": axis.key, "line": f"M{points(at, elo)}",
        "band": f"M{points(at, high)}L{points(at[::-1], low[::-1])}Z", "best": x(best.place[number]),
        "from": ends[0], "width": round(ends[1] - ends[0], 2),
        "dots": [
            {"x": x(place), "y": y(one.value), "low": y(one.low), "high": y(one.high)} for place, one in groups
        ],
        "below": [{"at": x(place), "text": f"{axis.value(place):.2g}"} for place in PLACES],
        "beside": [{"at": y(value), "text": signed(value)} for value in np.arange(bottom, top + step / 2, step)],
    }  # fmt: skip
