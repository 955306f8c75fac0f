"""The network for large boards of Go, made on one GPU in some ten minutes: from recorded games, then from self-play
that takes turns with them.

    git clone https://github.com/yenw/computer-go-dataset
    python benchmarks/go_large.py pack computer-go-dataset games.npz
    python benchmarks/go_large.py train games.npz first --minutes 7.4
    python benchmarks/go_large.py train games.npz second --minutes 3.3 --start first/go-large.safetensors --alone 0 \
        --mix 2 --simulations 32 --share 0.33 --score 10 --rate 0.0005 --seed 2

The records are games of 9 dan on Tygem, 19x19, komi 6.5. All of them lie on the device, where they are replayed by the
rules. Every lane is somewhere in a game, a step of learning takes each lane's position, and then the lanes go on. So
the host has nothing to do. Of some games that were counted it is known whose each point was; these are drawn more
often. OUT/go-large.safetensors is the average of the weights; OUT/log.txt says how it went.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import re
import threading
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jubango.bots.learning import learner
from jubango.bots.learning.learner import Learning, Losses, Recipe
from jubango.bots.learning.position_files import blank_samples
from jubango.bots.learning.recorded_games import RecordedGame
from jubango.bots.learning.recorded_positions import KOMI_SCALE, OTHER_KOMI, Replayed
from jubango.bots.learning.replay import Replay, Samples
from jubango.bots.learning.self_player import SelfPlayer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.networks.model import apply, new_weights
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.compute.machine import claim, shard
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game, State

GAME = "go:19,komi=6.5"
PASS = 361
LONGEST = 400  # moves of a game
HELD_OUT = 2000  # games, the last ones
ON_DEVICE = 50  # steps of learning in one program
APART = 3  # plies between two positions of a game
MEASURED = "top1", "top5", "policy", "value", "ownership", "ownership of 0", "score in points"
MOST_STEPS = 24  # of learning, in a turn of self-play
COUNTED = 0.15  # the share of the lanes that play games of which it is known whose the points were


# -- records ------------------------------------------------------------------------------------


def pack(checkout: Path, out: Path, years: list[str], games: int, counted: int) -> None:
    """Games of Tygem as arrays: ``moves`` uint16 [M], game after game, ``lengths``, and ``results``: the points by
    which Black has won, 1000 for a resignation. Of some that were counted ``known`` (their numbers), ``margins`` and
    ``owners``."""
    moves, results = [], []
    for year in years:
        stated = results_of(unpacked(checkout / "TYGEM" / "index" / f"Kifu{year}.zip"))
        for month in sorted((checkout / "TYGEM" / "Kifu").glob(f"{year}-*.zip")):
            for line in unpacked(month).split(b"\n"):
                name, _, text = line.partition(b"\t")
                found = moves_of(text.strip()) if name in stated else None
                if found is not None:
                    moves.append(found)
                    results.append(stated[name])
    order = np.random.default_rng(0).permutation(len(moves))[:games]
    kept, ends = [moves[i] for i in order], np.array([results[i] for i in order], np.float32)
    known, margins, owners = owned(kept, ends, counted)
    lengths = np.array([len(x) for x in kept], np.int16)
    rows = {"moves": np.concatenate(kept), "lengths": lengths, "results": ends}
    np.savez_compressed(out, **rows, known=known, margins=margins, owners=owners)


def unpacked(path: Path) -> bytes:
    with zipfile.ZipFile(path) as held:
        return held.read(held.namelist()[0])


def results_of(index: bytes) -> dict[bytes, float]:
    """By the name of the game: the points by which Black has won, 1000 if White resigned."""
    found = {}
    for line in index.split(b"\n"):
        columns = line.split(b"\t")
        if len(columns) > 8 and (said := re.fullmatch(rb"([BW])\+(R(?:esign)?|\d+\.?\d*)", columns[8])):
            points = 1000.0 if said[2].startswith(b"R") else float(said[2])
            found[columns[0]] = points if said[1] == b"B" else -points
    return found


def moves_of(text: bytes) -> np.ndarray | None:
    """``;B[pd];W[dd]``; None for what is no whole game, players in turn."""
    if len(text) % 6 or not 60 <= len(text) // 6 <= LONGEST:
        return None
    rows = np.frombuffer(text, np.uint8).reshape(-1, 6)
    players = np.resize(np.frombuffer(b"BW", np.uint8), len(rows))
    if not (rows[:, [0, 2, 5]] == np.frombuffer(b";[]", np.uint8)).all() or not (rows[:, 1] == players).all():
        return None
    column, row = (rows[:, 3:5].astype(int) - ord("a")).T
    on = (column >= 0) & (column < 19) & (row >= 0) & (row < 19)
    return np.where(on, row * 19 + column, PASS).astype(np.uint16)


def owned(moves: list[np.ndarray], results: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(numbers, margins, owners int8 [N, 361]) of counted games whose count is ours, dead stones taken off."""
    game, found = make_game(GAME), []
    counted = np.flatnonzero(np.abs(results) < 1000)[:most]
    for begin in range(0, len(counted), 128):
        numbers = counted[begin : begin + 128]
        lines = [
            RecordedGame(0, 6.5, None, 0, np.r_[moves[i], PASS, PASS].astype(np.int32), np.sign(results[i]), results[i])
            for i in numbers
        ]
        replayed = Replayed(game, lines)
        for i, line, end, length in zip(numbers, lines, replayed.ends, replayed.lengths, strict=True):
            margin, owners = replayed.count(line, end, length)
            if not np.isnan(margin):
                found.append((i, margin, owners))
        print(f"{begin + len(numbers):,} of {len(counted):,} counted games, {len(found):,} as we count", flush=True)
    which, margins, all_owners = zip(*found, strict=True)
    return np.array(which, np.int32), np.array(margins, np.float32), np.stack(all_owners)


