"""Networks by self-play on a CPU with torch, each with a second one beside it if that is asked for.

    pip install torch 'jubango[int8]'
    python benchmarks/torch_training.py runs/nine --game go:9,komi=7.5 --channels 128 --pupil 64 --minutes 72
    python benchmarks/torch_training.py runs/nine-32 --channels 32 --blocks 4 --start go.safetensors --int8 --pupil 64
    python benchmarks/torch_training.py runs/four --game connect_four --channels 64 --teacher --exact --minutes 20

XLA computes a convolution with some 100 GFLOPS a core, in bfloat16 as in float32. oneDNN, which comes with torch, had
400 to 1,300 in bfloat16 where the processor had AMX. So torch evaluates here what self-play asks for, and learns.
Games, search and rules are those of `jubango train`. The network plays and learns; with --teacher the one that comes
along plays, in int8, and is learnt from. With --int8 the network plays in int8, as it was a little while ago. The
pupil learns from the same positions. All are written every four minutes.
With --exact connect four's games are played as ever, and bitbully, an exact solver, says what they are worth. Learnt
are the value of each position by perfect play, and of the search's policy the moves that keep it. So Leela Chess Zero's
games are gone over by tablebases. As many positions are learnt from that 7 to 11 random moves led to, since
self-play begins much alike.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import io
import math
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import jax
import numpy as np
import torch
from perfect_play import early, solved
from torch_network import Network, to_jax

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.learning import learner
from jubango.bots.learning.replay import Samples
from jubango.bots.learning.self_play import SelfPlay
from jubango.bots.learning.self_player import SelfPlayer
from jubango.bots.learning.trainer import MOST_UPDATES, Trainer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.networks.int8.quantised import of_asked
from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape
from jubango.bots.networks.shipped import WEIGHTS_FOLDER, shipped
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.host_call import add
from jubango.sgf_games.library.folder import replace_file
from jubango.sgf_games.rules.game import Game

REUSE, PUPIL_REUSE = 4, 8  # how often each of the two learns from a position
TOGETHER = 64  # positions that a core evaluates at a time
OWN = {"simulations": 16, "fast": 4, "share": 0.5}  # of self-play
TAUGHT = {"simulations": 64, "fast": 8, "share": 0.3}
GAMES: dict[str, dict] = {
    "go:9,komi=7.5": {"opening": 10, "opening_temperature": 1.3, "rate": 5e-4},
    "connect_four": {"opening": 16, "opening_temperature": 10, "rate": 1e-3},
}
FROM_NOTHING = 1e-3  # the rate of learning of a network without --start
FALLS_FROM = 0.7  # of the time, from where the rate of learning falls
LEAST_REMEMBERED, REMEMBERED_SHARE = 60_000, 0.7  # the newest positions, which are learnt from
SOLVERS = 2  # processes


class TorchEvaluator(NetworkEvaluator):
    """By a function of torch's, which the params are the number of."""

    def together(self, game: Game) -> int:
        return TOGETHER


class Player(SelfPlayer):
    """Plays by it."""

    def plan(self, game: Game, rollouts: bool) -> SelfPlay:
        plan, evaluator = super().plan(game, rollouts), TorchEvaluator(self.shape, "int8")
        return dataclasses.replace(plan, search=Search(plan.game, plan.search.rule, evaluator, plan.full))


