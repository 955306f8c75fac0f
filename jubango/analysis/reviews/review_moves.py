"""What searches say of every move of a game: what it lost, and how surely. Nothing is searched here.

A move's loss is what the bot's own choice would have been worth less what the move was worth, each by searches of the
position AFTER it, for who moved. These are equals: as many searches of as many simulations, with the other side to
move in both. The two positions' searches have had no part in choosing, so that no choice is flattered by its own luck.

How surely: a search's win rate scatters, and every position is searched several times with other seeds. The variance of
one search is the largest of three. The first is what the position's own searches show. The second is what those of the
whole game show, in units of p (1 - p), pooled. The third is that of as many random games as it has simulations,
p (1 - p) / n.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jubango.analysis.ratings.ratings import Z95
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.sgf.positions import Position

PHASES = ("opening", "middle", "end")
OPENING, MIDDLE = 1 / 7, 1 / 2  # up to so many moves for every point of the board
GRADES = ("inaccuracy", "mistake", "blunder")
SURPRISE = "surprise"  # better than what the bot would have played, surely
SIGNS = {"inaccuracy": "?!", "mistake": "?", "blunder": "??", SURPRISE: "!"}


class Thresholds(NamedTuple):
    """What a loss in win rate is called.

    inaccuracy, mistake, blunder: the loss from which on a move is called so, 0 to 1.
    sure: how probable it must be that the move has lost anything, 0 to 1.
    """

    inaccuracy: float = 0.05
    mistake: float = 0.10
    blunder: float = 0.20
    sure: float = 0.995

    def check(self) -> None:
        """Raises UserError for thresholds that are out of order or out of range."""
        if not 0 < self.inaccuracy <= self.mistake <= self.blunder <= 1:
            raise UserError(
                f"thresholds {', '.join(f'{100 * x:g}' for x in self[:3])}: should rise from above 0 to 100 %, of an "
                "inaccuracy, a mistake and a blunder"
            )
        if not 0.5 <= self.sure < 1:
            raise UserError(f"sure {100 * self.sure:g}: should be from 50 to below 100 %")


class PositionKey(NamedTuple):
    """A position that is searched: after so many moves of a game, and then ``after`` in place of the game's own."""

    number: int
    after: str = ""


@dataclass(frozen=True)
class Candidate:
    """A move that a search has looked at."""

    move: str
    visits: int
    prior: float | None  # None where the bot has none: every move is alike to it before the search
    win_rate: float  # Black's, the mean of the move's visits
    variation: tuple[str, ...] = ()  # the move first; only of the most visited


@dataclass(frozen=True)
class Finding:
    """What one search found. Of a finished game it is the result, without a search, and there are no moves."""

    win_rate: float  # Black's, the mean of the whole search
    simulations: int
    moves: tuple[Candidate, ...] = ()  # the best first, then by visits
    lead: float | None = None  # Black's, in points, komi included
    ownership: tuple[float, ...] | None = None  # of every point, 1 Black's, -1 White's, where an engine says so


@dataclass(frozen=True)
class ReviewedPosition:
    """A position of the game by all of its searches."""

    number: int  # moves made
    player: int  # to move: 0 Black, 1 White
    over: bool
    stones: tuple[str, ...]  # the rows, ``.`` empty, ``X`` Black, ``O`` White
    last: Point | None
    win_rate: float  # Black's
    error: float  # half of its 95 % interval
    lead: float | None  # Black's, in points
    simulations: int  # of all searches
    candidates: tuple[Candidate, ...]  # the best first, then by visits; visits of all searches
    comment: str = ""  # the file's own
    ownership: tuple[float, ...] | None = None  # of every point, 1 Black's, -1 White's, where an engine says so


@dataclass(frozen=True)
class ReviewedMove:
    """A move of the game. Win rates and leads are of the player who made it."""

    number: int  # from 1
    player: int  # 0 Black, 1 White
    move: str
    point: Point | None
    phase: str
    best: str  # the bot's choice; empty where the game was over
    variation: tuple[str, ...]  # of that choice
    win_rate_before: float  # by the search before the move
    win_rate_after: float
    win_rate_best: float  # after the bot's choice
    loss: float  # win_rate_best less win_rate_after; 0 for the bot's choice; nan where it was not judged
    error: float  # half of its 95 % interval
    worse: float  # how sure it is that the move is worse than the bot's choice
    lead_before: float | None  # points
    lead_after: float | None
    lead_loss: float | None
    grade: str  # one of GRADES, "surprise", or nothing
    rank: int | None  # among the moves of the search before it; None: not looked at
    visits: int  # of the move in that search
    simulations: int  # all of that search's
    prior: float | None
    searches: int  # of each position

    @property
    def is_best(self) -> bool:
        return self.move == self.best

    @property
    def sign(self) -> str:
        """``??``, ``?``, ``?!``, ``!`` or nothing."""
        return SIGNS.get(self.grade, "")


