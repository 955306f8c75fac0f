"""The loop that makes a network strong: self-play, replay, learning; it can be left at any time and gone on with."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.learning import checkpoints, learner, self_play
from jubango.bots.learning.learner import Learning, Losses, Recipe
from jubango.bots.learning.position_files import POSITIONS_PER_FILE, PositionFiles, blank_samples
from jubango.bots.learning.replay import Collector, Games, Replay, Samples
from jubango.bots.learning.self_play import Lanes, SelfPlay
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import apply, new_weights
from jubango.bots.networks.shape import Shape
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import VECTOR, devices, on_cpu, shard
from jubango.sgf_games.compute.programs import Compiled, jit
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state
from jubango.sgf_games.rules.game import Game, State
from jubango.sgf_games.rules.race import for_two

LEAST_REMEMBERED, REMEMBERED_SHARE = 30_000, 0.6  # of all positions there have been the newest are learnt from
COMPARED, REMEMBERED = 32, 4096  # positions of a turn, and of all, of which the value is compared with the result
LEAST_RANGE = 0.2  # of a node's values in a Gumbel search: smaller differences are mostly noise, and no lesson
MOST_UPDATES = 100  # of learning, in a turn
MOVES = 8  # in every lane, between two lots of learning
NEWEST = "newest.safetensors"  # the weights of the last save
WRONG = 0.05  # share of the resignations that may be wrong
KOMIS = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5, -1.0, -2.0, 1.0, 2.0  # what komi differs by, in so many games each


class TrainingConfig(BaseModel):
    """What is trained and how; what is 0 is chosen for the game.

    games: specs of one family of games, the first of which is the one that counts.
    channels, blocks: of the network. start: a file of weights to begin with.
    search: of self-play, "gumbel" or "alphazero"; simulations, fast: of a move that is kept for learning, and of the
        others; share: of the former.
    opening, opening_temperature: moves drawn from the prior at the beginning of a game (0: each board's side), see
        :class:`~jubango.bots.learning.self_play.SelfPlay`.
    rollouts: positions that come from rollouts at first, searched by uct with ``rollout_simulations`` a move.
    lanes: games at once. window: positions that are remembered. reuse: how often each is learnt from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    games: Annotated[tuple[str, ...], Field(min_length=1)]
    channels: Annotated[int, Field(ge=0, le=4096)] = 0
    blocks: Annotated[int, Field(ge=0, le=128)] = 0
    start: str = ""
    search: Literal["gumbel", "alphazero"] = "gumbel"
    simulations: Annotated[int, Field(ge=0, le=10_000)] = 0
    fast: Annotated[int, Field(ge=0, le=10_000)] = 0
    share: Annotated[float, Field(gt=0, le=1)] = 0.25
    opening: Annotated[int, Field(ge=0, le=1000)] = 0
    opening_temperature: Annotated[float, Field(gt=0, le=1000)] = 1.0
    rollouts: Annotated[int, Field(ge=0)] = 0
    rollout_simulations: Annotated[int, Field(ge=4, le=100_000)] = 512
    lanes: Annotated[int, Field(ge=0, le=65_536)] = 0
    window: Annotated[int, Field(ge=1_000, le=10**8)] = 400_000
    reuse: Annotated[float, Field(gt=0, le=1000)] = 8.0
    batch: Annotated[int, Field(ge=2, le=65_536)] = 256
    rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1

    def chosen(self) -> TrainingConfig:
        """The same with everything chosen. Raises UserError."""
        games = [for_two(make_game(spec)) for spec in self.games]
        if len({game.family for game in games}) > 1:
            raise UserError(f"train: {' and '.join(self.games)} are no boards of one game")
        points = max(game.height * game.width for game in games)
        large = points > 36
        channels, blocks = (16, 2) if points <= 9 else (32, 4 if large else 3) if on_cpu() else (128, 8 if large else 4)
        usual = {
            "channels": channels,
            "blocks": blocks,
            "simulations": 64 if large else 32,
            "fast": max(2, (self.simulations or (64 if large else 32)) // 4),
            "lanes": 256 if on_cpu() else 1024,
        }
        chosen = {key: value or usual.get(key, value) for key, value in self}
        return type(self).model_validate({**chosen, "games": tuple(game.spec for game in games)})


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


class PlayedTurn(NamedTuple):
    """Some moves of self-play."""

    which: int  # the game's number
    rollouts: bool  # was it they that judged, or the network?
    samples: Samples  # positions of games that have ended
    games: Games
    state: State  # a position of the first lane, unbatched


class SelfPlayer:
    """Plays games that are learnt from, hundreds at once."""

    def __init__(self, settings: TrainingConfig) -> None:
        self.settings = settings
        self.games = [for_two(make_game(spec)) for spec in settings.games]
        self.shape = Shape.of(self.games[0], settings.channels, settings.blocks)
        self.devices = len(devices())
        split = VECTOR * self.devices
        self.lanes = -(-settings.lanes // split) * split
        self._playing: dict[tuple[int, bool], tuple[Any, Lanes, State, Collector]] = {}

    def compile(self, rollouts: bool, weights: Params) -> Iterator[str]:
        """Make the programs, by running each once for nothing; yields what it is for before it is made."""
        for game in self.games:
            yield f"{'rollouts' if rollouts else 'self-play'} of {game.spec}"
            starts, key = self_play.starts_of(variations(game)), jax.random.key(0)
            begin, play = self_play.program(self.plan(game, rollouts), self.lanes, self.devices, MOVES)
            own = () if rollouts else weights
            jax.block_until_ready(play(own, begin(starts, key), starts, key, jnp.float32(-2)))

    def play(
        self, which: int, rollouts: bool, weights: Params, first: jax.Array, key: jax.Array, resign: float
    ) -> PlayedTurn:
        """Some moves in every lane of the game with this number; ``first``: the key of new games, if none are at play,
        ``key`` that of the moves."""
        play, lanes, starts, collector = self._begun(which, rollouts, first)
        lanes, moves = play(weights, lanes, starts, key, jnp.float32(resign))
        samples, games = collector.add(moves)
        self._playing[which, rollouts] = play, lanes, starts, collector
        shown = jax.tree.map(lambda x: np.asarray(x[0]), lanes.states)
        return PlayedTurn(which, rollouts, samples, games, shown)

    def _begun(self, which: int, rollouts: bool, first: jax.Array) -> tuple[Any, Lanes, State, Collector]:
        if (which, rollouts) not in self._playing:
            if not rollouts:
                self._playing.pop((which, True), None)
            game = self.games[which]
            begin, play = self_play.program(self.plan(game, rollouts), self.lanes, self.devices, MOVES)
            starts = self_play.starts_of(variations(game))
            self._playing[which, rollouts] = play, begin(starts, first), starts, Collector()
        return self._playing[which, rollouts]

    def plan(self, game: Game, rollouts: bool) -> SelfPlay:
        """How its games are played."""
        settings, side = self.settings, int((game.height * game.width) ** 0.5)
        if rollouts:
            full = settings.rollout_simulations
            rollout = Rollout(moves="tactical" if game.has("tactical_playout") else "game")
            search = Search(game.compiled_as, Ucb1(), rollout, full, ties="random")
            return SelfPlay(
                search, full, full // 4, 0.5, c=0.5, temperature=1.0, temperature_plies=side, opening=side // 2,
                played_out=0.4,
            )  # fmt: skip
        gumbel = settings.search == "gumbel"
        rule = Gumbel(least_range=LEAST_RANGE) if gumbel else Puct(base=19652.0, fpu="parent")
        noise, temperature = (0.0, 0.0) if gumbel else (0.25, 1.0)
        search = Search(game.compiled_as, rule, NetworkEvaluator(self.shape), settings.simulations)
        return SelfPlay(
            search, settings.simulations, settings.fast, settings.share, noise=noise, temperature=temperature,
            temperature_plies=2 * side, opening=settings.opening or side,
            opening_temperature=settings.opening_temperature,
        )  # fmt: skip


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
        self.recipe = Recipe(batch=batch, rate=settings.rate)
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
        self._checks: list[tuple[int, int]] = []  # games that were played out against a resignation, of these wrong
        self.resign = -0.95
        self.said: list[tuple[float, float]] = []  # (value, result) of positions not learnt from yet, the last ones
        weights = new_weights(self.shape, settings.seed)
        self.learning: Learning = self._everywhere(learner.begin(weights, self.recipe))
        goes_on = self._restore()
        self._restore_positions()
        if not goes_on and settings.start:
            found = load_weights(settings.start)
            if found.shape != self.shape:
                raise UserError(f"train: {settings.start} is a network of another shape: {found.shape}")
            self.learning = self._everywhere(learner.begin(found.weights, self.recipe))
        self._rng = np.random.default_rng((settings.seed, int(self.counts["turns"])))

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
    def by_rollouts(self) -> bool:
        """Do the games that are learnt from still come from rollouts?"""
        return self.counts["rollouts"] < self.settings.rollouts

    def compile(self) -> Iterator[str]:
        """Make every program that the turns to come need, by running it once for nothing; yields what each is for
        before it is made."""
        if self.elsewhere is None:
            for rollouts in (True, False) if self.by_rollouts else (False,):
                yield from self.player.compile(rollouts, self.weights)
        for game in self.games:
            yield f"learning from {game.spec}"
            batch, symmetry = blank_samples(game, self.recipe.batch), np.zeros(self.recipe.batch, np.int32)
            step = learner.program(game, self.shape, self.recipe, self.devices)
            jax.block_until_ready(step(self.learning, batch, symmetry, 0.0))
            states = blank_samples(game, COMPARED).state
            jax.block_until_ready(_values(game.compiled_as, self.shape)(self.weights, states))
        if self.elsewhere is not None:
            yield "self-play at the hosts"
            self.elsewhere.begin(self)

    def step(self) -> TrainingStep:
        """Some moves in every lane, then learning from what is known by them."""
        began = time.perf_counter()
        number = int(self.counts["turns"])
        which = number % len(self.games)
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
            self.learning, losses = step(self.learning, replay.draw(batch, self._rng, remembered), symmetry, self.pace)
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
        return self.player.play(which, rollouts, () if rollouts else self.weights, first, key, self.resigning(rollouts))

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
        found = checkpoints.newest(self.run, names, self.learning, {*self.counts, "owed", "resign"}, self.notes)
        if found is not None:
            counts = {key: found.counts[key] for key in (*self.counts, "owed", "resign")}
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
        told = {"games": "games", "positions": "positions", "rollouts": "from_rollouts"}
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
    fits = isinstance(value, int | float) and 0 <= value <= checkpoints.LARGEST_COUNT
    return float(value) if fits else 0.0  # type: ignore[arg-type]


def variations(game: Game) -> list[Game]:
    """What games of self-play begin as: with one komi or another where states have it, anything else as it is."""
    if not game.has_komi or game.compiled_as == game:
        return [game]
    others: list[Game] = []
    for gap in KOMIS:
        with contextlib.suppress(UserError):  # it need not take every number
            others.append(game.with_komi(game.komi_of() + gap))
    return others


@functools.lru_cache(maxsize=8)
def _values(game: Game, shape: Shape) -> Compiled[..., jax.Array]:
    """The network's values of states, batch axis first."""
    return jit(lambda weights, states: apply(shape, weights, jax.vmap(game.observe)(states)).value)
