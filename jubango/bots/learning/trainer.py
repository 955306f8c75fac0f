"""The loop that makes a network strong: self-play, replay, learning; it can be left at any time and gone on with."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.learning import checkpoints, learner
from jubango.bots.learning.learner import Learning, Losses, Recipe
from jubango.bots.learning.position_files import POSITIONS_PER_FILE, PositionFiles, blank_samples
from jubango.bots.learning.record_lessons import HeldOut, RecordLessons
from jubango.bots.learning.recorded_games import Place
from jubango.bots.learning.replay import Games, Replay, Samples
from jubango.bots.learning.self_player import PlayedTurn, SelfPlayer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.grown import grown
from jubango.bots.networks.model import apply, new_weights
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import shard
from jubango.sgf_games.compute.programs import Compiled, jit
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.game import Game, State

LEAST_REMEMBERED, REMEMBERED_SHARE = 30_000, 0.6  # of all positions there have been the newest are learnt from
COMPARED, REMEMBERED = 32, 4096  # positions of a turn, and of all, of which the value is compared with the result
MOST_UPDATES = 100  # of learning, in a turn
NEWEST = "newest.safetensors"  # the weights of the last save
WRONG = 0.05  # share of the resignations that may be wrong
OF_RECORDS = "recorded", "epoch", "file", "game"  # counts: positions from records, and how far these have been read


class TrainingStep(NamedTuple):
    """What a step of the loop has done: games played, then learning."""

    stage: str
    game: Game
    games: Games
    samples: int
    losses: Losses | None
    resign: float
    seconds: tuple[float, float]  # of playing, of learning
    state: State  # a position of the first lane, unbatched


class PlaysElsewhere(Protocol):
    """Plays what a trainer learns from, on other machines."""

    def begin(self, trainer: Trainer) -> None:
        """Returns when there is something to learn from."""
        ...

    def play(self, trainer: Trainer, which: int) -> PlayedTurn:
        """Some moves that have been played, of the game with this number or of another one; more are begun."""
        ...


class Trainer:
    """Trains in ``folder``, and goes on with what is there. Raises UserError for a folder of other settings."""

    def __init__(self, settings: TrainingConfig, folder: Path) -> None:
        self.settings, self.run = settings, Folder(folder)
        self.notes: list[str] = []
        self.player = SelfPlayer(settings)
        self.elsewhere: PlaysElsewhere | None = None  # who plays in its place
        self.games, self.shape, self.devices = self.player.games, self.player.shape, self.player.devices
        batch = -(-settings.batch // self.devices) * self.devices
        precision = "float32" if settings.precision == "int8" else settings.precision
        self.recipe = Recipe(batch=batch, rate=settings.rate, precision=precision)
        self.replays = [Replay(settings.window) for _ in self.games]
        self._files = [
            PositionFiles(self.run, f"samples/{i}-{game.spec.split(',')[0].replace(':', '-')}", game)
            for i, game in enumerate(self.games)
        ]
        self._unsaved: list[list[Samples]] = [[] for _ in self.games]
        self._saved = -1  # the turn of the newest checkpoint
        self._owed = 0.0  # positions to learn from
        self.pace = 1.0  # of learning: the share of the rate
        self.counts: dict[str, float] = {"turns": 0, "games": 0, "positions": 0, "rollouts": 0, "seconds": 0.0}
        self.counts |= dict.fromkeys(OF_RECORDS, 0)
        self._alternate = [i for i, game in enumerate(self.games) if game.spec in settings.alternate]
        self.lessons: RecordLessons | None = None
        self._checks: list[tuple[int, int]] = []  # games that were played out against a resignation, of these wrong
        self.resign = -0.95
        self.said: list[tuple[float, float]] = []  # (value, result) of positions not learnt from yet, the last ones
        weights = new_weights(self.shape, settings.seed)
        self.learning: Learning = self._everywhere(learner.begin(weights, self.recipe))
        goes_on = self._restore()
        self._restore_positions()
        if settings.records:
            # What has been read may be gone.
            unread = settings.records if self.counts["epoch"] < settings.epochs else ()
            self.lessons = RecordLessons(unread, self.games, settings.seed, settings.per_game, self.run)
            self.lessons.reading.notes = self.notes
            self.lessons.restore(self.notes)
        if not goes_on and settings.start:
            self.learning = self._everywhere(learner.begin(self._start(self.shape), self.recipe))
        self._rng = np.random.default_rng((settings.seed, int(self.counts["turns"])))

    def _start(self, shape: Shape) -> dict[str, jax.Array]:
        """The weights of the file to begin with, grown to this shape."""
        found = load_weights(self.settings.start)
        try:
            return grown(found.weights, found.shape, shape, self.settings.seed)
        except UserError as error:
            raise UserError(f"train: {self.settings.start} is {error}, which does not grow to {shape}") from None

    @property
    def weights(self) -> dict[str, jax.Array]:
        """What plays: the average."""
        return self.learning.average

    @property
    def steps(self) -> int:
        return int(self.learning.steps)

    @property
    def first_lesson(self) -> int:
        """Positions of a game that there are to be before it is learnt from."""
        return 4 * self.recipe.batch

    @property
    def boards(self) -> list[int]:
        """The numbers of the games that are played now."""
        return self._alternate if self.by_records and self._alternate else list(range(len(self.games)))

    @property
    def by_rollouts(self) -> bool:
        """Do the games that are learnt from still come from rollouts?"""
        return self.counts["rollouts"] < self.settings.rollouts

    @property
    def by_records(self) -> bool:
        """Is it still recorded games that are learnt from?"""
        return self.lessons is not None and self.counts["epoch"] < self.settings.epochs

    def compile(self) -> Iterator[str]:
        """Make every program that the turns to come need, by running it once for nothing; yields what each is for
        before it is made. What comes after the records is made when it is needed."""
        if self.by_records and not self._alternate and self.elsewhere is None:
            return
        if self.elsewhere is None:
            for rollouts in (True, False) if self.by_rollouts else (False,):
                yield from self.player.compile(rollouts, self.weights, self._alternate if self.by_records else None)
        for game in self.games:
            yield f"learning from {game.spec}"
            batch, symmetry = blank_samples(game, self.recipe.batch), np.zeros(self.recipe.batch, np.int32)
            step = learner.program(game, self.shape, self.recipe, self.devices)
            jax.block_until_ready(step(jax.tree.map(jnp.copy, self.learning), batch, symmetry, 0.0))
            states = blank_samples(game, COMPARED).state
            jax.block_until_ready(_values(game.compiled_as, self.shape)(self.weights, states))
        if self.elsewhere is not None:
            yield "self-play at the hosts"
            self.elsewhere.begin(self)

    def step(self) -> TrainingStep:
        """Some moves in every lane, then learning from what is known by them."""
        began = time.perf_counter()
        number = int(self.counts["turns"])
        self._rng = np.random.default_rng((self.settings.seed, number))
        which = number % len(self.games)
        if self.by_records:
            if number % 2 == 0 or not self._alternate:
                return self._learn_from_records(began)
            which = self._alternate[number // 2 % len(self._alternate)]
        game, rollouts = self.games[which], self.by_rollouts
        if self._owed > 2 * MOST_UPDATES * self.recipe.batch and len(self.replays[which]) >= self.first_lesson:
            losses = self.learn(which)
            spent = time.perf_counter() - began
            self.counts["turns"] += 1
            self.counts["seconds"] += spent
            nothing = Games(0, 0, 0.5, 0, 0, 0)
            first = jax.tree.map(np.asarray, initial_state(game))
            return TrainingStep("catching up", game, nothing, 0, losses, self.resign, (0.0, spent), first)
        found = self._play(which, rollouts) if self.elsewhere is None else self.elsewhere.play(self, which)
        which, rollouts, samples, games, shown = found
        game = self.games[which]
        if not rollouts:
            self._watch_resignations(games)
        played = time.perf_counter()
        self._compare(which, samples)
        self.add(which, samples)
        if rollouts:
            self.counts["rollouts"] += samples.number
        losses = self.learn(which)
        self.counts["turns"] += 1
        self.counts["games"] += games.number
        learned = time.perf_counter()
        self.counts["seconds"] += learned - began
        stage = "rollouts" if rollouts else "self-play"
        return TrainingStep(
            stage, game, games, samples.number, losses, self.resign, (played - began, learned - played), shown
        )

    def _learn_from_records(self, began: float) -> TrainingStep:
        """Read a block of games, then learn."""
        assert self.lessons is not None
        found, place = self.lessons.take(Place(*(int(self.counts[key]) for key in OF_RECORDS[1:])))
        read = time.perf_counter()
        self.counts |= {"epoch": place.epoch, "file": place.file, "game": place.game}
        losses, games, positions, which = None, Games(0, 0, 0.5, 0, 0, 0), 0, 0
        for lesson in found:
            self.add(lesson.which, lesson.samples)
            while (learnt := self.learn(lesson.which)) is not None:
                losses = learnt
            games, which = lesson.games, lesson.which
            self.counts["games"] += games.number
            positions += lesson.samples.number
        self.counts["recorded"] += positions
        if not self.by_records:
            self.notes += [f"records: {self.lessons.said}"] if self.lessons.said else []
        self.counts["turns"] += 1
        learned = time.perf_counter()
        self.counts["seconds"] += learned - began
        game = self.games[which]
        shown = jax.tree.map(lambda x: x[-1], found[-1].samples.state) if found else initial_state(game)
        return TrainingStep(
            "records", game, games, positions, losses, self.resign, (read - began, learned - read), shown
        )

    def held_out(self) -> list[HeldOut]:
        """What the network says of the recorded games that it has not learnt from, a row for each board."""
        if self.lessons is None:
            return []
        rows = (self.lessons.measured(which, self.shape, self.weights) for which in range(len(self.games)))
        return [row for row in rows if row is not None]

    def add(self, which: int, samples: Samples) -> None:
        """Remember positions of the game with this number, here and on disk."""
        if not samples.number:
            return
        self.replays[which].add(samples)
        self.counts["positions"] += samples.number
        self._owed += self.settings.reuse * samples.number
        waiting = self._unsaved[which]
        waiting.append(samples)
        if sum(one.number for one in waiting) >= POSITIONS_PER_FILE:
            self._save_samples(which)

    def learn(self, which: int) -> Losses | None:
        """Take the steps that are owed, on positions of the game with this number."""
        replay, batch, losses = self.replays[which], self.recipe.batch, None
        if len(replay) < self.first_lesson:
            return None
        remembered = max(LEAST_REMEMBERED, int(REMEMBERED_SHARE * replay.seen))
        step = learner.program(self.games[which], self.shape, self.recipe, self.devices)
        for _ in range(min(MOST_UPDATES, int(self._owed // batch))):
            self._owed -= batch
            symmetry = learner.random_symmetries(self.games[which], batch, self._rng)
            drawn = replay.draw(batch, self._rng, remembered, self.settings.surprise)
            self.learning, losses = step(self.learning, drawn, symmetry, self.pace)
        return None if losses is None else jax.tree.map(np.asarray, losses)

    def _compare(self, which: int, samples: Samples) -> None:
        """What the network says of positions that it has not learnt from, beside how their games ended."""
        if samples.number < COMPARED or not self.steps:
            return
        rows = self._rng.choice(samples.number, COMPARED, replace=False)
        chosen = jax.tree.map(lambda x: x[rows], samples)
        said = np.asarray(_values(self.games[which].compiled_as, self.shape)(self.weights, chosen.state))
        self.said = [*self.said, *zip(said.tolist(), chosen.result.tolist(), strict=True)][-REMEMBERED:]

    # -- self-play ---------------------------------------------------------------------------

    def _play(self, which: int, rollouts: bool) -> PlayedTurn:
        """Some moves here."""
        number = int(self.counts["turns"])
        first = jax.random.fold_in(jax.random.key(self.settings.seed + 1), number)
        key = jax.random.fold_in(jax.random.key(self.settings.seed), number)
        return self.player.play(which, rollouts, self.weights, first, key, self.resigning(rollouts))

    def resigning(self, rollouts: bool) -> float:
        """The value below which players give up now."""
        return -0.85 if rollouts else self.resign if self.steps > 1000 else -2.0

    def _watch_resignations(self, games: Games) -> None:
        """Give up less readily while too many of the games that were played out turn out otherwise."""
        self._checks = [*self._checks, (games.checked, games.wrong)][-200:]
        checked, wrong = (sum(column) for column in zip(*self._checks, strict=True))
        if checked >= 20:
            if wrong > WRONG * checked:
                self.resign, self._checks = max(-0.99, self.resign - 0.01), []
            elif wrong < WRONG * checked / 4 and checked >= 100:
                self.resign, self._checks = min(-0.8, self.resign + 0.01), []

    # -- on disk -----------------------------------------------------------------------------

    def save(self) -> None:
        """Write the positions and a checkpoint; whatever happens meanwhile, one is there whole. Raises UserError and
        OSError."""
        turn = int(self.counts["turns"])
        for which in range(len(self.games)):
            self._save_samples(which)
        if turn != self._saved:
            counts = {**self.counts, "owed": self._owed, "resign": self.resign}
            checkpoints.save(self.run, turn, self.learning, counts)
            self._saved = turn

    def _restore(self) -> bool:
        """Go on with the newest checkpoint that can be read, else with the newest weights; is there anything to go on
        with? Raises UserError for a folder in which nothing of what there was can be read."""
        names = checkpoints.names(self.run)
        older = not names and checkpoints.of_older_versions(self.run)
        needed = {*self.counts, "owed", "resign"} - {*OF_RECORDS}  # which older ones lack
        found = checkpoints.newest(self.run, names, self.learning, needed, self.notes)
        if found is not None:
            counts = {key: found.counts.get(key, 0) for key in (*self.counts, "owed", "resign")}
            if found.anew:
                self.notes.append("the optimizer of the checkpoint is another version's and begins anew")
            self.resign = counts.pop("resign")
            self.counts = counts
            self.learning = self._everywhere(found.learning)
            self._saved = int(counts["turns"])
            return True
        if not self.run.has(NEWEST):
            if names or older:
                raise UserError(
                    f"{self.run.path}: none of its checkpoints can be read, and {NEWEST} is missing; begin in another "
                    "--out folder, with --start and a file of weights if a network is to go on"
                )
            return False
        weights, shape, how = load_weights(self.run.path / NEWEST)
        if shape != self.shape:
            raise UserError(f"{self.run.path / NEWEST}: is a network of another shape: {shape}")
        why = (
            "checkpoints of an older version (folders) are not read"
            if older
            else "there is no checkpoint that can be read"
        )
        self.notes.append(f"{why}: training goes on with {self.run.path / NEWEST}, and the optimizer begins anew")
        steps = min(int(_number(how.get("steps"))), 2**30)
        learning = learner.begin(weights, self.recipe)._replace(steps=jnp.int32(steps))
        self.learning = self._everywhere(learning)
        told = {"games": "games", "positions": "positions", "rollouts": "from_rollouts", "recorded": "from_records"}
        self.counts |= {key: _number(how.get(name)) for key, name in told.items()}
        self.counts["seconds"] = 3600 * _number(how.get("hours"))
        return True

    def _restore_positions(self) -> None:
        for which, files in enumerate(self._files):
            for samples in files.load(self.settings.window, self.notes):
                self.replays[which].add(samples)
        if not self.counts["positions"]:  # a folder of positions from elsewhere
            self.counts["positions"] = self.counts["rollouts"] = sum(map(len, self.replays))
        owed = self.settings.reuse * self.counts["positions"] - self.steps * self.recipe.batch
        self._owed = self.counts.pop("owed", max(0.0, owed))

    def _everywhere(self, learning: Learning) -> Learning:
        return jax.device_put(learning, shard(self.devices)[1])

    def _save_samples(self, which: int) -> None:
        if self._unsaved[which]:
            samples = jax.tree.map(lambda *x: np.concatenate(x), *self._unsaved[which])
            self._files[which].add(samples, self.settings.window)
            self._unsaved[which] = []


def _number(value: object) -> float:
    """What a header says, if it is a number that can count something."""
    if isinstance(value, int | float) and 0 <= value <= checkpoints.LARGEST_COUNT:
        return float(value)
    return 0.0


@functools.lru_cache(maxsize=8)
def _values(game: Game, shape: Shape) -> Compiled[..., jax.Array]:
    """The network's values of states, batch axis first."""
    return jit(lambda weights, states: apply(shape, weights, jax.vmap(game.observe)(states)).value)
