"""The games of a plan, played by hosts: what stands in the place of a pool of this process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from jubango.arena.games.slot import Begun, GameSlot
from jubango.arena.hosts.driver import HostDriver, HostState
from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, Fleet
from jubango.arena.hosts.host import PlayingHost
from jubango.arena.hosts.hosts_file import HostsFile
from jubango.arena.hosts.protocol import BotTable, Entered, HostWork, Leased, Playing, Signature
from jubango.arena.hosts.signature import difference_of_code, difference_of_machine, is_exact, signature
from jubango.arena.runs.weights import check_stated
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import Plan
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.players.player import PlayerConfig
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.compute.machine import games_at_once
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import Thought
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game

WAIT_SECONDS = 0.05  # for something to happen
FILE_SECONDS = 5.0  # between two looks whether the file of the hosts is up to date
LAST_SECONDS = 0.5  # for hosts to say what has ended, when play is broken off
PROOF_GAMES = 4  # that a host plays to prove that it plays as others do
PROOF_MOVES = 12  # of each of them, after its opening
SHOWN = 4096  # games under way that are listed; of more only how many there are


class HostTable:
    """Plays ``plan``'s ``games``, or a tuning's, on the hosts of a ``fleet``, on each as many at once as the plan says.

    ``mixed``: hosts of other kinds play, too, where their games depend on the machine. ``first``: games to begin with,
    a few of which hosts prove themselves by. It is made when the first host plays. Raises UserError where no host can
    play, and CannotGoOn.
    """

    def __init__(
        self, fleet: Fleet, plan: Plan, bots: Sequence[BotConfig], games: int, on_tick: Callable[[HostTable], None],
        folder: Path | None = None, first: Iterable[GameTask] = (), mixed: bool = False,
    ) -> None:  # fmt: skip
        self.game, self.on_tick, self._fleet = plan.game, on_tick, fleet
        self.note = ""
        self.anew: list[str] = []
        self.notes: list[str] = []
        self._file = HostsFile(folder)
        self._looked = time.monotonic()
        self._entered: dict[str, Entered] = {}
        self._begun: dict[str, Begun] = {}
        work = work_of(
            plan,
            bots,
            min(games_at_once(plan.games_at_once), -(-games // max(1, fleet.coming))),
            folder is not None,
        )
        exact = all(map(is_exact, bots)) and not plan.timed
        timed = plan.timed or any(isinstance(bot, SearchConfig) and bot.seconds for bot in bots)
        networks, own = check_stated(plan), signature(0)

        def unlike(first: Signature | None, other: Signature) -> str:
            if wrong := next((name for name in networks if other.networks.get(name, "") != networks[name]), ""):
                return f"network {wrong}: other weights there"
            return difference_of_code(own, other) or (
                "" if exact or mixed or not first else unless_mixed(difference_of_machine(first, other, timed))
            )

        proof = self._proof(first)
        self._driver = HostDriver(work, proof, exact, unlike)
        try:
            fleet.start()
            self._driver.refer(_played_here(work, proof) if exact else [], time.monotonic())
            while not self._driver.playing:
                self._turn()
        except BaseException:
            self.close()
            raise

    def _proof(self, first: Iterable[GameTask]) -> list[Leased]:
        """A few games in which as many bots as possible play."""
        found: list[GameTask] = []
        seen: set[str] = set()
        for task in islice(first, 100):
            if len(found) < 2 or not {task.black, task.white} <= seen:
                found.append(task)
                seen |= {task.black, task.white}
            if len(found) == PROOF_GAMES:
                break
        return [Leased(i, task) for i, task in enumerate(found, 1)]

    # -- what is shown -----------------------------------------------------------------------

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that has not gone."""
        return [one.line for one in self._driver.members.values() if one.state is not HostState.gone]

    @property
    def machines(self) -> Sequence[str]:
        """Of the hosts that have played."""
        every = [one.signature.machine for one in self._driver.members.values() if one.began and one.signature]
        return list(dict.fromkeys(every))

    @property
    def lanes(self) -> list[GameSlot | None]:
        """The games under way, as far as the hosts have told; None in free lanes."""
        games = self._playing
        lanes = sum(member.lanes for member in self._driver.playing)
        if len(games) > SHOWN:
            return [None] * lanes
        found = [self._slot(one) for one in games]
        return [*found, *[None] * (lanes - len(found))]

    @property
    def _playing(self) -> list[Playing]:
        """Those whose boards are known come first."""
        every = [one for member in self._driver.playing for one in member.playing]
        return sorted(every, key=lambda one: one.stones is None)

    def _slot(self, one: Playing) -> GameSlot | None:
        task = self._driver.leases.task(one.game_id)
        if task is None:
            return None
        moves, thoughts = [0] * one.moves, [Thought()] * one.moves
        if one.last >= 0 and moves:
            moves[-1] = one.last
            thoughts[-1] = Thought(simulations=one.simulations, seconds=one.spent)
        return GameSlot(task, moves, thoughts, began=time.perf_counter() - one.seconds, opening=one.opening)

    def boards(self, lanes: Sequence[int]) -> list[tuple[np.ndarray, Point | None]]:
        """(stones [H, W], the last stone's point) of each of these lanes, as far as hosts have shown them."""
        games, found = self._playing, []
        for i in lanes:
            one = games[i] if i < len(games) else None
            empty = np.zeros((self.game.height, self.game.width), np.int8)
            found.append((empty, None) if one is None or one.stones is None else (one.stones, one.point))
        return found

    @property
    def moves_made(self) -> int:
        """In all games so far."""
        return sum(member.moves for member in self._driver.members.values())

    @property
    def simulations(self) -> int:
        """Made so far by all searches."""
        return sum(member.simulations for member in self._driver.members.values())

    # -- play --------------------------------------------------------------------------------

    def enter(self, bots: Iterable[SearchConfig], like: str) -> None:
        """More bots can play from now on, which differ only in numbers from ``like``."""
        self._entered |= {bot.name: Entered(table_of(bot), like) for bot in bots}
        self._driver.entered = self._entered

    def play(
        self, tasks: Iterable[GameTask], more: Callable[[], Iterable[GameTask]] = tuple,
        begun: dict[str, Begun] | None = None,
    ) -> Iterator[list[GameRecord]]:  # fmt: skip
        """Finished games, as they finish; when all have, ``more`` says which follow from them. Raises CannotGoOn when
        no host is left."""
        self._begun = {} if begun is None else begun
        driver = self._driver
        driver.begun.update(self._begun)
        driver.leases.feed(tasks)
        while not driver.leases.done:
            while not driver.leases.done:
                self._turn()
                records, driver.records = driver.records, []
                for record in records:
                    self._begun.pop(record.game_id, None)
                if records:
                    yield records
                self.on_tick(self)
            driver.leases.feed(more())

    def under_way(self, seconds: float, room: int) -> Iterator[tuple[GameTask, Begun]]:
        """The long games, as far as their hosts have told and the driver has had room for."""
        for own, begun in self._driver.begun.items():
            task = self._driver.leases.task(own)
            if task is not None and self._begun.get(own) is not begun:
                self._begun.pop(own, None)  # it has gone on
                yield task, begun

    def ended(self) -> list[GameRecord]:
        """Games that hosts have ended and not told yet, as far as they can be had in a moment."""
        began = time.monotonic()
        self._driver.leasing = False
        with contextlib.suppress(CannotGoOn, UserError):
            while time.monotonic() < began + LAST_SECONDS and any(m.answered < began for m in self._driver.playing):
                self._turn()
        records, self._driver.records = self._driver.records, []
        return records

    def close(self) -> None:
        """The hosts end."""
        with contextlib.suppress(CannotGoOn, UserError):
            self._file.write(self._driver.members.values(), over=True)
        self._fleet.close()

    def _turn(self) -> None:
        """Hear what has happened, and ask who is to be asked."""
        driver, fleet = self._driver, self._fleet
        driver.coming = fleet.coming
        for host, what, value in fleet.poll(WAIT_SECONDS):
            now = time.monotonic()
            if what == CAME:
                driver.came(host, now)
            elif what == GONE:
                driver.gone(host, str(value), now)
            elif what == UNABLE:
                driver.unable(host, str(value))
            else:
                driver.answered(host, what, value, now)
        now = time.monotonic()
        driver.tick(now)
        calls, driver.calls = driver.calls, []
        for call in calls:
            if call.what in ("kill", "refuse"):
                fleet.kill(call.host, again=call.what == "kill")
            else:
                fleet.ask(call.host, call.what, call.arguments)
        self.notes += driver.notes
        self.anew += driver.anew
        driver.notes, driver.anew = [], []
        if now - self._looked > FILE_SECONDS:
            self._looked = now
            self._file.write(driver.members.values())
        if not driver.alive and not fleet.hopeful:
            raise self._lost()

    def _lost(self) -> Exception:
        """No host is left."""
        members = list(self._driver.members.values())
        why = f": {members[-1].name}: {members[-1].why}" if members else ""
        if members and all(one.state is HostState.refused and not one.began for one in members):
            return UserError(f"no host can play{why}")
        return CannotGoOn(f"no host is left{why}")


