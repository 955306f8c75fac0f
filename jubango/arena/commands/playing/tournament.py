"""``jubango tournament``: run a round-robin, or go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.opening import OpenOption
from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages
from jubango.arena.commands.terminal.playing import AgainOption, ClusterOption, play_shown
from jubango.arena.commands.terminal.ratings import print_run


def register(app: typer.Typer) -> None:
    @app.command()
    def tournament(
        file: Annotated[Path, typer.Argument(help="The tournament's TOML file.")],
        out: Annotated[
            Path | None, typer.Option(help="Folder of the run.", show_default="runs/NAME, of a part runs/NAME-I")
        ] = None,
        again: AgainOption = None,
        part: Annotated[
            str, typer.Option(metavar="I/N", help="Play the I-th of N parts; `merge` puts their folders together.")
        ] = "",
        cluster: ClusterOption = "",
        check: Annotated[
            bool,
            typer.Option("--check", help="Play nothing: say what would be, what is missing, how long it may take."),
        ] = False,
        serve: Annotated[
            bool, typer.Option("--serve", help="Show the run's page, as it grows, to browsers on this machine alone.")
        ] = False,
        port: Annotated[int, typer.Option(min=0, max=65535, help="Of --serve.", show_default="any that is free")] = 0,
        shown: OpenOption = False,
        form: FormatOption = Format.table,
    ) -> None:
        """Run a tournament, or go on with it where it stopped, and print the final table."""
        with loading():
            from jubango.arena.hosts.cluster import cluster_of
            from jubango.arena.schedule.plan import read_plan

            cluster_of(cluster)
            plan = read_plan(file, {"part": part} if part else None)
        folder = out or Path("runs") / (f"{plan.name}-{plan.part.number}" if plan.part else plan.name)
        if check:
            from jubango.arena.commands.playing.forecast import print_forecast

            print_forecast(plan, folder)
            return
        run = play_shown(plan, folder, form, again, port if serve or shown else None, cluster, shown)
        print_run(run, form)
        messages().print(f"games, ratings and crosstable are in {run.folder}", soft_wrap=True)