class TorchTrainer(Trainer):
    """The package's loop, whose networks are torch's. The first of them plays, unless the one that comes along does."""

    networks: tuple[Network, ...] = ()

    def __init__(
        self, settings: TrainingConfig, folder: Path, pupil: int, teacher: bool, solvers: Executor | None = None
    ) -> None:  # fmt: skip
        super().__init__(settings, folder)
        game = self.games[0]
        self._owed = 0.0  # each network has its own, below
        self.taught, self.solvers = teacher, solvers
        begins = load_weights(settings.start).shape.channels if settings.start else math.inf
        self.networks = (self._begun(self.shape, bool(settings.start)),)
        if pupil:
            self.networks += (self._begun(Shape.of(game, pupil, settings.blocks), begins <= pupil),)
        self.reuse = (settings.reuse, PUPIL_REUSE)[: len(self.networks)]
        self.owed = [reuse * self.counts["positions"] for reuse in self.reuse]  # where only positions are left
        self.lost: dict[int, list[float]] = {}  # the last losses, by channels
        if (folder / "torch.pt").exists():
            kept = torch.load(folder / "torch.pt")
            if kept["shapes"] != self._shapes:
                raise UserError(f"{folder}: is of other networks: {kept['shapes']}")
            self.counts, self.owed, self.resign = kept["counts"], kept["owed"], kept["resign"]
            for network, state in zip(self.networks, kept["networks"], strict=True):
                network.restore(state)
        if teacher:
            path = shipped(game)
            assert path is not None
            self._plays, shape, _ = load_weights(path)
            self.player = SelfPlayer(settings.model_copy(update={"channels": shape.channels, "blocks": shape.blocks}))
        elif settings.precision == "int8":
            self._plays = to_jax(self.networks[0].average)
        else:  # in the way of int8: by a call of the host
            self._plays = add(functools.partial(of_asked, self.networks[0].evaluate))
            self.player = Player(settings)
        self._examples = jax.jit(functools.partial(learner.examples, game.compiled_as))

    def _begun(self, shape: Shape, start: bool) -> Network:
        """A network that begins as the one of ``--start``, or from nothing."""
        weights = new_weights(shape, self.settings.seed)
        if start:
            found = self._start(shape)
            weights = {name: found[name] for name in weights}  # in the same order, which an optimizer goes by
        return Network(shape, weights, self.settings.rate if start else FROM_NOTHING)

    @property
    def _shapes(self) -> list[dict]:
        return [dataclasses.asdict(network.shape) for network in self.networks]

    @property
    def weights(self) -> Params:
        return self._plays

    @property
    def steps(self) -> int:
        return self.networks[0].steps if self.networks else 0

    def _compare(self, which: int, samples: Samples) -> None:
        """By float32 that would take as long as a turn."""

    def add(self, which: int, samples: Samples) -> None:
        if self.solvers and samples.number:
            samples = solved(jax.tree.map(lambda *x: np.concatenate(x), samples, early(samples)), self.solvers)
        super().add(which, samples)
        self._owed = 0.0
        self.owed = [owed + reuse * samples.number for owed, reuse in zip(self.owed, self.reuse, strict=True)]

    def learn(self, which: int) -> None:
        batch = self.recipe.batch
        if len(self.replays[0]) < 2 * self.first_lesson:
            return
        for i, network in enumerate(self.networks):
            for _ in range(min(2 * MOST_UPDATES, int(self.owed[i] // batch))):
                self.owed[i] -= batch
                self.lost[network.shape.channels] = network.learn(self._batch(), self.pace)
            network.publish()
        if self.settings.precision == "int8" and not self.taught:
            self._plays = to_jax(self.networks[0].average)

    def _batch(self) -> list[torch.Tensor]:
        replay, number = self.replays[0], self.recipe.batch
        newest = max(LEAST_REMEMBERED, int(REMEMBERED_SHARE * replay.seen))
        drawn = replay.draw(number, self._rng, newest, self.settings.surprise)
        found = self._examples(drawn, learner.random_symmetries(self.games[0], number, self._rng))
        planes, *rest = (torch.from_numpy(np.array(x)) for x in found)
        return [planes.to(torch.bfloat16).permute(0, 3, 1, 2), *rest]

    def keep(self, how: dict) -> None:
        """Write the networks, and what is needed to go on."""
        self._save_samples(0)
        how |= {key: int(self.counts[key]) for key in ("games", "positions")}
        how |= {"boards": [game.spec for game in self.games], "hours": round(self.counts["seconds"] / 3600, 3)}
        how |= {
            "teacher": self.taught,
            "exact": bool(self.solvers),
            "settings": self.settings.model_dump(exclude={"games", "start"})
            | {"start": Path(self.settings.start).name},
        }
        for network in self.networks:
            path = self.run.path / f"{network.shape.channels}x{network.shape.blocks}.safetensors"
            replace_file(path, packed_weights(to_jax(network.average), network.shape, how))
        state = {"counts": self.counts, "owed": self.owed, "resign": self.resign, "shapes": self._shapes}
        state["networks"] = [network.state() for network in self.networks]
        whole = io.BytesIO()
        torch.save(state, whole)
        replace_file(self.run.path / "torch.pt", whole.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--game", choices=list(GAMES), default=next(iter(GAMES)))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--channels", type=int, default=128)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument(
        "--start",
        default="",
        help="a file of weights, of as many channels and blocks or fewer, for the pupil too if it is wide enough; "
        "for Go with 128 x 6 those for large boards",
    )
    parser.add_argument("--pupil", type=int, default=0, help="channels of a second network; 0: none")
    parser.add_argument("--teacher", action="store_true", help="the network that comes along plays")
    parser.add_argument("--int8", action="store_true", help="the network plays in int8: faster without AMX")
    parser.add_argument("--exact", action="store_true", help="of connect four what perfect play is worth is learnt")
    args = parser.parse_args()
    if args.exact and args.game != "connect_four":
        parser.error("--exact: the solver knows connect four alone")
    if args.int8 and args.teacher:
        parser.error("--int8: with --teacher another network plays, in int8 as it is")
    if args.pupil == args.channels:
        parser.error("--pupil: should be other than --channels")
    torch.set_num_threads(1)
    if not args.start and args.game.startswith("go:") and (args.channels, args.blocks) == (128, 6):
        args.start = str(WEIGHTS_FOLDER / "go-large.safetensors")
    settings = TrainingConfig(
        games=(args.game,), channels=args.channels, blocks=args.blocks, start=args.start, lanes=512, window=1_500_000,
        reuse=REUSE, batch=512, precision="int8" if args.int8 or args.teacher else "float32",
        **GAMES[args.game], **(TAUGHT if args.teacher and not args.exact else OWN),
    )  # fmt: skip
    args.folder.mkdir(parents=True, exist_ok=True)
    try:
        solvers = ProcessPoolExecutor(SOLVERS, get_context("spawn")) if args.exact else None
        trainer = TorchTrainer(settings, args.folder, args.pupil, args.teacher, solvers)
    except UserError as error:
        parser.error(str(error))
    for what in trainer.player.compile(False, trainer.weights):
        print(what, flush=True)
    began = said = saved = time.monotonic()
    how = {"by": "benchmarks/torch_training.py"}
    while (part := (time.monotonic() - began) / (60 * args.minutes)) < 1:
        falling = max(0.0, part - FALLS_FROM) / (1 - FALLS_FROM)
        trainer.pace = 0.03 + 0.97 * (1 + math.cos(math.pi * falling)) / 2
        trainer.step()
        now = time.monotonic()
        if now > said + 60:
            said, counts = now, trainer.counts
            losses = {channels: [round(x, 3) for x in found] for channels, found in trainer.lost.items()}
            minutes, seen = (now - began) / 60, f"{counts['games']:.0f} games, {counts['positions']:.0f} positions"
            print(f"{minutes:.1f} min, {seen}, losses {losses}", flush=True)
        if now > saved + 240:
            saved = now
            trainer.keep(dict(how))
    trainer.keep(dict(how))


if __name__ == "__main__":
    main()
