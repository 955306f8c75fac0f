"""Two servers of one folder: the second one says where the first is, and changes nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess

import pytest
from serving import COMMAND, ROOT, Server

from jubango.arena.runs.work_folder import is_at_play
from jubango.arena.serve.web.alone import SERVER_ADDRESS, SERVER_LOCK, alone_in
from jubango.sgf_games.base.errors import UserError

URL = "http://127.0.0.1:8361/?token=abc"


def test_a_second_one_is_told_where_the_first_is(tmp_path):
    with alone_in(tmp_path) as note:
        note(URL)
        with pytest.raises(UserError) as said, alone_in(tmp_path):
            pass
        assert str(said.value) == f"{tmp_path}: is being served already, at {URL}"
        assert stat.S_IMODE((tmp_path / SERVER_ADDRESS).stat().st_mode) == 0o600
        assert not is_at_play(tmp_path), "runs may be played in it"
    assert not (tmp_path / SERVER_ADDRESS).exists()
    with alone_in(tmp_path):
        pass


@pytest.mark.parametrize("left", ["http://evil.example\nand more", "\x1b[31m", "file:///etc/passwd", "x" * 2000])
def test_an_address_that_is_none_is_not_repeated(tmp_path, left):
    with alone_in(tmp_path):
        (tmp_path / SERVER_ADDRESS).write_text(left)
        with pytest.raises(UserError, match=r"is being served already$"), alone_in(tmp_path):
            pass


def test_a_link_in_their_place_is_not_followed(tmp_path):
    folder, victim = tmp_path / "site", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("kept")
    (folder / SERVER_ADDRESS).symlink_to(victim)
    with alone_in(folder) as note:
        note(URL)
    (folder / SERVER_LOCK).unlink()
    (folder / SERVER_LOCK).symlink_to(victim)
    with pytest.raises(UserError), alone_in(folder):
        pass
    assert victim.read_text() == "kept"


@pytest.mark.full
def test_the_lock_goes_with_its_process(tmp_path):
    first = Server(tmp_path)
    second = subprocess.run(
        [*COMMAND, "serve", str(tmp_path), "--no-open"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert second.returncode == 2
    assert second.stderr == f"jubango: {tmp_path}: is being served already, at {first.url}\n"
    first.end(signal.SIGKILL)
    third = Server(tmp_path)
    assert third.url
    third.end(signal.SIGINT)