@dataclass(frozen=True)
class Evidence:
    """All that was found in one game."""

    findings: Mapping[PositionKey, Sequence[Finding]]
    scatter: float = field(init=False)  # of the searches of a position, their variance in units of p (1 - p)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scatter", _scatter(self.findings.values()))

    def of(self, place: PositionKey) -> WinRateEstimate:
        """Black's win rate at a place, and the variance of that."""
        found = self.findings[place]
        rates = [one.win_rate for one in found]
        mean = math.fsum(rates) / len(rates)
        if not found[0].moves:
            return WinRateEstimate(mean, 0.0)
        number = math.fsum(one.simulations for one in found) / len(found)
        unit = _unit(mean, number)
        own = math.fsum((rate - mean) ** 2 for rate in rates) / max(1, len(rates) - 1)
        return WinRateEstimate(mean, max(own, self.scatter * unit, unit / max(1.0, number)) / len(rates))

    def lead(self, place: PositionKey) -> float | None:
        """Black's in points, the mean of what was found."""
        leads = [one.lead for one in self.findings[place] if one.lead is not None]
        return math.fsum(leads) / len(leads) if leads else None

    def ownership(self, place: PositionKey) -> tuple[float, ...] | None:
        """Of every point, the mean of what was found."""
        told = [one.ownership for one in self.findings[place] if one.ownership is not None]
        return tuple(round(math.fsum(own) / len(told), 4) for own in zip(*told, strict=True)) if told else None


class WinRateEstimate(NamedTuple):
    """Of Black's win rate."""

    win_rate: float
    variance: float

    @property
    def error(self) -> float:
        """Half of the 95 % interval."""
        return Z95 * math.sqrt(self.variance)


def _unit(rate: float, simulations: float) -> float:
    """p (1 - p), one more win and one more loss counted, or a few equal results would leave no doubt."""
    p = (rate * simulations + 1) / (simulations + 2)
    return p * (1 - p)


def _scatter(groups: Iterable[Sequence[Finding]]) -> float:
    """The variance of a search, pooled over places that were searched more than once; 0 without any."""
    squares = units = 0.0
    for found in groups:
        if len(found) < 2 or not found[0].moves:
            continue
        mean = math.fsum(one.win_rate for one in found) / len(found)
        squares += math.fsum((one.win_rate - mean) ** 2 for one in found)
        units += (len(found) - 1) * _unit(mean, math.fsum(one.simulations for one in found) / len(found))
    return squares / units if units else 0.0


def candidates_of(found: Sequence[Finding]) -> tuple[Candidate, ...]:
    """The moves of several searches of one position, their visits added up: first :func:`choice_of` them, then by
    visits."""
    best = choice_of(found)
    own: dict[str, list[Candidate]] = {}
    for one in found:
        for move in one.moves:
            own.setdefault(move.move, []).append(move)
    return tuple(sorted(map(_together, own.values()), key=lambda one: (one.move != best, -one.visits)))


def choice_of(found: Sequence[Finding]) -> str:
    """The move that most searches of one position would play, of several the most visited; empty without any."""
    chosen = Counter(one.moves[0].move for one in found if one.moves)
    often = max(chosen.values(), default=0)
    tied = [name for name, times in chosen.items() if times == often]
    if len(tied) < 2:
        return "".join(tied)
    together = [_together([move for one in found for move in one.moves if move.move == name]) for name in tied]
    return max(together, key=lambda one: (one.visits, one.prior or 0.0)).move


def _together(moves: Sequence[Candidate]) -> Candidate:
    visits = sum(one.visits for one in moves)
    rates = math.fsum(max(1, one.visits) * one.win_rate for one in moves) / sum(max(1, one.visits) for one in moves)
    said = max((one for one in moves if one.variation), key=lambda one: one.visits, default=moves[0])
    priors = [one.prior for one in moves if one.prior is not None]
    prior = math.fsum(priors) / len(priors) if priors else None
    return Candidate(moves[0].move, visits, prior, rates, said.variation)


