"""``jubango match``: two bots against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import bot_argument, game_option
from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages
from jubango.arena.commands.terminal.playing import AgainOption, ClusterOption, play_shown
from jubango.arena.commands.terminal.ratings import print_run


def register(app: typer.Typer) -> None:
    @app.command()
    def match(
        first: Annotated[str, bot_argument(metavar="BOT", help="A bot, e.g. uct:simulations=800,c=1.4")],
        second: Annotated[str, bot_argument(metavar="BOT", help="Its opponent.")],
        game: Annotated[str, game_option(help="The game, e.g. go:9,komi=7")] = "go:9",
        games: Annotated[
            int | None,
            typer.Option(min=2, help="How many games at most, an even number.", show_default="20; with --sprt 100,000"),
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 1,
        clock: Annotated[
            str, typer.Option(help="Seconds of each player in each game: 60, 60+1 (increment), 300+3x30 (byoyomi).")
        ] = "",
        sprt: Annotated[
            str,
            typer.Option(
                metavar="ELO0,ELO1",
                help="Stop when the first bot is ELO1 stronger rather than ELO0, or the reverse: 0,20 or "
                "0,20,alpha=0.01 (also beta=, model=, pairs=)",
            ),
        ] = "",
        openings: Annotated[
            str,
            typer.Option(metavar="SET", help="Where games begin: random, balanced, an SGF file or a folder."),
        ] = "",
        opening_plies: Annotated[
            int, typer.Option(min=0, help="Moves of an opening.", show_default="random: 4; others: all that they have")
        ] = 0,
        out: Annotated[Path | None, typer.Option(help="Keep the games in this folder.", show_default="nowhere")] = None,
        again: AgainOption = None,
        cluster: ClusterOption = "",
        form: FormatOption = Format.table,
    ) -> None:
        """Play a match in colour-swapped pairs and say which bot is stronger, by how much, how surely."""
        with loading():
            from jubango.arena.schedule.plan import match_plan

            keys = {"openings": openings, "opening_plies": opening_plies}
            plan = match_plan(first, second, game, games, seed, clock, sprt, {k: v for k, v in keys.items() if v})
        run = play_shown(plan, out, form, again, cluster=cluster)
        print_run(run, form)
        if out is None:
            messages().print("the games were not kept; --out DIR keeps them", style="dim")
