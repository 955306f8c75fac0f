"""``jubango tournament``: run a round-robin, or go on with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.output import (
    Format,
    FormatOption,
    Halted,
    data,
    loading,
    messages,
    print_frame,
    print_json,
    print_text,
    show_notes,
)
from jubango.sgf_games.base import shell
from jubango.sgf_games.records.record import Failure

if TYPE_CHECKING:
    from jubango.analysis.ratings.ratings import RatingList
    from jubango.analysis.ratings.results import Result
    from jubango.arena.runs.run import Run
    from jubango.arena.schedule.plan import Plan
    from jubango.arena.screens.dashboard import Dashboard


AgainOption = Annotated[
    list[Failure] | None, typer.Option(help="Play games anew that ended by this; may be given more than once.")
]


def register(app: typer.Typer) -> None:
    @app.command()
    def tournament(
        file: Annotated[Path, typer.Argument(help="The tournament's TOML file.")],
        out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="runs/NAME")] = None,
        again: AgainOption = None,
        check: Annotated[
            bool,
            typer.Option("--check", help="Play nothing: say what would be, what is missing, how long it may take."),
        ] = False,
        serve: Annotated[
            bool, typer.Option("--serve", help="Show the run's page, as it grows, to browsers on this machine alone.")
        ] = False,
        port: Annotated[int, typer.Option(min=0, max=65535, help="Of --serve.", show_default="any that is free")] = 0,
        form: FormatOption = Format.table,
    ) -> None:
        """Run a tournament, or go on with it where it stopped, and print the final table."""
        with loading():
            from jubango.arena.schedule.plan import read_plan

            plan = read_plan(file)
        folder = out or Path("runs") / plan.name
        if check:
            from jubango.arena.commands.playing.forecast import print_forecast

            print_forecast(plan, folder)
            return
        run = play_shown(plan, folder, form, again, port if serve else None)
        print_run(run, form)
        messages().print(f"games, ratings and crosstable are in {run.folder}", highlight=False, soft_wrap=True)


def play_shown(
    plan: Plan, folder: Path | None, form: Format, again: list[Failure] | None, port: int | None = None
) -> Run:  # fmt: skip
    """Play on the terminal: the bots' notes, then the dashboard, and with a ``port`` a page for browsers. Interrupted,
    it prints the ratings so far; raises Halted, which says how to go on."""
    with loading():
        from jubango.arena.screens.dashboard import Dashboard
        from jubango.arena.tournament import Interrupted, play_plan

    show_notes(plan.game, plan.bots)
    dashboard = Dashboard(messages())
    try:
        with dashboard.running():
            if folder is None or port is None:
                return play_plan(plan, folder, dashboard.show, dashboard.preparing, again or ())
            with _served(plan, folder, port, dashboard) as show:
                return play_plan(plan, folder, show, dashboard.preparing, again or ())
    except Interrupted as interrupted:
        run = interrupted.run
        if run.results:
            print_run(run, form)
            sys.stdout.flush()
        raise Halted(_how_to_go_on(run)) from None


@contextmanager
def _served(plan: Plan, folder: Path, port: int, dashboard: Dashboard) -> Iterator[Callable[[Run], None]]:
    """The run's page at a port of this machine; what is shown goes there too."""
    from jubango.arena.screens.live import Live

    live = Live(plan, folder, port)
    messages().print(f"the run's page is at {live.url}", highlight=False, soft_wrap=True)
    dashboard.where = live.url
    said = "The run has stopped; this page stays as it is."

    def show(run: Run) -> None:
        nonlocal said
        dashboard.show(run)
        live.note(run, lambda run: dashboard.line(run, doubtful=False).plain)
        if not run.missing:
            said = "The run is complete; this page stays as it is."

    try:
        yield show
    finally:
        live.close(said)


def _how_to_go_on(run: Run) -> str:
    from jubango.arena.runs.run_folder import PLAN_FILE

    done = f"{len(run.results)} of {run.total} games are finished"
    if run.folder is None:
        return f"{done} and not kept (--out DIR keeps them)" if run.results else "no game is finished"
    if not (run.folder / PLAN_FILE).exists():
        return done
    go_on = shell.command("tournament", run.folder / PLAN_FILE, "--out", run.folder)
    return f"{done} and kept in {run.folder}; go on with: {go_on}"


def print_run(run: Run, form: Format) -> None:
    """What the games of a run say, and its test."""
    more = (
        {"sprt": run.sprt.summary} if run.sprt else {"best": run.best.summary} if run.best else {"rounds": run.rounds}
    )
    print_ratings(run.rating_list, run.results, form, run.told, **more)


def print_ratings(
    ratings: RatingList, results: list[Result], form: Format, told: list[str], **more: object
) -> None:  # fmt: skip
    """The standings and all that is said with them, ``told`` at the end; ``more`` goes into the JSON."""
    from jubango.analysis.tables.verdicts import summary, summary_frame
    from jubango.arena.text.standings import print_standings, standings_latex, standings_markdown

    if form is Format.table:
        print_standings(data(), ratings, results)
        for i, line in enumerate(told):
            wraps = sys.stdout.isatty()  # at words; what is piped keeps its lines
            data().print(f"\n{line}" if not i else line, highlight=False, markup=False, soft_wrap=not wraps)
    elif form is Format.json:
        print_json({**summary(ratings, results), **more})
    elif form is Format.csv:
        print_frame(summary_frame(ratings, results), form)
    else:
        print_text((standings_latex if form is Format.latex else standings_markdown)(ratings, results, told))
