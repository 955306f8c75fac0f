"""``jubango openings``: make a set of fair openings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import bot_option, game_option
from jubango.arena.commands.terminal.output import Halted, check_writable, data, loading, messages, print_line
from jubango.arena.text.preparing import Busy, shown


def register(app: typer.Typer) -> None:
    @app.command()
    def openings(
        game: Annotated[str, game_option(help="The game, e.g. connect_four")],
        out: Annotated[Path, typer.Option(help="The SGF file to write.")],
        count: Annotated[int, typer.Option(min=1, max=10_000, help="How many.")] = 50,
        plies: Annotated[int, typer.Option(min=1, max=1000, help="Moves of each.")] = 4,
        between: Annotated[str, typer.Option(metavar="LOW,HIGH", help="Black's win rate in percent.")] = "40,60",
        bot: Annotated[str, bot_option(help="Who looks at them.", show_default="the strongest there is")] = "",
        simulations: Annotated[
            int | None, typer.Option(min=1, help="Of each search.", show_default="the bot's")
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 1,
    ) -> None:
        """Draw openings, search each, and write those in which both sides have a chance to an SGF file.

        Their moves are drawn from the policy of the bot's network; without one they are random.
        """
        with loading():
            from jubango.analysis.positions.position import searching_bot
            from jubango.arena.schedule.balance import (
                Balanced,
                BalanceInterrupted,
                TooFew,
                balanced_openings,
                openings_sgf,
            )
            from jubango.bots.composition import strongest
            from jubango.sgf_games.base.errors import UserError
            from jubango.sgf_games.library.library import write_safely
            from jubango.sgf_games.rules.catalogue import make_game

            try:
                low, high = (float(part) / 100 for part in between.split(","))
            except ValueError:
                raise UserError(f'openings: --between "{between}": should be two numbers, as in 40,60') from None
            if not 0 <= low < high <= 1:
                raise UserError(f'openings: --between "{between}": should be a range within 0 and 100')
            rules = make_game(game)
            if rules.num_players != 2:
                raise UserError(
                    f"openings: {rules.spec} has {rules.num_players} player(s); openings are of games for two"
                )
            keys: dict[str, object] = {"simulations": simulations} if simulations else {}
            searching = searching_bot(bot or strongest(rules), **keys)
        check_writable(out)
        busy = Busy(f"looking for {count} openings")

        def look(kept: int, looked: int) -> None:
            busy.what = f"{kept} of {count} openings found, {looked} looked at"

        def write(found: list[Balanced]) -> None:
            if not found:
                return
            write_safely(out, openings_sgf(rules, found, f"{searching.spec}, {rules.spec}"))
            rates = [100 * one.win_rate for one in found]
            said = f"{len(found)} openings, Black's win rates {min(rates):.1f} to {max(rates):.1f} %"
            data().print(f"{out}: {said} by {searching.spec}", soft_wrap=True)

        try:
            with shown(messages(), busy):
                found = balanced_openings(rules, count, plies, searching, (low, high), seed, look)
        except TooFew as few:
            write(few.found)
            if not few.found:
                raise
            print_line(str(few))
            raise typer.Exit(1) from None
        except BalanceInterrupted as interrupted:
            write(interrupted.found)
            raise Halted(str(interrupted)) from None
        write(found)
