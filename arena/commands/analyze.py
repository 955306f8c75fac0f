"""``jubango analyze``: where a bot would play in a position of an SGF file, and how its visits spread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jubango.arena.commands.output import Format, FormatOption, data, messages, print_frame, print_json, show_notes

if TYPE_CHECKING:
    from jubango.analysis.position import PositionAnalysis
    from jubango.sgf_games.sgf import SgfGame

SHOWN = 10  # moves in the table
# Leaves and trees that fill both the vectors and the cores with one position, and a small c, which gathers the
# visits where they tell something.
ANALYST = "uct:simulations=12800,c=0.4,leaves=32,ensemble=2"


def register(app: typer.Typer) -> None:
    @app.command()
    def analyze(
        file: Annotated[Path, typer.Argument(help="The SGF file; its main line is looked at.")],
        move: Annotated[int | None, typer.Option(help="After this many moves. [default: the last]")] = None,
        every: Annotated[bool, typer.Option("--all", help="Every position of the game.")] = False,
        bot: Annotated[str, typer.Option(help="A searching bot.")] = ANALYST,
        simulations: Annotated[
            int | None, typer.Option(min=1, help="Simulations a position. [default: the bot's]")
        ] = None,
        number: Annotated[int, typer.Option("--game-number", min=1, help="Which game of a file of several.")] = 1,
        seed: Annotated[int, typer.Option(min=0, help="Decides the search's dice.")] = 1,
        png: Annotated[Path | None, typer.Option(help="Write the heatmap as a picture.")] = None,
        csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.")] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """Visits, win rates and principal variations of a position, and its visit-count heatmap."""
        from jubango.analysis.position import analyse
        from jubango.analysis.tables import analysis_frame
        from jubango.bots.config import SearchConfig, bot_from_spec
        from jubango.sgf_games.errors import UserError
        from jubango.sgf_games.replay import position_at, positions
        from jubango.sgf_games.sgf import read_sgf

        if every and move is not None:
            raise UserError("--all and --move exclude each other; give one")
        if every and png is not None:
            raise UserError("--png draws one position; give --move instead of --all")
        config = bot_from_spec(bot)
        if not isinstance(config, SearchConfig):
            raise UserError(f'--bot "{bot}": only a searching bot (uct, alphazero, ...) can show its visits')
        if simulations is not None:
            config = config.model_copy(update={"simulations": simulations})
        games = read_sgf(file)
        if number > len(games):
            raise UserError(f"{file}: holds {len(games)} game(s); there is no game {number}")
        if len(games) > 1:
            messages().print(f"{file} holds {len(games)} games; this is number {number}", highlight=False)
        sgf = games[number - 1]
        wanted = positions(sgf) if every else [position_at(sgf, move)]
        show_notes([config])
        with messages().status("searching") as status:
            found = analyse(
                wanted, config, seed,
                lambda done, total: status.update(f"searching: {done} of {total} simulations"),
            )  # fmt: skip
        frame = analysis_frame(found)
        if png is not None:
            _draw(png, sgf, found[0])
        if csv is not None:
            try:
                frame.to_csv(csv, index=False)
            except OSError as error:
                raise UserError(f"{csv}: cannot be written: {error.strerror}") from None
        if form is Format.csv:
            print_frame(frame, form)
        elif form is Format.json:
            documents = [_document(sgf, one) for one in found]
            print_json(documents if every else documents[0])
        elif every:
            _print_game(sgf, found)
        else:
            _print_position(sgf, found[0])


def _title(sgf: SgfGame, one: PositionAnalysis) -> str:
    position = one.position
    after = f"after move {position.number}" if position.number else "before the first move"
    if position.number:
        after += f" ({'BW'[position.last_player or 0]} {position.game.point_text(position.last)})"
    return f"{sgf.name(0)} – {sgf.name(1)}, {after}"


def _draw(png: Path, sgf: SgfGame, one: PositionAnalysis) -> None:
    from jubango.analysis.plot import save_png
    from jubango.sgf_games.errors import UserError
    from jubango.sgf_games.go import Go

    position = one.position
    side = ("Black", "White")[one.player]
    best = one.best
    title = _title(sgf, one)
    if best is not None:
        title += f"\n{side} to move: {best.text}, {best.visits} of {one.simulations} visits, "
        title += f"win rate {100 * best.win_rate:.1f} %"
    try:
        save_png(
            png, position.game.stones(position.state), one.counts(), title, position.last,
            best.point if best else None, isinstance(position.game, Go),
        )  # fmt: skip
    except (OSError, ValueError) as error:  # an unwritable place, a format nobody knows
        raise UserError(f"{png}: cannot be written: {error}") from None


def _print_position(sgf: SgfGame, one: PositionAnalysis) -> None:
    from rich.table import Table
    from rich.text import Text

    from jubango.analysis.plot import board_text

    out = data()
    position = one.position
    game = position.game
    out.print(Text(_title(sgf, one), style="bold"))
    side = ("Black ●", "White ○")[one.player]
    if one.over:
        out.print(board_text(game.stones(position.state), position.last))
        out.print(f"the game is over: {game.result_text(position.state)}", highlight=False)
        return
    out.print(f"{game.spec}, {side} to move, {one.simulations} simulations", highlight=False)
    out.print()
    out.print(board_text(game.stones(position.state), position.last, one.counts()))
    out.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("move", "visits", "share", "win rate"):
        table.add_column(heading, justify="right" if heading != "move" else "left", no_wrap=True)
    table.add_column("principal variation", overflow="fold")
    for move in one.moves[:SHOWN]:
        table.add_row(
            move.text, str(move.visits), f"{100 * move.share:.1f} %", f"{100 * move.win_rate:.1f} %",
            " ".join(move.variation),
        )  # fmt: skip
    out.print(table)
    rest = one.moves[SHOWN:]
    if rest:
        visits = sum(move.visits for move in rest)
        out.print(f"and {len(rest)} more moves with {visits} visits", style="dim", highlight=False)
    if position.next_move is not None:
        played = game.point_text(position.next_move[1])
        rank = next((i for i, m in enumerate(one.moves, 1) if m.point == position.next_move[1]), None)
        place = f"number {rank} of the search" if rank else "not looked at by the search"
        out.print(f"played in the game: {played}, {place}", highlight=False)


def _print_game(sgf: SgfGame, found: list[PositionAnalysis]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = data()
    out.print(Text(f"{sgf.name(0)} – {sgf.name(1)}, {sgf.game.spec}", style="bold"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("move", "to play", "played", "best", "visits", "share", "Black's win rate"):
        table.add_column(heading, justify="left" if heading in ("played", "best", "to play") else "right")
    for one in found:
        position, best = one.position, one.best
        played = position.game.point_text(position.next_move[1]) if position.next_move else ""
        if best is None:
            table.add_row(str(position.number), "", played, "", "", "", "over")
            continue
        black = best.win_rate if one.player == 0 else 1 - best.win_rate
        table.add_row(
            str(position.number), ("Black", "White")[one.player], played, best.text, str(best.visits),
            f"{100 * best.share:.1f} %", f"{100 * black:.1f} %",
        )  # fmt: skip
    out.print(table)


def _document(sgf: SgfGame, one: PositionAnalysis) -> dict[str, Any]:
    """The JSON form; win rates are of the player to move."""
    position = one.position
    following = position.next_move
    return {
        "file": sgf.source,
        "game": position.game.spec,
        "black": sgf.name(0),
        "white": sgf.name(1),
        "move_number": position.number,
        "last_move": position.game.point_text(position.last) if position.number else None,
        "player": ("black", "white")[one.player],
        "over": one.over,
        "simulations": 0 if one.over else one.simulations,
        "next_move": position.game.point_text(following[1]) if following else None,
        "moves": [
            {
                "move": move.text,
                "visits": move.visits,
                "share": round(move.share, 6),
                "win_rate": round(move.win_rate, 6),
                "variation": list(move.variation),
            }
            for move in one.moves
        ],
        "visits": one.counts().tolist(),
    }
