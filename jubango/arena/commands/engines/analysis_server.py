"""``jubango analysis-server``: positions analysed for programs that speak KataGo's JSON protocol."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import bot_option


def register(app: typer.Typer) -> None:
    @app.command("analysis-server")
    def analysis_server(
        bot: Annotated[str, bot_option(help="A searching bot.", show_default="the strongest there is")] = "",
        seed: Annotated[int, typer.Option(min=0, help="Seed of the search's random numbers.")] = 1,
        simulations: Annotated[int, typer.Option(min=1, max=1_000_000, help="A position at most.")] = 65_536,
    ) -> None:
        """Speak KataGo's JSON analysis protocol on stdin and stdout."""
        from jubango.bots.config import SearchConfig, bot_from_spec
        from jubango.bots.gtp_server.analysis_server import AnalysisServer
        from jubango.bots.gtp_server.wire import Lines, Output
        from jubango.sgf_games.base.errors import UserError
        from jubango.sgf_games.compute.machine import claim

        claim()
        config = bot_from_spec(bot) if bot else None
        if config is not None and not isinstance(config, SearchConfig):
            raise UserError(f'bot "{config.name}": only a searching bot (uct, alphazero, ...) can analyse')
        lines, output = Lines(sys.stdin.fileno()), Output(sys.stdout.fileno())
        AnalysisServer(config, lines, output, seed, simulations).serve()
