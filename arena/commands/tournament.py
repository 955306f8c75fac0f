"""``jubango tournament``: run a round-robin, or go on with it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.output import (
    Format,
    FormatOption,
    Stopped,
    data,
    loading,
    messages,
    print_frame,
    show_notes,
)

if TYPE_CHECKING:
    from jubango.analysis.ratings import RatingList, Result
    from jubango.arena.plan import Plan
    from jubango.arena.run import Run


def register(app: typer.Typer) -> None:
    @app.command()
    def tournament(
        file: Annotated[Path, typer.Argument(help="The tournament's TOML file.")],
        out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Run a tournament, or go on with it where it stopped, and print the final table."""
        with loading():
            from jubango.arena.plan import read_plan

            plan = read_plan(file)
        run = play_shown(plan, out or Path("runs") / plan.name)
        print_ratings(run.rating_list, run.results, form)
        for reason, count in run.failures:
            messages().print(f"{count} game(s) ended by {reason}", style="yellow", highlight=False)
        messages().print(f"games, ratings and crosstable are in {run.folder}", highlight=False, soft_wrap=True)


def play_shown(plan: Plan, folder: Path | None) -> Run:
    """Play on the terminal: the bots' notes, then the dashboard."""
    with loading():
        from jubango.arena.dashboard import Dashboard
        from jubango.arena.standings import print_standings
        from jubango.arena.tournament import Interrupted, play_plan

    show_notes(plan.bots)
    dashboard = Dashboard(messages())
    try:
        with dashboard.running():
            return play_plan(plan, folder, dashboard.show, dashboard.preparing)
    except Interrupted as interrupted:
        run = interrupted.run
        if run.results:
            print_standings(messages(), run.rating_list, run.results)
        raise Stopped(_how_to_go_on(run)) from None


def _how_to_go_on(run: Run) -> str:
    done = f"{len(run.results)} of {run.plan.total} games are finished"
    if run.folder is None:
        return f"{done} and not kept (--out DIR keeps them)" if run.results else "no game is finished"
    command = "jubango" if shutil.which("jubango") else sys.argv[0]
    return f"{done} and kept in {run.folder}; to go on: {shlex.join([command, *sys.argv[1:]])}"


def print_ratings(ratings: RatingList, results: list[Result], form: Format) -> None:
    """The standings, and for people the crosstable and the first-move advantage too."""
    from jubango.analysis.tables import ratings_frame
    from jubango.arena.standings import print_standings

    if form is Format.table:
        print_standings(data(), ratings, results)
    else:
        print_frame(ratings_frame(ratings), form)
