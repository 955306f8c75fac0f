"""A training run: self-play and learning, measured by games against what is known, kept in a folder."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import tomli_w

from jubango.analysis.learning_curves import curve_png
from jubango.arena.hosts.cluster import cluster_of
from jubango.arena.hosts.work.self_play import SelfPlayHosts
from jubango.arena.runs.work_folder import WorkFolder, changes, writing
from jubango.arena.schedule.toml_tables import checked_table
from jubango.arena.training.measuring import BEST, MATCHES, NETWORKS_FOLDER, Measurements, Measuring
from jubango.arena.training.sitting import SITTING, SittingFile
from jubango.arena.training.tables import (
    PROGRESS_COLUMNS,
    HeldOutRow,
    progress_of,
    records_of,
)
from jubango.bots.learning.trainer import NEWEST, Trainer, TrainingStep
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.checkpoint import packed_weights
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.base.extras import installed
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.rules.race import for_two

SETTINGS_FILE = "train.toml"
PROGRESS = "progress.csv"  # a row every so often: how learning goes
RECORDS = "records.csv"  # a row every so often: what is known of recorded games that are not learnt from
CURVE_PICTURE = "curve.png"
SLOWING, SLOWEST = 0.85, 0.1  # the share of a run after which it learns at less than the rate; and at how much less
FOLDERS = (NETWORKS_FOLDER, "samples", "held-out", "checkpoints", "damaged")
ROW_SECONDS = 15.0
HELD_OUT_SECONDS = 120.0
SAVE_SECONDS = 300.0
SLOWEST_OF_RECORDS = 0.01
MAY_CHANGE = frozenset(
    {
        "search",
        "simulations",
        "fast",
        "share",
        "opening",
        "opening_temperature",
        "records",
        "epochs",
        "per_game",
        "alternate",
        "rollouts",
        "rollout_simulations",
        "lanes",
        "window",
        "reuse",
        "surprise",
        "batch",
        "rate",
        "precision",
    }
)  # settings that may be others when a run goes on; boards may come and go, after the one that counts


class TrainingProgress(NamedTuple):
    """How a training run stands."""

    training: Training
    step: TrainingStep | None
    stage: str
    seconds: float  # trained so far, all sittings, without compiling and measuring
    left: float | None  # seconds, if known
    doing: str = ""  # what is compiled, or measured against


class Training:
    """A run in ``folder``; one that is there goes on.

    given: keys of :class:`TrainingConfig`, ``games`` among them; of a run that goes on, those that change.
    hosts: who plays what is learnt from, in the place of this process.
    Raises UserError.
    """

    def __init__(
        self, given: Mapping[str, object], folder: Path, measuring: Measuring | None = None,
        hosts: SelfPlayHosts | None = None,
    ) -> None:  # fmt: skip
        self.folder, self._work = folder, work_folder(folder)
        self._run = self._work.files
        self._work.check_files()  # before hours are spent on what cannot be kept
        for name in FOLDERS:
            self._run.folder(name)
        self.settings = self._stated(given)
        self.trainer = Trainer(self.settings, folder)
        self.trainer.elsewhere = self._hosts = hosts
        folder.mkdir(parents=True, exist_ok=True)
        self._run.write(SETTINGS_FILE, tomli_w.dumps(self.settings.model_dump(mode="json")).encode())
        self.notes = self.trainer.notes
        if hosts is not None:
            hosts.notes = self.notes
        self.measurements = Measurements(self._run, self.game, measuring or Measuring(), self.notes)
        self._progress = progress_of(self._run, PROGRESS, self.notes)
        self._held_out = records_of(self._run, RECORDS, self.notes)

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that plays; none where this process does."""
        return self._hosts.hosts if self._hosts else ()

    @property
    def rows(self) -> list[dict[str, float]]:
        """Of ``progress.csv``."""
        return self._progress.rows

    @property
    def held_out(self) -> list[HeldOutRow]:
        """Of ``records.csv``."""
        return self._held_out.rows

    @property
    def game(self) -> Game:
        """The one that counts."""
        return self.trainer.games[0]

    @property
    def seconds(self) -> float:
        return self.trainer.counts["seconds"]

    def run(self, minutes: float = math.inf, games: float = math.inf) -> Iterator[TrainingProgress]:
        """Train until so many minutes or games of self-play have been spent in all; yields after every turn and stage.
        Leaving it at any time loses nothing but the last minutes; :meth:`save` before keeps these too."""
        trainer, began, begun_games = self.trainer, self.seconds, self.trainer.counts["games"]
        often = 60 * self.measurements.measuring.minutes
        due = min(self.measurements.matches[-1].seconds if self.measurements.matches else 0.0, self.seconds)
        due = min(due + often if self.measurements.matches else min(60.0, often / 4), 60 * minutes)

        def left() -> float | None:
            by_time = 60 * minutes - self.seconds
            done = trainer.counts["games"]
            made = done - begun_games
            by_games = (games - done) * (self.seconds - began) / made if made else math.inf
            least = min(by_time, by_games)
            return max(0.0, least) if math.isfinite(least) else None

        if self.seconds < 60 * minutes and trainer.counts["games"] < games:
            for program in trainer.compile():
                yield TrainingProgress(self, None, "compiling", self.seconds, left(), program)
        last_row = last_save = last_held_out = time.perf_counter()
        while self.seconds < 60 * minutes and trainer.counts["games"] < games:
            share = max(self.seconds / (60 * minutes), trainer.counts["games"] / games)
            trainer.pace = falling(share) if trainer.by_records else pace(share)
            step = trainer.step()
            now = time.perf_counter()
            if step.stage == "records" and trainer.steps:
                if now - last_held_out > HELD_OUT_SECONDS or not trainer.by_records:
                    self.ask_held_out()
                    last_held_out = time.perf_counter()
                due = max(due, self.seconds + min(60.0, often / 4))  # matches are for what comes after
            if step.losses and (now - last_row > ROW_SECONDS or not self.rows):
                self._note(step)
                last_row = now
            yield TrainingProgress(self, step, step.stage, self.seconds, left())
            if now - last_save > SAVE_SECONDS:
                self.save()
                last_save = now
            if self.seconds >= due and trainer.steps:
                self.save()  # measuring may take longer than what it measures
                for opponent in self.measure():
                    yield TrainingProgress(self, step, "measuring", self.seconds, left(), opponent)
                last_save = time.perf_counter()
                due = self.seconds + often
        self.save()
        if trainer.by_records and trainer.steps:
            self.ask_held_out()
        if trainer.steps and (not self.measurements.matches or self.measurements.matches[-1].seconds < self.seconds):
            for opponent in self.measure():
                yield TrainingProgress(self, None, "measuring", self.seconds, 0.0, opponent)
        yield TrainingProgress(self, None, "done", self.seconds, 0.0)

    def save(self) -> None:
        """Keep everything: a checkpoint, the newest network, the tables' pictures. Of a network that has learnt nothing
        there is no file. Raises UserError and CannotGoOn."""
        with writing(self.folder):
            self.trainer.save()
            if self.trainer.steps:
                network = self._packed_network()
                self._run.write(NEWEST, network)
                if not self.measurements.matches or not self._run.has(BEST):
                    self._run.write(BEST, network)
                self.draw()

    def draw(self) -> None:
        """The picture, where one can be drawn: Elo over hours and games, losses, how good the network's values are."""
        if not installed("matplotlib"):
            return
        ratings = self.measurements.ratings
        measured = {match.network: float(match.trained_games) for match in self.measurements.matches}
        others = {r.name: r.elo for r in ratings.ratings if r.name not in measured} if ratings else {}
        said = self.trainer.said
        games = list(measured.values())
        self._run.write(CURVE_PICTURE, curve_png(self.rows, self.measurements.elo, games, others, said, self.title))

    @property
    def title(self) -> str:
        boards = " + ".join(game.spec for game in self.trainer.games)
        return f"{boards}, {self.settings.blocks} blocks of {self.settings.channels}"

    # -- strength ----------------------------------------------------------------------------

    def measure(self) -> Iterator[str]:
        """Matches of the newest network; yields the name of each opponent before they play."""
        games = int(self.trainer.counts["games"])
        yield from self.measurements.measure(self._packed_network(), self.seconds, games)
        self.draw()

    # -- on disk -----------------------------------------------------------------------------

    def _stated(self, given: Mapping[str, object]) -> TrainingConfig:
        """The settings of the run: those it was begun with, but for what may change on the way. Raises UserError."""
        settings, path = _settings(given), str(self.folder / SETTINGS_FILE)
        text = self._run.read_text(SETTINGS_FILE)
        if text is None:
            return settings.chosen()
        before = _settings(parse_toml(text, path), path)
        games = tuple(for_two(make_game(spec)).spec for spec in settings.games)
        both = min(len(games), len(before.games))
        if games[:both] != before.games[:both]:  # boards may come and go, after the one that counts
            self._work.refuse(f"{' + '.join(before.games)}, not {' + '.join(games)}")
        changed: dict[str, object] = {"games": games}
        for change in changes(before, settings, {"games"} | (TrainingConfig.model_fields.keys() - given.keys())):
            if not change.now and change.key not in ("rollouts", "surprise"):  # to be chosen is what has been chosen
                continue
            if change.key not in MAY_CHANGE:
                self._work.refuse(str(change))
            changed[change.key] = change.now
        return _settings({**dict(before), **changed}).chosen()

    def _packed_network(self) -> bytes:
        """The newest one as a file of weights."""
        counts = self.trainer.counts
        settings = self.settings.model_dump(mode="json", exclude={"games"})
        settings["start"] = Path(self.settings.start).name  # where it lay is nobody's business
        settings["records"] = [Path(path).name for path in self.settings.records]
        how = {
            "boards": [game.spec for game in self.trainer.games],
            "hours": round(self.seconds / 3600, 3),
            "games": int(counts["games"]),
            "positions": int(counts["positions"]),
            "from_rollouts": int(counts["rollouts"]),
            "from_records": int(counts["recorded"]),
            "steps": self.trainer.steps,
            "settings": settings,
        }
        return packed_weights(self.trainer.weights, self.trainer.shape, how)

    def ask_held_out(self) -> None:
        """Take down what the network knows of the games that are held out."""
        counts = self.trainer.counts
        for found in self.trainer.held_out():
            row = HeldOutRow(self.seconds, int(counts["games"]), int(counts["recorded"]), self.trainer.steps, found)
            self._held_out.append(row, row.cells)

    def _note(self, step: TrainingStep) -> None:
        assert step.losses is not None
        counts = self.trainer.counts
        row: list[float] = [
            round(self.seconds, 1), int(counts["games"]), int(counts["positions"]), self.trainer.steps,
            *(round(float(value), 5) for value in step.losses), step.games.plies / max(1, step.games.number),
            round(step.games.first_won, 4), step.resign,
        ]  # fmt: skip
        self._progress.append(dict(zip(PROGRESS_COLUMNS, map(float, row), strict=True)), row)


