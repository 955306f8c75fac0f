"""The one host of a compiled search: devices, padding, seeds, chunks, deadlines, and the answers.

Everybody who searches, a tournament, ``play``, an analysis, the benchmarks, goes through a :class:`Driver`. Between
two chunks of simulations it hands over one packed array and gets one back, whatever the number of games.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.judgement import plainly
from jubango.bots.search.host.search_program import MOST_KEPT, aligned, check, kind_of, no_lines, program
from jubango.bots.search.host.stored_trees import stored, with_stored
from jubango.bots.search.packing import (
    SEEDS,
    DeviceSelfPlay,
    SearchRequest,
    after,
    pack,
    prepared_roots,
    roll_on,
    script_words,
    scripts_of,
)
from jubango.bots.search.root import merged, settled, undecided
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree.node_states import unpacked
from jubango.bots.search.tree.state import RootStatistics, SearchState
from jubango.bots.search.tree.tree import state_of
from jubango.sgf_games.compute.machine import gathered, suited
from jubango.sgf_games.rules.compiled import initial_state, stacked
from jubango.sgf_games.rules.game import State

CHUNK_SECONDS = 0.2  # how long a chunk of simulations should take at most


class SearchUpdate(NamedTuple):
    """What has happened since the last look."""

    ready: np.ndarray  # int [n], lanes that have their answer
    found: RootStatistics[np.ndarray] | None  # of their roots, a row each
    moved: list[tuple[int, np.ndarray]]  # lanes that have made moves by themselves: rows of Moves


class Driver:
    """A search at work in up to ``lanes`` positions at once, each in ``ensemble`` trees; every lane starts and ends
    on its own. ``params`` are the evaluator's weights; others of the same shapes need no other program."""

    def __init__(self, search: SearchSpec, lanes: int, ensemble: int = 1, params: Params = (), reuse: bool = False):
        self.search, self.lanes, self.ensemble = search, lanes, ensemble
        self.program = program(search, lanes * ensemble)
        self.trees = self.program.trees
        self.made = 0  # simulations so far
        self._params = jax.device_put(params, self.program.whole)
        self._waiting: list[SearchRequest] = []
        self._stop: list[int] = []  # lanes whose answer was taken before they had finished
        self._onward: dict[
            int, tuple[DeviceSelfPlay, int]
        ] = {}  # lanes that go on by themselves, the moves they have made
        self._script = np.zeros((self.trees, script_words(search)), np.uint32)
        self._stops, self._paces = 1.0, 1e4  # how often those have stopped, in so many steps of one of them; decaying
        self._states: State = None
        self._under_way: float | None = None  # since when
        self._left = np.zeros(lanes, int)  # steps to make, of the tree that has most to do
        self._deadline = np.full(lanes, math.inf)
        self._latest = np.zeros(lanes)
        self._settles = np.zeros(lanes, bool)
        self._busy = np.zeros(lanes, bool)
        self._searching: SearchState | None = self.program.spare.pop() if self.program.spare else self.program.idle()
        self._kind = kind_of(self._params, ensemble, reuse)
        if self._kind not in self.program.pace:
            self._warm_up(reuse)
            self.program.pace[self._kind] = 0.0
        self._step_seconds = self.program.pace[self._kind]  # of one simulation in every tree

    def _warm_up(self, reuse: bool) -> None:
        """Run all of the program once: compiling is on nobody's clock."""
        if self._kind not in self.program.ahead:
            check(self.search, self._params)
        self.begin((), stacked([jax.device_get(initial_state(self.search.game))] * self.lanes))
        self.run_chunk(0)
        if reuse:
            self._keep(*no_lines(self.trees))
        jax.block_until_ready(self._searching)

    @property
    def busy(self) -> np.ndarray:
        """bool [lanes]: which have a search under way or waiting."""
        return self._busy

    @property
    def searching(self) -> SearchState:
        """The arrays, trees first."""
        assert self._searching is not None, "the driver is closed"
        return self._searching

    def begin(self, orders: Sequence[SearchRequest], states: State) -> None:
        """Take on positions. states: those of all lanes, batch axis last; what is in lanes that are
        not asked for does not matter."""
        assert self._under_way is None, "the devices are at work"
        overtaken = {order.lane: order for order in self._waiting}  # nobody has searched there
        if overtaken:
            orders = [after(overtaken.pop(order.lane, None), order) for order in orders]
        self._waiting = [*overtaken.values(), *orders]
        self._states = aligned(states, self.program, self.ensemble)
        lanes = np.array([order.lane for order in orders], int)
        budgets = np.minimum(np.array([order.params.simulations for order in orders], int), self.search.capacity)
        self._busy[lanes] = True
        self._left[lanes] = 1 + -(-budgets // self.search.leaves)  # the root's evaluation first
        self._deadline[lanes] = [order.deadline for order in orders]
        self._latest[lanes] = [order.latest for order in orders]
        self._settles[lanes] = [order.settles and order.deadline < math.inf for order in orders]
        going_on = [(order.lane, order.onward) for order in orders if order.onward]
        if going_on:
            assert self.ensemble == 1, "of several trees none can make the lane's moves"
            self._onward |= {lane: (onward, 0) for lane, onward in going_on}
            rows = scripts_of(self.search, [onward for _, onward in going_on])
            self._script[[lane for lane, _ in going_on]] = rows

    def hold(self) -> None:
        """Let no lane go on by itself after the search that it is at."""
        self._onward.clear()
        self._script[:] = 0

    def rescale(self, lanes: Sequence[int], factor: float) -> None:
        """What is left of the time of some lanes is ``factor`` times as long from now on."""
        now = time.perf_counter()
        for ends in (self._deadline, self._latest):
            ends[lanes] = now + factor * (ends[lanes] - now)

    @property
    def next_look(self) -> float:
        """Seconds until the time of a lane is up; inf: none has a limit, or nobody is busy."""
        now = time.perf_counter()
        return float(self._end(now)[self._busy].min(initial=math.inf)) - now

    def start(self, most: float = CHUNK_SECONDS) -> None:
        """Set the devices to work for a while, ``most`` seconds at most; :meth:`advance` waits for it."""
        if self._under_way is None and self._busy.any():
            self._under_way = time.perf_counter()
            self._hand_over(self._chunk(most))

    def advance(self, most: float = CHUNK_SECONDS) -> SearchUpdate:
        """Go on for a while, ``most`` seconds at most."""
        self.start(most)
        if self._under_way is None:
            return SearchUpdate(np.zeros(0, int), None, [])
        began, self._under_way = self._under_way, None
        done, remaining = self._look()
        moved = self._take_moves()
        now = time.perf_counter()
        spent = (now - began) / max(1, self._steps)
        known = self._step_seconds  # a pause of this machine's is no part of a step
        self._step_seconds = min(spent, 1.05 * known) if known else spent
        self.program.pace[self._kind] = self._step_seconds
        used = self.lanes * self.ensemble
        left = remaining[:used].reshape(-1, self.ensemble).max(axis=1)
        least = done[:used].reshape(-1, self.ensemble).min(axis=1)
        self._left = np.where(self._busy, -(-left // self.search.leaves), 0)
        late = ((now >= self._deadline) & ~self._open(now) | self._settled(now)) & (least > 0)
        ready = np.flatnonzero(self._busy & ((left == 0) | late))
        if self._onward:
            self._stops = max(0.8 * self._stops, 0.01) + sum(lane in self._onward for lane in ready.tolist())
            self._paces = 0.8 * self._paces + self._steps * len(self._onward)
        if not len(ready):
            return SearchUpdate(ready, None, moved)
        self._stop += [int(lane) for lane in ready if left[lane]]
        self._busy[ready] = False
        self._script[ready] = 0
        if self._onward:
            for lane in ready.tolist():
                self._onward.pop(lane, None)
        return SearchUpdate(ready, self._statistics(self._rows(ready)), moved)

    def _open(self, now: float) -> np.ndarray:
        """bool [lanes]: whose time is up, and who may go on, as it is open what to play."""
        out = np.zeros(self.lanes, bool)
        lanes = np.flatnonzero(self._busy & self._settles & (self._deadline <= now) & (now < self._latest))
        if len(lanes):
            out[lanes] = undecided(self._statistics(self._rows(lanes)))
        return out

    def _settled(self, now: float) -> np.ndarray:
        """bool [lanes]: whose move will not change in the time that is left, at the best pace there has been."""
        out = np.zeros(self.lanes, bool)
        lanes = np.flatnonzero(self._busy & self._settles)
        if len(lanes):
            steps = np.minimum(self._left, (self._end(now) - now) / max(self._step_seconds, 1e-9))[lanes]
            left = np.maximum(steps, 0) * self.search.leaves * self.ensemble
            out[lanes] = settled(self._statistics(self._rows(lanes)), left)
        return out

    def _end(self, now: float) -> np.ndarray:
        """float [lanes]: their deadlines, or where those are over the latest."""
        return np.where(now < self._deadline, self._deadline, self._latest)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """int [lanes * ensemble]: their trees."""
        return (lanes[:, None] * self.ensemble + np.arange(self.ensemble)).reshape(-1)

    def _take_moves(self) -> list[tuple[int, np.ndarray]]:
        """What lanes have played by themselves; they get their orders for as many moves more."""
        number = self._number[: self.lanes]
        if not number.any():
            return []
        rows, moved, onward = gathered(self._moves), [], []
        for lane in np.flatnonzero(number).tolist():
            n = int(number[lane])
            moved.append((lane, rows[lane, :n]))
            if lane in self._onward:
                orders, before = self._onward[lane]
                self._onward[lane] = orders, before + n
                onward.append((lane, n, [orders.seeds(before + SEEDS + k) for k in range(n)]))
        roll_on(self._script, onward)
        return moved

    def stored(self, lane: int) -> bytes:
        """The lane's trees as they are after a chunk, for :meth:`restore` of a driver of the same search."""
        assert not self._waiting, "requests are not handed over yet"
        return stored(self.searching, self._trees_of(lane))

    def restore(self, lanes: Mapping[int, bytes]) -> list[int]:
        """Idle lanes have these trees from now on. What was looked for in them goes on with a request that says
        ``resumed``. Returns the lanes where that cannot be, as these are no trees of this search."""
        self._stop = [lane for lane in self._stop if lane not in lanes]
        trees = {self._trees_of(lane): lane for lane in lanes}
        said = {own: lanes[lane] for own, lane in trees.items()}
        self._searching, wrong = with_stored(self._taken(), said)
        return [trees[own] for own in wrong]

    def _trees_of(self, lane: int) -> tuple[int, ...]:
        return tuple(range(lane * self.ensemble, (lane + 1) * self.ensemble))

    def root(self, lane: int) -> State:
        """The position that a lane's trees stand at, on the host, without history."""
        tree = lane * self.ensemble
        return jax.device_get(unpacked(state_of(self.searching.tree, tree, 0), self.search.game))

    def least_done(self, lanes: int) -> int:
        """Simulations of the tree that has made the fewest, of the first so many lanes."""
        return int(self._progress[0][: lanes * self.ensemble].min())

    def statistics(self, lanes: int) -> RootStatistics[np.ndarray]:
        """Of the first so many lanes as they stood at the last look, a row each."""
        return self._statistics(np.arange(lanes * self.ensemble))

    def _statistics(self, rows: np.ndarray) -> RootStatistics[np.ndarray]:
        """Of some trees, those of a lane side by side, merged."""
        done, remaining = self._progress
        packed = gathered(self._packed)[rows]
        a = self.search.game.num_actions
        ends = np.cumsum([a, a, a, 2 * a if self.search.solver else 0, a, a if self.search.score_utility else 0])
        visits, value, prior, bounds, final, utility, rest = np.split(packed, ends, axis=1)
        visits = np.ascontiguousarray(visits).view(np.int32)
        found = RootStatistics(
            visits, value, prior, rest[:, 0], rest[:, 1], bounds.reshape(len(rows), 2, -1), final, utility,
            done[rows], remaining[rows],
        )  # fmt: skip
        return merged(found, self.ensemble)

    def run_chunk(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Hand over what is waiting, then make up to ``steps`` simulations (of each leaf) in every tree.
        The first step of a tree evaluates its root. Returns (done, remaining), int32 [trees] each."""
        self._hand_over(steps)
        return self._look()

    def _hand_over(self, steps: int) -> None:
        orders, self._waiting = [order for order in self._waiting if not order.resumed], []
        stop = np.array(self._stop, int)[:, None] * self.ensemble + np.arange(self.ensemble)
        self._stop = []
        kept = self.program.none
        lines = [order for order in orders if order.line]
        if lines:
            kept = self._keep(*self._lines(lines))
        roots = prepared_roots(self.search, orders, self.trees, self.ensemble)
        with plainly():
            self._searching, self._made, self._moves, self._packed = self.program.run_chunk(
                self._taken(), self._params, self._states,
                pack(self.search, orders, stop, self.trees, self.ensemble),
                self._script.copy() if self._onward else self.program.no_script,
                self.program.nothing if roots is None else roots, kept, np.int32(steps),
            )  # fmt: skip

    def _look(self) -> tuple[np.ndarray, np.ndarray]:
        with plainly():
            table = gathered(self._made)
        self._progress = table[:, 0], table[:, 1]
        self.made += int(table[:, 2].sum())
        self._number, self._steps = table[:, 3], int(table[:, 4].max())
        return self._progress

    def _lines(self, orders: Sequence[SearchRequest]) -> tuple[np.ndarray, np.ndarray]:
        mask, lines = no_lines(self.trees)
        for order in orders:
            assert order.line is not None
            own = slice(order.lane * self.ensemble, (order.lane + 1) * self.ensemble)
            mask[own], lines[own, : len(order.line)] = True, order.line
        return mask, lines

    def _keep(self, mask: np.ndarray, lines: np.ndarray) -> jax.Array:
        self._searching, kept = self.program.keep(self._taken(), mask, lines)
        return kept

    def _taken(self) -> SearchState:
        """The arrays, for a program to write over; should it fail, nobody has them any more."""
        searching, self._searching = self.searching, None
        return searching

    def _chunk(self, most: float) -> int:
        """Steps of the next chunk: of all the lanes' ends the one at which the least is lost for every step, a
        hand-over of everybody against the waiting of those that end before. Lanes whose budgets have a common divisor
        thus fall into step. Of those that go on by themselves it is known how often they stop."""
        if not self._step_seconds:  # the first chunk measures
            return max(1, min(4, int(self._left.max())))
        alone = self._busy.copy()
        alone[list(self._onward)] = False
        left = np.sort(self._left[alone])
        rate = len(self._onward) * self._stops / self._paces  # lanes that stop, a step
        hand_over = (1 + suited().hand_over / self._step_seconds) * (len(left) + len(self._onward))
        ends = np.append(left, min(2**20, round(math.sqrt(2 * hand_over / rate)))) if rate else left
        before = np.searchsorted(left, ends, side="right")  # lanes that end earlier, or as early
        waiting = before * ends - np.concatenate([[0], np.cumsum(left)])[before] + rate * ends**2 / 2
        best = int(ends[np.argmin((hand_over + waiting) / np.maximum(ends, 1))])
        longest = max(0.0, min(self.next_look, most, CHUNK_SECONDS)) / self._step_seconds
        if best > longest:  # several chunks of equal length
            best = int(min(longest, -(-best // math.ceil(best / max(longest, 1.0)))))
        return max(1, best)

    def close(self) -> None:
        """Let the trees go; small ones that have finished are kept for the program's next driver."""
        trees, self._searching = self._searching, None
        finished = not (self._stop or self._busy.any() or self.program.spare)
        if trees and finished and sum(x.nbytes for x in jax.tree.leaves(trees)) <= MOST_KEPT:
            self.program.spare.append(trees)
        self._busy[:] = False
