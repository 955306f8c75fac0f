"""A training run: self-play and learning, measured by games against what is known, kept in a folder."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tomli_w

from jubango.analysis.learning_curves import curve_png
from jubango.analysis.ratings.ratings import RatingList, rate
from jubango.analysis.ratings.results import decided
from jubango.arena.hosts.cluster import cluster_of
from jubango.arena.hosts.work.self_play import SelfPlayHosts
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.work_folder import WorkFolder, changes, writing
from jubango.arena.schedule.plan import match_plan
from jubango.arena.schedule.toml_tables import checked_table
from jubango.arena.training.tables import NETWORK_NAME, PROGRESS_COLUMNS, Match, matches_of, progress_of
from jubango.bots.config import Bot, BotConfig, bot_from_spec
from jubango.bots.learning.position_files import set_aside
from jubango.bots.learning.trainer import NEWEST, Trainer, TrainingConfig, TrainingStep
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.players.engines.engine import program
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
MATCHES = "matches.csv"  # a row for each match of a network
CURVE_PICTURE = "curve.png"
BEST = "best.safetensors"
SLOWING, SLOWEST = 0.85, 0.1  # the share of a run after which it learns at less than the rate; and at how much less
NETWORKS_FOLDER = "networks"  # the folder of all that were measured
FOLDERS = (NETWORKS_FOLDER, "samples", "checkpoints", "damaged")
ROW_SECONDS = 15.0
SAVE_SECONDS = 300.0
EASY = 0.97  # a score from which on an opponent is met only now and then
SELDOM = 4  # measurements
HOPELESS = 0.05  # a score up to which nobody stronger is met
LARGEST_OF_GNUGO = 19  # boards
MAY_CHANGE = frozenset(
    {
        "search",
        "simulations",
        "fast",
        "share",
        "opening",
        "opening_temperature",
        "rollouts",
        "rollout_simulations",
        "lanes",
        "window",
        "reuse",
        "batch",
        "rate",
    }
)  # settings that may be others when a run goes on; boards may come and go, after the one that counts
GNUGO = "gnugo --mode gtp --level {} --chinese-rules"


@dataclass(frozen=True)
class Measuring:
    """How strength is measured: every so many ``minutes``, with ``games`` against each opponent, ``simulations`` a
    move."""

    minutes: float = 10.0
    games: int = 32
    simulations: int = 32


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
        self.measuring = measuring or Measuring()
        self._work.check_files()  # before hours are spent on what cannot be kept
        for name in FOLDERS:
            self._run.folder(name)
        self.settings = self._stated(given)
        self.trainer = Trainer(self.settings, folder)
        self.trainer.elsewhere = hosts
        folder.mkdir(parents=True, exist_ok=True)
        self._run.write(SETTINGS_FILE, tomli_w.dumps(self.settings.model_dump(mode="json")).encode())
        self.notes = self.trainer.notes
        if hosts is not None:
            hosts.notes = self.notes
        self._matches = matches_of(self._run, MATCHES, self.notes)
        self._progress = progress_of(self._run, PROGRESS, self.notes)
        self._lost: set[str] = set()  # networks whose files cannot be read
        self._easy: dict[str, int] = {}  # measurements until an opponent is met again
        self._unfit: set[str] = set()  # opponents that cannot play here
        self._rated: tuple[int, list[tuple[float, float, float]]] = (0, [])  # by so many matches
        self._restore_best()

    @property
    def matches(self) -> list[Match]:
        """All there have been, the oldest first."""
        return self._matches.rows

    @property
    def rows(self) -> list[dict[str, float]]:
        """Of ``progress.csv``."""
        return self._progress.rows

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
        often = 60 * self.measuring.minutes
        due = min(self.matches[-1].seconds if self.matches else 0.0, self.seconds)
        due = min(due + often if self.matches else min(60.0, often / 4), 60 * minutes)

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
        last_row = last_save = time.perf_counter()
        while self.seconds < 60 * minutes and trainer.counts["games"] < games:
            trainer.pace = pace(max(self.seconds / (60 * minutes), trainer.counts["games"] / games))
            step = trainer.step()
            now = time.perf_counter()
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
        if trainer.steps and (not self.matches or self.matches[-1].seconds < self.seconds):
            for opponent in self.measure():
                yield TrainingProgress(self, None, "measuring", self.seconds, 0.0, opponent)
        yield TrainingProgress(self, None, "done", self.seconds, 0.0)

    def save(self) -> None:
        """Keep everything: a checkpoint, the newest network, the tables' pictures. Of a network that has learnt nothing
        there is no file. Raises UserError and CannotGoOn."""
        with writing(self.folder):
            self.trainer.save()
            if self.trainer.steps:
                self._save_network(NEWEST)
                if not self._run.has(BEST):
                    self._save_network(BEST)
                self.draw()

    def draw(self) -> None:
        """The picture, where one can be drawn: Elo over hours and games, losses, how good the network's values are."""
        if not installed("matplotlib"):
            return
        ratings = self.ratings
        measured = {match.network: float(match.trained_games) for match in self.matches}
        others = {r.name: r.elo for r in ratings.ratings if r.name not in measured} if ratings else {}
        said = self.trainer.said
        games = list(measured.values())
        self._run.write(CURVE_PICTURE, curve_png(self.rows, self.elo, games, others, said, self.title))

    @property
    def title(self) -> str:
        boards = " + ".join(game.spec for game in self.trainer.games)
        return f"{boards}, {self.settings.blocks} blocks of {self.settings.channels}"

    # -- strength ----------------------------------------------------------------------------

    def measure(self) -> Iterator[str]:
        """Matches of the newest network against the best so far and the ladder; it becomes the best by beating it.
        Yields the name of each opponent before they play."""
        (self.folder / NETWORKS_FOLDER).mkdir(exist_ok=True)
        name = self._new_name()
        self._save_network(_file_of(name))
        path = self._run.file(_file_of(name))
        newest, best = self._player(name, path), self.best
        if best:
            yield best
            self._match(newest, self._player(best, self._run.file(_file_of(best))))
        first = not self.matches
        if not best or self.best == name:
            self._run.write(BEST, path.read_bytes())
        for opponent in ladder(self.game)[: 1 if first else None]:  # at first what is quick
            if opponent.name in self._unfit:
                continue
            if self._easy.get(opponent.name, 0) > 0:
                self._easy[opponent.name] -= 1
                continue
            yield opponent.name
            score = self._match(newest, opponent).score
            if score >= EASY:
                self._easy[opponent.name] = SELDOM - 1
            if score <= HOPELESS:
                break
        self.draw()

    def _new_name(self) -> str:
        """Of a network: one that none has had yet."""
        files = [Path(file).stem for file in self._run.files(NETWORKS_FOLDER, ".safetensors")]
        names = [name for name in (*files, *(match.network for match in self.matches)) if NETWORK_NAME.fullmatch(name)]
        return f"net-{max((int(name[4:]) for name in names), default=0) + 1:04d}"

    def _restore_best(self) -> None:
        """The best network lies in two files; each is made good by the other (who was left in the middle of measuring
        may not have come to the second). If both are lost, the best one of the others is the best."""
        while best := self.best:
            name = _file_of(best)
            for there, lacking in ((name, BEST), (BEST, name)):
                if self._can_be_read(there):
                    (self.folder / NETWORKS_FOLDER).mkdir(exist_ok=True)
                    self._run.write(lacking, (self.folder / there).read_bytes())
                    return
            self._lost.add(best)

    def _can_be_read(self, name: str) -> bool:
        """Is it a whole file of weights? A damaged one is put aside."""
        try:
            if self._run.has(name):
                load_weights(self.folder / name)
                return True
        except UserError as error:
            self.notes.append(f"{error}; it is left out: {set_aside(self._run, name)}")
        return False

    @property
    def best(self) -> str:
        """The network that has beaten the best one before it, and so on from the first; empty before there is one."""
        best = ""
        for match in (match for match in self.matches if match.network not in self._lost):
            if not best or (match.opponent == best and match.score > 0.5):
                best = match.network
        return best

    def _player(self, name: str, path: Path) -> BotConfig:
        return Bot("gumbel", name=name, simulations=self.measuring.simulations, network=str(path))

    def _match(self, newest: BotConfig, opponent: BotConfig) -> Match:
        """Play; of somebody who cannot, a note is taken and no match."""
        match = Match(self.seconds, int(self.trainer.counts["games"]), newest.name, opponent.name, 0, 0, 0)
        plan = match_plan(newest, opponent, self.game, self.measuring.games, len(self.matches) + 1)
        try:
            results = [result for result in decided(play_plan(plan).results) if result.ending in ("", "R")]
        except (CannotGoOn, UserError) as error:
            self.notes.append(f"{opponent.name} is left out: {error}")
            self._unfit.add(opponent.name)
            return match
        scores = [r.score if r.black == newest.name else 1 - r.score for r in results]
        match = match._replace(wins=scores.count(1.0), draws=scores.count(0.5), losses=scores.count(0.0))
        self._matches.append(match, match)
        return match

    @property
    def elo(self) -> list[tuple[float, float, float]]:
        """(seconds, Elo, half of its 95 % interval) of the networks that have been measured."""
        if self._rated[0] != len(self.matches):
            ratings = self.ratings
            known = {r.name: r for r in ratings.ratings} if ratings else {}
            when = {match.network: match.seconds for match in self.matches}
            elo = [(seconds, known[name].elo, known[name].error) for name, seconds in when.items()]
            self._rated = len(self.matches), elo
        return self._rated[1]

    @property
    def ratings(self) -> RatingList | None:
        """Of all networks that have been measured, and of the ladder, ``random`` being 0."""
        games = [
            (m.network, m.opponent, score)
            for m in self.matches
            for score, number in ((1.0, m.wins), (0.5, m.draws), (0.0, m.losses))
            for _ in range(number)
        ]
        if not games:
            return None
        return rate(games, first_move_advantage=False, anchors={"random": 0.0}, players=["random"])

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
            if not change.now and change.key != "rollouts":  # to be chosen is what has been chosen
                continue
            if change.key not in MAY_CHANGE:
                self._work.refuse(str(change))
            changed[change.key] = change.now
        return _settings({**dict(before), **changed}).chosen()

    def _save_network(self, file: str) -> None:
        counts = self.trainer.counts
        settings = self.settings.model_dump(mode="json", exclude={"games"})
        settings["start"] = Path(self.settings.start).name  # where it lay is nobody's business
        how = {
            "boards": [game.spec for game in self.trainer.games],
            "hours": round(self.seconds / 3600, 3),
            "games": int(counts["games"]),
            "positions": int(counts["positions"]),
            "from_rollouts": int(counts["rollouts"]),
            "steps": self.trainer.steps,
            "settings": settings,
        }
        self._run.write(file, packed_weights(self.trainer.weights, self.trainer.shape, how))

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
    return WorkFolder(folder, SETTINGS_FILE, (PROGRESS, MATCHES, CURVE_PICTURE, BEST, NEWEST), "training in")


