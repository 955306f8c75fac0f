"""``jubango analyze``: where a bot would play in a position of an SGF file, and how its visits spread."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jubango.arena.commands.output import (
    Format,
    FormatOption,
    check_writable,
    data,
    loading,
    messages,
    print_frame,
    print_json,
    show_notes,
)
from jubango.arena.preparing import Busy, Preparing, shown

if TYPE_CHECKING:
    from jubango.analysis.heat import Heat
    from jubango.analysis.position import PositionAnalysis, Values
    from jubango.sgf_games.replay import Position, Record

SHOWN = 10  # moves in the table


class Heatmap(StrEnum):
    """The values of :meth:`jubango.analysis.position.PositionAnalysis.heat`."""

    visits = "visits"
    prior = "prior"
    value = "value"
    ownership = "ownership"


def register(app: typer.Typer) -> None:
    @app.command()
    def analyze(
        file: Annotated[Path, typer.Argument(help="The SGF file; its main line is looked at.")],
        move: Annotated[int | None, typer.Option(help="After this many moves.", show_default="all")] = None,
        every: Annotated[bool, typer.Option("--all", help="Every position of the game.")] = False,
        bot: Annotated[
            str, typer.Option(help="A searching bot.", show_default="the strongest there is for the game")
        ] = "",
        simulations: Annotated[
            int | None, typer.Option(min=1, help="Simulations a position.", show_default="the bot's")
        ] = None,
        seconds: Annotated[
            float | None, typer.Option(min=0.01, help="A search, in place of the bot's simulations.", show_default="")
        ] = None,
        number: Annotated[int, typer.Option("--game-number", min=1, help="Which game of a file of several.")] = 1,
        seed: Annotated[int, typer.Option(min=0, help="Decides the search's dice.")] = 1,
        heat: Annotated[
            Heatmap, typer.Option(help="What the heatmap shows; ownership by random games from here.")
        ] = Heatmap.visits,
        against: Annotated[
            str,
            typer.Option(metavar="BOT", help="Show what the bot's heatmap has more than this bot's.", show_default=""),
        ] = "",
        png: Annotated[Path | None, typer.Option(help="Write the heatmap as a picture: .png, .svg, .pdf.")] = None,
        csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.")] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Visits, win rates and principal variations of a position, and its visit-count heatmap."""
        with loading():
            from jubango.analysis.plot import check_format
            from jubango.analysis.position import analysis_frame, searching_bot
            from jubango.analysis.position import analyze as search
            from jubango.bots.composition import strongest
            from jubango.sgf_games.errors import UserError
            from jubango.sgf_games.replay import Record, position_at
            from jubango.sgf_games.sgf import read_games

        if every and move is not None:
            raise UserError("--all and --move exclude each other; give one")
        if every and png is not None:
            raise UserError("--png draws one position; give --move instead of --all")
        if every and against:
            raise UserError("--against compares bots in one position; give --move instead of --all")
        if against and heat is Heatmap.ownership:
            raise UserError("--against: ownership is by random games, whatever the bot")
        limits = {"simulations": simulations, "seconds": seconds}
        keys = {key: value for key, value in limits.items() if value is not None}
        for name in filter(None, (bot or "uct", against)):
            searching_bot(name, **keys)  # what is wrong with them is said before anything else
        for path in filter(None, (png, csv)):
            check_writable(path)
        if png is not None:
            check_format(png)
        games = read_games(file)
        if number > len(games):
            raise UserError(f"{file}: holds {len(games)} game(s); there is no game {number}")
        if len(games) > 1:
            messages().print(f"{file} holds {len(games)} games; this is number {number}", highlight=False)
        record = Record(games[number - 1])
        for guess in record.sgf.guesses:
            messages().print(guess, style="yellow", soft_wrap=True)
        with shown(messages(), Busy("replaying the game")):
            wanted = record.positions if every else [position_at(record.sgf, move)]
        config = searching_bot(bot or strongest(record.game), **keys)
        show_notes(record.game, [config])
        with shown(messages(), Preparing(f"{record.game.spec} for {config.name}")) as line:

            def report(done: int, total: int) -> None:
                line.says = f"searching: {done} of {total} simulations"

            found = search(wanted, config, seed=seed, on_progress=report)
            if against:
                line.says = Busy(f"searching with {against}")
                (other,) = search(wanted, searching_bot(against, **keys), seed=seed)
        frame = analysis_frame(found)
        values: Values = heat.value
        if against:
            names = config.name, searching_bot(against).name
            shown_heat = found[0].less(other, values, names)
        elif not every:
            shown_heat = found[0].heat(values)
        if png is not None:
            try:
                found[0].save_png(png, shown_heat)
            except (OSError, ValueError) as error:  # an unwritable place, a format nobody knows
                raise UserError(f"{png}: cannot be written: {error}") from None
        if csv is not None:
            try:
                frame.to_csv(csv, index=False)
            except OSError as error:
                raise UserError(f"{csv}: cannot be written: {error.strerror}") from None
        if form in (Format.csv, Format.markdown, Format.latex):
            print_frame(frame, form)
        elif form is Format.json:
            documents = [_document(record, one, config.spec) for one in found]
            print_json(documents if every else documents[0])
        elif every:
            _print_game(record, found, config.spec)
        else:
            _print_position(found[0], config.spec, shown_heat)


