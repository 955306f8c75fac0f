"""The Go Text Protocol as a server reads and writes it (GTP 2, section 2): lines in by a thread, answers out."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import sys
import threading
from collections import deque
from typing import NamedTuple

from jubango.sgf_games.base.printable import printable

MOST_UNREAD = 1 << 24  # characters of answers that may wait for a slow reader before the work does
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
        self._lines: queue.Queue[tuple[int, str | None]] = queue.Queue(MOST_WAITING)  # with their numbers
        self._ahead: list[tuple[int, str | None]] = []  # one that was waited for
        self.ended = False  # there will be no more
        self._read_last = self._got_last = self._interrupt = 0  # numbers of lines
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Is there a line, or the end?"""
        return bool(self._ahead) or not self._lines.empty()

    def get(self) -> str | None:
        """The next line, empty ones too; None at the end."""
        self._got_last, line = numbered = self._ahead.pop() if self._ahead else self._lines.get()
        if line is None:
            self._ahead.append(numbered)  # it stays the end
        return line

    @property
    def interrupted(self) -> bool:
        """Has there been an interrupt after the line that was got last? It may have been read long before."""
        return self._interrupt > self._got_last

    def wait(self, seconds: float | None = None) -> None:
        """Until there is a line, or the end, or so long."""
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
        self._lines.put((self._read_last + 1, None))

    def _put(self, line: bytes) -> None:
        self._read_last += 1
        if line.strip() == INTERRUPT:
            self._interrupt = self._read_last
        self._lines.put((self._read_last, line.decode("utf-8", "replace")))


def complain(text: str) -> None:
    """What no answer can hold."""
    print(f"jubango: {printable(text)}", file=sys.stderr, flush=True)


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # a terminal that is gone
        return b""


class Output:
    """Where answers go."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begun = False  # an answer whose end is still to come

    def write(self, text: str) -> None:
        """Raises BrokenPipeError if nobody reads it any more."""
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(self._descriptor, data) :]

    def answer(self, command: Command, text: str = "") -> None:
        """An empty line ends an answer, so that there is none in it; a board begins on a line of its own."""
        body = "\n".join(line for line in text.split("\n") if line.strip())
        self.write(f"={command.id} {chr(10) * text.startswith(chr(10))}{body}\n\n")

    def begin(self, command: Command) -> None:
        """The head of an answer that comes line by line."""
        self.write(f"={command.id}\n")
        self._begun = True

    def end(self) -> None:
        self._begun = False
        self.write("\n")

    def refuse(self, command: Command, text: str) -> None:
        """An answer that has begun cannot be taken back: it ends, and people may read on stderr why."""
        text = " ".join(text.split())
        if self._begun:
            complain(f"{command.name}: {text}")
            self.end()
        else:
            self.write(f"?{command.id} {text}\n\n")

    @property
    def deaf(self) -> bool:
        """Has who read it gone?"""
        if not hasattr(select, "poll"):  # Windows
            return False
        poll = select.poll()
        poll.register(self._descriptor, 0)  # what went wrong is told unasked
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


class Spool:
    """Answers on their way to an output, written by a thread: who has something to say never waits for the reader."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._texts: deque[str] = deque()
        self._unread = 0  # characters of them
        self._broken = self._ending = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Raises BrokenPipeError if nobody reads it any more."""
        with self._changed:
            if self._broken:
                raise BrokenPipeError
            self._texts.append(text)
            self._unread += len(text)
            self._changed.notify_all()

    @property
    def behind(self) -> bool:
        """Does the reader lag so far that more is better left unsaid?"""
        return self._unread > MOST_UNREAD

    def catch_up(self) -> None:
        """Until the reader lags no more. Raises BrokenPipeError if there is none."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not self.behind)
            if self._broken:
                raise BrokenPipeError

    def end(self) -> None:
        """Until all is written. Raises BrokenPipeError if it could not be."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join()
        if self._broken:
            raise BrokenPipeError

    @property
    def deaf(self) -> bool:
        """Has who read it gone?"""
        return self._broken or self._output.deaf

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._texts or self._ending)
                if not self._texts:
                    return
                text = self._texts.popleft()
            try:
                self._output.write(text)
            except OSError:
                with self._changed:
                    self._broken = True
                    self._changed.notify_all()
                return
            with self._changed:
                self._unread -= len(text)
                self._changed.notify_all()