def _file_of(network: str) -> str:
    return f"{NETWORKS_FOLDER}/{network}.safetensors"


def pace(share: float) -> float:
    """What share of the rate is learnt with when so much of a run is done: towards its end less and less, which makes
    the most of what has been seen."""
    return 1.0 - (1.0 - SLOWEST) * max(0.0, share - SLOWING) / (1.0 - SLOWING)


def ladder(game: Game) -> list[BotConfig]:
    """Whom a network is measured against, weakest first: one set for every game, so that Elo means the same."""
    found = [bot_from_spec(spec) for spec in ("random", "uct:simulations=100", "uct:simulations=1000")]
    if game.dialect == "go" and game.width == game.height <= LARGEST_OF_GNUGO and program("gnugo"):
        found.append(bot_from_spec(f'gtp:command="{GNUGO.format(10)}",processes=2', "gnugo-10"))
    return found


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
    settings: keys of :class:`jubango.bots.learning.trainer.TrainingConfig`. A run that goes on keeps what it had,
        unless a key is given and may change.

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
        try:
            yield from training.run(minutes, games)
        except (KeyboardInterrupt, GeneratorExit):  # whoever trains has had enough
            training.save()
            raise
        except CannotGoOn:
            if hosts is not None:  # all of them may be gone; what has been learnt is here
                with contextlib.suppress(CannotGoOn, UserError):
                    training.save()
            raise


def _settings(given: Mapping[str, object], where: str = "train") -> TrainingConfig:
    """What is given, checked. Raises UserError."""
    return checked_table(TrainingConfig, given, where)
