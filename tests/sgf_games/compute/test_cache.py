"""What is kept on disk between runs is code that runs: it is kept for one user alone, or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from jax._src.compilation_cache import compress_executable, decompress_executable

from jubango.sgf_games.base.errors import SetupWarning
from jubango.sgf_games.compute import cache
from jubango.sgf_games.compute.cache import cache_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", [])
    monkeypatch.setattr(cache, "_told", set())
    return tmp_path / "cache"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def refused(what, *inside):
    """The line that is said once."""
    with pytest.warns(SetupWarning, match=what) as caught:
        assert cache_folder(*inside) is None
        assert cache_folder(*inside) is None
    (warning,) = caught
    assert str(warning.message).endswith("; going on without the cache of compiled programs")
    return str(warning.message)


def test_it_is_made_for_its_user_alone(folder):
    old = os.umask(0)
    try:
        assert cache_folder("traced", "code") == folder / "traced" / "code"
    finally:
        os.umask(old)
    assert {mode(path) for path in (folder, folder / "traced", folder / "traced" / "code")} == {0o700}


def test_a_folder_that_is_there_keeps_its_mode(folder):
    folder.mkdir(mode=0o755)
    assert cache_folder() == folder
    assert mode(folder) == 0o755


@pytest.mark.parametrize("bits", [0o775, 0o777, 0o1777])
@pytest.mark.parametrize("inside", [(), ("traced",), ("traced", "code")])
def test_where_others_can_write_nothing_is_read(folder, bits, inside):
    cache_folder("traced", "code")
    place = folder.joinpath(*inside)
    place.chmod(bits)
    said = refused(f"others can write there \\(mode {bits:o}\\)", "traced", "code")
    assert f"if there is nothing but this cache in it: rm -r {place}" in said
    place.chmod(0o755)
    assert cache_folder("traced", "code")


def test_a_folder_that_everybody_can_exchange(folder):
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)
    refused(f"everybody can write to {folder.parent}, and put another folder in its place")
    folder.parent.chmod(0o1777)  # as /tmp: only owners can
    assert cache_folder() == folder


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_somebody_else_s_folder(folder):
    folder.mkdir(mode=0o755)
    os.chown(folder, 12345, -1)
    refused("belongs to user 12345, and what lies there would run as you; name a folder of your own")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_in_somebody_else_s(folder):
    """Who owns the folder above can put another one in its place, even where it is sticky."""
    folder.mkdir(mode=0o700)
    for bits in (0o755, 0o1777):
        os.chown(folder.parent, 12345, -1)
        folder.parent.chmod(bits)
        said = refused(f"{folder.parent} belongs to user 12345, who can put another folder in its place")
        cache._told.remove(said)
        os.chown(folder.parent, cache.OVERFLOW_USER, -1)
        assert cache_folder() == folder


def test_a_link_leads_nowhere_else_afterwards(folder):
    """Somebody else's, in /tmp: what is looked at is what is used, by JAX too, which keeps the path."""
    own, other = folder.parent / "own", folder.parent / "other"
    own.mkdir(mode=0o700)
    folder.symlink_to(own)
    found = cache_folder("xla")
    folder.unlink()
    folder.symlink_to(other)
    assert found == own / "xla"
    folder.unlink()
    folder.symlink_to(folder)
    refused("cache: ")


def test_what_cannot_be_made(folder):
    folder.touch()
    refused(r"cache: cannot be made \(File exists\); name a folder of your own \(JUBANGO_CACHE=FOLDER\)")


def random_match():
    """The command, in a process of its own."""
    command = [Path(sys.executable).with_name("jubango"), "match", "random", "random", "--game", "tic_tac_toe", "--games", "2"]  # fmt: skip
    environment = {key: value for key, value in os.environ.items() if key != "JAX_COMPILATION_CACHE_DIR"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.full
def test_a_command_goes_on_without_it(folder):
    """With one line, and nothing read or written there, by JAX either."""
    folder.mkdir()
    folder.chmod(0o777)
    done = random_match()
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "others can write there" in line] == [
        f"jubango: {folder}: others can write there (mode 777), and what lies there runs as you; if there is nothing but "
        f"this cache in it: rm -r {folder}; going on without the cache of compiled programs"
    ]
    assert not list(folder.iterdir())


@pytest.mark.full
def test_half_a_compiled_program_is_written_again(folder):
    """JAX leaves one where it is killed while it writes, would warn of it in every process, and never mend it."""
    assert random_match().returncode == 0
    programs = {path: path.read_bytes() for path in (folder / "xla").glob("*-cache")}
    assert programs
    for path, whole in programs.items():
        path.write_bytes(whole[: len(whole) // 2])
    for known in folder.glob("fused-*"):  # what is known, and what was traced, needs no check by a program of its own
        known.unlink()
    shutil.rmtree(folder / "traced")
    done = random_match()
    assert done.returncode == 0 and "Error" not in done.stderr and "Warning" not in done.stderr, done.stderr
    again = [path for path in programs if path.exists()]  # what is made in less than 0.03 s is not kept
    assert again
    for path in again:
        assert decompress_executable(path.read_bytes()), "it is whole"


def test_only_what_cannot_be_unpacked_goes(folder):
    said = "Error reading persistent compilation cache entry for 'jit_run': zlib.error"
    place = cache_folder("xla")
    for name, data in (("jit_run-1-cache", b"half"), ("jit_run-2-cache", compress_executable(b"x")), ("jit_run-3", b""), ("jit_other-1-cache", b"")):  # fmt: skip
        (place / name).write_bytes(data)
    assert not cache.drop_broken("another warning")
    assert cache.drop_broken(said)
    assert sorted(path.name for path in place.iterdir()) == ["jit_other-1-cache", "jit_run-2-cache", "jit_run-3"]
    assert not cache.drop_broken(said), "it is said"


@pytest.mark.full
def test_a_cache_without_room_is_left_without_half_files(folder):
    """Several programs of one name, whose warnings are the same word for word."""
    code = """
import sys
from pathlib import Path
import jax
from jax._src import compiler, lru_cache
from jubango.arena.commands import main

def put(self, key, data):
    (Path(self.path) / f"{key}-cache").write_bytes(data[:9])
    raise OSError(28, "No space left on device")

lru_cache.LRUCache.put = put
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
sys.argv[1:] = ["match", "uct:simulations=8", "random", "--game", "tic_tac_toe", "--games", "2"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert done.stderr.count("compiled programs cannot be kept") == 1, done.stderr
    assert "UserWarning" not in done.stderr
    assert not list((folder / "xla").glob("*-cache"))


def test_what_cannot_be_written_is_said_once(folder, monkeypatch):
    monkeypatch.setattr(cache, "lost", [])
    said = "Error writing persistent compilation cache entry for 'jit_{}': OSError: [Errno 28] No space left on device"
    place = cache_folder("xla")
    (place / "jit_run-1-cache").write_bytes(b"half")
    with pytest.warns(SetupWarning) as caught:
        assert all(cache.drop_broken(said.format(name)) for name in ("run", "step"))
    (warning,) = caught
    assert str(warning.message).startswith(
        f"{place}: compiled programs cannot be kept ([Errno 28] No space left on device)"
    )
    assert cache.lost == ["jit_run", "jit_step"]
    assert not list(place.iterdir())
