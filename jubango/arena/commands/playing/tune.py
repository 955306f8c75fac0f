"""``jubango tune``: the best settings of a bot, found by playing."""

from __future__ import annotations

import sys
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
    show_notes,
)
from jubango.arena.commands.terminal.playing import ClusterOption
from jubango.sgf_games.base import shell

if TYPE_CHECKING:
    from jubango.arena.tuning.tuning import Tuning


def register(app: typer.Typer) -> None:
    @app.command()
    def tune(
        file: Annotated[Path, typer.Argument(help="The tuning's TOML file.")],
        out: Annotated[Path | None, typer.Option(help="Folder of the run.", show_default="runs/NAME")] = None,
        cluster: ClusterOption = "",
        form: FormatOption = Format.table,
    ) -> None:
        """Search the best values of a bot's numbers by playing, or go on where it stopped.

        What is found is confirmed by a sequential test against the bot as it was, unless the file says otherwise."""
        with loading():
            from jubango.arena.hosts.cluster import cluster_of
            from jubango.arena.tuning.plan import read_tune_plan
            from jubango.arena.tuning.tuner import TuningInterrupted, play_tuning
            from jubango.arena.tuning.tuning import PICTURE, SETTINGS_TABLE
            from jubango.arena.tuning.view import TuningView
            from jubango.sgf_games.base.extras import installed

            plan = read_tune_plan(file)
            hosts = cluster_of(cluster)
        folder = out or Path("runs") / plan.playing.name
        show_notes(plan.playing.game, plan.playing.bots)
        view = TuningView(messages())
        try:
            with view.running():
                tuning = play_tuning(plan, folder, view.show, view.confirming, view.preparing, hosts)
        except TuningInterrupted as interrupted:
            if interrupted.tuning.latest is not None:
                print_tuning(interrupted.tuning, form)
                sys.stdout.flush()
            raise Halted(f"{interrupted}; the same command goes on: {shell.command(*sys.argv[1:])}") from None
        print_tuning(tuning, form)
        written = f"{SETTINGS_TABLE} and {PICTURE}" if installed("matplotlib") else SETTINGS_TABLE
        messages().print(f"games, {written} are in {folder}", soft_wrap=True)


def print_tuning(tuning: Tuning, form: Format) -> None:
    """What a tuning has found, what it promises, and what the match said of that; last the bot's spec string."""
    import pandas as pd

    from jubango.arena.tuning.view import against_table, settings_table

    if form is Format.json:
        print_json(tuning.summary)
        return
    if form is Format.csv:
        print_frame(pd.DataFrame([found._asdict() for found in tuning.best]), form)
        return
    console = data()
    console.print(settings_table(tuning))
    console.print()
    console.print(against_table(tuning))
    for i, line in enumerate(tuning.told):
        console.sentence(line if i else f"\n{line}")
    console.print(f"\n{tuning.spec}", soft_wrap=True)
