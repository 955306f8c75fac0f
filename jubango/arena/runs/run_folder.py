"""A run on disk: one process plays into its folder, any can read it; and a run that is kept nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout

from jubango.analysis.tables.tables import games_frame, moves_frame, records_frame, records_moves
from jubango.arena.runs.machines import FILE as MACHINES
from jubango.arena.runs.machines import and_this_machine, machines, this_machine
from jubango.arena.runs.run import Run
from jubango.arena.runs.weights import SHIPPED, check_stated, network_name, with_digests
from jubango.arena.schedule.formats import OPEN
from jubango.arena.schedule.pairings import game_seed
from jubango.arena.schedule.plan import NO_TERMS, Plan, read_plan
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.library.recovery import Problem, rebuild
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

PLAN_FILE = "tournament.toml"
RATINGS, CROSSTABLE = "ratings.csv", "crosstable.csv"
LOCK = ".lock"


class Memory:
    """Games that are kept as long as the process lives."""

    folder = None

    def __init__(self) -> None:
        self.records: list[GameRecord] = []
        self.notes: list[str] = []

    @contextlib.contextmanager
    def claimed(self, plan: Plan) -> Iterator[None]:
        check_stated(plan)
        yield

    def forget(self, reasons: Sequence[str]) -> None:
        pass

    def begin(self, plan: Plan) -> None:
        pass

    def add(self, records: list[GameRecord]) -> None:
        self.records += records

    @property
    def machines(self) -> list[str]:
        return [this_machine()]

    def frame(self) -> pd.DataFrame:
        return records_frame(self._sorted)

    def moves(self) -> pd.DataFrame:
        return records_moves(self._sorted)

    @property
    def _sorted(self) -> list[GameRecord]:
        return sorted(self.records, key=lambda record: record.game_id)

    def conclude(self, run: Run) -> None:
        pass


class RunFolder:
    """``tournament.toml`` (what is played), ``results.sqlite`` and ``games/*.sgf`` (what has been), and the tables
    ``ratings.csv`` and ``crosstable.csv``; ``machines.txt`` (where). It can be read at any time; who plays into it
    claims it first."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.notes: list[str] = []
        self._files = Folder(folder)
        self._library: Library | None = None
        self._networks: dict[str, str] = {}  # digests of the weights that are played with

    @contextlib.contextmanager
    def claimed(self, plan: Plan) -> Iterator[None]:
        """The folder is this process's alone, and what has been played in it is part of ``plan``. Raises UserError."""
        folder = self.folder
        _check_the_game_is_named(plan.game, folder)
        with locked(folder):
            for name in (RATINGS, CROSSTABLE, MACHINES):
                self._files.file(name)
            begun = self._files.has(PLAN_FILE)
            self._networks = check_stated(plan)
            if begun:
                old = plan_in(folder)
                check_same_run(old, plan, self._networks, folder)
                self._networks = {**old.networks, **self._networks}
            with contextlib.closing(Library(folder)) as self._library:
                if not begun and self._library.finished():
                    raise UserError(f"{folder}: holds games but no {PLAN_FILE}; use another --out folder")
                mended = len(self._library.mended)
                if mended:
                    files = "1 SGF file was" if mended == 1 else f"{mended} SGF files were"
                    self.notes = [f"{folder}: {files} missing or damaged and written again from results.sqlite"]
                yield

    def forget(self, reasons: Sequence[str]) -> None:
        """Games that ended so are missing again; only while the folder is claimed."""
        assert self._library is not None
        self._library.forget(reasons)

    def begin(self, plan: Plan) -> None:
        """The first game is about to begin."""
        self._write(PLAN_FILE, with_digests(plan, self._networks))
        if text := and_this_machine(self.machines):
            self._write(MACHINES, text)

    def add(self, records: list[GameRecord]) -> None:
        """Keep finished games; only while the folder is claimed."""
        assert self._library is not None
        self._library.add(records)

    @property
    def machines(self) -> list[str]:
        return machines(self._files)

    def frame(self) -> pd.DataFrame:
        return games_frame(self.folder)

    def moves(self) -> pd.DataFrame:
        return moves_frame(self.folder)

    def conclude(self, run: Run) -> None:
        """Write the tables."""
        assert self._library is not None
        self._library.check_in_place()
        ratings = run.ratings
        ratings["elo"] = ratings["elo"].round(2) + 0.0  # no -0.00
        self._write(RATINGS, ratings.to_csv(index=False, float_format="%.2f"))
        self._write(CROSSTABLE, run.crosstable.to_csv())

    def _write(self, name: str, text: str) -> None:
        try:
            self._files.write(name, text.encode())
        except OSError as error:
            raise CannotGoOn(f"{self.folder / name}: cannot be written: {error.strerror}") from None


def rebuild_run(folder: Path) -> tuple[int, list[Problem]]:
    """Make a run's database again from its SGF files; see :func:`jubango.sgf_games.library.recovery.rebuild`."""
    plan = plan_in(folder)
    specs = {plan.game_of(terms.komi).spec for terms in (NO_TERMS, *plan.terms.values())}

    def belongs(record: GameRecord) -> bool:
        return record.game in specs and record.seed == game_seed(plan.seed, record.game_id)

    with locked(folder):
        return rebuild(folder, belongs)


def open_run(folder: Path | str) -> Run:
    """The run in a folder, as far as it has been played; ``run.missing`` says how many games are to come.

    It may be at play at this moment. Raises UserError if the folder holds no run.
    """
    path = Folder(folder).path
    return Run(plan_in(path), RunFolder(path))


def plan_in(folder: Path) -> Plan:
    """What is played in a run's folder. Raises UserError if it is none."""
    if not Folder(folder).has(PLAN_FILE):
        what = "is a tuning's folder" if (folder / "tune.toml").is_file() else f"holds no {PLAN_FILE}"
        raise UserError(f"{folder}: {what}; name a run's folder")
    return read_plan(folder / PLAN_FILE)


def check_same_run(old: Plan, new: Plan, networks: Mapping[str, str], folder: Path) -> None:
    """A run may gain bots and games; anything else is another run. ``networks`` are the digests of the new plan's
    weights: their files may have moved, but not changed. Raises UserError."""

    def refuse(what: str) -> None:
        raise UserError(f"{folder}: was begun with {what}; only bots and games may be added: use another --out folder")

    if old.game != new.game:
        refuse(f"game {old.game.spec}, not {new.game.spec}")
    if old.seed != new.seed:
        refuse(f"seed {old.seed}, not {new.seed}")
    if old.name != new.name:
        refuse(f'the name "{old.name}", not "{new.name}"')
    if old.clock != new.clock:
        refuse(f"clock {old.clock or 'none'}, not {new.clock or 'none'}")
    if old.sprt != new.sprt:
        refuse(f"sprt {old.sprt or 'none'}, not {new.sprt or 'none'}")
    for key in ("kind", "rounds", "indifference", "alpha"):
        before, now = getattr(old.format, key), getattr(new.format, key)
        if before != now:
            refuse(f"{'format' if key == 'kind' else key} = {before}, not {now}")
    if old.openings != new.openings:
        refuse(f"{old.openings.told if old.openings else 'no openings'}, and these are others")
    if old.adjudication != new.adjudication:
        refuse("another [adjudication]")
    for pair, terms in old.terms.items():
        if new.terms.get(pair) != terms:
            refuse(f"another [[matchups]] table of {pair[0]} and {pair[1]}")
    if old.format.kind not in OPEN and ({b.name for b in old.bots}, old.games_per_pairing) != (
        {b.name for b in new.bots}, new.games_per_pairing
    ):  # fmt: skip
        refuse(f"{len(old.bots)} bots, {old.games_per_pairing} games per pairing, which rounds depend on")
    if old.games_per_pairing > new.games_per_pairing:
        refuse(f"{old.games_per_pairing} games per pairing, not {new.games_per_pairing}")
    bots = {bot.name: bot for bot in new.bots}
    for bot in old.bots:
        if bot.name not in bots:
            refuse(f'a bot "{bot.name}" that is missing now')
        now = bots[bot.name]
        before, after = old.networks.get(network_name(old, bot)), networks.get(network_name(new, now))
        if after and not before and network_name(new, now) == SHIPPED:
            refuse(f'bot "{bot.name}" before the network that comes with jubango now for {new.game.spec}')
        if before and after:
            if before != after:
                refuse(f'other weights of bot "{bot.name}" than {network_name(new, now)} holds now')
            now = now.model_copy(update={"network": bot.model_dump()["network"]})
        if now != bot:
            refuse(f'bot "{bot.name}" = {bot.spec}, not {now.spec}')


def _check_the_game_is_named(game: Game, folder: Path) -> None:
    """What is on disk names the game by its spec string, which has to make the same game again."""
    try:
        same = make_game(game.spec) == game
    except UserError:
        same = False
    if not same:
        raise UserError(
            f'{folder}: cannot keep games of "{game.spec}", a name that makes no such game; use register_game'
        )


def is_at_play(folder: Path) -> bool:
    """Is a process working in the folder? Raises UserError."""
    if not Folder(folder).has(LOCK):
        return False
    lock = FileLock(Folder(folder).in_place(LOCK), timeout=0)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return True
    lock.release()
    return False


@contextlib.contextmanager
def locked(folder: Path, doing: str = "playing into") -> Iterator[None]:
    """Only one process works in a folder. The lock is the system's: it goes with the process, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(Folder(folder).in_place(LOCK), timeout=0)
        lock.acquire()
    except Timeout:
        raise UserError(f"{folder}: another process is {doing} this folder") from None
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()
