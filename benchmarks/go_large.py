"""The network for large boards of Go, made on one GPU in some ten minutes: from recorded games, then from self-play that
takes turns with them.

    git clone https://github.com/yenw/computer-go-dataset
    python benchmarks/go_large.py pack computer-go-dataset games.npz [--games 245000]
    python benchmarks/go_large.py train games.npz OUT [--minutes 9] [--channels 128] [--blocks 6]

The records are games of 9 dan on Tygem, 19x19, komi 6.5. All of them lie on the device, where they are replayed by the
rules: every lane is somewhere in a game, a step of learning takes each lane's position, and then the lanes go on. So
the host has nothing to do. Of some games that were counted it is known whose each point was; these are drawn more
often. OUT/go-large.safetensors is the average of the weights; OUT/log.txt says how it went.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jubango.bots.learning import learner  # noqa: E402
from jubango.bots.learning.learner import Learning, Losses, Recipe  # noqa: E402
from jubango.bots.learning.recorded_games import RecordedGame  # noqa: E402
from jubango.bots.learning.recorded_positions import KOMI_SCALE, OTHER_KOMI, Replayed  # noqa: E402
from jubango.bots.learning.replay import Replay, Samples  # noqa: E402
from jubango.bots.learning.self_player import SelfPlayer  # noqa: E402
from jubango.bots.learning.training_config import TrainingConfig  # noqa: E402
from jubango.bots.networks.checkpoint import load_weights, packed_weights  # noqa: E402
from jubango.bots.networks.model import apply, new_weights  # noqa: E402
from jubango.bots.networks.shape import Shape  # noqa: E402
from jubango.sgf_games.compute.machine import claim, shard  # noqa: E402
from jubango.sgf_games.rules.catalogue import make_game  # noqa: E402
from jubango.sgf_games.rules.game import Game, State  # noqa: E402

GAME = "go:19,komi=6.5"
PASS = 361
LONGEST = 400  # moves of a game
HELD_OUT = 2000  # games, the last ones
ON_DEVICE = 50  # steps of learning in one program
APART = 3  # plies between two positions of a game
MOST_STEPS = 24  # of learning, in a turn of self-play
COUNTED = 0.15  # the share of the lanes that play games of which it is known whose the points were


# -- records ------------------------------------------------------------------------------------


def pack(checkout: Path, out: Path, games: int, counted: int) -> None:
    """Games of Tygem as arrays: ``moves`` uint16 [M], game after game; ``lengths``; ``results`` (points by which Black
    has won, 1000 for a resignation); of some that were counted ``known`` (their numbers), ``margins`` and ``owners``.
    """
    moves, results = [], []
    for path in sorted((checkout / "TYGEM" / "index").glob("Kifu*.zip")):
        stated = results_of(unpacked(path))
        for month in sorted((checkout / "TYGEM" / "Kifu").glob(f"{path.stem[4:]}-*.zip")):
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
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as held:
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
    numbers, margins, owners = zip(*found, strict=True)
    return np.array(numbers, np.int32), np.array(margins, np.float32), np.stack(owners)


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
    """int32 [B]: the move that each lane's player made; -1 after the last. In games that were counted both pass then."""
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
    return Samples(states, policy, result, result, known, sign * margin, owners)


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
    """float32 [7]: of positions that were held out, the shares of moves that are the first choice, and among five, the
    cross entropy, the value's mean square error; of counted ones those of ownership and of 0, and the score's mean
    absolute error in points."""

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
        return lanes, (tuple(map(jnp.mean, one)), tuple(jnp.sum(x * samples.counted) for x in two), samples.counted.sum())

    _, (plain, counted, number) = lax.scan(ask, lanes, jax.random.split(key, 8))
    return jnp.stack([*map(jnp.mean, plain), *(x.sum() / jnp.maximum(number.sum(), 1) for x in counted)])


# -- training -----------------------------------------------------------------------------------


class Board(NamedTuple):
    """A board of self-play."""

    spec: str
    share: float  # of the time
    lanes: int


BOARDS = Board("go:9,komi=7.5", 0.6, 1024), Board("go:13,komi=7.5", 0.4, 1024)


