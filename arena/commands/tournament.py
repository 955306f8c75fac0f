"""``jubango tournament``: run a round-robin, or go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.output import Format, FormatOption, data, messages, print_frame, show_notes

if TYPE_CHECKING:
    from jubango.analysis.ratings import RatingList, Result


def register(app: typer.Typer) -> None:
    @app.command()
    def tournament(
        file: Annotated[Path, typer.Argument(help="The tournament's TOML file.")],
        out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Run a tournament, or go on with it where it stopped, and print the final table."""
        from jubango.arena.dashboard import Dashboard
        from jubango.arena.tournament import read_plan, run_tournament
        from jubango.sgf_games.library import Library

        plan = read_plan(file)
        folder = out or Path("runs") / plan.name
        show_notes(plan.bots)
        dashboard = Dashboard(messages())
        with dashboard.running():
            ratings = run_tournament(plan, folder, dashboard.show)
        library = Library(folder)
        results = library.results()
        failures = library.failures()
        library.close()
        print_ratings(ratings, results, form)
        for reason, count in failures:
            messages().print(f"{count} game(s) ended by {reason}", style="yellow", highlight=False)
        messages().print(f"games, ratings and crosstable are in {folder}", highlight=False, soft_wrap=True)


def print_ratings(ratings: RatingList, results: list[Result], form: Format) -> None:
    """The standings, and for people the crosstable and the first-move advantage too."""
    from jubango.arena.dashboard import cross_table, standings_table

    if form is not Format.table:
        from jubango.analysis.tables import ratings_frame

        print_frame(ratings_frame(ratings), form)
        return
    out = data()
    out.print(standings_table(ratings, len(ratings.ratings), None))
    if ratings.groups > 1:
        names = [[r.name for r in ratings.ratings if r.group == g] for g in range(ratings.groups)]
        out.print("\nThese groups never met, so that their ratings cannot be compared:")
        for members in names:
            out.print("  " + ", ".join(members), highlight=False, markup=False)
    if ratings.advantage_error:
        out.print(
            f"\nmoving first is worth {ratings.advantage:+.0f} ± {ratings.advantage_error:.0f} Elo",
            highlight=False,
        )
    if len(ratings.ratings) <= 20:
        out.print()
        out.print(cross_table(results, ratings))