def _print_position(one: PositionAnalysis, bot: str, heat: Heat) -> None:
    from rich.table import Table
    from rich.text import Text

    from jubango.analysis.plot import BLACK, WHITE, board_text, heat_text
    from jubango.analysis.win_rate import PLAYERS

    out = data()
    position = one.position
    game = position.game
    out.print(Text(position.title, style="bold"))
    side = PLAYERS[one.player]
    if one.over:
        out.print(board_text(position.stones, position.last))
        out.print(position.status, highlight=False)
        return
    out.print(f"{game.spec}, {side} {(BLACK, WHITE)[one.player]} to move", highlight=False)
    out.print(f"{one.simulations} simulations by {bot}", highlight=False)
    assert one.best is not None
    out.print(
        f"{side}'s win rate: {one.win_rate.percent}, the mean of the search; after {one.best.move} alone "
        f"{one.best.win_rate.percent}", highlight=False,
    )  # fmt: skip
    out.print()
    if heat.name != "visits":
        out.print(f"{heat.name}:", highlight=False)
    out.print(heat_text(position.stones, position.last, heat, out.width))
    out.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("move", "visits", "share", f"{side}'s win rate"):
        table.add_column(heading, justify="right" if heading != "move" else "left", no_wrap=True)
    table.add_column("principal variation", overflow="fold")
    for move in one.moves[:SHOWN]:
        table.add_row(
            move.move, str(move.visits), f"{100 * move.share:.1f} %", move.win_rate.percent if move.visits else "",
            " ".join(move.variation),
        )  # fmt: skip
    out.print(table)
    rest = one.moves[SHOWN:]
    if rest:
        visits = sum(move.visits for move in rest)
        out.print(f"and {len(rest)} more moves with {visits} visits", style="dim", highlight=False)
    if position.next_move is not None:
        played = _played(position)
        rank = next((i for i, m in enumerate(one.moves, 1) if m.point == position.next_move[1]), None)
        place = f"number {rank} of the search" if rank else "not looked at by the search"
        out.print(f"played in the game: {played}, {place}", highlight=False)


def _print_game(record: Record, found: list[PositionAnalysis], bot: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from jubango.analysis.win_rate import PLAYERS

    out = data()
    out.print(Text(f"{' – '.join(record.players)}, {record.game.spec}", style="bold"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("move", "to play", "played", "best", "visits", "share", "Black's win rate", "after best"):
        table.add_column(heading, justify="left" if heading in ("played", "best", "to play") else "right")
    for one in found:
        position, best = one.position, one.best
        played = _played(position) or ""
        if best is None:
            rate = f"{100 * one.win_rate.black:.1f} %"
            table.add_row(str(position.number), "", played, "over", "", "", rate, "")
            continue
        table.add_row(
            str(position.number), PLAYERS[one.player], played, best.move, str(best.visits),
            f"{100 * best.share:.1f} %", f"{100 * one.win_rate.black:.1f} %",
            f"{100 * best.win_rate.black:.1f} %" if best.visits else "",
        )  # fmt: skip
    out.print(table)
    out.print(f"by {bot}", style="dim", highlight=False)
    out.print("win rates: the mean of the search, and that of its best move alone", style="dim", highlight=False)


def _played(position: Position) -> str | None:
    """What was played in the game."""
    return position.game.point_text(position.next_move[1]) if position.next_move else None


def _document(record: Record, one: PositionAnalysis, bot: str) -> dict[str, Any]:
    """The JSON form; ``win_rate`` is of the player to move: the mean of the search, a move's of its visits."""
    position = one.position
    return {
        "file": record.sgf.source,
        "game": position.game.spec,
        "black": record.players[0],
        "white": record.players[1],
        "move_number": position.number,
        "last_move": position.game.point_text(position.last) if position.number else None,
        "player": ("black", "white")[one.player],
        "over": one.over,
        "bot": bot,
        "simulations": 0 if one.over else one.simulations,
        "win_rate": round(one.win_rate.mover, 6),
        "win_rate_black": round(one.win_rate.black, 6),
        "next_move": _played(position),
        "moves": [
            {
                "move": move.move,
                "visits": move.visits,
                "share": round(move.share, 6),
                "win_rate": round(move.win_rate.mover, 6),
                "win_rate_black": round(move.win_rate.black, 6),
                "variation": list(move.variation),
            }
            for move in one.moves
        ],
        "visits": one.counts().tolist(),
    }
