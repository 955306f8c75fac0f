"""A host: it plays the games that it is leased in one thread, and answers the driver in another."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jubango.arena.games.pool import GamePool
from jubango.arena.games.slot import Begun
from jubango.arena.hosts.driver import proof_of
from jubango.arena.hosts.ledger import Ledger
from jubango.arena.hosts.protocol import HostWork, Leased, Playing, Signature, Step
from jubango.arena.hosts.signature import signature
from jubango.arena.runs.weights import SHIPPED_WEIGHTS
from jubango.arena.schedule.adjudication import Adjudication
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.waiting import Waiting
from jubango.bots.composition import network_file
from jubango.bots.config import BotConfig, EngineConfig, SearchConfig, bot_from_table
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import file_digest
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.sgf import write_record

NAP_SECONDS = 0.05  # between two looks for games where there is none
MORE_SECONDS = 3.0  # without a game that waits, after which no more are expected soon
SAID_SECONDS = 2.0  # between two lists of the games under way
LONG_SECONDS = 15.0  # of a game, from which on it is told how far it is; as often
MOST_TELLING = 0.02  # of the time at most goes into that
MOST_SAID = 256  # games of such a list
MOST_TOLD = 2**24  # bytes of what players remember, at a time


class _Inbox(Waiting):
    """The games of a ledger that wait, for a pool."""

    def __init__(self, ledger: Ledger, lock: threading.RLock) -> None:
        super().__init__(())
        self._ledger, self._lock = ledger, lock
        self._filled = time.perf_counter()

    def __bool__(self) -> bool:
        """Are there any, or may there soon be more?"""
        now = time.perf_counter()
        if self._ledger.waiting:
            self._filled = now
        return now - self._filled < MORE_SECONDS

    def take(self, free: Mapping[str, int]) -> GameTask | None:
        with self._lock:
            for _ in range(len(self._ledger.waiting)):
                task = self._ledger.waiting[0].task
                told = self._ledger.waiting[0].number <= self._ledger.known
                if told and all(free.get(name, 1) > 0 for name in (task.black, task.white)):
                    lease = self._ledger.begin()
                    return lease.task if lease else None
                self._ledger.waiting.rotate(-1)  # its engines are busy, or its bots not known yet: others pass
            return None


class PlayingHost:
    """Plays what it is told, whoever asks; :class:`jubango.arena.hosts.protocol.GameHost` says how."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # of the ledger and the numbers
        self._making = threading.Lock()  # one pool at a time
        self._work: HostWork | None = None
        self._signature: Signature | None = None  # what was said to that
        self._proof: tuple[Sequence[Leased], list[str]] | None = None  # what has been proved, since then
        self._bots: list[BotConfig] = []
        self._game: Game | None = None
        self._lanes = 0
        self._ledger = Ledger()
        self._arrived: list[Leased] = []  # leases that the pool has not been told of
        self._ended: BaseException | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._seconds, self._moves, self._simulations, self._free = 0.0, 0, 0, 0
        self._look = 0
        self._said = self._due = 0.0
        self._playing: tuple[Playing, ...] = ()
        self._begun: dict[str, Begun] = {}
        self._anew: list[str] = []
        self._note = ""

    # -- who it is ---------------------------------------------------------------------------

    def hello(self, work: HostWork | None) -> Signature:
        """Who it is, with this work; another one ends."""
        with self._making:
            if self._signature is None or work is None or work != self._work:  # else it is asked again
                self._stop()
                self._work, self._signature, self._proof = work, None, None
                self._signature = self._signed(work)
            return self._signature

    def _signed(self, work: HostWork | None) -> Signature:
        if work is None:
            return signature(0)
        try:
            self._game = game = make_game(work.game)
            self._bots = [bot_from_table(table, f'bot "{table.get("name")}"') for table in work.bots]
            searching = [bot for bot in self._bots if isinstance(bot, SearchConfig) and network_file(game, bot)]
            networks = {
                bot.network or SHIPPED_WEIGHTS: file_digest(Path(network_file(game, bot)), LARGEST_WEIGHTS)
                for bot in searching
            }
            self._lanes = self._possible(work)
        except UserError as error:
            return signature(0, problem=str(error))
        return signature(self._lanes, networks)

    def _possible(self, work: HostWork) -> int:
        """How many games at once: as asked, as engines and memory allow. Raises UserError."""
        assert self._game is not None
        engines = [bot.processes for bot in self._bots if isinstance(bot, EngineConfig)]
        inside = len(self._bots) - len(engines) > 1 or not engines
        most = work.lanes if inside else max(1, sum(engines))
        return max(1, min(work.lanes, most, affordable_lanes(self._game, self._bots)))

    # -- proof -------------------------------------------------------------------------------

    def prove(self, tasks: Sequence[Leased]) -> list[str]:
        """How these games went here, or their first moves. From then on it can play."""
        with self._making:
            if self._proof is None or self._proof[0] != tasks:  # else it is asked again
                self._stop()
                self._proof = tasks, self._proved(tasks)
                self._start()
            return self._proof[1]

    def try_out(self, tasks: Sequence[Leased]) -> list[str]:
        """The same, by who plays nothing afterwards: on as few lanes as it takes."""
        with self._making:
            self._lanes = max(1, min(self._lanes, len(tasks)))
            return self._proved(tasks)

    def _proved(self, tasks: Sequence[Leased]) -> list[str]:
        work = self._work
        assert work is not None
        if not tasks:
            return []
        given = dict(work.adjudication or {})
        longest = work.proof_moves + max(len(lease.task.opening.moves) for lease in tasks)
        if work.proof_moves:
            given["move_limit"] = min(given.get("move_limit") or longest, longest)
        pool = self._made(Adjudication.of(given) if given else None)
        self._enter(pool, tasks)
        try:
            records = [record for ended in pool.play([lease.task for lease in tasks]) for record in ended]
        finally:
            pool.close()
        return proof_of(records, [lease.task.game_id for lease in tasks], longest * bool(work.proof_moves))

    def _made(self, adjudication: Adjudication | None) -> GamePool:
        work = self._work
        assert work is not None and self._game is not None
        return GamePool(
            self._game, self._bots, self._lanes, work.event, timed=work.timed, adjudication=adjudication
        )  # fmt: skip

    # -- play --------------------------------------------------------------------------------

    def step(self, ack: int, tasks: Sequence[Leased], drop: Collection[str], look: int = 0) -> Step:
        """What it has to say; see :class:`jubango.arena.hosts.protocol.GameHost`. Raises what has ended its play."""
        with self._lock:
            if self._ended is not None:
                raise self._ended
            self._ledger.acknowledge(ack)
            self._ledger.drop(drop)
            self._arrived += [lease for lease in tasks if lease.entered or lease.begun]
            self._ledger.take(tasks)
            self._look = max(look, 0) if look >= 0 else self._look
            step = self._ledger.step(
                self._free, self._seconds, self._moves, self._simulations, self._playing if look >= 0 else (),
                self._note,
            )  # fmt: skip
            begun, self._begun = self._begun, {}
            anew, self._anew, self._note = tuple(self._anew), [], ""
            return step._replace(begun=tuple(begun.items()), anew=anew)

    def close(self) -> None:
        """It plays no more."""
        with self._making:
            self._stop()
            self._work = self._signature = self._proof = None

    def _start(self) -> None:
        self._closing = threading.Event()
        self._ledger, self._arrived, self._ended = Ledger(), [], None
        self._free = self._lanes
        self._thread = threading.Thread(target=self._run, args=(self._closing,), name="play", daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(60)
            self._thread = None

    def _run(self, closing: threading.Event) -> None:
        try:
            self._play(closing)
        except BaseException as error:
            with self._lock:
                self._ended = error

    def _play(self, closing: threading.Event) -> None:
        work = self._work
        assert work is not None
        pool = self._made(Adjudication.of(work.adjudication) if work.adjudication else None)
        with self._lock:
            self._note = pool.note
        inbox, began = _Inbox(self._ledger, self._lock), time.perf_counter()
        try:
            while not closing.is_set():
                with self._lock:
                    self._enter(pool, self._arrived)
                    pool.go_on_with({one.task.game_id: one.begun for one in self._arrived if one.begun})
                    self._arrived = []
                    self._ledger.tell()
                pool.seat(inbox)
                if not any(block.busy for block in pool.blocks):
                    began = time.perf_counter()
                    self._tell(pool, [], 0.0)
                    closing.wait(NAP_SECONDS)
                    continue
                ended = pool.tick(inbox)
                now = time.perf_counter()
                self._tell(pool, ended, now - began)
                began = now
        finally:
            pool.close()

    def _tell(self, pool: GamePool, ended: Sequence[GameRecord], seconds: float) -> None:
        """Keep for the driver what has come of a tick."""
        if self._work is not None and self._work.files:
            ended = [replace(record, written=write_record(record)) for record in ended]
        with self._lock:
            for record in ended:
                self._ledger.end(record)
            self._seconds += seconds
            self._moves, self._simulations = pool.moves_made, pool.simulations
            self._free = sum(len(block.free) for block in pool.blocks)
            self._anew += pool.anew
            pool.anew.clear()
            now = time.perf_counter()
            if now - self._said >= SAID_SECONDS or self._look:
                self._playing, self._said, self._look = _playing(pool, self._look, now), now, 0
            if now >= self._due:
                games = pool.under_way(LONG_SECONDS, MOST_TOLD)
                self._begun = {task.game_id: begun for task, begun in games if begun.seconds >= LONG_SECONDS}
                told = time.perf_counter()
                self._due = told + max(LONG_SECONDS, (told - now) / MOST_TELLING)

    def _enter(self, pool: GamePool, tasks: Sequence[Leased]) -> None:
        """Bots that came later can play."""
        for own in (own for lease in tasks for own in lease.entered):
            name = str(own.bot["name"])
            if name not in pool.bots:
                bot = bot_from_table(own.bot, f'bot "{name}"')
                assert isinstance(bot, SearchConfig)
                pool.enter([bot], own.like)


def _playing(pool: GamePool, look: int, now: float) -> tuple[Playing, ...]:
    """The games under way, the boards of ``look`` of them."""
    busy = [(i, lane) for i, lane in enumerate(pool.lanes) if lane is not None][:MOST_SAID]
    boards = dict(zip([i for i, _ in busy[:look]], pool.boards([i for i, _ in busy[:look]]), strict=True))
    found = []
    for i, lane in busy:
        one = Playing(lane.task.game_id, len(lane.moves), now - lane.began, lane.opening)
        if i in boards and lane.moves:
            thought = lane.thoughts[-1]
            stones, point = boards[i]
            one = one._replace(
                last=lane.moves[-1], simulations=int(thought.simulations), spent=float(thought.seconds), stones=stones,
                point=point,
            )  # fmt: skip
        elif i in boards:
            one = one._replace(stones=boards[i][0])
        found.append(one)
    return tuple(found)
