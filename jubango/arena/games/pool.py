"""The game loop: a table of lanes, a game in each, every lane at its own pace."""

from __future__ import annotations

import functools
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from jubango.arena.games.batch import GameBatch
from jubango.arena.games.boards import Boards, compile_boards
from jubango.arena.games.slot import Begun, GameSlot
from jubango.arena.schedule.adjudication import Adjudication
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.waiting import Waiting
from jubango.bots.composition import evaluator_for
from jubango.bots.config import BotConfig, EngineConfig, SearchConfig
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer
from jubango.bots.players.player import PlayerConfig
from jubango.bots.roster import make_players
from jubango.bots.search.host.search_program import MOST_PROGRAMS
from jubango.bots.sizing import idle_note, with_parallel_leaves
from jubango.sgf_games.compute.machine import block_lanes, full_lanes, on_cpu
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game


class GameTable(Protocol):
    """Games under way, here or elsewhere, as whoever keeps and shows them sees them; :class:`GamePool` says what its
    names mean."""

    note: str
    anew: list[str]

    @property
    def lanes(self) -> list[GameSlot | None]: ...

    @property
    def moves_made(self) -> int: ...

    @property
    def simulations(self) -> int: ...

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that plays for it."""
        ...

    @property
    def machines(self) -> Sequence[str]:
        """Of these hosts; nothing if this machine plays."""
        ...

    @property
    def notes(self) -> list[str]:
        """What people should know of the hosts, one after the other."""
        ...

    def boards(self, lanes: Sequence[int]) -> list[tuple[np.ndarray, Point | None]]: ...

    def enter(self, bots: Iterable[SearchConfig], like: str) -> None: ...

    def play(
        self, tasks: Iterable[GameTask], more: Callable[[], Iterable[GameTask]] = tuple,
        begun: dict[str, Begun] | None = None,
    ) -> Iterator[list[GameRecord]]: ...  # fmt: skip

    def under_way(self, seconds: float, room: int) -> Iterator[tuple[GameTask, Begun]]:
        """The games that can go on in another process, if one has lasted ``seconds``, as far as there is ``room`` for
        what their players remember; of hosts, what they have told, which has been limited there."""
        ...

    def ended(self) -> list[GameRecord]:
        """Games that have ended at hosts and are not told yet, as far as they can be had in a moment."""
        ...

    def close(self) -> None: ...


def told_by(table: GameTable) -> list[str]:
    """What people should know of a table's games and hosts, said once."""
    told = [f"{own}: what was kept of it is no game of this plan, and it began anew" for own in table.anew]
    told += table.notes
    table.anew.clear()
    table.notes.clear()
    return told


