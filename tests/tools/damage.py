"""Databases, trainings and caches that a disk, a copy or somebody has damaged, by the thousand, through all that opens
and mends them.

python tests/tools/damage.py {databases,trainings,caches} 10000 [SEED]
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from nets import random_weights

from jubango.analysis.tables.tables import games_frame, kept_after, moves_frame
from jubango.arena.training.tables import PROGRESS_COLUMNS, Match, matches_of, progress_of
from jubango.arena.training.training import Training
from jubango.bots.learning import checkpoints, learner
from jubango.bots.learning.position_files import PositionFiles, blank_samples
from jubango.bots.learning.replay import Samples
from jubango.bots.networks.checkpoint import load_weights
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import cache, traced
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.library.recovery import problems, rebuild
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import Thought, packed
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

OUTSIDE = b"nobody reads, writes or deletes this\n"


def small_run(folder: Path, games: int = 12) -> list[GameRecord]:
    """A run's folder, closed, with so many games; what is in it."""
    rng, records = random.Random(1), []
    for i in range(games):
        moves = tuple(rng.sample([column + row for column in "ABC" for row in "123"], 7))
        thoughts = packed([Thought(i, 10, 0.5, 0.1, 0.01)] * 7) if i % 2 else b""
        comments = ("é" * 60, *[""] * 6) if i % 3 else ()
        records.append(
            GameRecord(
                f"a~b~{i + 1:05d}", "tic_tac_toe", "a", "b", "uct:c=1", "random", i, moves, "B+R", "resign", "it said ]",
                "event", 0.25, "2026-01-02T03:04:05+00:00", comments, thoughts,
            )
        )  # fmt: skip
    library = Library(folder)
    library.add(records)
    library.close()
    return records


