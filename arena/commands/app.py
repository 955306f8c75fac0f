"""The command line: its sub-commands, each in a file of its own, and the options that need none."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jubango.arena.commands import (
    analysis_server,
    analyze,
    bench,
    bots,
    check,
    compare,
    export,
    games,
    gtp,
    match,
    openings,
    play,
    rate,
    report,
    sprt,
    status,
    tournament,
    train,
    tune,
)
from jubango.sgf_games import VERSION

# What typer raises for a misused command line; its module differs between versions of typer.
ClickException: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="jubango",
    help="Plays board games by the thousand and says which bot is stronger, by how much, how surely.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
MODULES = (
    games, bots, tournament, match, play, analyze, rate, report, sprt, status, openings, tune, train, check, export,
    compare, bench, gtp, analysis_server,
)  # fmt: skip
for module in MODULES:
    module.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"jubango {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None: ...
