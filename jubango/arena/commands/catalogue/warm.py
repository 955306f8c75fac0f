"""``jubango warm``: programs made beforehand."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import bot_option
from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages, print_frame
from jubango.arena.text.preparing import Preparing, programs, shown


def register(app: typer.Typer) -> None:
    @app.command()
    def warm(
        games: Annotated[
            list[str] | None,
            typer.Argument(metavar="[GAME]...", help="Games, e.g. go:9 connect_four.", show_default="the usual six"),
        ] = None,
        bot: Annotated[
            list[str] | None,
            bot_option(help="A bot; may be repeated.", show_default="each game's strongest, and uct"),
        ] = None,
        at_once: Annotated[
            list[int] | None,
            typer.Option(
                min=1, max=16_384, help="Games at once; may be repeated.", show_default="20, and as many as suit"
            ),
        ] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Make programs beforehand and keep them in the cache, for container images and CI.

        What plays, analyses or speaks GTP with such bots on a machine like this one then starts at once.
        """
        with loading():
            import pandas as pd

            from jubango.arena.games.warming import WARMED_AT_ONCE, WARMED_GAMES, warming
            from jubango.sgf_games.base.errors import UserError
            from jubango.sgf_games.compute.cache import cache_folder, lost
            from jubango.sgf_games.compute.cache_size import kept, limit
            from jubango.sgf_games.compute.machine import games_at_once
            from jubango.sgf_games.rules.catalogue import make_game

        folder = cache_folder()
        if folder is None or not all(map(cache_folder, ("xla", "traced"))):
            raise UserError("warm: there is no folder to keep programs in; name one of your own (JUBANGO_CACHE=FOLDER)")
        steps = warming(
            [make_game(spec) for spec in games or WARMED_GAMES],
            bot or [],
            at_once or (WARMED_AT_ONCE, games_at_once(0)),
        )
        rows = []
        for i, step in enumerate(steps):
            before, began = Counter(programs()), time.perf_counter()
            what = f"{step.game.spec}, {step.bot.name}, {step.used_by} ({i + 1} of {len(steps)})"
            with shown(messages(), Preparing(what), everywhere=True):
                step.make()
            made, seconds = programs() - before, time.perf_counter() - began
            rows.append(
                (step.game.spec, step.bot.name, step.used_by, made["compiled"], made["loaded"], round(seconds, 1))
            )
        print_frame(pd.DataFrame(rows, columns=["game", "bot", "for", "compiled", "loaded", "seconds"]), form)
        if lost:
            raise UserError(f"warm: {len(lost)} of the programs could not be kept in {folder}; is there room?")
        files = kept()
        size, most = sum(file.size for file in files), limit()
        messages().print(
            f"{folder}: {len(files):,} files, {size / 2**20:,.1f} MB"
            + (f" of {most / 2**20:,.0f}" if most else "")
            + (" (JUBANGO_CACHE_SIZE)" if most and size > 0.8 * most else ""),
            style="dim", soft_wrap=True,
        )  # fmt: skip
