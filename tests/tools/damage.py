"""Databases that a disk, a copy or somebody has damaged, by the thousand, through all that opens and mends them.

python tests/tools/damage.py 10000 [SEED]
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from jubango.analysis.tables.tables import games_frame, kept_after, moves_frame
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.library.recovery import problems, rebuild
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.records.thoughts import Thought, packed

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
    """Bits turned, bytes or pages overwritten, or the end cut off."""
    kind, out = rng.choice(["bits", "bits", "bytes", "text", "page", "swap", "cut", "zeros"]), bytearray(data)
    pages = len(data) // 4096
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
        at = 512 * rng.randrange(len(out) // 512)
        out[at : at + 512] = bytes(512)
    return bytes(out)


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(dict(damaged_runs(int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0]), Path(place))))