class GamePool:
    """Plays tasks to their end, ``lanes`` at once. The order in which games finish depends on
    their lengths; what happens in a game depends on its task alone.

    Many lanes are several blocks: while the devices search for one, the host makes the moves of another, and a program
    of one size does for any number of games.

    timed: are there clocks in the games?
    players: by the bots' names; made by the roster where they are not given.
    on_tick(table) is called after every round of answers, on_move(lane, answer) after every move.
    """

    def __init__(
        self, game: Game, bots: Iterable[BotConfig], lanes: int, event: str = "",
        on_tick: Callable[[GamePool], None] = lambda table: None, timed: bool = False,
        adjudication: Adjudication | None = None, players: dict[str, BatchPlayer] | None = None,
        on_move: Callable[[GameSlot, MoveAnswer], None] | None = None,
    ) -> None:  # fmt: skip
        self.game, self.on_tick = game, on_tick
        given = players or {}
        loose = bool(given or timed)  # a person or a clock is there, and moves depend on the machine anyway
        self.bots = {
            bot.name: with_parallel_leaves(bot, evaluator_for(game, bot).evaluator, lanes)
            if isinstance(bot, SearchConfig) and (loose or _seconds(bot))
            else bot
            for bot in bots
        }
        to_make = [bot for name, bot in self.bots.items() if name not in given]
        # What goes by the clock, or is not ours, waits for nothing: it has one block.
        alone = bool(given or timed) or any(
            isinstance(bot, EngineConfig | PlayerConfig) or _seconds(bot) for bot in to_make
        )
        number = 1 if alone else max(1, round(lanes / block_lanes()))
        self._like: dict[str, str] = {}  # of bots that came later, with whom they share a player
        self._given, self._to_make = given, to_make
        self._batch = lambda players, boards: GameBatch(game, self.bots, players, boards, event, adjudication, on_move)
        self._begun: dict[str, Begun] = {}  # games that were under way elsewhere, until they are seated
        self.anew: list[str] = []  # ids of games that were to go on, and could not
        began = time.perf_counter()
        self.blocks = [self._block(lanes // number + (i < lanes % number)) for i in range(number)]
        self._making = (time.perf_counter() - began) / number  # seconds that a block takes to make
        self.note = idle_note(game, list(self.bots.values()), lanes)  # on what is left idle, for people
        searches = [bot for bot in to_make if isinstance(bot, SearchConfig)]
        # A game may change its block unless a bot keeps trees there, and for one of another size unless a bot's
        # evaluator may tell sizes apart, as networks do in their last bits.
        self._movable = not any(bot.reuse for bot in searches)
        quiet = all(not bot.network and bot.evaluator == "rollout" for bot in searches)
        room = 2 * len(self.blocks[0].everybody) <= MOST_PROGRAMS  # for programs of another size
        self._shrinks = self._movable and not alone and quiet and room and on_cpu()
        self._sparse_since = math.inf  # since when a smaller block would do

    @property
    def lanes(self) -> list[GameSlot | None]:
        """The games under way; None in free lanes."""
        return [lane for block in self.blocks for lane in block.lanes]

    @property
    def hosts(self) -> Sequence[str]:
        """None but this process."""
        return ()

    machines = hosts

    @property
    def notes(self) -> list[str]:
        """Nothing of other hosts."""
        return []

    @property
    def players(self) -> dict[str, BatchPlayer]:
        """By the bots' names, those of the first lanes."""
        return self.blocks[0].players

    @property
    def moves_made(self) -> int:
        """In all games so far."""
        return sum(block.moves_made for block in self.blocks)

    @property
    def simulations(self) -> int:
        """Made so far by all searches."""
        return sum(player.simulations for block in self.blocks for player in block.everybody)

    def boards(self, lanes: Sequence[int]) -> list[tuple[np.ndarray, Point | None]]:
        """(stones [H, W], the last stone's point) of each of these lanes, for display."""
        found: dict[int, tuple[np.ndarray, Point | None]] = {}
        first = 0
        for block in self.blocks:
            here = [lane for lane in lanes if first <= lane < first + len(block.lanes)]
            states = block.boards.fetched([lane - first for lane in here]) if here else []
            for lane, state in zip(here, states, strict=True):
                playing = block.lanes[lane - first]
                last = self.game.last_point(state, playing.moves[-1]) if playing and playing.moves else None
                found[lane] = self.game.stones(state), last
            first += len(block.lanes)
        return [found[lane] for lane in lanes]

    def enter(self, bots: Iterable[SearchConfig], like: str) -> None:
        """More bots can play from now on, which differ only in numbers from ``like``, who can already and shares its
        player: they never meet it, nor each other, if it keeps its trees."""
        for bot in bots:
            same = self.bots[like]
            assert isinstance(same, SearchConfig)
            shared = {key: getattr(same, key) for key in ("leaves", "ensemble", "devices")}
            self.bots[bot.name] = bot.model_copy(update=shared)
            self._like[bot.name] = like
        for block in self.blocks:
            block.players = self._with_later(block.players)

    def _block(self, lanes: int) -> GameBatch:
        players = make_players(
            self.game, self._to_make, lanes, beside=functools.partial(compile_boards, self.game, lanes)
        )
        return self._batch(self._with_later({**self._given, **players}), Boards(self.game, lanes))

    def _with_later(self, players: dict[str, BatchPlayer]) -> dict[str, BatchPlayer]:
        return {**players, **{name: players[like] for name, like in self._like.items()}}

    def play(
        self, tasks: Iterable[GameTask], more: Callable[[], Iterable[GameTask]] = tuple,
        begun: dict[str, Begun] | None = None,
    ) -> Iterator[list[GameRecord]]:  # fmt: skip
        """Finished games, as they finish; when all have, ``more`` says which follow from them, until there are none.
        Those that have ``begun`` elsewhere, by their ids, go on, and are taken out of it then. Close the iterator or
        the table to end early."""
        self._begun = {} if begun is None else begun
        waiting = Waiting(self._dealt(tasks))
        try:
            while waiting:
                self.seat(waiting)
                while any(block.busy for block in self.blocks):
                    for block in self.blocks:
                        records = self._round(block, waiting)
                        if records:
                            yield records  # whoever keeps them does so while the players work
                        self.on_tick(self)
                waiting = Waiting(self._dealt(more()))
        finally:
            self.close()

    def under_way(self, seconds: float, room: int) -> Iterator[tuple[GameTask, Begun]]:
        """The games that can go on in another process, the longest first, if one of them has lasted for so many
        ``seconds``; as far as there is ``room``, in bytes, for what their players remember. To be asked for in
        ``on_tick``, when no move is half made."""
        games = [(lane, block, i) for block in self.blocks for i, lane in enumerate(block.lanes) if lane]
        if not games or time.perf_counter() - min(lane.began for lane, *_ in games) < seconds:
            return
        for lane, block, i in sorted(games, key=lambda game: game[0].began):
            if (room > 0 or not block.remembering(lane)) and (begun := block.under_way(i)):
                room -= begun.size
                if room >= 0 or not begun.size:
                    yield lane.task, begun

    def ended(self) -> list[GameRecord]:
        """Nothing has ended elsewhere."""
        return []

    def close(self) -> None:
        for block in self.blocks:
            for player in block.everybody:
                player.close()

    def seat(self, waiting: Waiting) -> None:
        """Give free lanes the next of ``waiting``."""
        for block in self.blocks:
            self._seat(block, waiting)

    def go_on_with(self, begun: Mapping[str, Begun]) -> None:
        """Games that have ``begun`` elsewhere, by their ids, go on when they are seated."""
        self._begun = {**self._begun, **begun} if begun else self._begun

    def tick(self, waiting: Waiting) -> list[GameRecord]:
        """A round of every block: make the moves that are answered, and ask whoever is to move next. Returns the games
        that ended; free lanes take the next of ``waiting``."""
        return [record for block in self.blocks for record in self._round(block, waiting)]

    def record(self, lane: GameSlot, result: str, reason: str) -> GameRecord:
        """What is kept of a game."""
        return self.blocks[0].record(lane, result, reason)

    def _dealt(self, tasks: Iterable[GameTask]) -> Iterator[GameTask]:
        """The order in which games begin: the last four of every lane with the most simulations first, so that the
        lanes come to their ends together."""

        def length(task: GameTask) -> int:
            both = (self.bots[task.black], self.bots[task.white])
            return -sum(bot.simulations for bot in both if isinstance(bot, SearchConfig))

        last: deque[GameTask] = deque()
        for task in tasks:
            last.append(task)
            if len(last) > 4 * len(self.lanes):
                yield last.popleft()
        yield from sorted(last, key=length)

    def _round(self, block: GameBatch, waiting: Waiting) -> list[GameRecord]:
        if not block.busy:
            return []
        if not waiting:
            self._shrink()  # while the devices are at work for the block
        records = block.finish(bool(waiting))
        if records:
            self._seat(block, waiting)
        if not waiting and self._movable:
            self._close_ranks(block)
        ended = block.begin(bool(waiting))
        if ended:
            self._seat(block, waiting)
        return records + ended

    def _seat(self, block: GameBatch, waiting: Waiting) -> None:
        """The next games that have their engines, for the free lanes of a block."""
        engines = {name: bot.processes for name, bot in self.bots.items() if isinstance(bot, EngineConfig)}
        if engines:
            busy = Counter(n for lane in block.lanes if lane for n in (lane.task.black, lane.task.white))
            engines = {name: processes - busy[name] for name, processes in engines.items()}
        tasks: list[GameTask] = []
        while len(tasks) < len(block.free) and (task := waiting.take(engines)):
            tasks.append(task)
            for name in engines.keys() & {task.black, task.white}:
                engines[name] -= 1
        self.anew += block.seat(tasks, self._begun)
        for task in tasks:
            self._begun.pop(task.game_id, None)

    def _shrink(self) -> None:
        """The last games would go on in a smaller block, where a step takes less: it is made when they have lasted as
        long as making it takes."""
        few, now = full_lanes(), time.perf_counter()
        if not 0 < sum(other.busy for other in self.blocks) <= few or not self._may_shrink:
            return
        self._sparse_since = min(self._sparse_since, now)
        if now - self._sparse_since >= self._making:
            self.blocks.append(self._block(few))

    @property
    def _may_shrink(self) -> bool:
        return self._shrinks and all(len(other.lanes) >= 2 * full_lanes() for other in self.blocks)

    def make_smaller(self) -> None:
        """Have the programs with which the last games would be played."""
        if self._may_shrink:
            self.blocks.append(self._block(full_lanes()))

    def _close_ranks(self, block: GameBatch) -> None:
        """No game is waiting: those of a block go to the free lanes of smaller or fuller ones, if they have enough."""

        def better(other: GameBatch) -> bool:
            mine, its = len(block.lanes), len(other.lanes)
            return 2 * its <= mine or (other.busy >= block.busy and its < 2 * mine)

        others = [other for other in self.blocks if other is not block and better(other)]
        if sum(len(other.free) for other in others) < block.busy:
            return
        block.hold()  # those under way come at the ends of their moves
        games = block.leave()
        for other in sorted(others, key=lambda other: (len(other.lanes), -other.busy)):
            own, games = games[: len(other.free)], games[len(other.free) :]
            if own:
                other.join(own)


def _seconds(bot: BotConfig) -> float:
    return bot.seconds if isinstance(bot, SearchConfig) else 0.0
