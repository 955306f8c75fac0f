"""A tuning as a part of a page."""

from __future__ import annotations

from jubango.analysis.ratings.ratings import expected_score
from jubango.analysis.report.gauge import gauge
from jubango.analysis.report.page import part
from jubango.analysis.report.response_chart import response_chart
from jubango.analysis.tables.verdicts import signed
from jubango.analysis.tuning.response_plot import Axis
from jubango.arena.tuning.tuning import Tuning, interval_text
from jubango.sgf_games.base.specs import value_text


def tuning_part(tuning: Tuning) -> str:
    """What a tuning has found so far, by its latest response, as HTML: its settings, how Elo goes over their ranges,
    what they promise against each opponent, and the test that confirms them."""
    response, plan = tuning.latest, tuning.plan
    settings = [
        {"key": found.key, "best": value_text(found.value), "interval": interval_text(found),
         "start": f"{found.start:.4g}", "range": setting.range}
        for found, setting in zip(tuning.best, plan.settings, strict=True)
    ]  # fmt: skip
    against = [
        {"name": name, "elo": signed(elo.value), "interval": f"{signed(elo.low)} to {signed(elo.high)}",
         "score": f"{100 * expected_score(elo.value):.1f} %"}
        for name, elo in tuning.against.items()
    ]  # fmt: skip
    axes = [Axis(setting.key, setting.exact, setting.log) for setting in plan.settings]
    charts = [response_chart(response, i, axis) for i, axis in enumerate(axes)] if response else []
    test = tuning.confirmed.sprt if tuning.confirmed else None
    told = [*tuning.confirmed.told, *tuning.remarks] if tuning.confirmed else tuning.told
    so_far = "The best settings so far" if tuning.missing else "The best settings"
    return part(
        "tuning", title=plan.playing.name, facts=[plan.playing.game.spec, plan.start.spec, f"{tuning.total:,} games"],
        told=told, gauge=gauge(test) if test else None, settings=settings, charts=charts, against=against,
        spec=tuning.spec, heading=so_far if response else "What is tuned",
    )  # fmt: skip
