"""A host in a process of its own on this machine, and the line to it: pickled messages over a pair of sockets.

The processes are this one's own children, so that each believes what the other sends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import Struct
from typing import Any

from jubango.arena.hosts.fleet import UNABLE
from jubango.arena.hosts.work.every_host import EveryHost
from jubango.sgf_games.base.errors import CannotGoOn, UserError

MESSAGE_HEAD = Struct("!Q")  # bytes of the message after it
CHUNK = 1 << 20  # bytes that are read at once
DIED = "died"  # what a host says last, with the reason
# What a child runs: nothing is imported from the current directory unless plug-ins are named.
PROGRAM = (
    "import sys; sys.path.insert(0, {root!r}); from jubango.arena.commands import load_plugins; "
    "from jubango.arena.hosts.fleets.links import serve; serve({descriptor}, load_plugins)"
)
LONGEST_REASON_SAID = 300  # characters of why a host died


Message = tuple[str, Any]  # what is asked and its arguments, or what was asked and the answer


def packed_message(message: Message) -> bytes:
    """With its length before it."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return MESSAGE_HEAD.pack(len(data)) + data


class Messages:
    """Bytes as they arrive, put together to messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> list[Message]:
        """The messages that are whole now."""
        self._data += data
        found: list[Message] = []
        at = 0
        while len(self._data) - at >= MESSAGE_HEAD.size:
            (length,) = MESSAGE_HEAD.unpack_from(self._data, at)
            end = at + MESSAGE_HEAD.size + length
            if len(self._data) < end:
                break
            found.append(pickle.loads(memoryview(self._data)[at + MESSAGE_HEAD.size : end].tobytes()))
            at = end
        del self._data[:at]
        return found


class ProcessLink:
    """A host in a process of its own. ``cores``: those that it is bound to, if any; ``variables`` are of its
    environment. Raises OSError where it cannot be started."""

    def __init__(self, variables: Mapping[str, str], cores: frozenset[int] = frozenset()) -> None:
        mine, its = socket.socketpair()
        root = str(Path(__file__).parents[4])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with its:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-c", PROGRAM.format(root=root, descriptor=its.fileno())],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors,
                    pass_fds=[its.fileno()], start_new_session=True, env={**os.environ, **variables},
                )  # fmt: skip
        except BaseException:
            mine.close()
            self._errors.close()
            raise
        if cores and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(self.process.pid, cores)
        mine.setblocking(False)
        self.socket = mine
        self._messages, self._out = Messages(), bytearray()
        self.said = ""  # by the host, why it died

    def ask(self, what: str, arguments: tuple[object, ...]) -> None:
        """Have it do something; it never waits."""
        self._out += packed_message((what, arguments))
        self.send()

    @property
    def sending(self) -> bool:
        """Is there more to be sent than went out so far?"""
        return bool(self._out)

    def send(self) -> None:
        """What goes out now."""
        while self._out:
            try:
                sent = self.socket.send(memoryview(self._out)[:CHUNK])
            except BlockingIOError:
                return
            except OSError:  # reading will tell
                self._out.clear()
                return
            del self._out[:sent]

    def receive(self) -> list[Message] | None:
        """The messages that have arrived; None if the host is gone."""
        found: list[Message] = []
        try:
            while data := self.socket.recv(CHUNK):
                found += self._messages.add(data)
                if len(data) < CHUNK:
                    return found
        except BlockingIOError:
            return found
        except OSError:
            return found or None
        except Exception as error:  # of a damaged message, too
            self.said = self.said or f"{type(error).__name__}: {error}"
        return found or None

    def why(self) -> str:
        """Why the process has ended, as far as one can tell."""
        status = self.process.poll()
        if self.said:
            return self.said
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - 4000))
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            if lines and status is not None and status > 0:
                return " ".join(lines[-1].split())[:LONGEST_REASON_SAID]
        if status is not None and status < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-status).name}"
        return "its process has ended"

    def end(self) -> None:
        """Its line is cut: it has ended, or does now."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        self.kill()

    def kill(self) -> None:
        """It ends at once, and what it has started with it."""
        if self.process.poll() is None:  # its number is its own as long as nobody has asked how it ended
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """It ends, and nothing is left of it."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.socket.close()
        self._errors.close()


def serve(descriptor: int, prepare: Callable[[], None]) -> None:
    """Be a host on this line, until whoever asks is gone; ``prepare`` is done before."""
    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the terminal's are for who asks
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    line = socket.socket(fileno=descriptor)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    messages, host = Messages(), EveryHost()
    problem: UserError | None = None
    try:
        prepare()
    except UserError as error:
        problem = error
    while data := line.recv(CHUNK):
        for message in messages.add(data):
            what, arguments = message
            try:
                if problem is not None:
                    raise problem
                answer = (what, getattr(host, what)(*arguments))
            except BaseException as error:
                unable = isinstance(error, UserError)
                line.sendall(packed_message((UNABLE if unable else DIED, _said(error))))
                os._exit(1)
            line.sendall(packed_message(answer))
    os._exit(0)


def _end_with(parent: int) -> None:
    """The host does not outlive whoever has started it, even in the middle of an answer."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _said(error: BaseException) -> str:
    plain = isinstance(error, UserError | CannotGoOn)
    text = " ".join(str(error).split())
    return (text if plain else f"{type(error).__name__}: {text}")[:LONGEST_REASON_SAID]
