"""The rows of standings and crosstables as texts, whoever lays them out."""

from __future__ import annotations

import math

from jubango.analysis.ratings.ratings import Rating, RatingList
from jubango.analysis.ratings.results import Result, crosstable_cells
from jubango.analysis.tables.verdicts import signed
from jubango.sgf_games.base.printable import printable

HEADINGS = ("#", "bot", "Elo", "±95%", "±pairs", "games", "W-D-L", "score")
ALIGN = "rlrrrrrr"


def standings_rows(ratings: RatingList) -> list[tuple[str, ...]]:
    """A row of texts for each bot, as :data:`HEADINGS` say: Elo with its 95 % errors, by the model and by the spread
    between pairs of games, wins-draws-losses, score."""
    return [
        (
            str(i), printable(r.name), *_rating(r), str(r.games), f"{r.wins:.0f}-{r.draws:.0f}-{r.losses:.0f}",
            f"{100 * r.score:.1f} %" if r.games else "",
        )
        for i, r in enumerate(ratings.ratings, 1)
    ]  # fmt: skip


def over_the_next(ratings: RatingList) -> list[str]:
    """For each bot the likelihood that it is stronger than the one below it; nothing where the games do not say."""
    out = []
    for one, below in zip(ratings.ratings, ratings.ratings[1:], strict=False):
        _, error, los = ratings.difference(one.name, below.name)
        out.append(f"{100 * los:.0f} %" if one.games and below.games and not (math.isinf(error) and los == 0.5) else "")
    return [*out, ""] if ratings.ratings else out


def _rating(rating: Rating) -> tuple[str, str, str]:
    if not rating.games:
        return "", "", ""
    if math.isinf(rating.error):
        return signed(rating.elo) if math.isinf(rating.elo) else "?", "", ""
    return signed(rating.elo), f"{rating.error:.0f}", f"{rating.pair_error:.0f}"


def cross_rows(results: list[Result], ratings: RatingList) -> list[list[str]]:
    """For each bot its wins-draws-losses against every other, in the order of the ratings."""
    cells = crosstable_cells(results, [r.name for r in ratings.ratings])
    return [["—" if j == i else cell or "·" for j, cell in enumerate(row)] for i, row in enumerate(cells)]
