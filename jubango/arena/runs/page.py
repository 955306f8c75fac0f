"""A run as one HTML page, with every game to be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jubango.analysis.report.run_page import RunPage
from jubango.arena.schedule.plan import Plan
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.library import write_safely


def page_of(plan: Plan, machines: Sequence[str]) -> RunPage:
    """The page of a run that has no games yet."""
    made = [f"Seed {plan.seed}.", *(f"Played with {machine}." for machine in machines)]
    return RunPage(plan.called, plan.game, {bot.name: bot.spec for bot in plan.bots}, made)


def write_page(path: Path, page: str) -> None:
    """Write a page. Raises UserError."""
    try:
        write_safely(path, page.encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
