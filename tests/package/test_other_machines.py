"""What Linux has and others lack: taken away here, everything goes on."""

from __future__ import annotations

import os
from pathlib import Path

from jubango.bots.config import bot_from_spec
from jubango.bots.sizing import affordable_lanes
from jubango.sgf_games.compute import machine
from jubango.sgf_games.library.library import Library
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game


def test_memory_bounds_the_games_at_once():
    assert machine.memory_bytes() > 1 << 28
    lanes = [affordable_lanes(make_game("go:9"), [bot_from_spec(f"uct:simulations={n}")]) for n in (1_000, 2_000)]
    assert lanes[0] > lanes[1] > 1


def test_cores_and_processor_are_known_without_linux(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.cores() >= 1
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError()))
    assert machine.processor().strip()


def test_results_are_kept_where_a_folder_cannot_be_opened(monkeypatch, tmp_path):
    opened = os.open

    def like_windows(path, *args, **kwargs):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **kwargs)

    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    monkeypatch.setattr(os, "open", like_windows)
    library = Library(tmp_path)
    record = GameRecord("a~b~1", "tic_tac_toe", "a", "b", "random", "random", 1, ("a1",), "0", "line")
    library.add([record])
    library.close()
    assert Library(tmp_path).finished() == {"a~b~1"}
    assert (tmp_path / "games" / "a~b~1.sgf").read_bytes().startswith(b"(;")
