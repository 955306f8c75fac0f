"""The standings of games on stdout: the table for people, or as JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jubango.arena.commands.terminal.output import Format, data, print_frame, print_json, print_text

if TYPE_CHECKING:
    from jubango.analysis.ratings.ratings import RatingList
    from jubango.analysis.ratings.results import Result
    from jubango.arena.runs.run import Run


def print_run(run: Run, form: Format) -> None:
    """What the games of a run say, and its test."""
    more = (
        {"sprt": run.sprt.summary} if run.sprt else {"best": run.best.summary} if run.best else {"rounds": run.rounds}
    )
    print_ratings(run.rating_list, run.results, form, run.told, **more)


def print_ratings(
    ratings: RatingList, results: list[Result], form: Format, told: list[str], **more: object
) -> None:  # fmt: skip
    """The standings and all that is said with them, ``told`` at the end; ``more`` goes into the JSON."""
    from jubango.analysis.tables.verdicts import summary, summary_frame
    from jubango.arena.text.standings import print_standings, standings_latex, standings_markdown

    if form is Format.table:
        print_standings(data(), ratings, results)
        for i, line in enumerate(told):
            data().sentence(f"\n{line}" if not i else line)
    elif form is Format.json:
        print_json({**summary(ratings, results), **more})
    elif form is Format.csv:
        print_frame(summary_frame(ratings, results), form)
    else:
        print_text((standings_latex if form is Format.latex else standings_markdown)(ratings, results, told))
