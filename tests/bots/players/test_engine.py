"""One engine and its process: what it may do wrong, and that nothing of it is left behind."""

from __future__ import annotations

import gc
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from jubango.bots.players.engines.engine import BRIEF, EngineFailure
from jubango.bots.players.engines.gtp import GtpEngine

ROOT = Path(__file__).parents[3]
FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'tools' / 'fake_engine.py'))}"


def failure_of(engine: GtpEngine, command: str, seconds: float) -> EngineFailure:
    with pytest.raises(EngineFailure) as caught:
        engine.ask(command, seconds)
    return caught.value


def assert_gone(*processes: int) -> None:
    """They end, soon."""

    def lives(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != "zombie"
        except psutil.NoSuchProcess:
            return False

    for _ in range(200):
        left = [pid for pid in processes if lives(pid)]
        if not left:
            return
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    pytest.fail(f"{len(left)} of {len(processes)} processes were left behind")


def descriptors() -> int:
    gc.collect()  # what other tests have left
    return psutil.Process().num_fds()


def test_an_engine_ends_with_all_it_has_started():
    before = descriptors()
    engine = GtpEngine(f"{FAKE} fine")
    family = [int(pid) for pid in engine.ask("family", 20).split()]
    assert engine.ask("genmove b", 20) == "A1"
    engine.kill()
    assert_gone(*family)
    engine.kill()  # a second time does no harm
    assert failure_of(engine, "genmove w", 20).kind == "crash"
    assert descriptors() <= before


def test_killing_an_engine_that_has_ended_kills_nobody_else(monkeypatch):
    """Its number may have become a stranger's meanwhile."""
    engine = GtpEngine(f"{FAKE} fine")
    (own, _) = engine.ask("family", 20).split()
    os.kill(int(own), signal.SIGKILL)
    assert "signal 9" in str(failure_of(engine, "genmove b", 20))
    killed: list[int] = []
    for name in ("kill", "killpg"):
        monkeypatch.setattr(os, name, lambda pid, number: killed.append(pid))
    engine.kill()
    engine.stop()
    assert not killed


@pytest.mark.full
def test_an_engine_that_cannot_be_started_says_why_and_leaves_nothing_open(tmp_path):
    before, (soft, hard) = descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE)
    said = set()
    for more in range(0, 14, 2):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + more, hard))
        try:
            with pytest.raises(EngineFailure) as caught:
                GtpEngine(f"{FAKE} fine").ask("name", 0)  # it starts in the end, and has no time to answer
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        said.add(str(caught.value).partition(": ")[2])
        assert descriptors() <= before
    assert said == {"Too many open files", ""}
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    for command, reason in (
        ("", "empty"),
        ("'", "badly quoted"),
        (str(tmp_path), "denied"),
        (f"{tmp_path}/text", "format"),
    ):
        with pytest.raises(EngineFailure, match=f"^cannot start .*{reason}"):
            GtpEngine(command).ask("name", 20)
    assert descriptors() <= before


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("parts", "crash", "signal 11"), ("endless", "error", "65536 bytes"), ("huge", "error", "65536 bytes"), ("deaf", "time", "no answer"),
        ("refuses", "error", "I would rather not"),
    ],
)  # fmt: skip
def test_a_failure_has_its_name_whatever_is_said(mode, kind, words):
    engine = GtpEngine(f"{FAKE} {mode}")
    question, seconds = ("x" * 200_000, 1.0) if mode == "deaf" else ("genmove b", 60.0)
    if mode != "deaf":
        assert engine.ask(question, seconds) == "A1"
    failure = failure_of(engine, question, seconds)
    engine.kill()
    assert failure.kind == kind
    assert words in str(failure)
    if mode != "deaf":
        assert len(str(failure)) < 3 * BRIEF


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_no_engine_outlives_who_started_it(name):
    code = (
        "from jubango.bots.players.engines.gtp import GtpEngine\n"
        f"engine = GtpEngine({FAKE + ' fine'!r})\nprint(engine.ask('family', 20), flush=True)\nengine.ask('wait 3600', 3600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    family = [int(pid) for pid in process.stdout.readline().split()]
    assert len(family) == 2
    process.send_signal(getattr(signal, name))
    process.communicate()
    assert_gone(*family)


def test_who_was_stopped_meanwhile_reads_the_answer_that_waits():
    """Ctrl-Z, a laptop's lid: the time in which nobody could read is not the engine's."""
    code = (
        "from jubango.bots.players.engines.gtp import GtpEngine\n"
        f"engine = GtpEngine({FAKE + ' fine'!r})\nengine.ask('genmove b', 20)\nprint('now', flush=True)\n"
        "before = engine.seconds\nengine.ask('wait 1', 2)\nprint('in time', engine.seconds - before < 2)\nengine.kill()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    assert process.communicate()[0] == "in time True\n"
