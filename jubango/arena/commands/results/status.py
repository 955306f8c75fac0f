"""``jubango status``: how far a run is, at play or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.output import (
    Format,
    FormatOption,
    beyond_told,
    data,
    loading,
    messages,
    print_json,
)
from jubango.arena.commands.terminal.ratings import print_run

if TYPE_CHECKING:
    import pandas as pd

RECENT_GAMES = 1000  # games by which the speed is measured
IDLE_SECONDS = 60.0  # seconds without an end of a game, and many times what is usual: the run had stopped
LEAST_SPAN = 10.0  # seconds that say something of the speed, ends being known to the second


def register(app: typer.Typer) -> None:
    @app.command()
    def status(
        folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
        form: FormatOption = Format.table,
    ) -> None:
        """Say how far a run is, how fast it goes, when it may end, and its standings so far."""
        with loading():
            from jubango.arena.runs.run_folder import open_run
            from jubango.arena.runs.work_folder import is_at_play
            from jubango.arena.screens.dashboard import clock
            from jubango.sgf_games.base.printable import printable

            run = open_run(folder)
        games = run.games
        playing, pace = is_at_play(folder), _games_a_second(games)
        left = run.seconds_left(0.0) if playing and run.missing else None
        if form is Format.json:
            said = {
                "name": run.plan.name, "part": run.plan.part and run.plan.part.spec, "game": run.plan.game.spec,
                "format": run.plan.format.kind,
                "finished": len(run.results), "left_out": len(run.left_out), "total": run.total, "missing": run.missing,
                "at_play": playing,
                "games_per_hour": pace and 3600 * pace, "seconds_left": left,
                "last": games["date"].max() if len(games) else None,
            }  # fmt: skip
            print_json(said)
            return
        state = "is complete" if not run.missing else "is being played" if playing else "has stopped"
        parts = [
            f"{printable(run.plan.called)}, {run.plan.game.spec}: {len(run.results)} of {run.total} games; it {state}"
        ]
        if pace and run.missing:
            parts.append(f"{3600 * pace:,.0f} games an hour")
        if left is not None:
            parts.append(f"{clock(left)} left")
        if len(games):
            parts.append(f"the last ended {games['date'].max().replace('T', ' ')}")
        if run.left_out:
            parts.append(beyond_told(len(run.left_out)))
        out = data() if form is Format.table else messages()  # beside a table for programs it is no data
        out.sentence(", ".join(parts))
        if run.results:
            out.print()
            print_run(run, form)


def _games_a_second(games: pd.DataFrame) -> float | None:
    """By when the last games ended; None if that says nothing."""
    import pandas as pd

    ends = (
        pd.to_datetime(games["date"], errors="coerce", format="ISO8601", utc=True)
        .dropna()
        .sort_values()
        .tail(RECENT_GAMES)
    )
    pauses = ends.diff().dt.total_seconds()
    ends = ends[
        (pauses > max(IDLE_SECONDS, 20 * pauses.median())).cumsum()
        == (pauses > max(IDLE_SECONDS, 20 * pauses.median())).sum()
    ]
    spent = (ends.iloc[-1] - ends.iloc[0]).total_seconds() if len(ends) > 1 else 0.0
    return (len(ends) - 1) / spent if spent >= LEAST_SPAN else None
