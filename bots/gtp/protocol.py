"""The Go Text Protocol as spoken to an engine: one process, one command at a time, with a clock."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections import deque

LONGEST_LINE = 65_536  # bytes; what is longer is read in pieces


class EngineFailure(Exception):
    """The engine did not do what the protocol asks. ``kind``: "time", "crash", "error", or "refused"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _search_path() -> str:
    """PATH, then where Debian puts games (GNU Go among them), which root's PATH leaves out."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games", "/usr/local/games"])


class Engine:
    """A running GTP program. Every call ends: with an answer, or with EngineFailure in time."""

    def __init__(self, command: str) -> None:
        """Start ``command`` (split like a shell's). Raises EngineFailure if it cannot be started."""
        self.command = command
        try:
            argv = shlex.split(command)
            argv[:1] = [shutil.which(argv[0], path=_search_path()) or argv[0]] if argv else []
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the arena, which ends its engines itself
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
            )  # fmt: skip
        except (OSError, ValueError, IndexError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the command is empty or badly quoted"
            raise EngineFailure("crash", f'cannot start "{command}": {reason}') from None
        self._lines: queue.Queue[str | None] = queue.Queue(maxsize=10_000)
        self._complaints: deque[str] = deque(maxlen=5)
        threading.Thread(target=self._read_answers, daemon=True).start()
        threading.Thread(target=self._drain_errors, daemon=True).start()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(LONGEST_LINE):
            text = line.decode("utf-8", "replace").replace("\t", " ")
            self._lines.put("".join(ch for ch in text if ch >= " ").rstrip())
        self._lines.put(None)

    def _drain_errors(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(LONGEST_LINE):
            self._complaints.append(line.decode("utf-8", "replace").strip()[:200])

    def ask(self, command: str, seconds: float) -> str:
        """The answer's text, without its ``=``. Raises EngineFailure; after "time" or "crash" the
        engine is dead."""
        deadline = time.monotonic() + seconds
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            self._fail("crash", f"ended before {command!r}")
        answer: list[str] = []
        while True:
            left = deadline - time.monotonic()
            try:
                if left <= 0:  # an engine that only chatters is late as well
                    raise queue.Empty
                line = self._lines.get(timeout=left)
            except queue.Empty:
                self._fail("time", f"no answer to {command!r} in {seconds:g} s")
            if line is None:
                self._fail("crash", f"ended during {command!r}")
            assert line is not None
            if answer:
                if not line:
                    break
                answer.append(line)
            elif line.startswith(("=", "?")):
                answer.append(line)
            # Anything else before the answer is chatter that some engines print.
        text = "\n".join([answer[0][1:].lstrip("0123456789").strip(), *answer[1:]]).strip()
        if answer[0].startswith("?"):
            raise EngineFailure("error", f"answered {command!r} with: {text or 'an error'}")
        return text

    def _fail(self, kind: str, message: str) -> None:
        self.kill()
        said = f"; it said: {self._complaints[-1]}" if kind == "crash" and self._complaints else ""
        raise EngineFailure(kind, message + said)

    def kill(self) -> None:
        """End the engine and whatever it started (where there are no process groups, the engine alone)."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)
