"""Games of every bot against every other, without a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jubango.arena.schedule.pairings import GameTask, colours, game_id, game_seed, pairings
from jubango.bots.players.clock import TimeControl


def round_robin(names: Sequence[str], games: int, seed: int, clock: TimeControl | None = None) -> Iterator[GameTask]:
    for number in range(games):
        for pair in pairings(names):
            own = game_id(pair, number)
            yield GameTask(own, *colours(pair, number), game_seed(seed, own), clock=clock)
