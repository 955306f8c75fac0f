"""``jubango play``: people and bots at one board in the terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.completion import game_option, level_option, player_option
from jubango.arena.commands.terminal.output import (
    Format,
    Halted,
    check_writable,
    data,
    loading,
    messages,
    show_notes,
)
from jubango.sgf_games.base.errors import UserError

if TYPE_CHECKING:
    from jubango.bots.config import BotConfig
    from jubango.sgf_games.rules.game import Game


def register(app: typer.Typer) -> None:
    @app.command()
    def play(
        game: Annotated[str, game_option(help="The game, e.g. go:9")] = "go:9",
        black: Annotated[str, player_option(help="A bot, or human.")] = "human",
        white: Annotated[
            str, player_option(help="A bot, or human.", show_default="the strongest there is for the game")
        ] = "",
        level: Annotated[
            float | None,
            level_option(metavar="ELO", help="The bot's strength, as of its level=ELO.", show_default="the strongest"),
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of the bots' random numbers.")] = 1,
        sgf: Annotated[
            Path | None,
            typer.Option(help="Keep the game in this new file, move by move.", show_default="one of jubango's own"),
        ] = None,
    ) -> None:
        """Play in the terminal. Moves like D4; pass, hint (a heatmap), undo, swap, resign, help, quit."""
        with loading():
            from jubango.arena.screens.at_the_board import BrokenOff, TerminalGame
            from jubango.bots.composition import strongest
            from jubango.bots.config import HUMAN, PRESETS, LevelConfig, bot_from_spec, told_apart
            from jubango.bots.players.human import HumanConfig
            from jubango.bots.players.levels import at_level
            from jubango.sgf_games.base.specs import value_text
            from jubango.sgf_games.rules.catalogue import make_game
            from jubango.sgf_games.rules.race import for_two

            rules_of = for_two(make_game(game))

            def player(spec: str) -> BotConfig:
                try:
                    return HumanConfig(name=HUMAN) if spec == HUMAN else bot_from_spec(spec)
                except UserError as error:
                    known = spec.partition(":")[0] in PRESETS
                    raise UserError(f"{error}" if known else f'{error} (a person is "{HUMAN}")') from None

            if level is not None:
                of_level = f"level={value_text(level)}"
                if white == HUMAN == black:
                    black = of_level
                elif white:
                    raise UserError(f"--level {level:g} --white {white}: say which of the two White is")
                else:
                    white = of_level
            named = told_apart(map(player, (black, white or strongest(rules_of))))
            bots = [at_level(rules_of, bot) for bot in named]
        for bot, was in zip(bots, named, strict=True):  # below what waits: it would be printed into that line
            if isinstance(was, LevelConfig):
                messages().print(f"{bot.name} is {bot.spec}", style="dim", soft_wrap=True)
        if bots[0].name == bots[1].name and bots[0] != bots[1]:
            raise UserError(f'both players are called "{bots[0].name}"; name=... gives a bot another name')
        if sgf is not None:
            check_writable(sgf, new=True)
        show_notes(rules_of, bots, judging=True)
        kept = sgf or _own_file(rules_of)
        try:
            TerminalGame(data(), rules_of, bots, seed, kept).run()
        except BrokenOff as left:
            raise Halted(str(left)) from None
        if kept is not None and kept.exists():
            _offer_review(kept)


def _offer_review(sgf: Path) -> None:
    """A review of the game that has just been played is one key away; off a terminal it is said how to get one."""
    from jubango.arena.commands.positions.reviews import Wanted, review_files
    from jubango.arena.commands.terminal.keys import read_key
    from jubango.sgf_games.base import shell

    page = sgf.with_suffix(".html")
    asked = sys.stdin.isatty() and sys.stdout.isatty()
    if asked:
        data().print("r reviews it, any other key ends: ", end="")
        key = read_key()
        data().print()
        if key.lower() == "r":
            review_files([sgf], 1, Wanted(html=page, shown=True), Format.table)
            data().print(f"the review is {page}", soft_wrap=True)
        return
    messages().print(f"review it: {shell.command('analyze', sgf, '--html', page, '--open')}", soft_wrap=True)


def _own_file(game: Game) -> Path | None:
    """A new file for a game that nobody has named one for; None, which is said, where none can be written."""
    from datetime import datetime

    import platformdirs

    name = f"{datetime.now():%Y-%m-%d-%H%M%S}-{re.sub('[^a-z0-9.,=_-]+', '-', game.spec)}.sgf"
    file = platformdirs.user_data_path("jubango") / "games" / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        check_writable(file, new=True)
    except (OSError, UserError) as error:
        why = f"{file.parent}: cannot be made: {error.strerror}" if isinstance(error, OSError) else error
        messages().print(
            f"the game is not kept: {why} (--sgf FILE keeps it)", style="yellow",
            soft_wrap=True,
        )  # fmt: skip
        return None
    return file
