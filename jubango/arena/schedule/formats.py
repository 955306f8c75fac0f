"""Formats of tournaments: which pairings are to be played, as far as the results so far tell.

A format is a pure function of the bots' names, the seed and the results, so that a run that stopped goes on with the
same pairings. The first whom a bot meets is decided by the seed alone (in a round-robin: everybody is met).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Literal, NamedTuple

from jubango.analysis.ratings.best_arm import BestOf
from jubango.arena.schedule.pairings import Pairing, drawn, pairing, pairings
from jubango.sgf_games.base.errors import CannotGoOn, UserError

Kind = Literal["round-robin", "gauntlet", "match", "knockout", "swiss", "best"]
OPEN = ("round-robin", "gauntlet", "match")  # in which pairings do not depend on results: bots and games may be added


class Tally(NamedTuple):
    """The games of a pairing so far."""

    games: int = 0  # void ones too
    first: float = 0.0  # points of its first bot
    second: float = 0.0


Results = Mapping[Pairing, Tally]
Round = dict[Pairing, int]  # how many games of which pairings


@dataclass(frozen=True)
class TournamentFormat:
    """``games`` are those of a pairing, ``rounds`` those of a Swiss tournament. "best" has
    neither: a :meth:`race` says what is played."""

    kind: Kind
    names: tuple[str, ...]
    games: int
    seed: int
    rounds: int = 0
    indifference: float = 20.0  # Elo that do not matter to "best"
    alpha: float = 0.05  # the chance that it errs

    def __post_init__(self) -> None:
        count = len(self.names)
        if self.kind == "match" and count != 2:
            raise UserError(f'format = "match": is of two bots, here are {count}')
        if self.rounds and self.kind != "swiss":
            raise UserError(f'rounds = {self.rounds}: is for format = "swiss"')
        if self.rounds > count // 2:  # up to there a round can always be paired, whoever has met (Dirac 1952)
            raise UserError(f"rounds = {self.rounds}: {count // 2} at most of {count} bots; a round-robin has more")
        self.race()  # are its numbers good?

    def race(self) -> BestOf | None:
        """The search for the best, before any game, where that is the format. Raises UserError."""
        return BestOf(self.names, self.indifference, self.alpha) if self.kind == "best" else None

    def known(self, results: Results) -> list[Round]:
        """The rounds whose pairings the results decide, in their order; all but the last one are finished."""
        if self.kind == "knockout":
            return list(_until_open(self._knockout(results), results))
        if self.kind == "swiss":
            return list(_until_open(self._swiss(results), results))
        if self.kind == "gauntlet":
            return [{pairing(self.names[0], other): self.games for other in self.names[1:]}]
        return [dict.fromkeys(pairings(self.names), self.games)]

    def total(self, results: Results) -> int:
        """How many games it will be in all, if no match of a knockout that is still to come is tied."""
        if self.kind != "knockout":
            return self.games * self._pairings
        known = self.known(results)
        return sum(sum(one.values()) for one in known) + self.games * (self._pairings - sum(map(len, known)))

    def to_come(self, results: Results) -> list[int]:
        """How many games each of the rounds will have that the results do not decide yet, if no match is tied."""
        if self.kind == "swiss":
            later = self._rounds - len(self.known(results))
            return [self.games * (len(self.names) // 2)] * later
        left = len(self.names) - sum(map(len, self.known(results))) if self.kind == "knockout" else 1
        rounds = []
        while left > 1:
            rounds.append(self.games * (left // 2))
            left -= left // 2
        return rounds

    @property
    def _pairings(self) -> int:
        """How many there will be."""
        count = len(self.names)
        if self.kind in ("gauntlet", "knockout"):
            return count - 1
        return self._rounds * (count // 2) if self.kind == "swiss" else count * (count - 1) // 2

    @property
    def _rounds(self) -> int:
        """Of a Swiss tournament: as many as a knockout has, and one more, unless somebody says otherwise."""
        return self.rounds or min(ceil(log2(len(self.names))) + 1, len(self.names) // 2)

    def _match_told(self, match: Pairing, results: Results) -> str:
        tally = results.get(match, Tally())
        said = f"{match[0]} {tally.first:g}-{tally.second:g} {match[1]}"
        tied = self.kind == "knockout" and tally.first == tally.second and tally.games >= self._wanted(tally)
        return f"{said} (by lot {self._winner(match, results)})" if tied else said

    @property
    def lots(self) -> list[str]:
        """The names in the order that the seed draws."""
        names = sorted(self.names)
        random.Random(drawn(self.seed, "lots")).shuffle(names)
        return names

    def told(self, results: Results) -> list[str]:
        """How the rounds went, a line each, and who has won; nothing where everybody meets everybody."""
        if self.kind not in ("knockout", "swiss"):
            return []
        lines = []
        for number, one in enumerate(self.known(results), 1):
            games = [self._match_told(match, results) for match in one]
            games += [f"{name} rests" for name in sorted(self._resting(one))] if self.kind == "swiss" else []
            lines.append(f"round {number}: {', '.join(games)}")
        final = self.known(results)[-1]
        if self.kind == "knockout" and len(final) == 1 and self.total(results) == _played(results):
            (last,) = final
            lines.append(f"{self._winner(last, results)} has won the knockout")
        if self.kind == "swiss":
            points = self._points(self.known(results), results)
            table = sorted(points, key=lambda name: -points[name])
            lines.append(f"points: {', '.join(f'{name} {points[name]:g}' for name in table)}")
        return lines

    # -- knockout ----------------------------------------------------------------------------

    def _knockout(self, results: Results) -> Iterator[Round]:
        """Whoever wins a match meets the winner of the next one. Those who have nobody to meet in the first round are
        at the end of the list, so that there is nobody without a game later."""
        left = self.lots
        free = 2 ** ceil(log2(len(left))) - len(left)
        while len(left) > 1:
            playing, resting = left[: len(left) - free], left[len(left) - free :]
            matches = [pairing(a, b) for a, b in zip(playing[::2], playing[1::2], strict=True)]
            yield {match: self._wanted(results.get(match, Tally())) for match in matches}
            left, free = [self._winner(match, results) for match in matches] + resting, 0

    def _wanted(self, tally: Tally) -> int:
        """Games of a match: pairs are added as long as it is tied, up to twice as many games."""
        games = max(self.games, tally.games + tally.games % 2)
        return min(games + 2, 2 * self.games) if games == tally.games and tally.first == tally.second else games

    def _winner(self, match: Pairing, results: Results) -> str:
        """Of a finished match; if it is tied to the end, by lot."""
        tally = results.get(match, Tally())
        if tally.first == tally.second:
            return random.Random(drawn(self.seed, f"lot {match[0]}~{match[1]}")).choice(match)
        return match[tally.second > tally.first]

    # -- Swiss -------------------------------------------------------------------------------

    def _swiss(self, results: Results) -> Iterator[Round]:
        """Bots with as many points as possible in common meet, never twice; of an odd number the one with the fewest
        points that has not rested yet rests, which is worth a match that is won."""
        rounds: list[Round] = []
        for _ in range(self._rounds):
            points = self._points(rounds, results)
            order = sorted(self.lots, key=lambda name: -points[name])
            met = {pair for one in rounds for pair in one}
            rested = {name for one in rounds for name in self._resting(one)}
            pairs = None
            for rests in [n for n in reversed(order) if n not in rested] if len(order) % 2 else [None]:
                pairs = _matched([name for name in order if name != rests], met)
                if pairs is not None:
                    break
            if pairs is None:
                raise CannotGoOn(f"round {len(rounds) + 1} could not be paired; ask for fewer rounds")
            rounds.append(dict.fromkeys(pairs, self.games))
            yield rounds[-1]

    def _points(self, rounds: Sequence[Round], results: Results) -> dict[str, float]:
        points = dict.fromkeys(self.names, 0.0)
        for one in rounds:
            for pair in one:
                tally = results.get(pair, Tally())
                points[pair[0]] += tally.first
                points[pair[1]] += tally.second
            for name in self._resting(one):
                points[name] += self.games
        return points

    def _resting(self, one: Round) -> set[str]:
        return set(self.names) - {name for pair in one for name in pair}


def _until_open(rounds: Iterator[Round], results: Results) -> Iterator[Round]:
    """Up to the first round that is not finished: what comes after it is not decided."""
    for one in rounds:
        yield one
        if any(results.get(pair, Tally()).games < games for pair, games in one.items()):
            return


def _matched(order: Sequence[str], met: set[Pairing], budget: int = 100_000) -> list[Pairing] | None:
    """Everybody with a neighbour in ``order`` whom they have not met, the first with the nearest possible; None if that
    cannot be, or has not been found in so many tries."""
    tries = 0

    def paired(left: Sequence[str]) -> list[Pairing] | None:
        nonlocal tries
        if not left:
            return []
        for i in range(1, len(left)):
            tries += 1
            if tries > budget:
                return None
            pair = pairing(left[0], left[i])
            if pair not in met and (rest := paired([*left[1:i], *left[i + 1 :]])) is not None:
                return [pair, *rest]
        return None

    return paired(order)


def _played(results: Results) -> int:
    return sum(tally.games for tally in results.values())
