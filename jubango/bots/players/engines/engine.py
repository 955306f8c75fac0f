"""A running engine, whatever protocol it speaks: one process, one question at a time, with a clock."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, NoReturn

KEEPER = Path(__file__).with_name("keeper.py")
LONGEST_ANSWER = 65_536  # bytes, and of one line
MOST_READ = 1 << 20  # bytes at once; more than a pipe holds
BRIEF = 200  # characters of what an engine says that are shown and kept
SLICE = 0.25  # seconds; a wait of so many that takes far longer tells that this process was stopped meanwhile


class EngineFailure(Exception):
    """The engine did not do what the protocol asks. ``kind``: "time", "crash", "error", "illegal" or "refused"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ErrorAnswer(EngineFailure):
    """The engine answered that it cannot do it, which may be right: it lives."""


def brief(text: str) -> str:
    """What an engine said, as one short line."""
    line = " ".join(text.split())
    return line if len(line) <= BRIEF else f"{line[: BRIEF - 3]}..."


def program(name: str) -> str | None:
    """Where a program is: on PATH, or where Debian puts games (GNU Go among them), which root's PATH leaves out."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games", "/usr/local/games"])
    return shutil.which(name, path=places)


class Answer(ABC):
    """An answer as it comes in."""

    whole = False
    size = 0  # bytes of it
    longest = LONGEST_ANSWER  # bytes that it may have
    early = False  # it may come before the question is out: there are several
    patient = False  # what the engine writes as errors shows that it is at work, and its time begins anew

    @abstractmethod
    def add(self, heard: bytes) -> None:
        """What has been heard since."""


class Engine:
    """A running program. Every call ends: with an answer, or with EngineFailure in time.

    It is started by a keeper (:mod:`jubango.bots.players.engines.keeper`), at the other end of ``_life``.
    """

    def __init__(self, command: str) -> None:
        """Start ``command`` (split like a shell's). Raises EngineFailure if there is nothing to start."""
        self.command = command
        self.seconds = 0.0  # that it has taken for all its answers
        self._unsent = b""  # of the lines for it
        self._said = b""  # the end of what it wrote as errors
        try:
            self._process, self._life = _start(command)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the command is empty or badly quoted"
            raise EngineFailure("crash", f'cannot start "{command}": {reason}') from None
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        for file in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(file.fileno(), False)

    def post(self, line: str) -> None:
        """Send a line now, or before the next question where it does not go into the pipe."""
        self._unsent += line.encode() + b"\n"
        if not self._stdin.closed:
            self._unsent = _write(self._stdin, self._unsent)

    def exchange(self, question: str, answer: Answer, called: str, seconds: float) -> None:
        """Send a line and wait until the ``answer`` is whole. ``called``: what messages call the question. Raises
        EngineFailure, after which the engine is dead."""
        if not self._stdin.closed:
            _read(self._stdout)  # what it said unasked is no answer
        self._unsent += question.encode() + b"\n"
        self.wait(answer, called, seconds)

    def wait(self, answer: Answer, called: str, seconds: float) -> None:
        """Wait until the ``answer`` to what has been sent is whole; see :meth:`exchange`."""
        if self._stdin.closed:
            raise EngineFailure("crash", f"had ended before {called!r}")
        left, last = seconds, time.monotonic()
        with selectors.PollSelector() as waiting:
            if self._unsent:
                waiting.register(self._stdin, selectors.EVENT_WRITE)
            for file in (self._stdout, self._stderr, self._life):
                waiting.register(file, selectors.EVENT_READ)
            while not answer.whole:
                late = left <= 0  # it is judged after what lies there has been read
                ready = {key.fileobj for key, _ in waiting.select(0 if late else min(left, SLICE))}
                if self._stdin in ready:
                    self._unsent = _write(self._stdin, self._unsent)
                    if not self._unsent:
                        waiting.unregister(self._stdin)
                if self._stderr in ready:
                    if not self._listen():
                        waiting.unregister(self._stderr)
                    elif answer.patient:
                        left = seconds
                heard = _read(self._stdout)
                if answer.early or not self._unsent:  # to a question that it has not got there is no answer
                    answer.add(heard or b"")
                now = time.monotonic()
                spent, last = min(now - last, 2 * SLICE), now
                left, self.seconds = left - spent, self.seconds + spent
                if answer.whole:
                    break
                if answer.size > answer.longest:
                    self.fail("error", f"answered {called!r} with more than {answer.longest} bytes")
                if self._life in ready or heard == b"":
                    self.fail("crash", f"ended during {called!r}")
                if late and left <= 0:
                    self.fail("time", f"no answer to {called!r} in {seconds:g} s")

    def stop(self) -> None:
        """Have the keeper end it, from any thread: whoever waits for an answer gets a failure at once."""
        with contextlib.suppress(OSError):
            self._life.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """End the engine and whatever it started, and close all that leads to it. While another thread waits for an
        answer it is to be stopped instead."""
        self.stop()
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for file in (self._stdin, self._stdout, self._stderr, self._life):
            file.close()

    def _listen(self) -> bool:
        """Keep the end of what it writes as errors. False: there will be no more."""
        heard = _read(self._stderr)
        self._said = (self._said + (heard or b""))[-10 * BRIEF :]
        return heard != b""

    def fail(self, kind: str, message: str) -> NoReturn:
        """End it. Raises EngineFailure."""
        if kind == "crash":
            message = self._last_words(message)
        self.kill()
        raise EngineFailure(kind, message)

    def _last_words(self, message: str) -> str:
        """How it ended, as the keeper tells and as it told itself."""
        self._life.settimeout(1.0)  # its pipes may close a little earlier
        how = ""
        with contextlib.suppress(OSError):
            how = self._life.recv(10 * BRIEF).decode()
        if how.startswith("cannot start"):
            return how.replace("start", f'start "{self.command}"', 1)
        self._listen()
        said = [line for line in plain(self._said).split("\n") if line.strip()]
        return message + (f" ({how})" if how else "") + (f"; it said: {brief(said[-1])}" if said else "")


def _start(command: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The keeper of an engine, and the other end of its socket. Raises OSError, and ValueError for a command that is
    none."""
    argv = shlex.split(command)
    if not argv:
        raise ValueError
    argv[0] = program(argv[0]) or argv[0]
    life, keepers = socket.socketpair()
    with keepers, contextlib.ExitStack() as if_none_starts:
        if_none_starts.callback(life.close)
        process = subprocess.Popen(
            [sys.executable, "-P", str(KEEPER), str(keepers.fileno()), *argv], bufsize=0, pass_fds=[keepers.fileno()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the arena, which ends its engines itself
        )  # fmt: skip
        if_none_starts.pop_all()
    return process, life


def plain(said: bytes) -> str:
    """Text without control characters other than ends of lines, nor the mark of byte order at its beginning that some
    languages write."""
    text = said.decode("utf-8", "replace").removeprefix("\ufeff").replace("\t", " ")
    return "".join(ch for ch in text if ch >= " " or ch == "\n")


def _read(file: IO[bytes]) -> bytes | None:
    """What lies in a pipe: None if nothing does, nothing at its end."""
    try:
        return os.read(file.fileno(), MOST_READ)
    except BlockingIOError:
        return None


def _write(file: IO[bytes], unsent: bytes) -> bytes:
    """What did not go into a pipe. Into one that has closed goes everything: that it has ended is seen elsewhere."""
    try:
        return unsent[os.write(file.fileno(), unsent) :]
    except BlockingIOError:
        return unsent
    except OSError:
        return b""
