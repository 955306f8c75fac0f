"""The loop that makes a network strong: self-play, replay, learning; it can be left at any time and gone on with."""

from __future__ import annotations

import contextlib
import functools
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.learning import learner, self_play
from jubango.bots.learning.learner import Learning, Losses, Recipe
from jubango.bots.learning.replay import Collector, Games, Replay, Samples, load_samples, save_samples
from jubango.bots.learning.self_play import Lanes, SelfPlay
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.model import apply, new_network, weights_of
from jubango.bots.networks.shape import Shape
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.catalogue import make_game
from jubango.sgf_games.compiled import initial_state
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game, State
from jubango.sgf_games.go import Go
from jubango.sgf_games.machine import VECTOR, devices, on_cpu, shard
from jubango.sgf_games.programs import Compiled, jit

LEAST_REMEMBERED, REMEMBERED_SHARE = 30_000, 0.6  # of all positions there have been the newest are learnt from
COMPARED, REMEMBERED = 32, 4096  # positions of a turn, and of all, of which the value is compared with the result
LEAST_RANGE = 0.2  # of a node's values in a Gumbel search: smaller differences are mostly noise, and no lesson
MOST_STEPS = 100  # of learning, in a turn
MOVES = 8  # in every lane, between two lots of learning
PIECE = 10_000  # positions of a file
KEPT = 3  # checkpoints
WRONG = 0.05  # share of the resignations that may be wrong
KOMIS = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5, -1.0, -2.0, 1.0, 2.0  # what Go's komi differs by, in so many games each


class Settings(BaseModel):
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

    def chosen(self) -> Settings:
        """The same with everything chosen. Raises UserError."""
        games = [make_game(spec) for spec in self.games]
        if len({game.family for game in games}) > 1:
            raise UserError(f"train: {' and '.join(self.games)} are no boards of one game")
        if games[0].num_players != 2:
            raise UserError(f"train: {games[0].spec} has {games[0].num_players} player(s); self-play is for two")
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
        return Settings.model_validate({**chosen, "games": tuple(game.spec for game in games)})


class Turn(NamedTuple):
    """What a turn of the loop has done."""

    stage: str
    game: Game
    games: Games
    samples: int
    losses: Losses | None
    resign: float
    seconds: tuple[float, float]  # of playing, of learning
    state: State  # a position of the first lane, unbatched


