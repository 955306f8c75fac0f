"""``jubango bench``: how fast this machine plays."""

from __future__ import annotations

from typing import Annotated

import typer

from jubango.arena.commands.terminal.completion import game_option
from jubango.arena.commands.terminal.output import Format, FormatOption, loading, messages, print_frame
from jubango.arena.text.preparing import Busy, shown


def register(app: typer.Typer) -> None:
    bench = typer.Typer(help="How fast this machine plays; more in benchmarks/.", no_args_is_help=True)

    @bench.command()
    def playouts(
        game: Annotated[
            list[str] | None, game_option(help="A game; may be repeated.", show_default="the usual five")
        ] = None,
        lanes: Annotated[int, typer.Option(min=1, max=16_384, help="Games at once.")] = 4128,  # benchmark.GAMES_AT_ONCE
        seconds: Annotated[float, typer.Option(min=0.1, help="How long to measure each game.")] = 3.0,
        form: FormatOption = Format.table,
    ) -> None:
        """Random games: moves and games a second on all cores."""
        with loading():
            import pandas as pd

            from jubango.arena.benchmark import playout_speed
            from jubango.sgf_games.compute.machine import devices
            from jubango.sgf_games.rules.catalogue import make_game

            cores = len(devices())
        rows = []
        for spec in game or ["go:9", "go:13", "go:19", "connect_four", "tic_tac_toe"]:
            made = make_game(spec)
            with shown(messages(), Busy(f"playing {made.spec}")):
                moves, games = playout_speed(made, lanes, seconds)
            rows.append((made.spec, lanes, cores, round(moves), round(games)))
        frame = pd.DataFrame(rows, columns=["game", "lanes", "cores", "moves_per_second", "games_per_second"])
        print_frame(frame, form)

    @bench.command()
    def search(
        game: Annotated[str | None, game_option(help="Only the cases of this game.")] = None,
        repeats: Annotated[int, typer.Option(min=1, help="Searches of each case; the middle one counts.")] = 5,
        form: FormatOption = Format.table,
    ) -> None:
        """Tree searches: simulations a second on all cores, with a uniform prior and zero value, and with rollouts."""
        with loading():
            import pandas as pd

            from jubango.arena.benchmark import SEARCH_CASES, search_speed
            from jubango.sgf_games.base.errors import UserError
            from jubango.sgf_games.compute.machine import devices

        cases = [case for case in SEARCH_CASES if game in (None, case.game)]
        if not cases:
            known = ", ".join(dict.fromkeys(case.game for case in SEARCH_CASES))
            raise UserError(f"--game {game}: no case has this game; there are {known}")
        cores = len(devices())
        rows = []
        for case in cases:
            with shown(messages(), Busy(f"searching {case.label}")):
                speeds = sorted(search_speed(case, repeats))
            rows.append((case.label, cores, round(speeds[len(speeds) // 2]), round(speeds[-1])))
        frame = pd.DataFrame(rows, columns=["case", "cores", "simulations_per_second", "best"])
        print_frame(frame, form)

    @bench.command()
    def tournament(
        game: Annotated[str | None, game_option(help="Only the cases of this game, e.g. connect_four.")] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Whole tournaments, everything recorded: simulations a second against those of the bare search, and games."""
        with loading():
            import pandas as pd

            from jubango.arena.benchmark import TOURNAMENT_CASES, tournament_speed
            from jubango.sgf_games.base.errors import UserError

        cases = [case for case in TOURNAMENT_CASES if game in (None, case.game.partition(":")[0], case.game)]
        if not cases:
            known = ", ".join(dict.fromkeys(case.game for case in TOURNAMENT_CASES))
            raise UserError(f"--game {game}: no case has this game; there are {known}")
        rows = []
        for case in cases:
            with shown(messages(), Busy(f"playing {case.label}")):
                found = tournament_speed(case)
            share = f"{100 * found.share:.0f} %" if found.bare else ""
            speeds = (round(found.simulations), round(found.bare), share) if found.bare else ("", "", "")
            rows.append((case.label, found.games, round(found.seconds, 1), round(found.games / found.seconds), *speeds))
        columns = ["case", "games", "seconds", "games_per_second", "simulations_per_second", "bare_search", "share"]
        print_frame(pd.DataFrame(rows, columns=columns), form)

    app.add_typer(bench, name="bench")
