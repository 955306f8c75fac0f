"""A game looked through by a bot: every move's loss and how sure that is, the players, curves, tables, its SGF."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jubango.analysis.reviews import annotation
from jubango.analysis.reviews.notes import without_note
from jubango.analysis.reviews.review_moves import (
    GRADES,
    Evidence,
    PositionKey,
    ReviewedMove,
    ReviewedPosition,
    Thresholds,
    grade_of,
    reviewed_move,
    reviewed_position,
)
from jubango.analysis.reviews.review_plot import Curves, Mark, figure_of, save_graph
from jubango.analysis.reviews.review_summary import ALL, Summary, accuracy_text, summaries
from jubango.bots.composition import judging_note
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.library.library import write_safely
from jubango.sgf_games.sgf.positions import Position, Record
from jubango.sgf_games.sgf.sgf import SgfGame
from jubango.sgf_games.sgf.sgf_tree import read_trees, write_trees

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLOURS = ("black", "white")


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """What a bot's searches say of a game. A notebook shows the summary and the curves.

    ``positions[n]`` is the one after n moves, ``moves[n - 1]`` is move n.
    """

    record: Record
    places: tuple[Position, ...]  # the positions, to be searched, drawn and gone on from
    bot: str  # its spec; of an engine its name, its network and how long it looks
    repeats: int  # searches of every position
    thresholds: Thresholds
    positions: tuple[ReviewedPosition, ...]
    moves: tuple[ReviewedMove, ...]
    summaries: tuple[Summary, ...]  # Black's (all, then by phases), then White's
    engine: bool = False  # ``bot`` is the name of other people's engine

    @classmethod
    def of(
        cls, record: Record, places: Sequence[Position], ends: Sequence[PositionKey], judged: Sequence[bool],
        evidence: Evidence, thresholds: Thresholds, bot: str, engine: bool = False,
    ) -> Review:  # fmt: skip
        """The review made of what the searches found.

        record: the game.
        places: its positions, from before the first move on.
        ends: of each move where its worth was searched.
        judged: of each move, whether it has a loss.
        evidence: the searches' win rates and variances.
        thresholds: what a loss is called.
        """
        comments = _comments(record.sgf)
        knows = engine or not judging_note(record.game, bot_from_spec(bot))
        positions = [reviewed_position(place, evidence, comments.get(place.number, "")) for place in places]
        moves = [
            reviewed_move(place, move, positions[place.number], end, evidence, thresholds, own, knows)
            for place, move, end, own in zip(places, record.moves, ends, judged, strict=False)
        ]
        repeats = max(len(found) for found in evidence.findings.values())
        summary = summaries(moves, knows)
        return cls(record, tuple(places), bot, repeats, thresholds, tuple(positions), tuple(moves), summary, engine)

    def with_thresholds(self, thresholds: Thresholds) -> Review:
        """The same review with its moves graded by other thresholds; nothing is searched."""
        knows = not self.note
        moves = tuple(replace(m, grade=grade_of(m.loss, m.worse, thresholds, knows)) for m in self.moves)
        return replace(self, thresholds=thresholds, moves=moves, summaries=summaries(moves, knows))

    def summary(self, player: int, phase: str = ALL) -> Summary:
        """The means of one player's moves.

        player: 0 Black, 1 White.
        phase: "opening", "middle", "end" or "all".
        """
        return next(one for one in self.summaries if (one.player, one.phase) == (player, phase))

    @property
    def title(self) -> str:
        """The players' names and the game: a line above the review."""
        return f"{' – '.join(self.record.players)}, {self.record.game.spec}, {self.record.result}"

    @property
    def note(self) -> str:
        """What a reader should know of the bot's judgement, or nothing."""
        return "" if self.engine else judging_note(self.record.game, bot_from_spec(self.bot))

    @property
    def by(self) -> str:
        """The bot, or the engine, and its searches: ``uct:simulations=200, 2 searches a position``."""
        return f"{self.bot}, {self.repeats} search{'es' * (self.repeats > 1)} a position"

    @property
    def who(self) -> str:
        """Who has searched, in a sentence: ``the bot``, or an engine's name and version."""
        return self.bot.partition(",")[0] if self.engine else annotation.THE_BOT

    # -- tables and data ---------------------------------------------------------------------

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each move; see :func:`reviews_frame`."""
        return reviews_frame([self])

    @property
    def summary_frame(self) -> pd.DataFrame:
        """A row for each player and phase."""
        import pandas as pd

        rows = [
            {
                "player": self.record.players[one.player],
                "colour": COLOURS[one.player],
                "phase": one.phase,
                "moves": one.moves,
                "best": one.best,
                "accuracy": one.accuracy,
                "accuracy_error": one.accuracy_error,
                "mean_loss": one.mean_loss,
                "error": one.error,
                "mean_lead_loss": math.nan if one.mean_lead_loss is None else one.mean_lead_loss,
                **one.grades,
            }
            for one in self.summaries
        ]
        return pd.DataFrame(rows)

    @property
    def document(self) -> dict[str, Any]:
        """The review as JSON has it: texts, numbers, lists and tables of them, None where nothing is known."""
        return _plain(
            {
                "file": self.record.sgf.source,
                "game": self.record.game.spec,
                "black": self.record.players[0],
                "white": self.record.players[1],
                "result": self.record.result,
                "bot": self.bot,
                "searches": self.repeats,
                "thresholds": self.thresholds._asdict(),
                "summaries": [asdict(one) for one in self.summaries],
                "moves": [asdict(one) for one in self.moves],
                "positions": [asdict(one) for one in self.positions],
            }
        )

    # -- curves ------------------------------------------------------------------------------

    @property
    def curves(self) -> Curves:
        """The win rate and the lead over the moves, as they are drawn."""
        return Curves(
            [one.win_rate for one in self.positions],
            [one.error for one in self.positions],
            [one.lead for one in self.positions],
            [Mark(one.number, one.player, one.grade, one.sign) for one in self.moves if one.grade],
            f"{self.title}, by {self.bot}" if self.engine else self.title,
        )

    def plot(self, figure: Figure | None = None) -> Figure:
        """The figure with win rate and lead over the moves.

        figure: the one to draw on; by default a new one.
        """
        return figure_of(self.curves, figure)

    def save_png(self, path: Path | str) -> None:
        """Writes the curves as a picture.

        path: its ending says of what kind: PNG or SVG.

        Raises OSError where it cannot be written, and ValueError for another ending.
        """
        save_graph(path, self.curves)

    # -- SGF ---------------------------------------------------------------------------------

    def sgf(self) -> bytes:
        """The bytes of the file the game came from, with this review in it in place of an older one.

        :mod:`jubango.analysis.reviews.annotation` says what is written.
        """
        source = self.record.sgf
        roots, _ = read_trees(write_trees(source.trees), source.source)
        annotation.annotate(
            roots[source.number - 1], self.places, self.positions, self.moves, self.summary_lines, self.by,
            self.who if self.engine else "",
        )  # fmt: skip
        return write_trees(roots)

    def save_sgf(self, path: Path | str) -> None:
        """Writes :meth:`sgf` to a file, which is there whole or as it was.

        Raises OSError where it cannot be written.
        """
        write_safely(Path(path), self.sgf())

    @property
    def summary_lines(self) -> list[str]:
        """A line of text for each player."""
        lines = []
        for player, name in enumerate(self.record.players):
            one = self.summary(player)
            named = zip(GRADES, _PLURALS, [one.grades[grade] for grade in GRADES], strict=True)
            counts = ", ".join(f"{count} {grade if count == 1 else plural}" for grade, plural, count in named)
            said = f"{name} ({COLOURS[player].capitalize()}): {one.moves} moves"
            if one.moves:
                accuracy = f", accuracy {accuracy_text(one)}" if one.accuracy == one.accuracy else ""
                said += (
                    f"{accuracy}, mean loss {100 * one.mean_loss:.1f} % ± "
                    f"{100 * one.error:.1f}, {one.best} {self.who}'s own; {counts}"
                )
            lines.append(printable(said))
        return [*lines, self.note] if self.note else lines

    def __repr__(self) -> str:
        return printable(f"<Review of {self.title}, {len(self.moves)} moves, by {self.by}>")

    def _repr_html_(self) -> str:
        picture = io.StringIO()
        self.plot().savefig(picture, format="svg")
        drawing = picture.getvalue()
        rows = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary_lines)
        head = html.escape(printable(f"{self.title}, by {self.by}"))
        return f"<div><p><b>{head}</b></p>{rows}{drawing[drawing.index('<svg') :]}</div>"


_PLURALS = ("inaccuracies", "mistakes", "blunders")


def reviews_frame(reviews: Sequence[Review]) -> pd.DataFrame:
    """A row for each move of every game; see docs/reviews.md for the columns."""
    import pandas as pd

    rows = [
        {
            "file": review.record.sgf.source,
            "number": one.number,
            "player": review.record.players[one.player],
            "colour": COLOURS[one.player],
            "move": one.move,
            "phase": one.phase,
            "best": one.best,
            "grade": one.grade,
            "loss": one.loss,
            "error": one.error,
            "worse": one.worse,
            "win_rate_before": one.win_rate_before,
            "win_rate_after": one.win_rate_after,
            "win_rate_best": one.win_rate_best,
            "win_rate_black": review.positions[one.number].win_rate,
            "lead_before": one.lead_before,
            "lead_after": one.lead_after,
            "lead_loss": one.lead_loss,
            "rank": one.rank,
            "visits": one.visits,
            "simulations": one.simulations,
            "prior": one.prior,
            "searches": one.searches,
            "variation": " ".join(one.variation),
        }
        for review in reviews
        for one in review.moves
    ]
    frame = pd.DataFrame(rows, columns=MOVE_COLUMNS)
    texts = ("file", "player", "colour", "move", "phase", "best", "grade", "variation")
    whole = ("number", "visits", "simulations", "searches")
    kinds = dict.fromkeys(texts, str) | dict.fromkeys(whole, "int64") | {"rank": "Int64"}
    return frame.astype({name: kinds.get(name, "float64") for name in MOVE_COLUMNS}).round(6)


MOVE_COLUMNS = [
    "file", "number", "player", "colour", "move", "phase", "best", "grade", "loss", "error", "worse",
    "win_rate_before", "win_rate_after", "win_rate_best", "win_rate_black", "lead_before", "lead_after", "lead_loss",
    "rank", "visits", "simulations", "prior", "searches", "variation",
]  # fmt: skip


def _comments(sgf: SgfGame) -> dict[int, str]:
    """The file's own comments by the number of moves made, our notes left out."""
    found: dict[int, list[str]] = {}
    number = 0
    for node in sgf.nodes:
        number += node.move is not None
        found.setdefault(number, []).append(without_note(node.comment))
    return {number: "\n".join(filter(None, texts)) for number, texts in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
