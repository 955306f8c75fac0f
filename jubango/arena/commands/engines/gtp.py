"""``jubango gtp``: a bot as an engine for GUIs, tournament programs and other people's scripts."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import bot_option, game_option


def register(app: typer.Typer) -> None:
    @app.command()
    def gtp(
        bot: Annotated[
            str, bot_option(help="Who plays.", show_default="the strongest there is, as long as the clock allows")
        ] = "",
        game: Annotated[
            str, game_option(help="The game; boardsize and komi change it.", show_default="go:19; go:9 with a level")
        ] = "",
        seed: Annotated[int, typer.Option(min=0, help="Seed of the bot's random numbers.")] = 1,
        resign_below: Annotated[
            float, typer.Option(min=0, max=50, help="A win rate in %; 0: it never resigns.", show_default="0")
        ] = 0.0,
        ponder: Annotated[bool, typer.Option("--ponder", help="Think in the other side's time, too.")] = False,
        simulations: Annotated[int, typer.Option(min=1, max=1_000_000, help="An analysis makes at most.")] = 65_536,
    ) -> None:
        """Speak the Go Text Protocol on stdin and stdout."""
        from jubango.bots.config import LevelConfig, bot_from_spec
        from jubango.bots.gtp_server.host import Host, Options
        from jubango.bots.gtp_server.server import Server
        from jubango.bots.gtp_server.wire import Lines, Output
        from jubango.sgf_games.compute.machine import claim
        from jubango.sgf_games.rules.catalogue import make_game

        claim()
        player = bot_from_spec(bot) if bot else None
        game = game or ("go:9" if isinstance(player, LevelConfig) else "go:19")
        options = Options(player, seed, resign_below / 100, ponder, simulations)
        Server(Host(make_game(game), options, Lines(sys.stdin.fileno()), Output(sys.stdout.fileno()))).serve()