# -- on the device ------------------------------------------------------------------------------


class Records(NamedTuple):
    """All games, on the device."""

    moves: jax.Array  # int16 [M]
    starts: jax.Array  # int32 [N]
    lengths: jax.Array  # int32 [N]
    results: jax.Array  # float32 [N], for Black, in [-1, 1]
    place: jax.Array  # int32 [N], the row of owners, or -1
    known: jax.Array  # int32 [K], games
    margins: jax.Array  # float32 [K], for Black
    owners: jax.Array  # int8 [K, H * W]


class Lanes(NamedTuple):
    """Where each lane is."""

    states: State  # the batch last
    game: jax.Array  # int32
    ply: jax.Array  # int32
    gap: jax.Array  # float32, by which komi is larger than it was


def records_of(path: Path) -> tuple[Records, Records]:
    """(what is learnt from, what is held out)."""
    with np.load(path) as held:
        files = dict(held)
    lengths = files["lengths"].astype(np.int32)
    starts = np.cumsum(lengths) - lengths
    place = np.full(len(lengths), -1, np.int32)
    place[files["known"]] = np.arange(len(files["known"]))
    last = len(lengths) - min(HELD_OUT, len(lengths) // 4)

    def part(which: slice, known: np.ndarray) -> Records:
        results = np.sign(files["results"][which]).astype(np.float32)
        rows = starts[which], lengths[which], results, place[which], known
        moves = files["moves"].astype(np.int16)
        return Records(*map(jnp.asarray, (moves, *rows, files["margins"], files["owners"])))

    known = files["known"].astype(np.int32)
    return part(slice(0, last), known[known < last]), part(slice(last, None), known[known >= last] - last)


def new_games(game: Game, records: Records, lanes: int, key: jax.Array) -> Lanes:
    """Games from their first moves on."""
    one, two, three, four, five = jax.random.split(key, 5)
    any_game = jax.random.randint(one, (lanes,), 0, records.starts.shape[0], jnp.int32)
    counted = records.known[jax.random.randint(two, (lanes,), 0, max(1, records.known.shape[0]), jnp.int32)]
    which = jnp.where(jax.random.bernoulli(three, COUNTED, (lanes,)), counted, any_game)
    gap = jnp.round(2 * KOMI_SCALE * jax.random.laplace(four, (lanes,))) / 2
    other = jax.random.bernoulli(five, OTHER_KOMI, (lanes,)) & (records.place[which] >= 0)
    gap = jnp.where(other, gap, 0.0)
    first = jax.tree.map(lambda x: jnp.broadcast_to(jnp.asarray(x)[..., None], (*jnp.shape(x), lanes)), game.init())
    return Lanes(first._replace(komi=jnp.full(lanes, 6.5, jnp.float32) + gap), which, jnp.zeros_like(which), gap)


def told(records: Records, lanes: Lanes) -> jax.Array:
    """int32 [B]: the move that each lane's player made; -1 after the last. After a game that was counted both pass."""
    at, length = records.starts[lanes.game] + lanes.ply, records.lengths[lanes.game]
    move = records.moves[jnp.minimum(at, records.moves.shape[0] - 1)].astype(jnp.int32)
    passes = (records.place[lanes.game] >= 0) & (lanes.ply < length + 2)
    return jnp.where(lanes.ply < length, move, jnp.where(passes, PASS, -1))


def further(game: Game, records: Records, lanes: Lanes, key: jax.Array) -> Lanes:
    """A move in every lane; a game that is over, or goes on as the rules forbid, makes room for another one."""
    states = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(lanes.states, told(records, lanes))
    states = jax.tree.map(lambda new, old: new.astype(old.dtype), states, lanes.states)
    after = Lanes(states, lanes.game, lanes.ply + 1, lanes.gap)
    move = told(records, after)
    legal = jax.vmap(game.legal_action_mask, in_axes=-1)(states)
    goes_on = (move >= 0) & jnp.take_along_axis(legal, jnp.maximum(move, 0)[:, None], axis=1)[:, 0]
    fresh = new_games(game, records, lanes.ply.shape[0], key)
    return jax.tree.map(lambda old, new: jnp.where(goes_on, old, new), after, fresh)


def much_further(game: Game, records: Records, lanes: Lanes, key: jax.Array, plies: int) -> Lanes:
    """So many moves in every lane."""
    keys = jax.random.split(key, plies)
    return lax.fori_loop(0, plies, lambda i, lanes: further(game, records, lanes, keys[i]), lanes)


def samples_of(game: Game, records: Records, lanes: Lanes) -> Samples:
    """What is learnt from the positions of the lanes."""
    move, place = told(records, lanes), records.place[lanes.game]
    sign = jnp.where(lanes.states.player == 0, 1.0, -1.0)
    known = place >= 0
    margin = jnp.where(known, records.margins[place] - lanes.gap, 0.0)
    result = sign * jnp.where(known, jnp.sign(margin), records.results[lanes.game])
    owners = jnp.where(known[:, None], records.owners[place], 0) * sign.astype(jnp.int8)[:, None]
    policy = jax.nn.one_hot(move, game.num_actions, dtype=jnp.float16)
    states = jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), lanes.states)
    rows: Any = states, policy, result, result, known, sign * margin, owners, jnp.ones_like(sign)
    return Samples(*rows)


