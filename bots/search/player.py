"""The search as a mover: trees of any number of bots in one compiled program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.bot import MoveAnswer, MoveRequest, Thought
from jubango.bots.composition import composition, numbers_for, search_for, temperature_for
from jubango.bots.config import SearchConfig
from jubango.bots.search.program import program
from jubango.bots.search.root import Numbers, final_move, merged, settings_for
from jubango.bots.search.state import RootStatistics, Searching
from jubango.bots.search.tree import LONGEST_LINE
from jubango.sgf_games.compiled import initial_states
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game
from jubango.sgf_games.machine import jit

TICK_SECONDS = 0.2  # how long a chunk of simulations should take at most
MOST_PROGRAMS = 40  # a compiled search takes up to 1,200 of the 65,530 memory maps that Linux gives a process


@dataclass
class _Thinking:
    """A request under way, in ``bot.ensemble`` trees."""

    request: MoveRequest
    bot: SearchConfig
    remaining: int  # simulations of the tree that has most to do
    deadline: float  # perf_counter(); infinite without a limit


class SearchMover:
    """Searches in up to ``lanes`` games; each starts and ends on its own."""

    blocking = True

    def __init__(self, game: Game, bots: list[SearchConfig], lanes: int) -> None:
        self.game = game
        self.ensemble = bots[0].ensemble
        self.search = search_for(game, bots)
        self._program = program(self.search, lanes * self.ensemble)
        self._thinking: dict[int, _Thinking] = {}
        self._held: dict[int, tuple[str, list[int]]] = {}  # the game and the moves a lane's trees stand at
        self._made = np.zeros(self._program.trees, int)  # simulations each tree had at the last look
        self._seconds_each = 0.0  # of one step of all trees
        self.simulations = 0  # made so far, for the dashboard

        def roots(states: Any) -> Any:
            trimmed = jax.vmap(game.without_history, in_axes=-1, out_axes=0)(states)
            repeated = jax.tree.map(lambda x: jnp.repeat(x, self.ensemble, axis=0), trimmed)
            pad = self._program.trees - jax.tree.leaves(repeated)[0].shape[0]
            return jax.tree.map(lambda x: jnp.pad(x, [(0, pad)] + [(0, 0)] * (x.ndim - 1)), repeated)

        self._roots = jit(roots, out_shardings=self._program.sharding)
        self._searching: Searching | None = self._warmed_up(lanes, any(bot.reuse for bot in bots))

    def _warmed_up(self, lanes: int, reuse: bool) -> Searching:
        """An idle search all of whose programs have run once: compiling is on nobody's clock."""
        trees = self._program.trees
        none, legal = np.zeros(trees, bool), np.zeros((trees, self.game.num_actions), bool)
        seeds = np.zeros(trees, np.uint32)
        settings = settings_for(self.search, [Numbers()] * trees, legal, seeds)
        roots = self._roots(initial_states(self.game, lanes))
        s = self._program.begin(self._program.idle(), none, none, roots, legal, settings, seeds)
        s, _ = self._program.advance(s, 0)
        if reuse:
            s, _ = self._program.keep(s, none, np.full((trees, LONGEST_LINE), -1, np.int32))
        return self._program.stop(s, none)

    def begin(self, requests: list[MoveRequest], states: Any) -> None:
        trees = self._program.trees
        mask, seeds = np.zeros(trees, bool), np.zeros(trees, np.uint32)
        legal = np.zeros((trees, len(requests[0].legal)), bool)
        numbers = [Numbers()] * trees
        lines = np.full((trees, LONGEST_LINE), -1, np.int32)
        keeping = np.zeros(trees, bool)
        now = time.perf_counter()
        for request in requests:
            bot = request.bot
            assert isinstance(bot, SearchConfig)
            own = numbers_for(self.game, bot, int(request.legal.sum()))
            line = self._line(request) if bot.reuse else None
            for k in range(self.ensemble):
                i = request.lane * self.ensemble + k
                mask[i], legal[i], numbers[i] = True, request.legal, own
                seeds[i] = (request.seed + k * 0x9E3779B9) % 2**32
                if line is not None:
                    keeping[i], lines[i, : len(line)] = True, line
            limits = [s for s in (bot.seconds, request.seconds) if s]
            deadline = now + min(limits) if limits else float("inf")
            self._thinking[request.lane] = _Thinking(request, bot, own.simulations, deadline)
            self._held[request.lane] = (request.game_id, list(request.moves))
        kept = np.zeros(trees, bool)
        if keeping.any():
            self._searching, kept = self._program.keep(self._searching, keeping, lines)
        settings = settings_for(self.search, numbers, legal, seeds)
        self._searching = self._program.begin(
            self._searching, mask, kept, self._roots(states), legal, settings, seeds
        )  # fmt: skip
        if keeping.any():
            self._made = np.where(mask, np.asarray(self._searching.done), self._made)
        else:
            self._made = np.where(mask, 0, self._made)

    def _line(self, request: MoveRequest) -> list[int] | None:
        """The moves since this lane's trees stood at a root, if it is the same game."""
        game_id, moves = self._held.get(request.lane, ("", []))
        line = request.moves[len(moves) :]
        same = game_id == request.game_id and request.moves[: len(moves)] == moves
        return line if same and 0 < len(line) <= LONGEST_LINE else None

    def advance(self) -> list[MoveAnswer]:
        if not self._thinking:
            return []
        chunk = self._chunk()
        began = time.perf_counter()
        self._searching, statistics = self._program.advance(self._searching, chunk)
        done, remaining = jax.device_get((statistics.done, statistics.remaining))
        now = time.perf_counter()
        self._seconds_each = (now - began) / chunk
        self.simulations += int((done - self._made).sum())
        self._made = done
        found: RootStatistics | None = None  # fetched when somebody is ready
        answers, stopped = [], np.zeros(self._program.trees, bool)
        for lane, thinking in list(self._thinking.items()):
            own = slice(lane * self.ensemble, (lane + 1) * self.ensemble)
            thinking.remaining = int(remaining[own].max())
            late = now >= thinking.deadline and int(done[own].min()) > 0
            if thinking.remaining == 0 or late:
                stopped[own] = late
                found = found or jax.device_get(statistics)
                answers.append(self._answer(thinking, RootStatistics(*(x[own] for x in found))))
                del self._thinking[lane]
        if stopped.any():
            self._searching = self._program.stop(self._searching, stopped)
        return answers

    def _answer(self, thinking: _Thinking, found: RootStatistics) -> MoveAnswer:
        request, bot = thinking.request, thinking.bot
        row = merged(found)
        temperature = temperature_for(bot, len(request.moves))
        action = final_move(row, bot.move, temperature, request.seed, bot.ties)
        visits = int(row.visits[action])
        value = float(row.value[action]) if visits else float(row.mean)
        return MoveAnswer(request.lane, action, Thought(visits, int(row.visits.sum()), value))

    def _chunk(self) -> int:
        """Steps until the first lane is done, but not so few that looking costs more."""
        leaves = self.search.leaves
        remaining = [-(-t.remaining // leaves) for t in self._thinking.values()]
        wanted = max(1, sum(remaining) // len(remaining))
        chunk = max(min(remaining), wanted // 12, 4)
        if not self._seconds_each:  # the first chunk measures
            return max(1, min(chunk, 4, max(remaining)))
        patience = min(t.deadline for t in self._thinking.values()) - time.perf_counter()
        patience = max(0.0, min(TICK_SECONDS, patience))
        return max(1, min(chunk, int(patience / self._seconds_each), max(remaining)))

    def finish(self, game_id: str) -> None:
        pass

    def close(self) -> None:
        self._searching = None


def movers_for(game: Game, bots: list[SearchConfig], lanes: int) -> dict[str, SearchMover]:
    """A mover for every bot, by name; bots that differ only in numbers share one, unless they keep
    their trees: two bots of one game cannot keep different trees in one place."""
    groups: dict[Any, list[SearchConfig]] = {}
    for bot in bots:
        groups.setdefault((composition(game, bot), bot.ensemble, bot.name if bot.reuse else ""), []).append(bot)
    if len(groups) > MOST_PROGRAMS:
        raise UserError(
            f"these bots need {len(groups)} programs of their own, and one process holds {MOST_PROGRAMS} (its memory "
            "maps run out); bots share a program if they differ only in numbers like simulations and c"
        )
    movers = {}
    for group in groups.values():
        shared = SearchMover(game, group, lanes)
        movers.update({bot.name: shared for bot in group})
    return movers