def damage(data: bytes, rng: random.Random) -> bytes:
    """Bits turned, bytes or pages overwritten, or the end cut off; it is never as it was."""
    kind, out = rng.choice(["bits", "bits", "bytes", "text", "page", "swap", "cut", "zeros"]), bytearray(data)
    if not data:
        return rng.randbytes(9)
    pages = max(1, len(data) // 4096)
    if kind == "bits":
        for _ in range(rng.choice([1, 3, 30])):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        at, size = rng.randrange(len(out)), rng.randrange(1, 64)
        out[at : at + size] = rng.randbytes(min(size, len(out) - at))
    elif kind == "text":  # what a game's row says, which SQLite does not look at
        for _ in range(rng.choice([1, 5])):
            found = data.find(rng.choice([b"a~b~", b"tic_tac", b"B+R", b"games/", b"2026", "é".encode(), b"A1 ", b"create", b"CREATE"]), rng.randrange(len(out)))  # fmt: skip
            if found >= 0:
                out[found + rng.randrange(3)] = rng.choice([0, 0xFF, 0x2F, 0x2E, rng.randrange(256)])
    elif kind == "page":
        at = 4096 * rng.randrange(pages)
        out[at : at + 4096] = rng.randbytes(4096)
    elif kind == "swap":
        first, second = (4096 * rng.randrange(pages) for _ in range(2))
        out[first : first + 4096], out[second : second + 4096] = (
            data[second : second + 4096],
            data[first : first + 4096],
        )
    elif kind == "cut":
        del out[rng.randrange(len(out)) :]
    else:
        at = 512 * rng.randrange(max(1, len(out) // 512))
        out[at : at + 512] = bytes(len(out[at : at + 512]))
    return bytes(out) if out != data else damage(data, rng)


def damaged_runs(count: int, seed: int, folder: Path) -> Counter[str]:
    """Open so many damaged runs in every way and mend them. Returns how many ended how; asserts that nothing but
    UserError was raised, nothing outside was touched, and all was found that is still to be read."""
    whole, run, outside = folder / "whole", folder / "run", folder / "keys"
    records = small_run(whole)
    database, files = (whole / "results.sqlite").read_bytes(), sorted(path.name for path in (whole / "games").iterdir())
    outside.write_bytes(OUTSIDE)
    by_id, ends = {record.game_id: record for record in records}, Counter[str]()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run)
        bad = damage(database, rng)
        (run / "results.sqlite").write_bytes(bad)
        gone = set(rng.sample(files, rng.choice([0, 0, 1, len(files)])))
        for name in gone:
            (run / "games" / name).unlink()
        try:
            for read in (games_frame, moves_frame, problems, lambda run: kept_after(run, 3)):
                try:
                    read(run)
                except UserError as error:
                    assert "\n" not in str(error)
            try:
                Library(run).close()
                ends["opened"] += 1
            except UserError as error:
                ends["refused"] += 1
                assert "\n" not in str(error)
            try:
                rebuild(run, lambda record: record.game_id in by_id and record.seed == by_id[record.game_id].seed)
            except UserError as error:
                assert "newer version" in str(error), error
                ends["newer"] += 1
                continue
            left = {found.problem for found in problems(run)}
            assert left <= {"is not as it was written"}, left  # of a checksum that was damaged
            frame = games_frame(run).set_index("game_id")
            assert len(moves_frame(run)) == 7 * len(frame)
            kept_files = {game_id for game_id in by_id if f"{game_id}.sgf" not in gone}
            assert kept_files <= set(frame.index) <= set(by_id), kept_files - set(frame.index)
            for game_id in kept_files:
                assert frame["moves"][game_id].split() == list(by_id[game_id].moves)
            ends["only in the database"] += len(set(frame.index) - kept_files)
            ends["lost"] += len(set(by_id) - set(frame.index))
        except Exception as error:
            error.add_note(f"database number {number} of seed {seed}")
            raise
        assert outside.read_bytes() == OUTSIDE
        assert {path.name for path in folder.iterdir()} == {"whole", "run", "keys"}
    return ends


# -- trainings -----------------------------------------------------------------------------------

GIVEN = {"games": ("tic_tac_toe",), "channels": 4, "blocks": 1, "lanes": 32, "batch": 32, "simulations": 2, "fast": 2}
POSITIONS = "samples/0-tic_tac_toe"


def some_positions(game: Game, number: int, value: float = 0.5) -> Samples:
    """So many positions that can be learnt from."""
    blank = blank_samples(game, number)
    return blank._replace(policy=blank.policy + np.float16(1 / 9), value=blank.value + np.float32(value))


def small_training(folder: Path) -> None:
    """A training's folder as it is after a while: two checkpoints, two files of positions, two measured networks."""
    training = Training(GIVEN, folder)
    trainer = training.trainer
    weights = random_weights(trainer.shape, 1)
    for turn in (1, 2):
        trainer.add(0, some_positions(training.game, 8))
        trainer.counts |= {"turns": turn, "games": 10 * turn, "seconds": 30.0 * turn}
        begun = learner.begin(jax.tree.map(lambda x, turn=turn: turn * x, weights), trainer.recipe)
        trainer.learning = begun._replace(steps=np.int32(100 * turn))
        name = training.measurements._new_name()
        (folder / "networks").mkdir(exist_ok=True)
        training._run.write(f"networks/{name}.safetensors", training._packed_network())
        training.measurements._matches.append(
            match := Match(30.0 * turn, 10, name, training.measurements.best or "random", 4, 0, 0), match
        )
        training._progress.append(dict.fromkeys(PROGRESS_COLUMNS, turn), [turn] * len(PROGRESS_COLUMNS))
        training.save()


def damaged_trainings(count: int, seed: int, folder: Path, whole_every: int = 100) -> Counter[str]:
    """Open so many files of a training that are damaged, now and then the folder as a whole. Returns how many ended
    how; asserts that what is read is what was written, and that all else is left out with a line. The tables are text
    that anybody may read and write, with nothing that tells one number from another: of them it is asserted that rows
    are read or left out."""
    whole, run = folder / "whole", folder / "run"
    small_training(whole)
    game, trainer = make_game("tic_tac_toe"), Training(GIVEN, whole).trainer
    like, wanted = trainer.learning, set(trainer.counts)
    files = ["checkpoints/2.safetensors", f"{POSITIONS}/000001-8.npz", "networks/net-0002.safetensors", "progress.csv", "matches.csv"]  # fmt: skip
    names, ends = [f"checkpoints/{turn}.safetensors" for turn in (2, 1)], Counter[str]()
    right = checkpoints.newest(Folder(whole), names, like, wanted, [])
    samples = PositionFiles(Folder(whole), POSITIONS, game).load(100, [])
    weights = load_weights(whole / files[2]).weights
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        name = rng.choice(files)
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run)
        bad = damage((whole / name).read_bytes(), rng)
        (run / name).write_bytes(bad)
        own, notes = Folder(run), list[str]()
        try:
            if number % whole_every == 0:
                training = Training({"games": GIVEN["games"]}, run)
                training.trainer.add(0, some_positions(game, 3))
                training.save()
                assert Training({"games": GIVEN["games"]}, run).notes == []
                ends["whole folders"] += 1
            elif name == files[0]:
                found = checkpoints.newest(own, names, like, wanted, notes)
                assert _same(found, right) if not notes else found.turn == 1, notes
            elif name == files[1]:
                loaded = PositionFiles(own, POSITIONS, game).load(100, notes)
                assert _same(loaded, samples if not notes else samples[1:]), notes
            elif name == files[2]:
                try:
                    assert _same(load_weights(run / name).weights, weights)
                except UserError as error:
                    notes.append(str(error))
            else:
                read = progress_of if name == "progress.csv" else matches_of
                table = read(own, name, notes)
                assert len(table.rows) <= 2 + bad.count(b"\n")
                again = list[str]()
                assert len(read(own, name, again).rows) == len(table.rows) and not again
            ends[f"{name}: {'left out' if notes else 'read'}"] += number % whole_every != 0
            assert all(note.isprintable() and str(run) in note for note in notes), notes
        except Exception as error:
            error.add_note(f"training number {number} of seed {seed}, {name}")
            raise
    return ends


def _same(found: object, right: object) -> bool:
    """Equal to the last bit?"""
    (one, tree), (other, same) = jax.tree.flatten(found), jax.tree.flatten(right)
    return tree == same and all(map(np.array_equal, one, other))


# -- the cache -----------------------------------------------------------------------------------


def damaged_caches(count: int, seed: int, folder: Path, whole_every: int = 500) -> Counter[str]:
    """Read so many damaged programs of the cache, traced ones and compiled ones. Returns how many ended how; asserts that
    none is believed that is not as it was written, and that those that are traced again are right."""
    before = os.environ.get("JUBANGO_CACHE")
    os.environ["JUBANGO_CACHE"] = str(folder)
    try:
        return _damaged_caches(count, seed, folder, whole_every)
    finally:
        os.environ.pop("JUBANGO_CACHE") if before is None else os.environ.update(JUBANGO_CACHE=before)


def _damaged_caches(count: int, seed: int, folder: Path, whole_every: int) -> Counter[str]:
    def run() -> list[float]:
        return jit(lambda x: jnp.cumsum(x * 3 + 1), parts=("damage",))(jnp.arange(9.0)).tolist()

    right, ends = run(), Counter[str]()
    (path,) = (path for path in (folder / "traced").rglob("*") if path.is_file())
    whole, compiled = path.read_bytes(), zlib.compress(random.Random(seed).randbytes(30_000))
    entry = cache.cache_folder("xla") / "jit_run-0-cache"
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        if number % 2:
            entry.write_bytes(bad := damage(compiled, rng))
            believed = cache._is_whole(entry)
            assert not believed or zlib.decompress(bad) == zlib.decompress(compiled), number
        else:
            path.write_bytes(bad := damage(whole, rng))
            believed = traced._read(path) is not None
            assert not believed or bad == whole, number
            if number % whole_every == 0:
                assert run() == right
                assert path.read_bytes() == whole, "it is made again"
        ends[f"{'compiled' if number % 2 else 'traced'}: {'as it was' if believed else 'refused'}"] += 1
    return ends


if __name__ == "__main__":
    claim()
    acts = {"databases": damaged_runs, "trainings": damaged_trainings, "caches": damaged_caches}
    with tempfile.TemporaryDirectory() as place:
        print(dict(acts[sys.argv[1]](int(sys.argv[2]), int((sys.argv[3:] or ["1"])[0]), Path(place))))