def program(game: Game, shape: Shape, recipe: Recipe, steps: int) -> Any:
    """``(learning, lanes, records, key, pace) -> (learning, lanes, losses)``: so many steps of learning."""

    def step(carry: tuple[Learning, Lanes, Records], given: tuple) -> tuple[tuple, Losses]:
        learning, lanes, records = carry
        key, pace = given
        turned, on = jax.random.split(key)
        lanes = much_further(game, records, lanes, on, APART)
        batch = samples_of(game, records, lanes)
        symmetry = jax.random.randint(turned, lanes.ply.shape, 0, len(game.symmetries[0]), jnp.int32)
        found, losses = learner.gradients(game, shape, recipe, learning.weights, batch, symmetry)
        return (learner.update(recipe, learning, found, pace), lanes, records), losses

    def many(learning: Learning, lanes: Lanes, records: Records, key: jax.Array, pace: jax.Array) -> tuple:
        given = jax.random.split(key, steps), jnp.broadcast_to(pace, (steps,))
        (learning, lanes, _), losses = lax.scan(step, (learning, lanes, records), given)
        return learning, lanes, jax.tree.map(jnp.mean, losses)

    return jax.jit(many, donate_argnums=(0, 1))


@functools.partial(jax.jit, static_argnums=(0, 3))
def scattered(game: Game, records: Records, key: jax.Array, lanes: int) -> Lanes:
    """Lanes in the middle of games, each somewhere else."""
    first = new_games(game, records, lanes, key)
    late = jax.random.randint(key, (lanes,), 0, 220)  # lanes begin one after another

    def move(i: jax.Array, now: Lanes) -> Lanes:
        after = further(game, records, now, jax.random.fold_in(key, i))
        return jax.tree.map(lambda new, old: jnp.where(late <= i, new, old), after, now)

    return lax.fori_loop(0, 220, move, first)


