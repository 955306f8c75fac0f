"""A training run: self-play and learning, measured by games against what is known, kept in a folder."""

from __future__ import annotations

import csv
import io
import math
import os
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import tomli_w

from jubango.analysis.learning import save_curve
from jubango.analysis.ratings import RatingList, rate
from jubango.analysis.results import decided
from jubango.arena.plan import match_plan
from jubango.arena.run_folder import locked
from jubango.arena.tournament import play_plan
from jubango.bots.config import Bot, BotConfig, bot_from_spec, checked
from jubango.bots.gtp.protocol import program
from jubango.bots.learning.trainer import Settings, Trainer, Turn
from jubango.bots.networks.checkpoint import save_weights
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.errors import CannotGoOn, UserError, nearest
from jubango.sgf_games.game import Game
from jubango.sgf_games.go import Go
from jubango.sgf_games.library import write_safely

SETTINGS = "train.toml"
PROGRESS = "progress.csv"  # a row every so often: how learning goes
MATCHES = "matches.csv"  # a row for each match of a network
CURVE = "curve.png"
BEST = "best.safetensors"
SLOWING, SLOWEST = 0.85, 0.1  # the share of a run after which it learns at less than the rate; and at how much less
NEWEST = "newest.safetensors"
ROW_SECONDS = 15.0
SAVE_SECONDS = 300.0
EASY = 0.97  # a score from which on an opponent is met only now and then
SELDOM = 4  # measurements
HOPELESS = 0.05  # a score up to which nobody stronger is met
LARGEST_OF_GNUGO = 19  # boards
NETWORK = "net-"
LASTING = "channels", "blocks", "start", "seed"  # settings that a run keeps
GNUGO = "gnugo --mode gtp --level {} --chinese-rules"


@dataclass(frozen=True)
class Measuring:
    """How strength is measured: every so many ``minutes``, with ``games`` against each opponent, ``simulations`` a
    move."""

    minutes: float = 10.0
    games: int = 32
    simulations: int = 32


class Match(NamedTuple):
    """What a network has done against an opponent; a row of ``matches.csv``."""

    seconds: float  # of training when it was made
    trained_games: int
    network: str
    opponent: str
    wins: int
    draws: int
    losses: int

    @property
    def score(self) -> float:
        return (self.wins + self.draws / 2) / max(1, self.wins + self.draws + self.losses)


class Progress(NamedTuple):
    """How a training run stands."""

    training: Training
    turn: Turn | None
    stage: str
    seconds: float  # trained so far, all sittings
    left: float | None  # seconds, if known


