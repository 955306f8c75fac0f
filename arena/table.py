"""Batched play: a table of lanes, a game in each, every lane at its own pace."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jax
import numpy as np

from jubango.arena.clock import Clock, TimeControl, moves_left
from jubango.arena.pairings import GameTask, move_seed
from jubango.bots.bot import MoveAnswer, Mover, MoveRequest, Thought, make_movers
from jubango.bots.config import BotConfig, GtpConfig
from jubango.sgf_games.compiled import initial_states, rules
from jubango.sgf_games.coordinates import Point
from jubango.sgf_games.game import Game
from jubango.sgf_games.go import Go
from jubango.sgf_games.mnk import LineGame
from jubango.sgf_games.record import GameRecord

# What an engine's failure is in SGF's RE: it loses by T(ime) or F(orfeit).
FAILURE_LETTERS = {"resign": "R", "time": "T", "crash": "F", "illegal": "F", "error": "F"}


@dataclass
class Lane:
    """A game under way."""

    task: GameTask
    moves: list[int] = field(default_factory=list)
    thoughts: list[Thought | None] = field(default_factory=list)
    asked: bool = False
    asked_at: float = 0.0
    clocks: tuple[Clock, ...] = ()  # Black's and White's, if there is a time control
    began: float = field(default_factory=time.perf_counter)


class Table:
    """Plays tasks to their end, ``lanes`` at once. The order in which games finish depends on
    their lengths; what happens in a game depends on its task alone."""

    def __init__(
        self, game: Game, bots: Iterable[BotConfig], lanes: int, event: str = "",
        on_tick: Callable[[Table], None] = lambda table: None, clock: TimeControl | None = None,
    ) -> None:  # fmt: skip
        self.game, self.event, self.on_tick, self.clock = game, event, on_tick, clock
        self.bots = {bot.name: bot for bot in bots}
        self.lanes: list[Lane | None] = [None] * lanes
        self.moves_made = 0
        self._rules = rules(game)
        self.movers: dict[str, Mover] = make_movers(game, list(self.bots.values()), lanes)
        self._states = initial_states(game, lanes)
        self._step(np.full(lanes, -1, np.int32), np.ones(lanes, bool))  # the first look, by the program that steps

    @property
    def simulations(self) -> int:
        """Made so far by all searches."""
        return sum(getattr(mover, "simulations", 0) for mover in set(self.movers.values()))

    def board(self, lane: int) -> tuple[np.ndarray, Point | None]:
        """(stones [H, W], the last stone's point) of one lane, for display."""
        playing = self.lanes[lane]
        now = self.game.stones(self._state(lane))
        if playing is None or not playing.moves:
            return now, None
        return now, self.game.last_point(self._state(lane), playing.moves[-1])

    def _state(self, lane: int) -> Any:
        return jax.tree.map(lambda x: np.asarray(x)[..., lane], self._states)

    def play(self, tasks: Iterable[GameTask]) -> Iterator[list[GameRecord]]:
        """Finished games, as they finish. Close the iterator or the table to end early."""
        waiting = list(tasks)
        try:
            self._seat(waiting)
            while any(self.lanes):
                self._ask()
                yield from self._collect(waiting)
                self.on_tick(self)
        finally:
            self.close()

    def close(self) -> None:
        for mover in set(self.movers.values()):
            mover.close()

    def _seat(self, waiting: list[GameTask]) -> np.ndarray:
        """Give every free lane the next game that has its engines. Returns which lanes were given one."""
        fresh = np.zeros(len(self.lanes), bool)
        busy = Counter(n for lane in self.lanes if lane for n in (lane.task.black, lane.task.white))
        room = {name: bot.processes - busy[name] for name, bot in self.bots.items() if isinstance(bot, GtpConfig)}
        for i, lane in enumerate(self.lanes):
            if lane is not None:
                continue
            for k, task in enumerate(waiting):
                if all(room.get(name, 1) > 0 for name in (task.black, task.white)):
                    clocks = (Clock(self.clock), Clock(self.clock)) if self.clock else ()
                    self.lanes[i] = Lane(waiting.pop(k), clocks=clocks)
                    fresh[i] = True
                    for name in (task.black, task.white):
                        if name in room:
                            room[name] -= 1
                    break
            else:
                break
        return fresh

    def _ask(self) -> None:
        requests: dict[int, tuple[Mover, list[MoveRequest]]] = {}
        for i, lane in enumerate(self.lanes):
            if lane is None or lane.asked:
                continue
            player = int(self._view.player[i])
            bot = self.bots[lane.task.white if player else lane.task.black]
            mover = self.movers[bot.name]
            seed = move_seed(lane.task.seed, len(lane.moves))
            seconds = 0.0
            if lane.clocks:
                points = self.game.height * self.game.width
                seconds = lane.clocks[player].budget(moves_left(points, len(lane.moves)))
            request = MoveRequest(
                i, lane.task.game_id, bot, seed, self._view.legal[i], list(lane.moves), player, seconds,
                lane.clocks[player].left if lane.clocks else 0.0,
            )  # fmt: skip
            lane.asked_at = time.perf_counter()
            requests.setdefault(id(mover), (mover, []))[1].append(request)
            lane.asked = True
        for mover, asked in requests.values():
            mover.begin(asked, self._states)

    def _collect(self, waiting: list[GameTask]) -> Iterator[list[GameRecord]]:
        answers: list[MoveAnswer] = []
        movers = sorted(set(self.movers.values()), key=lambda mover: not mover.blocking)
        for mover in movers:
            answers += mover.advance()
        if not answers:
            return
        actions = np.full(len(self.lanes), -1, np.int32)
        finished: list[tuple[int, GameRecord]] = []
        for answer in answers:
            lane = self.lanes[answer.lane]
            assert lane is not None
            lane.asked = False
            if lane.clocks and not answer.failure:
                player = int(self._view.player[answer.lane])
                spent = time.perf_counter() - lane.asked_at
                if not lane.clocks[player].spend(spent):
                    answer = MoveAnswer(answer.lane, failure="time", detail=f"the clock ran out after {spent:.1f} s")
            if answer.failure:
                finished.append((answer.lane, self._forfeit(answer.lane, lane, answer)))
                continue
            actions[answer.lane] = answer.action
            lane.moves.append(answer.action)
            lane.thoughts.append(answer.thought)
            self.moves_made += 1
        self._step(actions, np.zeros(len(self.lanes), bool))
        for i in map(int, np.flatnonzero(actions >= 0)):
            if self._view.terminal[i]:
                lane = self.lanes[i]
                assert lane is not None
                reason = "score" if isinstance(self.game, Go) else "line" if isinstance(self.game, LineGame) else "end"
                finished.append((i, self._record(lane, self.game.result_text(self._state(i)), reason)))
        if not finished:
            return
        for i, record in finished:
            self.lanes[i] = None
            for name in (record.black, record.white):
                self.movers[name].finish(record.game_id)
        fresh = self._seat(waiting)
        if fresh.any():
            self._step(np.full(len(self.lanes), -1, np.int32), fresh)
        yield [record for _, record in finished]

    def _step(self, actions: np.ndarray, fresh: np.ndarray) -> None:
        self._states, view = self._rules.step_lanes(self._states, actions, fresh)
        self._view = jax.device_get(view)

    def _forfeit(self, i: int, lane: Lane, answer: MoveAnswer) -> GameRecord:
        winner = "B" if int(self._view.player[i]) else "W"
        result = f"{winner}+{FAILURE_LETTERS[answer.failure]}"
        return self._record(lane, result, answer.failure, answer.detail)

    def _record(self, lane: Lane, result: str, reason: str, detail: str = "") -> GameRecord:
        task = lane.task
        return GameRecord(
            game_id=task.game_id,
            game=self.game.spec,
            black=task.black,
            white=task.white,
            black_spec=self.bots[task.black].spec,
            white_spec=self.bots[task.white].spec,
            seed=task.seed,
            moves=tuple(self.game.action_text(action) for action in lane.moves),
            result=result,
            reason=reason,
            detail=" ".join(detail.split()),
            event=self.event,
            seconds=round(time.perf_counter() - lane.began, 3),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            comments=tuple(_comment(thought) for thought in lane.thoughts),
        )


def _comment(thought: Thought | None) -> str:
    if thought is None:
        return ""
    win_rate = 50 + 50 * thought.value
    return f"{thought.visits} of {thought.simulations} visits, win rate {win_rate:.1f} %"
