"""The game loop: a table of lanes, a game in each, every lane at its own pace."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import jax
import numpy as np

from jubango.arena.clock import Clock, TimeControl, moves_left
from jubango.arena.pairings import GameTask, move_seed
from jubango.bots.config import BotConfig, GtpConfig
from jubango.bots.player import MoveAnswer, MoveRequest, Player, Thought
from jubango.bots.roster import make_players
from jubango.sgf_games.compiled import FRESH, LEAVE, table_program
from jubango.sgf_games.coordinates import Point
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.machine import gathered, spread
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
    taken_back: int = 0  # how often moves were taken back

    @property
    def game_id(self) -> str:
        """What players know the game by: another one after moves were taken back, so that they look anew."""
        return f"{self.task.game_id}#{self.taken_back}" if self.taken_back else self.task.game_id


class Table:
    """Plays tasks to their end, ``lanes`` at once. The order in which games finish depends on
    their lengths; what happens in a game depends on its task alone.

    players: by the bots' names; made by the roster where they are not given.
    on_tick(table) is called after every round of answers, on_move(lane, answer) after every move.
    """

    def __init__(
        self, game: Game, bots: Iterable[BotConfig], lanes: int, event: str = "",
        on_tick: Callable[[Table], None] = lambda table: None, clock: TimeControl | None = None,
        players: dict[str, Player] | None = None, on_move: Callable[[Lane, MoveAnswer], None] | None = None,
    ) -> None:  # fmt: skip
        self.game, self.event, self.on_tick, self.clock, self.on_move = game, event, on_tick, clock, on_move
        self.bots = {bot.name: bot for bot in bots}
        self.lanes: list[Lane | None] = [None] * lanes
        self.moves_made = 0
        given = players or {}
        made = make_players(game, [bot for name, bot in self.bots.items() if name not in given], lanes)
        self.players: dict[str, Player] = {**given, **made}
        # Those that look for answers from elsewhere come first, so that the others' work does not keep them waiting.
        self._everybody = sorted(set(self.players.values()), key=lambda player: player.works_here)
        number, size = spread(lanes)
        self._program = table_program(game, size, number)
        self._told = np.full(size, LEAVE, np.int32)
        self._states = self._program.first()
        self._free = list(range(lanes))  # lanes without a game
        self._unasked: list[int] = []  # lanes whose next player has not been asked yet
        self._step()

    @property
    def simulations(self) -> int:
        """Made so far by all searches."""
        return sum(player.simulations for player in self._everybody)

    def board(self, lane: int) -> tuple[np.ndarray, Point | None]:
        """(stones [H, W], the last stone's point) of one lane, for display."""
        playing = self.lanes[lane]
        state = self.state(lane)
        now = self.game.stones(state)
        if playing is None or not playing.moves:
            return now, None
        return now, self.game.last_point(state, playing.moves[-1])

    def state(self, lane: int) -> State:
        """The position of one lane, unbatched, on the host."""
        return jax.tree.map(lambda x: gathered(x, axis=x.ndim - 1)[..., lane], self._states)

    def play(self, tasks: Iterable[GameTask]) -> Iterator[list[GameRecord]]:
        """Finished games, as they finish. Close the iterator or the table to end early."""
        waiting = list(tasks)[::-1]  # the next is the last
        try:
            self.seat(waiting)
            while len(self._free) < len(self.lanes):
                records = self.tick(waiting)
                if records:
                    yield records
                self.on_tick(self)
        finally:
            self.close()

    def close(self) -> None:
        for player in self._everybody:
            player.close()

    def tick(self, waiting: list[GameTask]) -> list[GameRecord]:
        """Ask whoever is to move, and make the moves that are answered. Returns the games that ended; free lanes take
        the next of ``waiting``, last first."""
        records: list[GameRecord] = []
        quick = [player for player in self._everybody if not player.patient]
        for players in (quick, self._everybody):  # whom a quick answer leaves to move thinks along with the others
            self._ask()
            answers = [answer for player in players for answer in player.advance()]
            if answers:
                records += self._make_moves(answers, waiting)
        return records

    def seat(self, waiting: list[GameTask]) -> None:
        """Give every free lane the next game that has its engines."""
        engines = {name: bot.processes for name, bot in self.bots.items() if isinstance(bot, GtpConfig)}
        if engines:
            busy = Counter(n for lane in self.lanes if lane for n in (lane.task.black, lane.task.white))
            engines = {name: processes - busy[name] for name, processes in engines.items()}
        for i in sorted(self._free):
            task = self._next_task(waiting, engines)
            if task is None:
                break
            clocks = (Clock(self.clock), Clock(self.clock)) if self.clock else ()
            self.lanes[i] = Lane(task, clocks=clocks)
            self._told[i] = FRESH
            self._free.remove(i)
            self._unasked.append(i)
        if (self._told == FRESH).any():
            self._step()

    @staticmethod
    def _next_task(waiting: list[GameTask], engines: dict[str, int]) -> GameTask | None:
        for k in range(len(waiting) - 1, -1, -1):
            names = [name for name in (waiting[k].black, waiting[k].white) if name in engines]
            if all(engines[name] > 0 for name in names):
                for name in names:
                    engines[name] -= 1
                return waiting.pop(k)
        return None

    def _ask(self) -> None:
        """Ask the players to move in all lanes that wait for it."""
        requests: dict[Player, list[MoveRequest]] = {}
        for i in self._unasked:
            lane = self.lanes[i]
            assert lane is not None
            player = self._player[i]
            bot = self.bots[lane.task.white if player else lane.task.black]
            ply = len(lane.moves)
            seconds = left = 0.0
            if lane.clocks:
                points = self.game.height * self.game.width
                seconds, left = lane.clocks[player].budget(moves_left(points, ply)), lane.clocks[player].left
            lane.asked_at = time.perf_counter()
            lane.asked = True
            request = MoveRequest(
                i, lane.game_id, bot, move_seed(lane.task.seed, ply), self._legal[i], lane.moves, player, seconds, left
            )
            requests.setdefault(self.players[bot.name], []).append(request)
        self._unasked.clear()
        for mover, asked in requests.items():
            mover.begin(asked, self._states)

    def _make_moves(self, answers: Sequence[MoveAnswer], waiting: list[GameTask]) -> list[GameRecord]:
        records: list[GameRecord] = []
        moved: list[int] = []
        made: list[tuple[Lane, MoveAnswer]] = []
        for answer in answers:
            i = answer.lane
            lane = self.lanes[i]
            assert lane is not None
            lane.asked = False
            if lane.clocks and not answer.failure:
                spent = time.perf_counter() - lane.asked_at
                if not lane.clocks[self._player[i]].spend(spent):
                    answer = MoveAnswer(i, failure="time", detail=f"the clock ran out after {spent:.1f} s")
            if answer.failure == "undo":
                self._take_back(i, lane)
            elif answer.failure:
                records.append(self._forfeit(i, lane, answer))
            else:
                self._told[i] = answer.action
                lane.moves.append(answer.action)
                lane.thoughts.append(answer.thought)
                moved.append(i)
            made.append((lane, answer))
        if moved:
            self.moves_made += len(moved)
            self._step()
        if self.on_move:
            for lane, answer in made:
                self.on_move(lane, answer)
        if moved:
            self._unasked += moved
            over = self._over[moved]
            if over.any():
                ended = [i for i, is_over in zip(moved, over.tolist(), strict=True) if is_over]
                states = jax.tree.map(lambda x: gathered(x, axis=x.ndim - 1), self._states)
                records += [self._finished(i, states) for i in ended]
        if records:
            self.seat(waiting)
        return records

    def _step(self) -> None:
        """Do as the lanes are told, and look at them."""
        self._states, look = self._program.step(self._states, self._told)
        self._told = np.full(len(self._told), LEAVE, np.int32)
        seen = gathered(look)
        self._legal = seen[:, :-2].view(bool)
        self._player = seen[:, -2].tolist()
        self._over = seen[:, -1]

    def _take_back(self, i: int, lane: Lane) -> None:
        """Take back the last move and, where a bot made it, the one before, so that the same person moves again."""
        two = self.players[lane.task.black] is not self.players[lane.task.white]
        kept = lane.moves[: -2 if two else -1]
        lane.moves, lane.thoughts, lane.taken_back = [], lane.thoughts[: len(kept)], lane.taken_back + 1
        self._told[i] = FRESH
        self._step()
        for action in kept:
            self._told[i] = action
            self._step()
        lane.moves = kept
        self._unasked.append(i)

    def _forfeit(self, i: int, lane: Lane, answer: MoveAnswer) -> GameRecord:
        winner = "B" if self._player[i] else "W"
        return self._end(i, lane, f"{winner}+{FAILURE_LETTERS[answer.failure]}", answer.failure, answer.detail)

    def _finished(self, i: int, states: State) -> GameRecord:
        lane = self.lanes[i]
        assert lane is not None
        reason = "score" if isinstance(self.game, Go) else "line" if isinstance(self.game, LineGame) else "end"
        result = self.game.result_text(jax.tree.map(lambda x: x[..., i], states))
        self._unasked.remove(i)
        return self._end(i, lane, result, reason)

    def _end(self, i: int, lane: Lane, result: str, reason: str, detail: str = "") -> GameRecord:
        self.lanes[i] = None
        self._free.append(i)
        task = lane.task
        for name in (task.black, task.white):
            self.players[name].finish(lane.game_id)
        return self.record(lane, result, reason, detail)

    def record(self, lane: Lane, result: str, reason: str, detail: str = "") -> GameRecord:
        """What is kept of a game."""
        task = lane.task
        return GameRecord(
            game_id=task.game_id,
            game=self.game.spec,
            black=task.black,
            white=task.white,
            black_spec=self.bots[task.black].spec,
            white_spec=self.bots[task.white].spec,
            seed=task.seed,
            moves=tuple(map(self.game.action_text, lane.moves)),
            result=result,
            reason=reason,
            detail=" ".join(detail.split()),
            event=self.event,
            seconds=round(time.perf_counter() - lane.began, 3),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            comments=tuple("" if thought is None else thought.text for thought in lane.thoughts),
        )
