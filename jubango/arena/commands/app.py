"""The command line: its sub-commands, each in a file of its own, and the options that need none."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jubango.arena.commands.catalogue import bench, bots, games, hosts, warm
from jubango.arena.commands.engines import analysis_server, gtp
from jubango.arena.commands.playing import demo, match, openings, play, serve, tournament, train, tune
from jubango.arena.commands.positions import analyze
from jubango.arena.commands.results import check, compare, export, merge, rate, report, runs, sprt, status
from jubango.arena.commands.terminal.unnamed import with_names
from jubango.sgf_games import VERSION

# What typer raises for a misused command line; its module differs between versions of typer.
ClickException: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _Commands(TyperGroup):
    """Lists its commands with all that the first sentences of their help say."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            rows = [(name, (command.help or "").split("\n\n")[0]) for name, command in self.commands.items()]
            formatter.write_dl([(name, " ".join(about.split())) for name, about in rows])


app = typer.Typer(
    cls=_Commands,
    name="jubango",
    help="Plays board games by the thousand and says which bot is stronger, by how much, how surely.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes cut the names of options in 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
MODULES = (
    demo, games, bots, tournament, match, play, serve, analyze, rate, report, runs, sprt, status, openings, tune, train,
    merge, check, export, compare, bench, warm, hosts, gtp, analysis_server,
)  # fmt: skip
for module in MODULES:
    module.register(app)
for command in app.registered_commands:
    command.callback = command.callback and with_names(command.callback)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"jubango {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None: ...