def work_of(plan: Plan, bots: Sequence[BotConfig], lanes: int, files: bool = False) -> HostWork:
    """What hosts are told of a plan; ``files``: they write games as SGF. Raises UserError for what cannot be told."""
    for bot in bots:
        if isinstance(bot, PlayerConfig) and bot._player is not None:
            raise UserError(
                f'bot "{bot.name}": an object of this process cannot play on hosts; register its class (jb.player) '
                "in a module that JUBANGO_PLUGINS names, and name the bot by its spec string"
            )
    check_the_game_can_be_made(plan.game)
    rule = plan.adjudication
    return HostWork(
        plan.game.spec, tuple(map(table_of, bots)), max(2, lanes) if lanes > 1 else 1, plan.name, plan.timed,
        rule.model_dump() if rule else None, files, PROOF_MOVES,
    )  # fmt: skip


def table_of(bot: BotConfig) -> BotTable:
    """A bot as a [[bots]] table has it."""
    return {"name": bot.name, "use": bot.use, **bot.changed}


def check_the_game_can_be_made(game: Game) -> None:
    try:
        same = make_game(game.spec) == game
    except UserError:
        same = False
    if not same:
        raise UserError(f'hosts cannot make games of "{game.spec}", a name that makes no such game; use register_game')


def _played_here(work: HostWork, proof: Sequence[Leased]) -> list[str]:
    """How the games of the proof go on this machine. Raises UserError."""
    here = PlayingHost()
    said = here.hello(work)
    if said.problem:
        raise UserError(said.problem)
    return here.try_out(proof)


def unless_mixed(difference: str) -> str:
    return f"{difference} (--cluster SPEC,mixed has it play all the same)" if difference else ""
