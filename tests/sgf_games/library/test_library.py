"""The results on disk: whatever dies, finished games stay, once each, with their SGF."""

from __future__ import annotations

import itertools
import pickle
import random
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jubango.analysis.tables.tables import games_frame
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.sgf.sgf import write_record


def some_records(count: int) -> list[GameRecord]:
    rng = random.Random(5)
    records = []
    for i in range(count):
        moves = (*rng.sample([column + row for column in "ABCDE" for row in "12345"], 20), "pass", "pass")
        comments = tuple(rng.choice(["", "win [rate] 白\\\n50 %", "x" * 300]) for _ in moves) if i % 2 else ()
        records.append(
            GameRecord(
                f"a~b/{i}", "go:5,komi=7.5", "a", "b", "uct:c=1", "random", i, moves, "B+3.5", "score",
                "a detail", "event", 0.25, "2026-01-02T03:04:05+00:00", comments,
            )
        )  # fmt: skip
    return records


def kept(folder: Path) -> dict[str, bytes]:
    """What each game's row says its file holds."""
    frame = games_frame(folder)
    assert frame["game_id"].is_unique
    return {row.game_id: (folder / row.sgf).read_bytes() for row in frame.itertuples()}


def test_what_is_added_is_kept_once(tmp_path):
    records = some_records(4)
    library = Library(tmp_path)
    library.add(records[:2])
    library.add([replace(records[1], result="W+R"), records[2], replace(records[2], result="W+R"), records[3]])
    assert library.finished() == {record.game_id for record in records}
    library.close()
    rows = sqlite3.connect(tmp_path / "results.sqlite").execute("select black, white, score from games")
    assert rows.fetchall() == [("a", "b", 1.0)] * 4
    assert kept(tmp_path) == {record.game_id: write_record(record) for record in records}


def test_a_record_that_cannot_be_written_leaves_nothing_of_its_call(tmp_path):
    good, bad = some_records(2)
    library = Library(tmp_path)
    with pytest.raises(UserError, match="Z9"):
        library.add([good, replace(bad, moves=("Z9",))])
    assert library.finished() == set()
    assert not list((tmp_path / "games").iterdir())
    library.add([good])
    assert library.finished() == {good.game_id}


WRITER = """
import pickle, sys
from jubango.sgf_games.library.library import Library
records, library = pickle.load(open(sys.argv[1], "rb")), Library(sys.argv[2])
done = library.finished()
waiting = [record for record in records if record.game_id not in done]
for i in range(0, len(waiting), 16):
    library.add(waiting[i : i + 16])
    print(*[record.game_id for record in waiting[i : i + 16]], flush=True)
"""


@pytest.mark.full
def test_kill_9_loses_no_finished_game_and_counts_none_twice(tmp_path):
    records = some_records(6400)
    expected = {record.game_id: write_record(record) for record in records}
    (tmp_path / "records").write_bytes(pickle.dumps(records))
    rng, run, reported = random.Random(1), tmp_path / "run", set()
    for _ in range(3):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "records"), str(run)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = list(itertools.islice(process.stdout, rng.randint(1, 40)))
        time.sleep(rng.uniform(0, 0.01))
        process.kill()
        lines += process.stdout
        assert process.wait() == -9, "killed while it was writing"
        reported |= {game_id for line in lines if line.endswith("\n") for game_id in line.split()}
        found = kept(run)
        assert reported <= found.keys()
        assert all(data == expected[game_id] for game_id, data in found.items())
        assert len(found) % 16 == 0, "a call's games are kept together"


@pytest.mark.parametrize("closed", [True, False])
def test_files_that_a_power_cut_took_are_written_again(tmp_path, closed):
    records = some_records(40)
    library = Library(tmp_path)
    library.add(records)
    if closed:
        library.close()
    whole = kept(tmp_path)
    files = sorted((tmp_path / "games").iterdir())
    for i, file in enumerate(files[:30]):
        data = file.read_bytes()
        if i % 3 == 0:
            file.unlink()
        elif i % 3 == 1:
            file.write_bytes(data[: len(data) * i // 30])
        else:
            file.write_bytes(data[: len(data) // 2].ljust(len(data), b"\0"))
    times = [file.stat().st_mtime_ns for file in files[30:]]
    Library(tmp_path).close()
    assert kept(tmp_path) == whole
    assert [file.stat().st_mtime_ns for file in files[30:]] == times, "whole files are left alone"


def test_a_file_that_somebody_changed_stays_as_it_is(tmp_path):
    (record,) = some_records(1)
    Library(tmp_path).add([record])
    (file,) = (tmp_path / "games").iterdir()
    changed = file.read_bytes().replace(b"EV[event]", b"EV[e]")
    file.write_bytes(changed)
    for _ in range(2):
        Library(tmp_path).close()
        assert file.read_bytes() == changed
    file.unlink()
    Library(tmp_path).close()
    assert file.read_bytes() == write_record(record)


def old_library(folder: Path, records: list[GameRecord]) -> None:
    """A run's folder as it was written before checksums and comments were kept."""
    (folder / "games").mkdir()
    db = sqlite3.connect(folder / "results.sqlite")
    db.execute(
        "create table games (game_id text primary key, game text not null, black text not null, white text not null,"
        " black_spec text not null, white_spec text not null, seed integer not null, result text not null,"
        " score real not null, reason text not null, detail text not null, plies integer not null,"
        " moves text not null, seconds real not null, date text not null, event text not null, sgf text not null)"
    )
    for i, r in enumerate(records):
        name = f"games/{i}.sgf"
        (folder / name).write_bytes(write_record(r))
        row = (
            r.game_id, r.game, r.black, r.white, r.black_spec, r.white_spec, r.seed, r.result, r.score, r.reason,
            r.detail, len(r.moves), " ".join(r.moves), r.seconds, r.date, r.event, name,
        )  # fmt: skip
        db.execute(f"insert into games values ({','.join('?' * len(row))})", row)
    db.commit()
    db.close()


def test_an_old_folder_opens_and_is_gone_on_with(tmp_path):
    records = some_records(4)
    old_library(tmp_path, records[:3])
    before = games_frame(tmp_path)
    whole = kept(tmp_path)
    (tmp_path / "games" / "0.sgf").unlink()
    library = Library(tmp_path)
    assert library.finished() == {record.game_id for record in records[:3]}
    library.add(records)
    library.close()
    after = games_frame(tmp_path)
    assert after.columns.tolist() == before.columns.tolist()
    assert after[:3].drop(columns="sgf").equals(before.drop(columns="sgf"))
    assert sorted(after["sgf"]) == sorted(f"games/{path.name}" for path in (tmp_path / "games").iterdir())
    assert after["sgf"][1] == "games/a~b%2F1.sgf", "what an older version has called otherwise is renamed"
    assert kept(tmp_path) == whole | {records[3].game_id: write_record(records[3])}


def test_a_game_that_is_unknown_now_is_named(tmp_path):
    Library(tmp_path).add(some_records(1))
    db = sqlite3.connect(tmp_path / "results.sqlite")
    with db:
        db.execute("update games set game = 'mine:3'")
    (file,) = (tmp_path / "games").iterdir()
    Library(tmp_path).close()  # a whole file asks for no game
    file.unlink()
    with pytest.raises(UserError, match=r"a~b%2F0.sgf: is damaged and cannot be written again: .*mine"):
        Library(tmp_path)


def test_no_library(tmp_path):
    (tmp_path / "results.sqlite").write_bytes(b"hello" * 1000)
    with pytest.raises(UserError, match="is no results file"):
        Library(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        Library(tmp_path / "file")