def players_of(args: argparse.Namespace, boards: tuple[Board, ...]) -> list[SelfPlayer]:
    own = {"simulations": args.simulations, "fast": max(2, args.simulations // 4), "share": args.share}
    size = {"channels": args.channels, "blocks": args.blocks, "precision": args.precision}
    return [
        SelfPlayer(TrainingConfig.model_validate({"games": (b.spec,), "lanes": b.lanes, **own, **size}).chosen())
        for b in boards
    ]


def train(args: argparse.Namespace) -> None:
    claim()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    log, began = (out / "log.txt").open("a"), time.perf_counter()

    def say(text: str) -> None:
        line = f"{time.perf_counter() - began:6.1f} s: {text}"
        print(line, flush=True)
        print(line, file=log, flush=True)

    game = make_game(GAME).compiled_as
    shape = Shape.of(game, args.channels, args.blocks)
    recipe = Recipe(batch=args.batch, rate=args.rate, average=0.999, score=args.score, precision=args.precision)
    learnt, kept = records_of(Path(args.records))
    begun = load_weights(args.start).weights if args.start else new_weights(shape, args.seed)
    learning = placed(learner.begin(begun, recipe))
    say(f"{len(learnt.starts):,} games, {int(learnt.lengths.sum()):,} moves; {shape}; {jax.devices()}")

    boards = BOARDS if not args.small else (Board("go:5,komi=7.5", 1.0, 64),)
    players = players_of(args, boards)
    ready: list[bool] = [False] * len(players)
    untrained = placed(new_weights(shape, args.seed))
    asked: list[Lanes] = []  # of games that were held out

    def prepare() -> None:
        """Make the other programs while records are learnt from."""
        lanes = placed(scattered(game, kept, jax.random.fold_in(key, 2), min(args.batch, 1024)))
        jax.block_until_ready(measured(game, shape, *placed((untrained, kept, lanes, jax.random.key(9)))))
        asked.append(lanes)

    def prepare_board(i: int) -> None:
        for _ in players[i].compile(False, untrained):
            pass
        replay_blank(learner.program(players[i].games[0], shape, recipe, 1), players[i].games[0], shape, recipe)
        ready[i] = True
        say(f"{players[i].games[0].spec} is ready")

    run = program(game, shape, recipe, ON_DEVICE)
    key = jax.random.key(args.seed)
    workers = [threading.Thread(target=prepare_board, args=(i,), daemon=True) for i in range(len(players))]
    workers.append(threading.Thread(target=prepare, daemon=True))
    for worker in workers:
        worker.start()
    lanes = placed(scattered(game, learnt, jax.random.fold_in(key, 1), args.batch))
    chunk, turns, seen = 0, 0, 0
    end, mixed = args.minutes * 60, args.alone * args.minutes * 60
    replays = [Replay(args.window) for _ in players]
    spent = [0.0] * len(players)
    owed = [0.0] * len(players)
    first = 0.0
    told_last = measured_last = time.perf_counter() - began
    keys = iter(functools.partial(next, key_numbers(key)), None)
    while (now := time.perf_counter() - began) < end:
        pace = 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * min(1.0, now / end)))
        learning, lanes, losses = run(*placed((learning, lanes, learnt, next(keys), jnp.float32(pace))))
        chunk += 1
        seen += ON_DEVICE * args.batch
        jax.block_until_ready(losses)
        if chunk == 1:
            first = time.perf_counter() - began
            say("the first steps are made")
        took = time.perf_counter() - began - now
        if now > mixed:  # self-play takes as long as the records
            until = time.perf_counter() + min(took, 2.0) * args.mix
            while time.perf_counter() < until:
                which = min((i for i in range(len(players)) if ready[i]), key=lambda i: spent[i] / boards[i].share, default=-1)
                if which < 0:
                    break
                before = time.perf_counter()
                learning = play_and_learn(
                    players[which], shape, recipe, learning, replays, owed, which, next(keys), next(keys), pace, args.reuse
                )
                turns += 1
                spent[which] += time.perf_counter() - before
        now = time.perf_counter() - began
        if now - told_last > 10:
            told_last = now
            parts = ", ".join(f"{name} {float(x):.3f}" for name, x in losses._asdict().items() if name != "target")
            played = ", ".join(f"{b.spec.split(',')[0]} {r.seen:,}" for b, r in zip(boards, replays, strict=True))
            speed = seen / max(now - first - sum(spent), 1e-9)
            say(f"{int(learning.steps):,} steps, {seen:,} positions of records, {speed:,.0f} a second; {parts}; {played}")
        if asked and now - measured_last > args.measure:
            measured_last = now
            found = np.asarray(measured(game, shape, *placed((learning.average, kept, asked[0], jax.random.key(9)))))
            say("held out: " + " ".join(f"{x:.4f}" for x in found))
            save(out / "go-large.safetensors", learning, shape, seen, replays, boards, now, args)
    found = np.asarray(measured(game, shape, *placed((learning.average, kept, asked[0], jax.random.key(9)))))
    say("held out: " + " ".join(f"{x:.4f}" for x in found))
    save(out / "go-large.safetensors", learning, shape, seen, replays, boards, time.perf_counter() - began, args)
    say(f"seconds of self-play {[round(x) for x in spent]}, turns {turns}")


