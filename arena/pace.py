"""How long games take, pairing by pairing, and so how long those will that are still to be played."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from jubango.arena.pairings import Pairing, pairing


class Pace:
    """``missing`` says how many games of each pairing are still to be played, those under way included."""

    def __init__(self, missing: dict[Pairing, int]) -> None:
        self.missing = missing
        self._games: Counter[Pairing] = Counter()  # seen
        self._seconds: defaultdict[Pairing, float] = defaultdict(float)  # that they took

    def add(self, black: str, white: str, seconds: float) -> None:
        """A game has been played."""
        pair = pairing(black, white)
        self.missing[pair] -= 1
        self._games[pair] += 1
        self._seconds[pair] += seconds

    def left(self, under_way: Iterable[tuple[Pairing, float]], elapsed: float) -> float | None:
        """Seconds until all games are played, if it goes on as in the ``elapsed`` ones; None if nobody knows yet.

        ``under_way``: the games at play, with their seconds so far. The rest takes as long as all of it, spread over
        as many lanes as there were, or as long as the longest game.
        """
        if not self._games:
            return None
        now = list(under_way)
        costs = self._costs()
        lanes = max(1.0, (sum(self._seconds.values()) + sum(seconds for _, seconds in now)) / max(elapsed, 1e-9))
        to_come = sum(count * costs[pair] for pair, count in self.missing.items() if count > 0)
        rest = to_come - sum(min(seconds, costs[pair]) for pair, seconds in now)
        return max(0.0, rest / lanes, *(costs[pair] - seconds for pair, seconds in now))

    def _costs(self) -> dict[Pairing, float]:
        """Seconds of a game: those seen of the pairing, else of its bots, else of any."""
        games: Counter[str] = Counter()
        spent: defaultdict[str, float] = defaultdict(float)
        for pair, count in self._games.items():
            for name in pair:
                games[name] += count
                spent[name] += self._seconds[pair]
        mean = sum(self._seconds.values()) / sum(self._games.values())
        of_bot = {name: spent[name] / games[name] for name in games}

        def cost(pair: Pairing) -> float:
            if self._games[pair]:
                return self._seconds[pair] / self._games[pair]
            return sum(of_bot.get(name, mean) for name in pair) / 2

        return {pair: cost(pair) for pair in self.missing}