def phase_of(number: int, points: int) -> str:
    """Of move ``number`` on a board of so many points: on 19x19 the opening is up to move 51, the end from 181 on."""
    return PHASES[(number > OPENING * points) + (number > MIDDLE * points)]


def reviewed_position(position: Position, evidence: Evidence, comment: str = "") -> ReviewedPosition:
    place = PositionKey(position.number)
    found, rate = evidence.findings[place], evidence.of(place)
    stones = tuple("".join(".XO"[stone] for stone in row) for row in position.stones)
    return ReviewedPosition(
        position.number, position.player, position.over, stones, position.last, rate.win_rate, rate.error,
        evidence.lead(place), sum(one.simulations for one in found), candidates_of(found), comment,
        evidence.ownership(place),
    )  # fmt: skip


def reviewed_move(
    position: Position, move: str, before: ReviewedPosition, after: PositionKey, evidence: Evidence,
    thresholds: Thresholds, judged: bool = True, knows: bool = True,
) -> ReviewedMove:  # fmt: skip
    """The move that was made in a position; ``after`` is where its own worth was searched. One that is not ``judged``
    has no loss. knows: see :func:`grade_of`."""
    assert position.next_move is not None
    player, point = position.player, position.next_move[1]
    best = before.candidates[0] if before.candidates else None
    own = next((i for i, one in enumerate(before.candidates) if one.move == move), None)
    compared = best is not None and judged
    there = PositionKey(position.number, best.move) if best and compared and best.move != move else after
    played, chosen = evidence.of(after), evidence.of(there)
    loss, error, worse = math.nan, math.nan, math.nan
    if compared:
        loss, error, worse = loss_between(player, played, chosen) if there != after else (0.0, 0.0, 0.0)

    def mine(black: float) -> float:
        return 1 - black if player else black

    leads = [_signed(lead, player) for lead in (before.lead, evidence.lead(after), evidence.lead(there))]
    return ReviewedMove(
        number=position.number + 1,
        player=player,
        move=move,
        point=point,
        phase=phase_of(position.number + 1, position.game.height * position.game.width),
        best=best.move if best else "",
        variation=best.variation if best else (),
        win_rate_before=mine(before.win_rate),
        win_rate_after=mine(played.win_rate),
        win_rate_best=mine(chosen.win_rate),
        loss=loss,
        error=error,
        worse=worse,
        lead_before=leads[0],
        lead_after=leads[1],
        lead_loss=leads[2] - leads[1] if compared and leads[1] is not None and leads[2] is not None else None,
        grade=grade_of(loss, worse, thresholds, knows),
        rank=None if own is None else own + 1,
        visits=0 if own is None else before.candidates[own].visits,
        simulations=before.simulations,
        prior=None if own is None else before.candidates[own].prior,
        searches=len(evidence.findings[after]),
    )


def loss_between(player: int, played: WinRateEstimate, chosen: WinRateEstimate) -> tuple[float, float, float]:
    """(what ``player`` has lost, half of its 95 % interval, how sure it is that it is anything)."""
    loss = (chosen.win_rate - played.win_rate) * (-1 if player else 1)
    deviation = math.sqrt(chosen.variance + played.variance)
    if not deviation:
        return loss, 0.0, float(loss > 0) if loss else 0.5
    return loss, Z95 * deviation, 0.5 * math.erfc(-loss / deviation / math.sqrt(2))


def _signed(lead: float | None, player: int) -> float | None:
    return -lead if lead is not None and player else lead


def grade_of(loss: float, worse: float, thresholds: Thresholds, knows: bool = True) -> str:
    """What a move is called. Nothing, whatever its loss, where it is not sure enough that it has lost anything. knows:
    a bot that does not know enough of the game calls nothing better than its own choice."""
    if worse >= thresholds.sure:
        levels = (thresholds.inaccuracy, thresholds.mistake, thresholds.blunder)
        passed = sum(loss >= level for level in levels)
        return GRADES[passed - 1] if passed else ""
    if knows and 1 - worse >= thresholds.sure and -loss >= thresholds.inaccuracy:
        return SURPRISE
    return ""