def placed(tree: Any) -> Any:
    """The same arrays where all programs expect them, so that none is compiled twice."""
    return jax.device_put(tree, shard(1)[1])


def key_numbers(key: jax.Array) -> Iterator[jax.Array]:
    number = 100
    while True:
        yield jax.random.fold_in(key, number)
        number += 1


def replay_blank(step: Any, game: Game, shape: Shape, recipe: Recipe) -> None:
    """Have a step of learning compiled."""
    from jubango.bots.learning.position_files import blank_samples

    blank = placed(learner.begin(new_weights(shape), recipe))
    jax.block_until_ready(step(blank, blank_samples(game, recipe.batch), np.zeros(recipe.batch, np.int32), 0.0))


def play_and_learn(
    player: SelfPlayer, shape: Shape, recipe: Recipe, learning: Learning, replays: list[Replay], owed: list[float],
    which: int, first: jax.Array, key: jax.Array, pace: float, reuse: float,
) -> Learning:  # fmt: skip
    """Some moves in every lane of a board, then the steps that are owed."""
    found = player.play(0, False, placed(learning.average), first, key, -2.0)
    replay, game, rng = replays[which], player.games[0], np.random.default_rng(int(learning.steps))
    if found.samples.number:
        replay.add(found.samples)
        owed[which] += reuse * found.samples.number
    step = learner.program(game, shape, recipe, 1)
    for _ in range(MOST_STEPS):
        if owed[which] < recipe.batch or len(replay) < 2 * recipe.batch:
            break
        owed[which] -= recipe.batch
        symmetry = learner.random_symmetries(game, recipe.batch, rng)
        learning, _ = step(placed(learning), replay.draw(recipe.batch, rng), symmetry, pace)
    return learning


def save(
    path: Path, learning: Learning, shape: Shape, seen: int, replays: list[Replay], boards: tuple[Board, ...],
    seconds: float, args: argparse.Namespace,
) -> None:  # fmt: skip
    played = {board.spec: replay.seen for board, replay in zip(boards, replays, strict=True)}
    how = {
        "boards": ["go:19", *(board.spec.split(",")[0] for board in boards if board.spec[:5] != "go:19")],
        "from_records": seen, "from_self_play": json.loads(json.dumps(played)), "minutes": round(seconds / 60, 1),
        "steps": int(learning.steps), "settings": {k: v for k, v in vars(args).items() if k not in ("records", "out")},
        "device": str(jax.devices()[0].device_kind),
    }  # fmt: skip
    path.write_bytes(packed_weights(learning.average, shape, how))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    packing = ways.add_parser("pack")
    packing.add_argument("checkout", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--games", type=int, default=245_000)
    packing.add_argument("--counted", type=int, default=10_000)
    training = ways.add_parser("train")
    training.add_argument("records")
    training.add_argument("out")
    for name, usual in (
        ("minutes", 9.0), ("channels", 128), ("blocks", 6), ("batch", 1024), ("rate", 1e-3), ("seed", 1),
        ("alone", 0.6), ("mix", 1.0), ("simulations", 16), ("share", 0.5), ("score", 0.5), ("window", 400_000), ("reuse", 3.0), ("measure", 60.0),
    ):  # fmt: skip
        training.add_argument(f"--{name}", type=type(usual), default=usual)
    training.add_argument("--start", default="")
    training.add_argument("--precision", default="bfloat16")
    training.add_argument("--small", action="store_true", help="To see that it works.")
    args = parser.parse_args()
    if args.way == "pack":
        pack(args.checkout, args.out, args.games, args.counted)
    else:
        train(args)


if __name__ == "__main__":
    main()