class Training:
    """A run in ``folder``; what is there is gone on with. ``given``: keys of :class:`Settings`, ``games`` among them;
    of a run that goes on, those that are to be different now. Raises UserError."""

    def __init__(self, given: Mapping[str, object], folder: Path, measuring: Measuring | None = None) -> None:
        self.folder = folder
        self.measuring = measuring or Measuring()
        self.settings = self._stated(given)
        self.trainer = Trainer(self.settings, folder)
        write_safely(folder / SETTINGS, tomli_w.dumps(self.settings.model_dump(mode="json")).encode())
        self.notes = self.trainer.notes
        self.matches = [_match(row) for row in _rows(folder / MATCHES)]
        self.rows = [{key: float(value) for key, value in row.items()} for row in _rows(folder / PROGRESS)]
        self._easy: dict[str, int] = {}  # measurements until an opponent is met again
        self._unfit: set[str] = set()  # opponents that cannot play here
        self._rated: tuple[int, list[tuple[float, float, float]]] = (0, [])  # by so many matches
        best = folder / "networks" / f"{self.best}.safetensors"
        if self.best and best.exists():  # who was left in the middle of measuring may not have come to it
            write_safely(folder / BEST, best.read_bytes())

    @property
    def game(self) -> Game:
        """The one that counts."""
        return self.trainer.games[0]

    @property
    def seconds(self) -> float:
        return self.trainer.counts["seconds"]

    def run(self, minutes: float = math.inf, games: float = math.inf) -> Iterator[Progress]:
        """Train until so many minutes or games of self-play have been spent in all; yields after every turn and stage.
        Leaving it at any time loses nothing but the last minutes; :meth:`save` before keeps these too."""
        trainer, began, begun_games = self.trainer, self.seconds, self.trainer.counts["games"]
        last_row = last_save = time.perf_counter()
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

        yield Progress(self, None, "compiling", self.seconds, left())
        while self.seconds < 60 * minutes and trainer.counts["games"] < games:
            trainer.pace = pace(max(self.seconds / (60 * minutes), trainer.counts["games"] / games))
            turn = trainer.turn()
            now = time.perf_counter()
            if turn.losses and (now - last_row > ROW_SECONDS or not self.rows):
                self._note(turn)
                last_row = now
            yield Progress(self, turn, turn.stage, self.seconds, left())
            if now - last_save > SAVE_SECONDS:
                self.save()
                last_save = now
            if self.seconds >= due and trainer.steps:
                yield Progress(self, turn, "measuring", self.seconds, left())
                self.measure()
                self.save()
                last_save = time.perf_counter()
                due = self.seconds + often
        self.save()
        if trainer.steps and (not self.matches or self.matches[-1].seconds < self.seconds):
            yield Progress(self, None, "measuring", self.seconds, 0.0)
            self.measure()
        yield Progress(self, None, "done", self.seconds, 0.0)

    def save(self) -> None:
        """Keep everything: a checkpoint, the newest network, the tables' pictures."""
        self.trainer.save()
        self._save_network(self.folder / NEWEST)
        if not (self.folder / BEST).exists():
            self._save_network(self.folder / BEST)
        self.draw()

    def draw(self) -> None:
        """The picture: Elo over hours and games, losses, and how good the network's values are."""
        ratings = self.ratings
        measured = {match.network: float(match.trained_games) for match in self.matches}
        others = {r.name: r.elo for r in ratings.ratings if r.name not in measured} if ratings else {}
        said = self.trainer.said
        save_curve(self.folder / CURVE, self.rows, self.elo, list(measured.values()), others, said, self.title)

    @property
    def title(self) -> str:
        boards = " + ".join(game.spec for game in self.trainer.games)
        return f"{boards}, {self.settings.blocks} blocks of {self.settings.channels}"

    # -- strength ----------------------------------------------------------------------------

    def measure(self) -> None:
        """Matches of the newest network against the best so far and the ladder; it becomes the best by beating it."""
        folder = self.folder / "networks"
        folder.mkdir(exist_ok=True)
        name = f"{NETWORK}{len(list(folder.glob('*.safetensors'))) + 1:04d}"
        path = folder / f"{name}.safetensors"
        self._save_network(path)
        newest, best = self._player(name, path), self.best
        before = folder / f"{best}.safetensors"
        if best and before.exists():
            self._match(newest, self._player(best, before))
        first = not self.matches
        if not best or self.best == name:
            write_safely(self.folder / BEST, path.read_bytes())
        for opponent in ladder(self.game)[: 1 if first else None]:  # at first what is quick
            if opponent.name in self._unfit:
                continue
            if self._easy.get(opponent.name, 0) > 0:
                self._easy[opponent.name] -= 1
                continue
            score = self._match(newest, opponent).score
            if score >= EASY:
                self._easy[opponent.name] = SELDOM - 1
            if score <= HOPELESS:
                break
        self.draw()

    @property
    def best(self) -> str:
        """The network that has beaten the best one before it, and so on from the first; empty before there is one."""
        best = ""
        for match in self.matches:
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
        self.matches.append(match)
        _append(self.folder / MATCHES, match._asdict())
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

    def _stated(self, given: Mapping[str, object]) -> Settings:
        """The settings of the run: those it was begun with, but for what may change on the way. Raises UserError."""
        path = self.folder / SETTINGS
        settings = _settings(given)
        if not path.exists():
            return settings.chosen()
        try:
            before = _settings(tomllib.loads(path.read_text()), str(path))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: is no training run's settings: {error}") from None
        games = tuple(make_game(spec).spec for spec in settings.games)
        both = min(len(games), len(before.games))
        if games[:both] != before.games[:both]:  # boards may come and go, after the one that counts
            raise UserError(f"{self.folder}: trains {' + '.join(before.games)}; use another --out folder")
        changed: dict[str, object] = {"games": games}
        for key in given.keys() - {"games"}:
            value, was = getattr(settings, key), getattr(before, key)
            if value == was or (not value and key != "rollouts"):  # to be chosen is what has been chosen
                continue
            if key in LASTING:
                raise UserError(f"{self.folder}: was begun with {key} = {was}, not {value}; use another --out folder")
            changed[key] = value
        return _settings({**dict(before), **changed}).chosen()

    def _save_network(self, path: Path) -> None:
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
        save_weights(path, self.trainer.weights, self.trainer.shape, how)

    def _note(self, turn: Turn) -> None:
        assert turn.losses is not None
        counts = self.trainer.counts
        row = {
            "seconds": round(self.seconds, 1),
            "games": int(counts["games"]),
            "positions": int(counts["positions"]),
            "steps": self.trainer.steps,
            **{key: round(float(value), 5) for key, value in turn.losses._asdict().items()},
            "plies": turn.games.plies / max(1, turn.games.number),
            "first_won": round(turn.games.first_won, 4),
            "resign": turn.resign,
        }
        self.rows.append({key: float(value) for key, value in row.items()})
        _append(self.folder / PROGRESS, row)


