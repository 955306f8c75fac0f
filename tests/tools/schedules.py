"""Games of every bot against every other, without a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jubango.arena.games.pool import GamePool
from jubango.arena.schedule.pairings import GameTask, colours, game_id, game_seed, pairings
from jubango.bots.config import bot_from_spec
from jubango.bots.players.clock import TimeControl


def round_robin(names: Sequence[str], games: int, seed: int, clock: TimeControl | None = None) -> Iterator[GameTask]:
    for number in range(games):
        for pair in pairings(names):
            own = game_id(pair, number)
            yield GameTask(own, *colours(pair, number), game_seed(seed, own), clock=clock)


def play(game, specs, games, lanes=16, clock=None):
    bots = [bot_from_spec(spec) for spec in specs]
    table = GamePool(game, bots, lanes, timed=clock is not None)
    return [r for finished in table.play(round_robin([b.name for b in bots], games, 5, clock)) for r in finished]


def points(records, name):
    return sum(r.score if r.black == name else 1 - r.score for r in records if name in (r.black, r.white))
