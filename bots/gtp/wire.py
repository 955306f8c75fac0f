"""The Go Text Protocol as a server reads and writes it (GTP 2, section 2): lines in by a thread, answers out."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import threading
from typing import NamedTuple

LONGEST_LINE = 1 << 20  # bytes; the rest of a longer one is dropped
MOST_WAITING = 1000  # lines that are read ahead
INTERRUPT = b"# interrupt"  # as a comment: GoGui wants the move now


class GtpError(Exception):
    """The answer begins with ``?``: the text is all of it."""


class Command(NamedTuple):
    """A line that asks something."""

    id: str
    name: str
    words: list[str]


def parse(line: str) -> Command | None:
    """None for a line that asks nothing: empty, or a comment."""
    text = "".join(" " if c == "\t" else c for c in line.partition("#")[0] if c == "\t" or (c >= " " and c != "\x7f"))
    match = re.fullmatch(r"\s*(\d*)\s*(.*)", text, re.ASCII)
    assert match is not None, "there is nothing that this does not match"
    if not text.strip():
        return None
    name, *words = match[2].split() or [""]
    return Command(match[1], name, words)


class Lines:
    """The lines of a descriptor, read by a thread, so that a search knows when one is there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._ahead: list[str | None] = []  # one that was waited for
        self.ended = False  # there will be no more
        self.interrupted = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Is there a line, or the end?"""
        return bool(self._ahead) or not self._lines.empty()

    def get(self) -> str | None:
        """The next line, empty ones too; None at the end."""
        line = self._ahead.pop() if self._ahead else self._lines.get()
        if line is None:
            self._ahead.append(None)  # it stays the end
        return line

    def wait(self, seconds: float) -> None:
        """Until there is a line, or so long."""
        if not self._ahead:
            with contextlib.suppress(queue.Empty):
                self._ahead.append(self._lines.get(timeout=seconds))

    def _read(self) -> None:
        rest, dropping = b"", False
        while data := _read_some(self._descriptor):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if not dropping:
                    self._put(line)
                dropping = False
            if len(rest) > LONGEST_LINE:
                if not dropping:
                    self._put(rest[:LONGEST_LINE])
                rest, dropping = b"", True
        if rest and not dropping:
            self._put(rest)
        self.ended = True
        self._lines.put(None)

    def _put(self, line: bytes) -> None:
        if line.strip() == INTERRUPT:
            self.interrupted.set()
        self._lines.put(line.decode("utf-8", "replace"))


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # a terminal that is gone
        return b""


class Output:
    """Where answers go."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> None:
        """Raises BrokenPipeError if nobody reads it any more."""
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self._descriptor, data) :]

    def answer(self, command: Command, text: str = "") -> None:
        """An empty line ends an answer, so that there is none in it; a board begins on a line of its own."""
        body = "\n".join(line for line in text.split("\n") if line.strip())
        self.write(f"={command.id} {chr(10) * text.startswith(chr(10))}{body}\n\n")

    def refuse(self, command: Command, text: str) -> None:
        self.write(f"?{command.id} {' '.join(text.split())}\n\n")

    @property
    def deaf(self) -> bool:
        """Has who read it gone?"""
        if not hasattr(select, "poll"):  # Windows
            return False
        poll = select.poll()
        poll.register(self._descriptor, 0)  # what went wrong is told unasked
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
