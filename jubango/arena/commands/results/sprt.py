"""``jubango sprt``: a sequential test reckoned by hand, and how long one is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, data, print_frame, print_json

if TYPE_CHECKING:
    from jubango.analysis.ratings.sprt import Sprt


def register(app: typer.Typer) -> None:
    @app.command()
    def sprt(
        elo1: Annotated[float, typer.Option(help="Elo of the hypothesis that there is something (H1).")],
        elo0: Annotated[float, typer.Option(help="Elo of the hypothesis that there is nothing (H0).")] = 0.0,
        wdl: Annotated[str | None, typer.Option(metavar="W,D,L", help="A result: games won, drawn and lost.")] = None,
        pentanomial: Annotated[
            str | None,
            typer.Option(metavar="LL,LD,DDWL,WD,WW", help="Or pairs of games: both lost, ..., even, ..., both won."),
        ] = None,
        model: Annotated[
            str, typer.Option(help="What Elo means: logistic, normalized (nElo) or bayesian (BayesElo, of games).")
        ] = "logistic",
        alpha: Annotated[float, typer.Option(help="Chance to accept H1 where H0 is true.")] = 0.05,
        beta: Annotated[float, typer.Option(help="Chance to accept H0 where H1 is true.")] = 0.05,
        elo: Annotated[
            str | None,
            typer.Option(
                metavar="ELO,...", help="True strengths to plan for.", show_default="around the two hypotheses"
            ),
        ] = None,
        drawn: Annotated[float, typer.Option(min=0, max=1, help="Share of draws to plan with.")] = 0.0,
        pairs: Annotated[
            bool | None,
            typer.Option("--pairs/--games", help="Plan a test on pairs of games, or on games.", show_default="pairs"),
        ] = None,
        form: FormatOption = Format.table,
    ) -> None:
        """What a sequential test says of a result; without one, how many games it takes for true strengths."""
        from typing import cast

        from jubango.analysis.ratings.sprt import Model, Sprt, SprtState
        from jubango.sgf_games.base.errors import UserError

        if wdl is not None and pentanomial is not None:
            raise UserError("sprt: --wdl and --pentanomial exclude each other")
        if model == "bayesian" and (pentanomial is not None or pairs):
            raise UserError("sprt: --model bayesian is of single games; give --wdl, or plan with --games")
        counts: tuple[int, ...] | None = None
        if wdl is not None:
            counts = _counts("--wdl", wdl, 3)[::-1]
        elif pentanomial is not None:
            counts = _counts("--pentanomial", pentanomial, 5)
        in_pairs = len(counts) == 5 if counts else pairs is not False and model != "bayesian"
        parsed = Sprt(elo0, elo1, alpha, beta, cast(Model, model), in_pairs)
        if counts is None:
            _plan(parsed, elo, drawn, form)
            return
        llr = parsed.llr(counts)
        state = SprtState(parsed, llr, parsed.decision(llr), counts)
        if form is Format.json:
            print_json(state.summary)
        elif form is Format.table:
            verdict, counted = state.told("the first", "the second")
            lower, upper = parsed.bounds
            found = state.strength
            lines = [
                verdict,
                counted.rpartition("; ")[2],
                f"LLR    {llr:.4f}, bounds {lower:.6f} and {upper:.6f}",
                f"score  {found.score:.4f}",
                f"Elo    {found.elo:+.2f} ± {found.elo_error:.2f}",
                f"nElo   {found.nelo:+.2f} ± {found.nelo_error:.2f}",
                f"LOS    {100 * found.los:.2f} %",
            ]
            for line in lines:
                data().print(line, soft_wrap=True)
        else:
            import pandas as pd

            print_frame(pd.DataFrame([{**state.summary, "counts": "-".join(map(str, counts))}]), form)


def _counts(option: str, text: str, number: int) -> tuple[int, ...]:
    """Raises UserError."""
    from jubango.sgf_games.base.errors import UserError

    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        counts = ()
    if len(counts) != number or min(counts) < 0:
        example = "3,10,40,20,5" if number == 5 else "76,123,89"
        raise UserError(f'sprt: {option} "{text}": should be {number} whole numbers, none below 0, as in {example}')
    return counts


def _plan(test: Sprt, elo: str | None, drawn: float, form: Format) -> None:
    import pandas as pd
    from rich.table import Table

    from jubango.analysis.ratings.sprt_length import chances, expectation
    from jubango.sgf_games.base.errors import UserError

    width = test.elo1 - test.elo0
    usual = [test.elo0 + part * width for part in (-1, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.5, 2)]
    try:
        strengths = usual if elo is None else [float(part) for part in elo.split(",")]
    except ValueError:
        raise UserError(f'sprt: --elo "{elo}": should be numbers, as in 0,10,20') from None
    rows = [(one, *expectation(test, chances(test, one, drawn))) for one in strengths]
    frame = pd.DataFrame(rows, columns=["elo", "games", "accepts_h1"])
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("true Elo", "games expected", f"accepts {test.elo1:+g}"):
        table.add_column(heading, justify="right")
    for one, games, accepts in rows:
        table.add_row(f"{one:+g}", f"{games:,.2f}", f"{100 * accepts:.2f} %")
    print_frame(frame, form, table)