@functools.partial(jax.jit, static_argnums=(0, 1))
def measured(game: Game, shape: Shape, weights: Any, records: Records, lanes: Lanes, key: jax.Array) -> jax.Array:
    """float32 [7], what :data:`MEASURED` names, of positions that were held out; the last three of counted ones."""

    def ask(lanes: Lanes, key: jax.Array) -> tuple[Lanes, tuple]:
        lanes = much_further(game, records, lanes, key, 40)
        samples = samples_of(game, records, lanes)
        found = apply(shape, weights, jax.vmap(game.observe)(samples.state))
        logs = jax.nn.log_softmax(found.policy)
        own = jnp.take_along_axis(logs, jnp.argmax(samples.policy, axis=1)[:, None], axis=1)
        rank = jnp.sum(logs > own, axis=1)
        owners = samples.owners.astype(jnp.float32)
        apart = jnp.mean((found.ownership.reshape(owners.shape) - owners) ** 2, axis=1)
        points = jnp.abs(found.score * 361 - samples.margin)
        one = (rank < 1), (rank < 5), -own[:, 0], (found.value - samples.result) ** 2
        two = apart, jnp.mean(owners**2, axis=1), points
        return lanes, (
            tuple(map(jnp.mean, one)),
            tuple(jnp.sum(x * samples.counted) for x in two),
            samples.counted.sum(),
        )

    _, (plain, counted, number) = lax.scan(ask, lanes, jax.random.split(key, 8))
    return jnp.stack([*map(jnp.mean, plain), *(x.sum() / jnp.maximum(number.sum(), 1) for x in counted)])


# -- training -----------------------------------------------------------------------------------


