"""The search as a mover: lanes of any number of bots in one compiled program."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bots.bot import MoveAnswer, MoveRequest, Thought
from bots.config import UctConfig
from bots.evaluators.rollout import RandomRollout
from bots.search.search import Search, Searching, program
from bots.search.select import Settings, Ucb1
from sgf_games.game import Game
from sgf_games.lanes import jit

TICK_SECONDS = 0.2  # how long a chunk of simulations should take at most


def search_for(game: Game, bots: list[UctConfig]) -> Search:
    """The one composition that all ``bots`` run in; its capacity is that of the largest."""
    capacity = max(bot.simulations for bot in bots)
    return Search(game, Ucb1(capacity), RandomRollout(bots[0].rollouts), capacity)


class SearchMover:
    """Searches in up to ``lanes`` lanes; each starts and ends on its own."""

    blocking = True

    def __init__(self, game: Game, bots: list[UctConfig], lanes: int) -> None:
        self.search = search_for(game, bots)
        self._program = program(self.search, lanes)
        self._searching: Searching | None = None
        self._asked: dict[int, MoveRequest] = {}
        self._remaining: dict[int, int] = {}
        self._seconds_each = 0.0  # of one simulation in all lanes
        self.simulations = 0  # made so far, for the dashboard

        def roots(states: Any) -> Any:
            trimmed = jax.vmap(game.without_history, in_axes=-1, out_axes=0)(states)
            pad = self._program.lanes - jax.tree.leaves(trimmed)[0].shape[0]
            return jax.tree.map(lambda x: jnp.pad(x, [(0, pad)] + [(0, 0)] * (x.ndim - 1)), trimmed)

        self._roots = jit(roots)

    def begin(self, requests: list[MoveRequest], states: Any) -> None:
        lanes = self._program.lanes
        mask, seeds = np.zeros(lanes, bool), np.zeros(lanes, np.uint32)
        legal = np.zeros((lanes, len(requests[0].legal)), bool)
        simulations, c = np.zeros(lanes, np.int32), np.zeros(lanes, np.float32)
        for request in requests:
            bot = request.bot
            assert isinstance(bot, UctConfig)
            i = request.lane
            mask[i], seeds[i], legal[i] = True, request.seed, request.legal
            simulations[i], c[i] = bot.simulations, bot.c
            self._asked[i] = request
            self._remaining[i] = bot.simulations
        if self._searching is None:
            self._searching = self._program.idle()
        settings = Settings(simulations, c)  # type: ignore[arg-type]
        self._searching = self._program.begin(self._searching, mask, self._roots(states), legal, settings, seeds)

    def advance(self) -> list[MoveAnswer]:
        if not self._asked:
            return []
        chunk = self._chunk()
        began = time.perf_counter()
        self._searching, statistics = self._program.advance(self._searching, jnp.int32(chunk))
        found = jax.device_get(statistics)
        self._seconds_each = (time.perf_counter() - began) / chunk
        answers = []
        for lane, request in list(self._asked.items()):
            self.simulations += self._remaining[lane] - int(found.remaining[lane])
            self._remaining[lane] = int(found.remaining[lane])
            if self._remaining[lane] == 0:
                action = int(found.action[lane])
                bot = request.bot
                assert isinstance(bot, UctConfig)
                visits, value = int(found.visits[lane, action]), float(found.value[lane, action])
                answers.append(MoveAnswer(lane, action, Thought(visits, bot.simulations, value)))
                del self._asked[lane], self._remaining[lane]
        return answers

    def _chunk(self) -> int:
        """Simulations until the first lane is done, but not so few that looking costs more."""
        remaining = self._remaining.values()
        wanted = sum(r.bot.simulations for r in self._asked.values()) / len(self._asked)  # type: ignore[attr-defined]
        chunk = max(min(remaining), int(wanted / 12), 4)
        if self._seconds_each:
            chunk = min(chunk, max(1, int(TICK_SECONDS / self._seconds_each)))
        else:  # the first chunk measures, and includes compiling
            chunk = min(chunk, 4)
        return min(chunk, max(remaining))

    def finish(self, game_id: str) -> None:
        pass

    def close(self) -> None:
        self._searching = None
