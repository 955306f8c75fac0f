"""A run on disk: one process plays into its folder, any can read it; and a run that is kept nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from jubango.analysis.tables.tables import games_frame, moves_frame, records_frame, records_moves
from jubango.arena.runs.machines import FILE as MACHINES
from jubango.arena.runs.machines import HOSTS, machines, this_machine, with_machines
from jubango.arena.runs.run import Run
from jubango.arena.runs.same_run import check_same_run
from jubango.arena.runs.under_way import UNDER_WAY, UnderWay
from jubango.arena.runs.weights import check_stated, with_digests
from jubango.arena.runs.work_folder import WorkFolder, locked
from jubango.arena.schedule.pairings import game_seed
from jubango.arena.schedule.plan import NO_TERMS, Plan, parse_plan
from jubango.arena.schedule.toml_tables import LARGEST_PLAN
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.library.recovery import Problem, rebuild
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

PLAN_FILE = "tournament.toml"
RATINGS, CROSSTABLE = "ratings.csv", "crosstable.csv"


class Memory:
    """Games that are kept as long as the process lives."""

    folder = None
    under_way = None

    def __init__(self) -> None:
        self.records: list[GameRecord] = []
        self.notes: list[str] = []
        self._played_on: Sequence[str] | None = None

    @contextlib.contextmanager
    def claimed(self, plan: Plan) -> Iterator[None]:
        check_stated(plan)
        yield

    def forget(self, reasons: Sequence[str]) -> None:
        pass

    def begin(self, plan: Plan, played_on: Sequence[str] | None = None) -> None:
        self._played_on = played_on

    def add(self, records: list[GameRecord]) -> None:
        self.records += records

    @property
    def machines(self) -> list[str]:
        return [this_machine()] if self._played_on is None else list(self._played_on)

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
        self._work = work_folder(folder)
        self.folder = self._work.path
        self.notes: list[str] = []
        self._library: Library | None = None
        self._under_way: UnderWay | None = None
        self._networks: dict[str, str] = {}  # digests of the weights that are played with

    @contextlib.contextmanager
    def claimed(self, plan: Plan) -> Iterator[None]:
        """The folder is this process's alone, and what has been played in it is part of ``plan``. Raises UserError."""
        folder, work = self.folder, self._work
        _check_the_game_is_named(plan.game, folder)
        with work.claimed():
            begun = work.begun
            self._networks = {**plan.networks, **check_stated(plan)}
            if begun:
                old = plan_in(folder)
                check_same_run(old, plan, self._networks, work)
                self._networks = {**old.networks, **self._networks}
            with contextlib.closing(Library(folder)) as self._library:
                if not begun and self._library.finished():
                    work.refuse_games()
                mended = len(self._library.mended)
                if mended:
                    files = "1 SGF file was" if mended == 1 else f"{mended} SGF files were"
                    self.notes = [f"{folder}: {files} missing or damaged and written again from results.sqlite"]
                self._under_way = UnderWay(work, plan, self._networks, self._library.finished())
                self.notes += self._under_way.notes
                yield

    def forget(self, reasons: Sequence[str]) -> None:
        """Games that ended so are missing again; only while the folder is claimed."""
        assert self._library is not None
        self._library.forget(reasons)

    def begin(self, plan: Plan, played_on: Sequence[str] | None = None) -> None:
        """The first game is about to begin here; or games are to be added that were ``played_on`` these machines."""
        self._work.write(PLAN_FILE, with_digests(plan, self._networks))
        if text := with_machines(self.machines, [this_machine()] if played_on is None else played_on):
            self._work.write(MACHINES, text)

    @property
    def under_way(self) -> UnderWay:
        """The games that have begun; only while the folder is claimed."""
        assert self._under_way is not None
        return self._under_way

    def finished(self) -> set[str]:
        """The ids of finished games; only while the folder is claimed."""
        assert self._library is not None
        return self._library.finished()

    def add(self, records: list[GameRecord]) -> None:
        """Keep finished games; only while the folder is claimed."""
        assert self._library is not None
        self._library.add(records)

    @property
    def machines(self) -> list[str]:
        return machines(self._work.files)

    @property
    def begun(self) -> bool:
        """Has anything been played there? Raises UserError."""
        return self._work.begun

    def frame(self) -> pd.DataFrame:
        return games_frame(self.folder)

    def moves(self) -> pd.DataFrame:
        return moves_frame(self.folder)

    def conclude(self, run: Run) -> None:
        """Write the tables."""
        assert self._library is not None
        self._library.check_in_place()
        if not run.missing:
            self.under_way.remove()
        ratings = run.ratings
        ratings["elo"] = ratings["elo"].round(2) + 0.0  # no -0.00
        self._work.write(RATINGS, ratings.to_csv(index=False, float_format="%.2f"))
        self._work.write(CROSSTABLE, run.crosstable.to_csv())


def work_folder(folder: Path | str) -> WorkFolder:
    """As a folder that is worked in."""
    return WorkFolder(folder, PLAN_FILE, (RATINGS, CROSSTABLE, MACHINES, UNDER_WAY, HOSTS))


def rebuild_run(folder: Path) -> tuple[int, list[Problem]]:
    """Make a run's database again from its SGF files; see :func:`jubango.sgf_games.library.recovery.rebuild`."""
    plan = plan_in(folder)
    specs = {plan.game_of(terms.komi).spec for terms in (NO_TERMS, *plan.terms.values())}

    def belongs(record: GameRecord) -> bool:
        return record.game in specs and record.seed == game_seed(plan.seed, record.game_id)

    with locked(folder):
        return rebuild(folder, belongs)


def open_run(folder: Path | str) -> Run:
    """The run in a folder, as far as it has been played; ``run.missing`` is the number of games to come.

    folder: that of the run, which may be at play at this moment.

    Raises UserError if the folder holds no run.
    """
    path = Folder(folder).path
    return Run(plan_in(path), RunFolder(path))


def plan_in(folder: Path) -> Plan:
    """What is played in a run's folder. Raises UserError if it is none."""
    text = Folder(folder).read_text(PLAN_FILE, LARGEST_PLAN)
    if text is None:
        what = "is a tuning's folder" if (folder / "tune.toml").is_file() else f"holds no {PLAN_FILE}"
        raise UserError(f"{folder}: {what}; name a run's folder")
    return parse_plan(text, str(folder / PLAN_FILE), begun=True)


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
