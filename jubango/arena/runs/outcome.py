"""What the games so far decide of a plan: which games are to come, which count, and whether it has come to its end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from jubango.analysis.ratings.best_arm import BestState
from jubango.analysis.ratings.results import Result, decided, distinct_games
from jubango.analysis.ratings.sprt import SequentialTest, SprtState
from jubango.arena.schedule.formats import OPEN, Tally
from jubango.arena.schedule.pairings import GameTask, Pairing, game_id, pairing
from jubango.arena.schedule.plan import Plan
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.records.record import place_in_pairing

REPEATED = 0.9  # of the games at most are distinct: a test should say so


class Outcome:
    """The points of each pairing, and where the plan's test stands, or its search for the best, by the games that have
    been added."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tallies: dict[Pairing, Tally] = {}
        self._test = SequentialTest(plan.sprt) if plan.sprt else None
        self._race = plan.format.race()

    def add(self, own: str, black: str, white: str, score: float) -> None:
        """The game with the id ``own`` has ended; ``score`` is Black's, nan if the game is void."""
        pair = pairing(black, white)
        first = score if black == pair[0] else 1 - score
        before = self.tallies.get(pair, Tally())
        points = (0.0, 0.0) if math.isnan(score) else (first, 1 - first)
        self.tallies[pair] = Tally(before.games + 1, before.first + points[0], before.second + points[1])
        place = place_in_pairing(own) if self._test or self._race else None
        if place is None:
            return
        if self._test:
            self._test.add(place[1], score if black == self.plan.bots[0].name else 1 - score)
        if self._race:
            self._race.add(*pair, place[1], first)

    # -- what is to come ---------------------------------------------------------------------

    def tasks(self) -> Iterator[GameTask]:
        """All games as far as the results tell, in the order in which they are to begin. Raises CannotGoOn."""
        if self._race:
            return self.plan.duels([] if self.decided else self._race.schedule)
        return self.plan.tasks(self.plan.format.known(self.tallies))

    def missing(self) -> dict[Pairing, int]:
        """How many games of each pairing are still to be played."""
        if self._race:
            wanted = Counter((duel.first, duel.second) for duel in self._race.schedule for _ in range(2))
        else:
            wanted = Counter(self.plan.wanted(self.tallies))
        return {pair: games - self.tallies.get(pair, Tally()).games for pair, games in wanted.items()}

    @property
    def total(self) -> int:
        """How many games the plan has, as far as the results tell."""
        return 2 * len(self._race.schedule) if self._race else self.plan.total_by(self.tallies)

    @property
    def to_come(self) -> list[int]:
        """How many games each of the rounds will have whose pairings are not known yet."""
        return [] if self._race else self.plan.format.to_come(self.tallies)

    @property
    def rounds(self) -> list[list[dict[str, object]]]:
        """Of a knockout's and a Swiss tournament's rounds so far the matches: the two bots, their points, how many
        games that were."""
        if self.plan.format.kind in OPEN or self._race:
            return []
        return [
            [
                {"bots": list(pair), "points": [tally.first, tally.second], "games": tally.games}
                for pair in one
                for tally in [self.tallies.get(pair, Tally())]
            ]
            for one in self.plan.format.known(self.tallies)
        ]

    # -- what is decided ---------------------------------------------------------------------

    @property
    def sprt(self) -> SprtState | None:
        """Where the plan's test stands, if it has one: of the first bot against the second."""
        return self._test.state if self._test else None

    @property
    def best(self) -> BestState | None:
        """Where the search for the best bot stands, if that is the plan's format."""
        return self._race.state if self._race else None

    @property
    def decided(self) -> bool:
        """Has the plan's test, or its search for the best, come to its end?"""
        return bool(self._test and self._test.state.accepted) or bool(self._race and self._race.decided)

    @property
    def evidence(self) -> set[str] | None:
        """The ids of the games on which the test, or the search for the best, has decided; None if none has."""
        if self._test is not None and self._test.state.accepted:
            first, second = self.plan.bots
            return {game_id(pairing(first.name, second.name), number) for number in range(self._test.looked)}
        if self._race and self._race.decided:
            duels = self._race.schedule[: self._race.state.pairs]
            return {game_id((d.first, d.second), number) for d in duels for number in (2 * d.number, 2 * d.number + 1)}
        return None

    def counting(self, ended: Collection[str]) -> Iterable[str]:
        """The ids that count of the games that have ``ended``. When all are played they are in the order of their ids,
        however they were played."""
        evidence = self.evidence
        if evidence is not None:
            return sorted(evidence & set(ended))
        whole = not self._race and len(ended) >= self.total
        return sorted(ended) if whole else ended

    def told(self, results: list[Result], more: bool) -> list[str]:
        """What the plan's test says, or its search for the best, or its rounds, in words; ``more``: games are
        missing."""
        if self._race:
            return [printable(str(self._race.state)), *self._repeated(results)]
        if not self.sprt:
            return self.plan.format.told(self.tallies)
        first, second = (printable(bot.name) for bot in self.plan.bots[:2])
        ended = [] if self.decided or more else ["the games of the match are all played: more of them go on"]
        return [*self.sprt.told(first, second), *ended, *self._repeated(results)]

    def _repeated(self, results: list[Result]) -> list[str]:
        """That a test takes games for evidence which were played again."""
        games, distinct = decided(results), distinct_games(results)
        if distinct is None or distinct > REPEATED * len(games):
            return []
        said = f"but only {distinct} of {len(games)} games are distinct, and the test takes each for new evidence"
        return [said if self.plan.openings else f'{said}: openings (openings = "random") make others']
