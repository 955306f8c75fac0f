"""``jubango analyze``: where a bot would play in a position of an SGF file, and how its visits spread."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jubango.arena.commands.terminal.completion import bot_option
from jubango.arena.commands.terminal.opening import OpenOption
from jubango.arena.commands.terminal.output import (
    Format,
    FormatOption,
    check_writable,
    data,
    loading,
    messages,
    print_frame,
    print_json,
    read_record,
    show_notes,
)
from jubango.arena.text.preparing import AGAIN, Busy, Preparing, shown

if TYPE_CHECKING:
    from jubango.analysis.positions.heat import Heat
    from jubango.analysis.positions.position import PositionAnalysis, Values
    from jubango.arena.commands.positions.reviews import Wanted
    from jubango.sgf_games.sgf.positions import Position, Record

MOVES_SHOWN = 10  # moves in the table
OF_REVIEWS = {
    "--repeats": "repeats", "--thresholds": "thresholds", "--sure": "sure", "--no-save": "save", "--sgf": "sgf",
    "--cluster": "cluster",
}  # fmt: skip
OF_POSITIONS = {"--move": "move", "--heat": "heat", "--against": "against"}


class Heatmap(StrEnum):
    """The values of :meth:`jubango.analysis.positions.position.PositionAnalysis.heat`."""

    visits = "visits"
    prior = "prior"
    value = "value"
    ownership = "ownership"


def register(app: typer.Typer) -> None:
    @app.command()
    def analyze(
        context: typer.Context,
        files: Annotated[
            list[Path], typer.Argument(help="SGF files, one unless --all; their main lines are looked at.")
        ],
        move: Annotated[int | None, typer.Option(help="After this many moves.", show_default="all")] = None,
        every: Annotated[bool, typer.Option("--all", help="Review the game: every move.")] = False,
        bot: Annotated[
            str, bot_option(help="A searching bot.", show_default="the strongest there is for the game")
        ] = "",
        engine: Annotated[
            str,
            typer.Option(
                metavar="COMMAND",
                show_default="",
                help="In the place of a bot, an engine that speaks KataGo's JSON analysis protocol, or GTP with "
                "kata-analyze or lz-analyze: katago analysis -model M -config C.",
            ),
        ] = "",
        simulations: Annotated[
            int | None, typer.Option(min=1, help="Simulations a search, visits of an engine.", show_default="the bot's")
        ] = None,
        seconds: Annotated[
            float | None, typer.Option(min=0.01, help="A search, in place of the bot's simulations.", show_default="")
        ] = None,
        number: Annotated[int, typer.Option("--game-number", min=1, help="Which game of a file of several.")] = 1,
        seed: Annotated[
            int | None, typer.Option(min=0, help="Seed of the search's random numbers.", show_default="1")
        ] = None,
        repeats: Annotated[
            int | None, typer.Option(min=1, max=64, help="--all: searches of every position.", show_default="2")
        ] = None,
        thresholds: Annotated[
            str, typer.Option(help="--all: losses of an inaccuracy, a mistake and a blunder, in %.")
        ] = "5,10,20",
        sure: Annotated[
            float, typer.Option(help="--all: how sure it must be that a move has lost anything, in %.")
        ] = 99.5,
        save: Annotated[
            bool, typer.Option(help="--all: keep the searches beside the file, and take those that are there.")
        ] = True,
        heat: Annotated[
            Heatmap, typer.Option(help="What the heatmap shows; ownership: the owner of each point in the end.")
        ] = Heatmap.visits,
        against: Annotated[
            str,
            bot_option(metavar="BOT", help="Show what the bot's heatmap has more than this bot's.", show_default=""),
        ] = "",
        png: Annotated[
            Path | None, typer.Option(help="Write the heatmap as a picture; with --all the curves (PNG, SVG, ...).")
        ] = None,
        html: Annotated[
            Path | None, typer.Option(help="Review the game as with --all and write it as a page: one file.")
        ] = None,
        shown: OpenOption = False,
        sgf: Annotated[
            Path | None, typer.Option(help="--all: write the game with the review in it; it may be the file itself.")
        ] = None,
        csv: Annotated[
            Path | None, typer.Option(help="Write the table as CSV; with --all also Parquet (FILE.parquet).")
        ] = None,
        cluster: Annotated[
            str, typer.Option(metavar="HOSTS", help="--all: who searches, as of `tournament --cluster`.")
        ] = "",
        form: FormatOption = Format.table,
    ) -> None:
        """What a bot makes of a position: visits, win rates, principal variations and a heatmap.

        With --all it reviews whole games, several files at once too: what every move lost and how surely, the players,
        curves. The searches are kept beside the file (GAME.review.json): the same command goes on with them, and other
        thresholds need none. Of several files --sgf, --png and --html name folders.
        """
        from jubango.arena.commands.positions.reviews import Wanted, review_files
        from jubango.sgf_games.base.errors import UserError

        review = every or html is not None
        for option, name in (OF_POSITIONS if review else OF_REVIEWS).items():
            source = context.get_parameter_source(name)
            if source is None or source.name != "COMMANDLINE":
                continue
            if review:
                raise UserError(f"{'--all' if every else '--html'} and {option} exclude each other; give one")
            raise UserError(f"{option} is for the review of a whole game; give --all")
        for option, given in {"--bot": bot, "--cluster": cluster, "--seed": seed is not None}.items():
            if engine and given:
                raise UserError(f"--engine and {option} exclude each other; give one")
        if shown and html is None:
            raise UserError("--open opens the page of a review; give --html FILE")
        wanted = Wanted(
            bot,
            simulations,
            seconds,
            seed,
            repeats,
            thresholds,
            sure,
            save,
            sgf,
            png,
            html,
            csv,
            cluster,
            engine,
            shown,
        )
        if review:
            review_files(files, number, wanted, form)
            return
        if len(files) > 1:
            raise UserError(f"{files[1]}: a position is of one file; several are reviewed with --all")
        if against and heat is Heatmap.ownership:
            raise UserError("--against: ownership is the same whatever the bot; compare visits, prior or value")
        _analyze_position(files[0], number, move, wanted, heat.value, against, form)


def _analyze_position(
    file: Path, number: int, move: int | None, wanted: Wanted, heat: Values, against: str, form: Format
) -> None:
    """One position: print what a bot makes of it, and write what is asked for."""
    with loading():
        from jubango.analysis.positions.asked import limits_of
        from jubango.analysis.positions.plot import check_format
        from jubango.analysis.positions.position import analyze, asked_of, searching_bot
        from jubango.analysis.tables.export import write_frame
        from jubango.bots.composition import strongest
        from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine, check_known
        from jubango.bots.run_bot import compile_for_one
        from jubango.sgf_games.base.errors import UserError
        from jubango.sgf_games.compute.programs import compiling_aside
        from jubango.sgf_games.sgf.positions import check_number, position_at

    for name in filter(None, ("" if wanted.engine else wanted.bot or "uct", against)):
        searching_bot(name, **wanted.limits)  # what is wrong with them is said before anything else
    limits = limits_of(wanted.limits)
    for path in filter(None, (wanted.png, wanted.csv)):
        check_writable(path)
    if wanted.png is not None:
        check_format(wanted.png)
    seed = 1 if wanted.seed is None else wanted.seed
    record = read_record(file, number)
    config = None if wanted.engine else searching_bot(wanted.bot or strongest(record.game), **wanted.limits)
    name = config.name if config else wanted.engine
    if config:
        show_notes(record.game, [config])
    preparing = Busy("starting the engine") if wanted.engine else Preparing(f"{record.game.spec} for {name}")
    with shown(messages(), preparing, everywhere=True, patience=AGAIN) as line:

        def report(done: int, total: int) -> None:
            line.says = f"searching: {done} of {total} simulations" if total else "searching"

        check_number(record.sgf, move)
        with compiling_aside() as aside:
            if config and not record.sgf.may_be_over(move):
                compile_for_one(record.game, config, aside)
            position = position_at(record.sgf, move)
        if config:
            found = analyze(position, config, seed=seed, on_progress=report)
        else:
            check_known(record.game)
            with AnalysisEngine(wanted.engine) as engine:
                name = engine.name
                line.says = f"searching with {name}"
                (found,) = asked_of([position], engine, limits, report)
        shown_heat = found.heat(heat)
        if against:
            line.says = f"searching with {against}"
            other = searching_bot(against, **wanted.limits)
            shown_heat = found.less(analyze(position, other, seed=seed), heat, (name, other.name))
    spec = config.spec if config else found.engine
    if wanted.png is not None:
        try:
            found.save_png(wanted.png, shown_heat if against else heat)
        except (OSError, ValueError) as error:  # an unwritable place, a format nobody knows
            raise UserError(f"{wanted.png}: cannot be written: {error}") from None
    if wanted.csv is not None:
        write_frame(found.frame, wanted.csv)
    if form in (Format.csv, Format.markdown, Format.latex):
        print_frame(found.frame, form)
    elif form is Format.json:
        print_json(_document(record, found, spec))
    else:
        noise = found.noise if not against and heat in ("visits", "value") else ""
        _print_position(found, spec, shown_heat, noise)


def _print_position(one: PositionAnalysis, bot: str, heat: Heat, noise: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from jubango.analysis.positions.plot import BLACK, WHITE, board_text, heat_text
    from jubango.analysis.positions.win_rate import PLAYER_NAMES

    out = data()
    position = one.position
    game = position.game
    out.print(Text(position.title, style="bold"))
    side = PLAYER_NAMES[one.player]
    if one.over:
        out.print(board_text(position.stones, position.last, slanted=game.hexagonal))
        out.print(position.status)
        return
    out.print(f"{game.spec}, {side} {(BLACK, WHITE)[one.player]} to move")
    out.print(f"{one.simulations} {'simulation' if one.simulations == 1 else 'simulations'} by {bot}")
    if one.note:
        out.print(one.note, style="yellow")
    assert one.best is not None
    alone = "" if noise else f"; after {one.best.move} alone {one.best.win_rate.percent}"
    out.print(f"{side}'s win rate: {one.win_rate.percent}, the mean of the search{alone}")
    if one.lead is not None:
        out.print(f"{one.lead_text}, komi included")
    out.print()
    if noise:
        out.print(board_text(position.stones, position.last, slanted=game.hexagonal))
        out.print(noise)
        if position.next_move is not None:
            out.print(f"played in the game: {_played(position)}")
        return
    if heat.name != "visits":
        out.print(f"{heat.name}:")
    out.print(heat_text(position.stones, position.last, heat, out.width, game.hexagonal))
    out.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    leads = one.lead is not None
    priors = leads and one.has_prior
    for heading in ("move", "visits", "share", f"{side}'s win rate", *["prior"] * priors, *[f"{side}'s lead"] * leads):
        table.add_column(heading, justify="right" if heading != "move" else "left", no_wrap=True)
    table.add_column("principal variation", overflow="fold")
    for move in one.moves[:MOVES_SHOWN]:
        lead = "" if move.lead is None else f"{-move.lead if one.player else move.lead:+z.1f}"
        table.add_row(
            move.move, str(move.visits), f"{100 * move.share:.1f} %", move.win_rate.percent if move.visits else "",
            *[f"{100 * move.prior:.1f} %"] * priors, *[lead] * leads, " ".join(move.variation),
        )  # fmt: skip
    out.print(table)
    rest = one.moves[MOVES_SHOWN:]
    if rest:
        visits = sum(move.visits for move in rest)
        out.print(f"and {len(rest)} more moves with {visits} visits", style="dim")
    if position.next_move is not None:
        played = _played(position)
        rank = next((i for i, m in enumerate(one.moves, 1) if m.point == position.next_move[1]), None)
        place = f"number {rank} of the search" if rank else "not looked at by the search"
        out.print(f"played in the game: {played}, {place}")


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
        "note": one.note,
        "simulations": 0 if one.over else one.simulations,
        "win_rate": round(one.win_rate.mover, 6),
        "win_rate_black": round(one.win_rate.black, 6),
        **({} if one.lead is None else {"lead_black": round(one.lead, 2)}),
        "next_move": _played(position),
        "moves": [
            {
                "move": move.move,
                "visits": move.visits,
                "share": round(move.share, 6),
                "win_rate": round(move.win_rate.mover, 6),
                "win_rate_black": round(move.win_rate.black, 6),
                **({"prior": round(move.prior, 6)} if one.engine and one.has_prior else {}),
                **({} if move.lead is None else {"lead_black": round(move.lead, 2)}),
                "variation": list(move.variation),
            }
            for move in one.moves
        ],
        "visits": one.counts().tolist(),
        **({} if one.ownership is None else {"ownership": one.ownership.round(4).tolist()}),
    }