def work_folder(folder: Path) -> WorkFolder:
    """As a folder that is trained in."""
    files = PROGRESS, MATCHES, RECORDS, CURVE_PICTURE, BEST, NEWEST, SITTING
    return WorkFolder(folder, SETTINGS_FILE, files, "training in")


def pace(share: float) -> float:
    """What share of the rate is learnt with when so much of a run is done: towards its end less and less, which makes
    the most of what has been seen."""
    return 1.0 - (1.0 - SLOWEST) * max(0.0, share - SLOWING) / (1.0 - SLOWING)


def falling(share: float) -> float:
    """The same while recorded games are learnt from: half a wave of a cosine (Loshchilov & Hutter 2017)."""
    return SLOWEST_OF_RECORDS + (1.0 - SLOWEST_OF_RECORDS) * (1.0 + math.cos(math.pi * min(1.0, share))) / 2


def train(
    game: str | Sequence[str],
    out: Path | str,
    minutes: float = math.inf,
    games: float = math.inf,
    *,
    measuring: Measuring | None = None,
    cluster: str | None = None,
    **settings: object,
) -> Iterator[TrainingProgress]:
    """How a training by self-play stands, after every step: ``for progress in train("connect_four", "runs/c4"): ...``.

    game: a spec, or several of one family; the first is the one that is measured.
    out: a folder; a run that is there goes on. The best network lies in it as ``best.safetensors``.
    minutes, games: those of the whole run, earlier sittings included; by default without end.
    measuring: how often, and in how many games, the network is measured.
    cluster: hosts that play what is learnt from, as of :func:`jubango.tournament`. Learning and measuring stay here.
    settings: keys of :class:`jubango.bots.learning.training_config.TrainingConfig`. A run that goes on keeps what it
        had, unless a key is given and may change.

    Raises UserError for what cannot be trained, or for a folder of another run.
    """
    claim()
    given = {"games": (game,) if isinstance(game, str) else tuple(game), **settings}
    folder = Folder(out).path
    own = cluster_of(cluster)
    with work_folder(folder).claimed(), contextlib.ExitStack() as closing:
        hosts = None
        if own is not None:
            hosts = SelfPlayHosts(own.fleet())
            closing.callback(hosts.close)
        training = Training(given, folder, measuring, hosts)
        sitting = SittingFile(
            Folder(folder),
            minutes,
            games,
            training.measurements.measuring.minutes,
            training.measurements.measuring.games,
        )
        try:
            for progress in training.run(minutes, games):
                _say(sitting, progress)
                yield progress
        except (KeyboardInterrupt, GeneratorExit):  # whoever trains has had enough
            training.save()
            raise
        except CannotGoOn:
            if hosts is not None:  # all of them may be gone; what has been learnt is here
                with contextlib.suppress(CannotGoOn, UserError):
                    training.save()
            raise


def _say(sitting: SittingFile, progress: TrainingProgress) -> None:
    """How the training goes, to who looks into its folder."""
    step, trainer = progress.step, progress.training.trainer
    if step is not None and step.game == progress.training.game and sitting.is_due:
        sitting.show(step.game.stones(step.state))
    sitting.note(progress.stage, progress.doing, progress.left, trainer.counts, trainer.steps, progress.training.hosts)


def _settings(given: Mapping[str, object], where: str = "train") -> TrainingConfig:
    """What is given, checked. Raises UserError."""
    return checked_table(TrainingConfig, given, where)
