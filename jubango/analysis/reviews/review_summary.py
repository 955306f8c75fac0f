"""What a review says of the players: by phases of the game, and in all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jubango.analysis.reviews.review_moves import GRADES, PHASES, SURPRISE, ReviewedMove

LOSS_BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)  # of losses: none, up to 2 %, up to 5 %, ..., more than 50 %
WORST = 5  # moves
ALL = "all"


@dataclass(frozen=True)
class Summary:
    """One player's moves of a phase. Means are of moves that have a loss; nan, or None of points, where none has."""

    player: int  # 0 Black, 1 White
    phase: str  # one of PHASES, or "all"
    moves: int  # that have a loss
    best: int  # of them the bot's own choice
    mean_loss: float  # of win rate; signed, so that noise cancels out
    error: float  # half of its 95 % interval
    accuracy: float  # in [0, 1]; nan where the bot is too weak to know
    accuracy_error: float  # half of its 95 % interval
    mean_lead_loss: float | None  # points
    grades: dict[str, int]
    histogram: tuple[int, ...]  # of losses, by BINS
    worst: tuple[int, ...]  # numbers of the graded moves that lost most


def summaries(moves: Sequence[ReviewedMove], knows: bool = True) -> tuple[Summary, ...]:
    """Black's and White's: all moves, then those of the phases. knows: the bot knows enough of the game to say how
    accurate its players are."""
    return tuple(
        _summary([m for m in moves if m.player == player and phase in (ALL, m.phase)], player, phase, knows)
        for player in (0, 1)
        for phase in (ALL, *PHASES)
    )


def accuracy_of(loss: float) -> float:
    """lichess's curve (https://lichess.org/page/accuracy) of a move's accuracy by the win rate it loses, here taken of
    the mean loss: 1 for none, 0.64 for 10 %, 0.40 for 20 %."""
    return min(1.0, max(0.0, (103.1668 * math.exp(-4.354 * max(0.0, loss)) - 3.1669) / 100))


def accuracy_text(one: Summary) -> str:
    """``97.3 % ± 1.2``; nothing where it is not known."""
    return f"{100 * one.accuracy:.1f} % ± {100 * one.accuracy_error:.1f}" if one.accuracy == one.accuracy else ""


def _summary(moves: Sequence[ReviewedMove], player: int, phase: str, knows: bool) -> Summary:
    judged = [move for move in moves if not math.isnan(move.loss)]
    mean = math.fsum(move.loss for move in judged) / len(judged) if judged else math.nan
    error = math.sqrt(math.fsum(move.error**2 for move in judged)) / len(judged) if judged else math.nan
    points = [move.lead_loss for move in judged if move.lead_loss is not None]
    graded = sorted((move for move in judged if move.grade in GRADES), key=lambda move: -move.loss)
    return Summary(
        player,
        phase,
        len(judged),
        sum(move.is_best for move in judged),
        mean,
        error,
        accuracy_of(mean) if judged and knows else math.nan,
        (accuracy_of(mean - error) - accuracy_of(mean + error)) / 2 if judged and knows else math.nan,
        math.fsum(points) / len(points) if points else None,
        {grade: sum(move.grade == grade for move in judged) for grade in (*GRADES, SURPRISE)},
        histogram([move.loss for move in judged]),
        tuple(move.number for move in graded[:WORST]),
    )


def histogram(losses: Sequence[float]) -> tuple[int, ...]:
    """How many lie up to the first of LOSS_BINS, between it and the next, ..., above the last."""
    places = [sum(loss > edge for edge in LOSS_BINS) for loss in losses]
    return tuple(places.count(i) for i in range(len(LOSS_BINS) + 1))