class Trainer:
    """Trains in ``folder``, and goes on with what is there. Raises UserError for a folder of other settings."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.notes: list[str] = []
        self.games = [make_game(spec) for spec in settings.games]
        self.shape = Shape.of(self.games[0], settings.channels, settings.blocks)
        self.devices = len(devices())
        batch = -(-settings.batch // self.devices) * self.devices
        self.recipe = Recipe(batch=batch, rate=settings.rate)
        split = VECTOR * self.devices
        self.lanes = -(-settings.lanes // split) * split
        self.replays = [Replay(settings.window) for _ in self.games]
        self._unsaved: list[list[Samples]] = [[] for _ in self.games]
        self._owed = 0.0  # positions to learn from
        self.pace = 1.0  # of learning: the share of the rate
        self.counts: dict[str, float] = {"turns": 0, "games": 0, "positions": 0, "rollouts": 0, "seconds": 0.0}
        self._checks: list[tuple[int, int]] = []  # games that were played out against a resignation, of these wrong
        self.resign = -0.95
        self.said: list[tuple[float, float]] = []  # (value, result) of positions not learnt from yet, the last ones
        weights = weights_of(new_network(self.shape, settings.seed))
        self.learning: Learning = self._everywhere(learner.begin(weights, self.recipe))
        if not self._restore() and settings.start:
            found = load_weights(settings.start)
            if found.shape != self.shape:
                raise UserError(f"train: {settings.start} is a network of another shape: {found.shape}")
            self.learning = self._everywhere(learner.begin(found.weights, self.recipe))
        self._playing: dict[tuple[int, bool], tuple[Any, Lanes, State, Collector]] = {}
        self._rng = np.random.default_rng((settings.seed, int(self.counts["turns"])))

    @property
    def weights(self) -> dict[str, jax.Array]:
        """What plays: the average."""
        return self.learning.average

    @property
    def steps(self) -> int:
        return int(self.learning.steps)

    @property
    def by_rollouts(self) -> bool:
        """Do the games that are learnt from still come from rollouts?"""
        return self.counts["rollouts"] < self.settings.rollouts

    def turn(self) -> Turn:
        """Some moves in every lane, then learning from what is known by them."""
        began = time.perf_counter()
        number = int(self.counts["turns"])
        which = number % len(self.games)
        game, rollouts = self.games[which], self.by_rollouts
        if self._owed > 2 * MOST_STEPS * self.recipe.batch and len(self.replays[which]) >= 4 * self.recipe.batch:
            losses = self.learn(which)
            spent = time.perf_counter() - began
            self.counts["turns"] += 1
            self.counts["seconds"] += spent
            nothing = Games(0, 0, 0.5, 0, 0, 0)
            first = jax.tree.map(np.asarray, initial_state(game))
            return Turn("catching up", game, nothing, 0, losses, self.resign, (0.0, spent), first)
        play, lanes, starts, collector = self._player(which, rollouts)
        key = jax.random.fold_in(jax.random.key(self.settings.seed), number)
        resign = jnp.float32(-0.85 if rollouts else self.resign if self.steps > 1000 else -2.0)
        lanes, moves = play(() if rollouts else self.weights, lanes, starts, key, resign)
        samples, games = collector.add(moves)
        self._playing[which, rollouts] = play, lanes, starts, collector
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
        shown = jax.tree.map(lambda x: np.asarray(x[0]), lanes.states)
        stage = "rollouts" if rollouts else "self-play"
        return Turn(stage, game, games, samples.number, losses, self.resign, (played - began, learned - played), shown)

    def add(self, which: int, samples: Samples) -> None:
        """Remember positions of the game with this number, here and on disk."""
        if not samples.number:
            return
        self.replays[which].add(samples)
        self.counts["positions"] += samples.number
        self._owed += self.settings.reuse * samples.number
        waiting = self._unsaved[which]
        waiting.append(samples)
        if sum(one.number for one in waiting) >= PIECE:
            self._save_samples(which)

    def learn(self, which: int) -> Losses | None:
        """Take the steps that are owed, on positions of the game with this number."""
        replay, batch, losses = self.replays[which], self.recipe.batch, None
        if len(replay) < 4 * batch:
            return None
        remembered = max(LEAST_REMEMBERED, int(REMEMBERED_SHARE * replay.seen))
        step = learner.program(self.games[which], self.shape, self.recipe, self.devices)
        for _ in range(min(MOST_STEPS, int(self._owed // batch))):
            self._owed -= batch
            turns = learner.turns(self.games[which], batch, self._rng)
            self.learning, losses = step(self.learning, replay.draw(batch, self._rng, remembered), turns, self.pace)
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

    def _player(self, which: int, rollouts: bool) -> tuple[Any, Lanes, State, Collector]:
        if (which, rollouts) not in self._playing:
            if not rollouts:
                self._playing.pop((which, True), None)
            game = self.games[which]
            plan = self._plan(game, rollouts)
            begin, play = self_play.program(plan, self.lanes, self.devices, MOVES)
            starts = self_play.starts_of(variations(game))
            key = jax.random.fold_in(jax.random.key(self.settings.seed + 1), int(self.counts["turns"]))
            self._playing[which, rollouts] = play, begin(starts, key), starts, Collector()
        return self._playing[which, rollouts]

    def _plan(self, game: Game, rollouts: bool) -> SelfPlay:
        settings, side = self.settings, int((game.height * game.width) ** 0.5)
        if rollouts:
            full = settings.rollout_simulations
            rollout = Rollout(moves="tactical" if isinstance(game, Go) else "game")
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
        """A checkpoint; whatever happens meanwhile, one is there whole."""
        for which in range(len(self.games)):
            self._save_samples(which)
        with _checkpoints(self.folder) as manager:
            import orbax.checkpoint as ocp

            manager.save(
                int(self.counts["turns"]),
                args=ocp.args.Composite(
                    learning=ocp.args.StandardSave(jax.tree.map(np.asarray, self.learning._asdict())),
                    counts=ocp.args.JsonSave({**self.counts, "owed": self._owed, "resign": self.resign}),
                ),
            )
            manager.wait_until_finished()

    def _restore(self) -> bool:
        """Go on with the newest checkpoint that can be read, if there are any, and with the positions of the files."""
        import orbax.checkpoint as ocp

        with _checkpoints(self.folder) as manager:
            damaged: list[int] = []
            why = ""
            wanted = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), self.learning._asdict())
            for step in sorted(manager.all_steps(), reverse=True):
                try:
                    found = manager.restore(
                        step,
                        args=ocp.args.Composite(
                            learning=ocp.args.StandardRestore(wanted), counts=ocp.args.JsonRestore()
                        ),
                    )
                except Exception as error:  # whatever a damaged one makes of it
                    why = why or " ".join(str(error).split())[:100]
                    self.notes.append(f"checkpoint {step} is damaged and left out ({type(error).__name__})")
                    damaged.append(step)
                    continue
                counts = dict(found["counts"])
                self.resign = counts.pop("resign")
                self.counts = {**self.counts, **counts}
                self.learning = self._everywhere(Learning(**found["learning"]))
                break
            else:
                if damaged:
                    raise UserError(
                        f"{self.folder}: none of its checkpoints can be read ({why}); begin in another folder, with "
                        f"start = {self.folder / 'newest.safetensors'} if that network is to go on"
                    )
        for step in damaged:
            (self.folder / "damaged").mkdir(exist_ok=True)
            shutil.move(self.folder / "checkpoints" / str(step), self.folder / "damaged" / f"{step}-{time.time_ns()}")
        for which in range(len(self.games)):
            self._load_samples(which)
        if not self.counts["positions"]:  # a folder of positions from elsewhere
            self.counts["positions"] = self.counts["rollouts"] = sum(map(len, self.replays))
        owed = self.settings.reuse * self.counts["positions"] - self.steps * self.recipe.batch
        self._owed = self.counts.pop("owed", max(0.0, owed))
        return self.counts["turns"] > 0

    def _everywhere(self, learning: Learning) -> Learning:
        return jax.device_put(learning, shard(self.devices)[1])

    def _pieces(self, which: int) -> Path:
        name = self.games[which].spec.split(",")[0].replace(":", "-")
        return self.folder / "samples" / f"{which}-{name}"

    def _save_samples(self, which: int) -> None:
        if not self._unsaved[which]:
            return
        folder = self._pieces(which)
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(folder.glob("*.npz"))
        number = int(names[-1].stem.split("-")[0]) + 1 if names else 0
        samples = jax.tree.map(lambda *x: np.concatenate(x), *self._unsaved[which])
        save_samples(folder / f"{number:06d}-{samples.number}.npz", samples)
        self._unsaved[which] = []
        kept = samples.number
        for path in reversed(names):
            if kept >= self.settings.window:
                path.unlink()
            kept += int(path.stem.partition("-")[2] or PIECE)

    def _load_samples(self, which: int) -> None:
        found: list[Samples] = []
        for path in sorted(self._pieces(which).glob("*.npz"), reverse=True):
            try:
                found.append(load_samples(path, self.games[which]))
            except (OSError, ValueError, KeyError, zipfile.BadZipFile):
                self.notes.append(f"{path} is damaged and left out")
            if sum(one.number for one in found) >= self.settings.window:
                break
        for samples in reversed(found):
            self.replays[which].add(samples)


def variations(game: Game) -> list[Game]:
    """What games of self-play begin as: Go with one komi or another, anything else as it is."""
    if not isinstance(game, Go):
        return [game]
    return [Go(game.width, game.height, game.komi + gap, game.ko, game.suicide) for gap in KOMIS]


@functools.lru_cache(maxsize=8)
def _values(game: Game, shape: Shape) -> Compiled[..., jax.Array]:
    """The network's values of states, batch axis first."""
    return jit(lambda weights, states: apply(shape, weights, jax.vmap(game.observe)(states)).value)


@contextlib.contextmanager
def _checkpoints(folder: Path) -> Iterator[Any]:
    import orbax.checkpoint as ocp

    options = ocp.CheckpointManagerOptions(max_to_keep=KEPT, create=True)
    manager = ocp.CheckpointManager((folder / "checkpoints").absolute(), options=options)
    try:
        yield manager
    finally:
        manager.close()
