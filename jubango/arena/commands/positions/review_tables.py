"""A review on the terminal: the moves, the curves, the players."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from jubango.arena.commands.terminal.output import data

if TYPE_CHECKING:
    from rich.table import Table

    from jubango.analysis.reviews.review import Review
    from jubango.analysis.reviews.review_moves import ReviewedMove

GRAPH_HEIGHT = 8
WIDEST_GRAPH = 120  # characters


def print_review(review: Review) -> None:
    """The moves, the curves, the players."""
    from rich.text import Text

    from jubango.analysis.reviews.review_plot import graph_text

    out = data()
    out.print(Text(review.title, style="bold"))
    out.print(f"by {review.by}", style="dim")
    if review.note:
        out.print(review.note, style="yellow")
    if not review.moves:
        out.print("there are no moves in it")
        return
    out.print(moves_table(review))
    out.print()
    out.print(graph_text(review.curves, min(out.width, WIDEST_GRAPH), GRAPH_HEIGHT))
    out.print(summary_table(review))
    out.print(histogram_table(review))
    for player, name in enumerate(review.record.players):
        worst = [_said(review.moves[number - 1]) for number in review.summary(player).worst]
        if worst:
            out.print(Text(f"{name}'s worst: {'; '.join(worst)}"))
    if all(one.moves and one.mean_loss < -one.error for one in map(review.summary, (0, 1))):
        out.print(
            "the players' moves are better than the bot's choices: a stronger bot, or more simulations, sees more"
        )
    inaccuracy, mistake, blunder, sure = (100 * level for level in review.thresholds)
    out.print(
        "loss: the win rate after the bot's choice less that after the move, by searches of both, with its 95 % "
        f"interval; ?! from {inaccuracy:g} %, ? from {mistake:g}, ?? from {blunder:g}, where it is {sure:g} % sure "
        "that there is any; ! is as sure to be better than the bot's choice", style="dim",
    )  # fmt: skip


def _said(move: ReviewedMove) -> str:
    return f"{move.number} {move.move} {_percent(move.loss)} % (better {move.best})"


def _percent(share: float) -> str:
    """With one digit; no nothing is negative."""
    return f"{round(100 * share, 1) + 0.0:.1f}"


def moves_table(review: Review) -> Table:
    from rich.table import Table

    leads = review.curves.has_leads
    table = Table(box=None, header_style="bold", pad_edge=False)
    priors = any(move.prior is not None for move in review.moves)
    headings = ["move", "", "best", "Black", *["lead"] * leads, "loss", "", "visits", *["prior"] * priors]
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "best") else "right", no_wrap=True)
    styles = {"inaccuracy": "yellow", "mistake": "dark_orange", "blunder": "bold red", "surprise": "green"}
    for move in review.moves:
        after = review.positions[move.number]
        loss = (
            "" if move.loss != move.loss else "0" if move.is_best else f"{_percent(move.loss)} ± {_percent(move.error)}"
        )
        table.add_row(
            str(move.number),
            f"{'BW'[move.player]} {move.move}",
            "" if move.is_best else move.best,
            f"{100 * after.win_rate:.1f} %",
            *([f"{after.lead:+z.1f}" if after.lead is not None else ""] if leads else []),
            loss,
            move.sign,
            f"{move.visits} of {move.simulations}" if move.simulations else "",
            *([f"{100 * move.prior:.1f} %" if move.prior is not None else ""] if priors else []),
            style=styles.get(move.grade),
        )
    return table


def summary_table(review: Review) -> Table:
    from rich.table import Table

    from jubango.analysis.reviews.review_moves import SIGNS
    from jubango.analysis.reviews.review_summary import accuracy_text

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("player", overflow="ellipsis", max_width=20)
    for heading in ("phase", "moves", "best", "accuracy", "mean loss", *SIGNS.values()):
        table.add_column(heading, justify="left" if heading == "phase" else "right", no_wrap=True)
    for one in review.summaries:
        if one.moves:
            table.add_row(
                review.record.players[one.player] if one.phase == "all" else "",
                one.phase,
                str(one.moves),
                f"{100 * one.best / one.moves:.0f} %",
                accuracy_text(one),
                f"{_percent(one.mean_loss)} ± {_percent(one.error)}",
                *(str(one.grades[grade]) for grade in SIGNS),
            )
    return table


def histogram_table(review: Review) -> Table:
    """How many moves of either player lost how much."""
    from rich.table import Table

    from jubango.analysis.reviews.review_summary import LOSS_BINS

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("loss in %", overflow="ellipsis", max_width=20)
    edges = [f"{100 * edge:g}" for edge in LOSS_BINS]
    for heading in ("none", *(f"{a}-{b}" for a, b in itertools.pairwise(edges)), f"{edges[-1]}-"):
        table.add_column(heading, justify="right", no_wrap=True)
    for player, name in enumerate(review.record.players):
        table.add_row(name, *(str(count) if count else "·" for count in review.summary(player).histogram))
    return table
