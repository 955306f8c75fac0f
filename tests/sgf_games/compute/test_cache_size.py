"""The cache holds no more than it may: what was used longest ago goes, and nothing that is not the cache's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import cache, cache_size, machine
from jubango.sgf_games.compute.cache_size import kept, limit, size_of, trim


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JUBANGO_CACHE_SIZE", raising=False)
    monkeypatch.setattr(cache, "_chosen", [])
    monkeypatch.setattr(cache_size, "_chosen", [])
    return tmp_path / "cache"


def write(path, size, used):
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (used, used))
    return path


def filled(folder):
    """Ten programs of 100 bytes, the first used longest ago."""
    names = [f"xla/jit_run-{i:064x}-cache" for i in range(6)] + [f"traced/{7:016x}/{i:032x}" for i in range(4)]
    return [write(folder / name, 100, 1_000_000 + i) for i, name in enumerate(names)]


def test_what_was_used_longest_ago_goes_first(folder):
    files = filled(folder)
    assert [file.path for file in kept()] == files
    assert trim(0) == 1000
    assert trim(1000) == 1000
    os.utime(files[0], (2_000_000, 2_000_000))  # it is used
    left = trim(600)
    assert left == 500 == sum(file.size for file in kept())
    assert [file.path for file in kept()] == [*files[6:], files[0]]


def test_what_another_process_has_deleted_counts_as_gone(folder, monkeypatch):
    """Else processes that end together would empty the cache."""
    filled(folder)
    files = kept()
    for file in files[:4]:
        file.path.unlink()
    monkeypatch.setattr(cache_size, "kept", lambda: files)
    assert trim(600) == 500
    assert sum(file.path.exists() for file in files) == 5


def test_only_what_is_the_cache_s_is_counted_and_deleted(folder, tmp_path):
    filled(folder)
    mine = [
        write(folder / "notes.txt", 5000, 1),
        write(folder / "xla" / "model.bin", 5000, 1),
        write(folder / "xla" / "inner" / f"jit_run-{0:064x}-cache", 5000, 1),
        write(folder / "traced" / "mine" / f"{0:032x}", 5000, 1),
        write(tmp_path / "elsewhere" / f"{0:032x}", 5000, 1),
    ]
    (folder / "traced" / f"{9:016x}").symlink_to(tmp_path / "elsewhere")
    (folder / "xla" / f"jit_link-{1:064x}-cache").symlink_to(mine[0])
    assert trim(50) == 0
    assert kept() == []
    assert all(path.stat().st_size == 5000 for path in mine)


def test_a_folder_that_is_not_ours_alone_is_left_as_it_is(folder):
    files = filled(folder)
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="others can write there"):
        assert trim(1) == 0
    assert all(path.exists() for path in files)


@pytest.mark.parametrize(
    "text, size", [("0", 0), ("500M", 500 * 2**20), ("1.5G", 3 * 2**29), ("12", 12), ("2gb", 2**31)]
)
def test_sizes(folder, monkeypatch, text, size):
    assert limit() == 2 * 2**30
    assert size_of(text, "") == size
    monkeypatch.setenv("JUBANGO_CACHE_SIZE", text)
    assert limit() == size
    machine.choose_size("7M")
    assert limit() == 7 * 2**20


@pytest.mark.parametrize("wrong", ["much", "-1", "2 X", "1e9", "", "9" * 40])
def test_a_size_that_is_none(folder, monkeypatch, wrong):
    with pytest.raises(UserError, match="should be a size such as 500M or 2G, or 0 for no limit"):
        machine.configure(cache_size=wrong)
    if wrong:
        monkeypatch.setenv("JUBANGO_CACHE_SIZE", wrong)
        with pytest.raises(UserError, match=r"^JUBANGO_CACHE_SIZE="):
            limit()


@pytest.mark.parametrize("wrong", [-5, True, 1.5])
def test_a_number_that_is_no_size(folder, wrong):
    with pytest.raises(UserError, match="should be a size"):
        machine.configure(cache_size=wrong)


PROCESS = """
from jubango.sgf_games.compute.machine import claim
from jubango.sgf_games.compute.programs import jit
claim()
print(jit(lambda x: sum((x + i) ** 3 for i in range(300)))(1))
"""


@pytest.mark.full
def test_processes_that_share_a_small_cache(folder):
    """Each finds, makes and deletes programs while the others do: all of them have the right answer, and the cache is
    small in the end."""
    filled(folder)
    began = [
        subprocess.Popen([sys.executable, "-c", PROCESS.replace("300", str(300 + i % 2))], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env={**os.environ, "JUBANGO_CACHE_SIZE": "40K"}, text=True)
        for i in range(4)
    ]  # fmt: skip
    for i, process in enumerate(began):
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        assert int(out) == sum((1 + k) ** 3 for k in range(300 + i % 2))
    assert sum(file.size for file in kept()) <= 40 * 2**10
