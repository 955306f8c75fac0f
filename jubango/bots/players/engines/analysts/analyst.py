"""What engines are asked about positions of Go, and what they answer, whatever protocol they speak."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jubango.bots.players.engines.engine import brief
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.game import Game

MOST_LINE = 12  # moves of a variation that are asked for

MOST_VISITS_TOLD, MOST_POINTS_TOLD = 10**12, 10_000.0

Stone = tuple[int, str]  # 0 Black, 1 White; and the point, D4


@dataclass(frozen=True, eq=False)
class EngineLine:
    """A game as an engine is told it: what is set up, and the moves since."""

    game: Game
    stones: tuple[Stone, ...]
    first: int  # who is to move then
    moves: tuple[Stone, ...]


@dataclass(frozen=True, eq=False)
class EngineQuestion:
    """What is wanted: the position of a ``line`` after ``number`` of its moves."""

    line: EngineLine
    number: int
    player: int  # to move
    legal: np.ndarray  # bool [A]
    where: str  # what messages call it


@dataclass(frozen=True)
class EngineLimits:
    """How long an engine looks at a position; without either as long as it likes, or two seconds by GTP."""

    visits: int | None = None
    seconds: float | None = None

    @property
    def text(self) -> str:
        """``50 visits``, ``50 visits or 2 s``; nothing without any."""
        said = [f"{self.visits} visits"] * (self.visits is not None)
        return " or ".join([*said, *[f"{self.seconds or 0:g} s"] * (self.seconds is not None)])


@dataclass(frozen=True, eq=False)
class EngineResult:
    """What an engine has found in a position, in the terms of a search of ours. Values are in [-1, 1], for the player
    to move; leads and ownership are Black's."""

    visits: np.ndarray  # int [A]
    values: np.ndarray  # float [A]; 0 where nothing is known
    priors: np.ndarray  # float [A]; 0 where illegal
    has_prior: bool
    action: int  # the move to play
    value: float
    simulations: int
    variations: Mapping[int, tuple[int, ...]]  # by their first move
    lead: float | None = None  # points
    leads: Mapping[int, float] | None = None  # by the move; None where none is known
    ownership: np.ndarray | None = None  # float [H * W], 1 for a point of Black's

    def variation_of(self, action: int) -> tuple[int, ...]:
        """What the engine expects to follow a move, which comes first."""
        return self.variations.get(action, (action,))


@dataclass(frozen=True)
class ToldMove:
    """What an engine says of a move, for the player to move."""

    action: int
    visits: int
    win_rate: float  # 0 to 1
    prior: float | None
    lead: float | None  # points
    variation: tuple[int, ...]


def result_told(
    question: EngineQuestion, moves: Sequence[ToldMove], win_rate: float | None, visits: int | None,
    lead: float | None, policy: np.ndarray | None, ownership: np.ndarray | None,
) -> EngineResult | None:  # fmt: skip
    """The result of what an engine has said; None where it names no move that is legal here.

    moves: the best first. win_rate: of the position, for the player to move. visits: of the whole search. lead: of the
    player to move. policy: float [A], of all moves, where it was told. ownership: as in :class:`EngineResult`.
    """
    size, sign = len(question.legal), -1.0 if question.player else 1.0
    counts, values = np.zeros(size, np.int64), np.zeros(size)
    known = [move for move in moves if question.legal[move.action]]
    priors = np.zeros(size) if policy is None else np.where(question.legal, np.maximum(policy, 0.0), 0.0)
    for move in known:
        counts[move.action] = move.visits
        values[move.action] = 2 * move.win_rate - 1
        if policy is None and move.prior is not None:
            priors[move.action] = move.prior
    has_prior = bool(priors.any())
    if not known and not has_prior:
        return None
    total = int(counts.sum())
    if win_rate is None:
        seen = [move for move in known if move.visits] or known
        if not seen:
            return None
        win_rate = sum(max(1, move.visits) * move.win_rate for move in seen) / sum(max(1, m.visits) for m in seen)
    leads = {move.action: sign * move.lead for move in known if move.lead is not None}
    return EngineResult(
        visits=counts, values=values, priors=priors, has_prior=has_prior,
        action=known[0].action if known else int(priors.argmax()), value=2 * win_rate - 1,
        simulations=total if visits is None else visits,
        variations={move.action: _legal_part(move) for move in known},
        lead=None if lead is None else sign * lead, leads=leads or None, ownership=ownership,
    )  # fmt: skip


