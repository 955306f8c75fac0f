"""``jubango tournament``: run a round-robin, or go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.output import Format, FormatOption, data, messages, print_frame, print_json, show_notes

if TYPE_CHECKING:
    from jubango.analysis.ratings import RatingList
    from jubango.analysis.results import Result
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
        from jubango.arena.plan import read_plan

        plan = read_plan(file)
        run = play_shown(plan, out or Path("runs") / plan.name)
        print_ratings(run.rating_list, run.results, form)
        messages().print(f"games, ratings and crosstable are in {run.folder}", highlight=False, soft_wrap=True)


def play_shown(plan: Plan, folder: Path | None) -> Run:
    """Play on the terminal: the bots' notes, then the dashboard."""
    from jubango.arena.dashboard import Dashboard
    from jubango.arena.tournament import play_plan

    show_notes(plan.bots)
    dashboard = Dashboard(messages())
    with dashboard.running():
        return play_plan(plan, folder, dashboard.show, dashboard.preparing)


def print_ratings(ratings: RatingList, results: list[Result], form: Format, **more: object) -> None:
    """The standings and all that is said with them; ``more`` goes into the JSON."""
    from jubango.analysis.verdicts import summary, summary_frame
    from jubango.arena.standings import print_standings

    if form is Format.table:
        print_standings(data(), ratings, results)
    elif form is Format.json:
        print_json({**summary(ratings, results), **more})
    else:
        print_frame(summary_frame(ratings, results), form)
