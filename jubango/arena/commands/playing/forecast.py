"""What a tournament would play, what it lacks, and how long it may take: ``jubango tournament FILE --check``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jubango.arena.commands.terminal.output import data, loading, messages, show_notes
from jubango.sgf_games.base.printable import printable

if TYPE_CHECKING:
    from jubango.arena.schedule.plan import Plan

TRIAL = 10.0  # seconds of play from which the rest is reckoned


def print_forecast(plan: Plan, folder: Path) -> None:
    """Raises UserError for what cannot be played: an engine that does not start, a network that is not there."""
    with loading():
        from jubango.arena.runs.play import trial
        from jubango.arena.runs.run_folder import open_run, plan_in, work_folder
        from jubango.arena.runs.same_run import check_same_run
        from jubango.arena.runs.weights import check_stated
        from jubango.arena.screens.dashboard import Dashboard

    def say(what: str, text: str) -> None:
        data().print(f"{what:<12} {printable(text)}", soft_wrap=True)

    networks = check_stated(plan)
    finished, total, missing = 0, plan.total, plan.total
    searched = plan.format.kind == "best"
    work = work_folder(folder)
    if work.begun:
        check_same_run(plan_in(folder), plan, networks, work)
        run = open_run(folder)
        finished, total, missing = len(run.results), run.total, run.missing
    show_notes(plan.game, plan.bots)
    say("game", plan.game.spec)
    if searched:
        rest = f"to {plan.format.indifference:g} Elo, wrong in {100 * plan.format.alpha:g} % of the cases at most"
    else:
        rest = f"{plan.whole.total // plan.games_per_pairing} pairings of {plan.games_per_pairing} games"
    say("format", f"{plan.format.kind} of {len(plan.bots)} bots, {rest}")
    if plan.part:
        say("part", f"{plan.part.spec}: {plan.total:,} of {plan.whole.total:,} games")
    for bot in plan.bots:
        say("bot", bot.name if bot.name == bot.spec else f"{bot.name} = {bot.spec}")
    if plan.openings:
        pairs = 1 if searched else plan.games_per_pairing // 2
        again = -(-pairs // len(plan.openings.listed)) if plan.openings.listed else 1
        say("openings", plan.openings.told + (f", each {again} times in a pairing" if again > 1 else ""))
    for pair, terms in plan.terms.items():
        parts = [
            f"komi {terms.komi:g}" if terms.komi is not None else "",
            terms.handicap.name,
            f"Black is {terms.black}" if terms.black else "",
            f"clock {terms.clock}" if terms.clock else "",
        ]
        say("matchup", f"{pair[0]} and {pair[1]}: {', '.join(filter(None, parts))}")
    if plan.clock:
        say("clock", f"{plan.clock} for each player")
    if plan.adjudication:
        given = plan.adjudication.model_dump(exclude_defaults=True)
        say("adjudication", ", ".join(f"{key} {value:g}" for key, value in given.items()))
    if plan.sprt:
        say("sprt", f"{plan.sprt}: ends when it decides, after {total:,} games at most")
    for name, digest in networks.items():
        say("network", f"{name} ({digest[:12]})")
    there = f", {finished:,} of them are finished" if finished else ""
    more = ", and as many more as it takes" if searched else " or more" if plan.format.kind == "knockout" else ""
    say("games", f"{total:,}{more if missing else ''} into {folder}{there}")
    if not missing:
        return
    seconds = trial(plan, TRIAL, Dashboard(messages()).preparing)
    if seconds is None:
        say("time", f"unknown: no game ended in {TRIAL:.0f} s")
    else:
        takes = f"{_duration(seconds * missing / total)}{' for these' if searched else ''}"
        say("time", f"about {takes}, by {TRIAL:.0f} s of play on {os.cpu_count()} cores")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