class SelfPlaying:
    """Games of self-play on another board, and what is learnt from them."""

    def __init__(self, args: argparse.Namespace, shape: Shape, recipe: Recipe) -> None:
        own = {"games": (args.play,), "lanes": args.lanes, "share": args.share, "precision": args.precision}
        own |= {"simulations": args.simulations, "fast": max(2, args.simulations // 4)}
        size = {"channels": shape.channels, "blocks": shape.blocks}
        self.player = SelfPlayer(TrainingConfig.model_validate(own | size).chosen())
        self.game, self.recipe, self.reuse = self.player.games[0], recipe, args.reuse
        self.replay, self.owed, self.seconds, self.ready = Replay(args.window), 0.0, 0.0, False
        self.learn = learner.program(self.game, shape, recipe, 1)

    def prepare(self, weights: Any) -> None:
        """Have the programs made."""
        for _ in self.player.compile(False, weights):
            pass
        batch, symmetry = blank_samples(self.game, self.recipe.batch), np.zeros(self.recipe.batch, np.int32)
        jax.block_until_ready(self.learn(placed(learner.begin(weights, self.recipe)), batch, symmetry, 0.0))
        self.ready = True

    def turn(self, learning: Learning, key: jax.Array, pace: float) -> Learning:
        """Some moves in every lane, then the steps that are owed, not too many at once."""
        began = time.perf_counter()
        first, moves = jax.random.split(key)
        samples = self.player.play(0, False, placed(learning.average), first, moves, -2.0).samples
        if samples.number:
            self.replay.add(samples)
            self.owed += self.reuse * samples.number
        batch, rng = self.recipe.batch, np.random.default_rng(int(learning.steps))
        steps = min(MOST_STEPS, int(self.owed // batch)) if len(self.replay) >= 2 * batch else 0
        for _ in range(steps):
            symmetry = learner.random_symmetries(self.game, batch, rng)
            learning, _ = self.learn(placed(learning), self.replay.draw(batch, rng), symmetry, pace)
        self.owed -= steps * batch
        self.seconds += time.perf_counter() - began
        return learning


def train(args: argparse.Namespace) -> None:
    claim()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()

    def say(text: str) -> None:
        line = f"{time.perf_counter() - began:6.1f} s: {text}"
        print(line, flush=True)
        with (out / "log.txt").open("a") as log:
            print(line, file=log)

    game = make_game(GAME).compiled_as
    shape = Shape.of(game, args.channels, args.blocks)
    recipe = Recipe(batch=args.batch, rate=args.rate, average=0.999, score=args.score, precision=args.precision)
    learnt, kept = records_of(Path(args.records))
    weights = load_weights(args.start).weights if args.start else new_weights(shape, args.seed)
    learning, untrained = placed((learner.begin(weights, recipe), new_weights(shape, args.seed)))
    say(f"{len(learnt.starts):,} games, {int(learnt.lengths.sum()):,} moves; {shape}; {jax.devices()}")

    key = jax.random.key(args.seed)
    keys = (jax.random.fold_in(key, number) for number in itertools.count(2))
    playing, asked = SelfPlaying(args, shape, recipe), []

    def prepare() -> None:
        """Make the other programs meanwhile."""
        lanes = placed(scattered(game, kept, jax.random.fold_in(key, 1), min(args.batch, 1024)))
        jax.block_until_ready(measured(game, shape, *placed((untrained, kept, lanes, key))))
        asked.append(lanes)
        playing.prepare(untrained)
        say(f"self-play of {playing.game.spec} is ready")

    def end(seconds: float) -> None:
        if asked:
            found = np.asarray(measured(game, shape, *placed((learning.average, kept, asked[0], key))))
            say("held out: " + ", ".join(f"{name} {x:.4f}" for name, x in zip(MEASURED, found, strict=True)))
        how = {
            "boards": ["go:19", playing.game.spec.split(",")[0]], "from_records": seen,
            "from_self_play": playing.replay.seen, "hours": round(seconds / 3600, 3), "steps": int(learning.steps),
            "settings": {name: x for name, x in vars(args).items() if name not in ("way", "records", "out")},
            "device": str(jax.devices()[0].device_kind),
        }  # fmt: skip
        (out / "go-large.safetensors").write_bytes(packed_weights(learning.average, shape, how))

    threading.Thread(target=prepare, daemon=True).start()
    run = program(game, shape, recipe, ON_DEVICE)
    lanes = placed(scattered(game, learnt, jax.random.fold_in(key, 0), args.batch))
    seen, ends, told_last, measured_last = 0, args.minutes * 60, 0.0, 0.0
    while (now := time.perf_counter() - began) < ends:
        pace = 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * now / ends))
        learning, lanes, losses = run(*placed((learning, lanes, learnt, next(keys), jnp.float32(pace))))
        jax.block_until_ready(losses)
        seen += ON_DEVICE * args.batch
        took = min(2.0, time.perf_counter() - began - now)  # the first time programs are made
        until = time.perf_counter() + args.mix * took
        while playing.ready and now > args.alone * ends and time.perf_counter() < until:
            learning = playing.turn(learning, next(keys), pace)
        now = time.perf_counter() - began
        if now - told_last > 10:
            told_last = now
            parts = ", ".join(f"{name} {float(x):.3f}" for name, x in losses._asdict().items() if name != "target")
            played = f"{playing.replay.seen:,} of self-play in {playing.seconds:.0f} s"
            say(f"{int(learning.steps):,} steps, {seen:,} positions of records, {played}; {parts}")
        if now - measured_last > args.measure:
            measured_last = now
            end(now)
    end(time.perf_counter() - began)


def placed(tree: Any) -> Any:
    """The same arrays where all programs expect them, so that none is compiled twice."""
    return jax.device_put(tree, shard(1)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    packing = ways.add_parser("pack", help="records, from a checkout of the dataset")
    packing.add_argument("checkout", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--years", nargs="+", default=["2008", "2009", "2010", "2011", "2015", "2016"])
    packing.add_argument("--games", type=int, default=238_000)
    packing.add_argument("--counted", type=int, default=7200, help="games of which owners are found out")
    training = ways.add_parser("train", help="a network, or on from one")
    training.add_argument("records")
    training.add_argument("out")
    for name, usual, said in (
        ("minutes", 9.0, "in all"), ("channels", 128, ""), ("blocks", 6, ""), ("batch", 1024, "positions of a step"),
        ("rate", 1e-3, "of Adam, which falls along a cosine"), ("seed", 1, ""), ("score", 0.5, "weight of its loss"),
        ("alone", 0.6, "share of the time before self-play begins"),
        ("mix", 1.0, "seconds of self-play for one of records"), ("play", "go:13,komi=7.5", "board of self-play"),
        ("lanes", 1024, "games at once"), ("simulations", 16, "of a move that is learnt from, of others a quarter"),
        ("share", 0.5, "of the moves that are learnt from"), ("reuse", 3.0, "how often each is learnt from"),
        ("window", 400_000, "positions of self-play that are remembered"), ("measure", 60.0, "seconds between saves"),
        ("start", "", "weights to begin with"), ("precision", "bfloat16", "of the tower"),
    ):  # fmt: skip
        training.add_argument(f"--{name}", type=type(usual), default=usual, help=f"{said} ({usual})".strip())
    args = parser.parse_args()
    if args.way == "pack":
        pack(args.checkout, args.out, args.years, args.games, args.counted)
    else:
        train(args)


if __name__ == "__main__":
    main()