def pace(share: float) -> float:
    """What share of the rate is learnt with when so much of a run is done: towards its end less and less, which makes
    the most of what has been seen."""
    return 1.0 - (1.0 - SLOWEST) * max(0.0, share - SLOWING) / (1.0 - SLOWING)


def ladder(game: Game) -> list[BotConfig]:
    """Whom a network is measured against, weakest first: one set for every game, so that Elo means the same."""
    found = [bot_from_spec(spec) for spec in ("random", "uct:simulations=100", "uct:simulations=1000")]
    if isinstance(game, Go) and game.width == game.height <= LARGEST_OF_GNUGO and program("gnugo"):
        found.append(bot_from_spec(f'gtp:command="{GNUGO.format(10)}",processes=2', "gnugo-10"))
    return found


def train(
    game: str | Sequence[str],
    out: Path | str,
    minutes: float = math.inf,
    games: float = math.inf,
    *,
    measuring: Measuring | None = None,
    **settings: object,
) -> Iterator[Progress]:
    """Train a network by self-play: ``for progress in train("connect_four", "runs/c4", minutes=10): ...``.

    ``game`` is a spec, or several of one family, the first of which counts. ``out``, a folder, is gone
    on with if it has been begun; the best network is there as ``best.safetensors``. ``minutes`` and ``games`` are those
    of the whole run. Other keys are those of :class:`jubango.bots.learning.trainer.Settings`; a run that is gone on
    with keeps its own, unless they are given and may change. Raises UserError.
    """
    given = {"games": (game,) if isinstance(game, str) else tuple(game), **settings}
    folder = Path(out)
    with locked(folder, "training in"):
        training = Training(given, folder, measuring)
        try:
            yield from training.run(minutes, games)
        except (KeyboardInterrupt, GeneratorExit):  # whoever trains has had enough
            training.save()
            raise


def _settings(given: Mapping[str, object], where: str = "train") -> Settings:
    """What is given, checked. Raises UserError."""
    for key in given:
        if key not in Settings.model_fields:
            raise UserError(f'{where}: no key "{key}"{nearest(key, Settings.model_fields)}')
    return checked(Settings, given, where, " = ")


def _rows(path: Path) -> list[dict[str, str]]:
    """What a CSV holds. A last line that was cut off goes, so that the next one stands by itself."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_safely(path, whole.encode())
    return [row for row in csv.DictReader(io.StringIO(whole)) if None not in row.values() and None not in row]


def _append(path: Path, row: Mapping[str, object]) -> None:
    new = not path.exists() or not path.stat().st_size
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def _match(row: dict[str, str]) -> Match:
    return Match(
        float(row["seconds"]), int(row["trained_games"]), row["network"], row["opponent"],
        int(row["wins"]), int(row["draws"]), int(row["losses"]),
    )  # fmt: skip
