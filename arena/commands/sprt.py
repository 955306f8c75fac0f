"""``jubango sprt``: a sequential test reckoned by hand, and how long one is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.output import Format, FormatOption, data, print_frame, print_json

if TYPE_CHECKING:
    from jubango.analysis.sprt import Sprt


def register(app: typer.Typer) -> None:
    @app.command(context_settings={"ignore_unknown_options": True})  # -5,0 is no option
    def sprt(
        test: Annotated[
            str,
            typer.Argument(
                metavar="ELO0,ELO1", help="0,20 or 0,20,alpha=0.01,beta=0.01,model=normalized (or logistic, bayesian)"
            ),
        ],
        wins: Annotated[int | None, typer.Option(min=0, help="Games won.")] = None,
        losses: Annotated[int | None, typer.Option(min=0, help="Games lost.")] = None,
        draws: Annotated[int | None, typer.Option(min=0, help="Games drawn.")] = None,
        pairs: Annotated[
            str | None,
            typer.Option(metavar="LL,LD,DD,WD,WW", help="Or pairs: lost both, ..., even (DD and WL), ..., won both."),
        ] = None,
        elo: Annotated[
            str | None,
            typer.Option(
                metavar="ELO,...", help="True strengths to plan for.", show_default="around the two hypotheses"
            ),
        ] = None,
        drawn: Annotated[float, typer.Option(min=0, max=1, help="Share of draws to plan with.")] = 0.0,
        form: FormatOption = Format.table,
    ) -> None:
        """What a sequential test says of a result; without one, how many games it takes for true strengths."""
        import dataclasses

        from jubango.analysis.sprt import Sprt, SprtState
        from jubango.sgf_games.errors import UserError

        counts: tuple[int, ...] | None = None
        single = [losses, draws, wins]
        if any(number is not None for number in single):
            counts = tuple(number or 0 for number in single)
        if pairs is not None:
            if counts is not None:
                raise UserError("sprt: --pairs and --wins, --losses, --draws exclude each other")
            try:
                counts = tuple(int(part) for part in pairs.split(","))
            except ValueError:
                raise UserError(f'sprt: --pairs "{pairs}": should be five whole numbers, as in 3,10,40,20,5') from None
            if len(counts) != 5 or min(counts) < 0:
                raise UserError(f'sprt: --pairs "{pairs}": should be five numbers, none below 0')
        parsed = Sprt.parse(test)
        if counts is None:
            _plan(parsed, elo, drawn, form)
            return
        parsed = dataclasses.replace(parsed, pairs=len(counts) == 5)
        llr = parsed.llr(counts)
        state = SprtState(parsed, llr, parsed.decision(llr), counts)
        if form is Format.json:
            print_json(state.summary)
        elif form is Format.table:
            for line in state.told("the first", "the second"):
                data().print(line, highlight=False, markup=False, soft_wrap=True)
        else:
            import pandas as pd

            print_frame(pd.DataFrame([{**state.summary, "counts": "-".join(map(str, counts))}]), form)


def _plan(test: Sprt, elo: str | None, drawn: float, form: Format) -> None:
    import pandas as pd
    from rich.table import Table

    from jubango.analysis.sprt_length import chances, expectation
    from jubango.sgf_games.errors import UserError

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
        table.add_row(f"{one:+g}", f"{games:,.0f}", f"{100 * accepts:.1f} %")
    print_frame(frame, form, table)