def _legal_part(move: ToldMove) -> tuple[int, ...]:
    return move.variation if move.variation[:1] == (move.action,) else (move.action, *move.variation)


def number_told(value: object, least: float, most: float, what: str) -> float:
    """A number that an engine has said. Raises ValueError for what is none, or out of range."""
    number = float(value) if isinstance(value, int | float | str) else math.nan
    if not least <= number <= most:
        raise ValueError(f"{what}: {brief(str(value))}")
    return number


def visits_told(value: object) -> int:
    """Raises ValueError."""
    return int(number_told(value, 0, MOST_VISITS_TOLD, "visits"))


def win_rate_told(value: object) -> float:
    """0 to 1. Raises ValueError."""
    return min(1.0, max(0.0, number_told(value, -0.01, 1.01, "a win rate")))


def lead_told(value: object) -> float | None:
    """Points, if any are told. Raises ValueError."""
    return None if value is None else number_told(value, -MOST_POINTS_TOLD, MOST_POINTS_TOLD, "a lead")


def ownership_told(values: object, points: int) -> np.ndarray | None:
    """float [points], if any is told. Raises ValueError."""
    return None if values is None else _numbers_told(values, points, 1.01, "ownership")


def policy_told(values: object, actions: int) -> np.ndarray | None:
    """float [actions], if any is told; below 0 where illegal. Raises ValueError."""
    return None if values is None else _numbers_told(values, actions, 1.01, "policy")


def _numbers_told(values: object, size: int, most: float, what: str) -> np.ndarray:
    numbers = np.asarray(values, float)
    if numbers.shape != (size,):
        raise ValueError(f"{what}: {numbers.size} numbers where {size} should be")
    if not (np.abs(numbers) <= most).all():
        raise ValueError(f"{what}: a number out of range")
    return numbers


def action_of(game: Game, text: object) -> int | None:
    """The move that an engine means by a text; None for what is none."""
    try:
        return game.parse_action(str(text))
    except UserError:
        return None


def variation_of(game: Game, texts: Sequence[object]) -> tuple[int, ...]:
    """A variation as far as its texts are moves."""
    out: list[int] = []
    for text in texts[:MOST_LINE]:
        action = action_of(game, text)
        if action is None:
            break
        out.append(action)
    return tuple(out)


Look = Callable[[float], bool | None]  # at how many questions are answered; False: no more
Seen = Callable[[int, EngineResult], None]  # of a question under way, by its place: what is known by now


class Analyst(ABC):
    """A running engine that says what it thinks. Whatever it does wrong is an EngineFailure, and it is dead then."""

    name: str  # with its version: KataGo 1.16.4
    model: str = ""  # its network, where it says so

    def __init__(self) -> None:
        self.notes: list[str] = []  # what people should know of its answers

    def note(self, text: str) -> None:
        """Keep something that people should know, once."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)

    @abstractmethod
    def answers(
        self, questions: Sequence[EngineQuestion], limits: EngineLimits, look: Look, seen: Seen | None = None
    ) -> Iterator[tuple[int, EngineResult | None]]:
        """What it says of every question, by the question's place, in any order. Those that it was told to stop before
        it had looked at them have none. With ``seen`` it says so some times a second, too. Raises EngineFailure."""

    @abstractmethod
    def kill(self) -> None:
        """End it."""
