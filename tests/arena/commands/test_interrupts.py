"""Ctrl-C at awkward moments: status 130, no traceback, never lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jubango.analysis.tables.tables import games_frame

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-c", "from jubango.arena.commands import main; main()"]

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals"),
]


def begun(folder, command, **environment) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    )


def wait_for(there, process) -> None:
    while not there():
        time.sleep(0.01)
        assert process.poll() is None


def ended(process, quiet: str) -> None:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert quiet in errors.splitlines()[-1] if quiet else not errors


def test_three_in_a_row_keep_what_is_finished(tmp_path):
    match = [*COMMAND, "match", "random", "random", "--game", "tic_tac_toe", "--games", "200000", "--out", "run"]
    process = begun(tmp_path, match)
    run = tmp_path / "run"
    wait_for(lambda: (run / "tournament.toml").exists() and len(games_frame(run)), process)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.03)
    ended(process, "games are finished and kept in run; go on with: ")
    assert len(games_frame(run))
    assert (run / "ratings.csv").exists()


IMPORT = """
import pathlib, time
pathlib.Path("begun").touch()
{work}
pathlib.Path("done").touch()
"""


LISTENING = """
import gc, signal, time
from jubango.arena.commands.terminal import interrupts
interrupts.listen()
try:
    exec({work!r})
    time.sleep(20)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_an_import_comes_to_its_end(tmp_path):
    """What is cut short there may leave a library half made, or abort."""
    (tmp_path / "slow.py").write_text(IMPORT.format(work="time.sleep(0.5)"))
    process = begun(tmp_path, [sys.executable, "-c", LISTENING.format(work="import slow")])
    wait_for((tmp_path / "begun").exists, process)
    process.send_signal(signal.SIGINT)
    ended(process, quiet="")
    assert (tmp_path / "done").exists()


def test_an_import_that_does_not_end_is_left(tmp_path):
    (tmp_path / "endless.py").write_text(IMPORT.format(work="time.sleep(3600)"))
    process = begun(tmp_path, [*COMMAND, "games"], JUBANGO_PLUGINS="endless")
    wait_for((tmp_path / "begun").exists, process)
    process.send_signal(signal.SIGINT)
    ended(process, quiet="")


def test_what_a_callback_swallows_comes_again(tmp_path):
    """Exceptions in callbacks of the garbage collector, of which JAX has one, go nowhere."""
    work = """
def collected(phase, info):
    gc.callbacks.clear()
    signal.raise_signal(signal.SIGINT)
gc.callbacks.append(collected)
gc.collect()
"""
    ended(begun(tmp_path, [sys.executable, "-c", LISTENING.format(work=work)]), quiet="")


def test_the_command_listens_before_it_imports_what_takes_time(tmp_path):
    impatient = """
import os, signal, sys
class Impatient:
    def find_spec(self, name, *rest):
        if name in ("rich", "typer"):
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Impatient())
from jubango.arena.commands import main
main()
"""
    ended(begun(tmp_path, [sys.executable, "-c", impatient]), quiet="jubango: interrupted")
