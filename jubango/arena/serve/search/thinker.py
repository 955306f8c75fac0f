"""The server's side of the process that searches. It is started when it is needed, and again if it has died."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

_LONGEST_LINE = 1 << 24  # bytes that the process says at once
_ENDING_SECONDS = 2.0  # that the process is given to be gone once it is killed
_DIED = "the process that searches has died; what it was at is lost"
# What it runs: nothing is imported from the current directory unless plug-ins are named.
_PROGRAM = (
    "import sys; sys.path.insert(0, {root!r}); from jubango.arena.commands import load_plugins; "
    "from jubango.arena.serve.search.worker import serve; serve(load_plugins)"
)

Heard = Callable[[Mapping[str, object]], None]


class Thinking:
    """Something that the process is at."""

    def __init__(self, thinker: Thinker, number: int) -> None:
        self._thinker, self.number = thinker, number

    def stop(self) -> None:
        """It is to answer with what there is."""
        self._thinker.say({"id": self.number, "do": "stop"})

    def drop(self) -> None:
        """Nobody wants it any more, and nothing more is heard of it."""
        self._thinker.forget(self.number)


class Thinker:
    """Used in the thread of the event loop alone. What is heard has a "kind": "update" (how far it is), and at the end
    "done", or "error" with a line in "error"."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._heard: dict[int, Heard] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: list[bytes] = []  # lines that are said once it is there
        self._running: asyncio.Task[None] | None = None
        self._over = False

    def begin(self, order: Mapping[str, object], heard: Heard) -> Thinking:
        """Have something done, one turn after the other with all that others want.

        The order is a game (:func:`jubango.arena.serve.search.told.told`) and "work": "move" by a "bot", its table, in
        the game called "key", with a "seed", a "limit" (a :class:`~jubango.bots.players.clock.MoveTime`) and a "clock";
        "ready", for such a move to come; "analyse" by a "bot" or the engine of a "command"; or "review" of an "sgf",
        with a "folder" and the names there of a "file" and a "page".
        """
        number = next(self._numbers)
        self._heard[number] = heard
        self.say({"id": number, "do": "begin", **order})
        return Thinking(self, number)

    def say(self, line: Mapping[str, object]) -> None:
        if self._over:
            return
        data = json.dumps(line).encode() + b"\n"
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(data)
            return
        self._waiting.append(data)
        self.start()

    def forget(self, number: int) -> None:
        if self._heard.pop(number, None) is not None:
            self.say({"id": number, "do": "drop"})

    def start(self) -> None:
        """Have the process ready: that takes some seconds."""
        if self._running is None and not self._over:
            self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        root = str(Path(__file__).parents[4])
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-c", _PROGRAM.format(root=root), stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, limit=_LONGEST_LINE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._lose(f"the process that searches cannot be started: {error.strerror}")
            return
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        for line in self._waiting:
            process.stdin.write(line)
        self._waiting = []
        with suppress(ValueError, OSError):
            async for line in process.stdout:
                self._hear(json.loads(line))
        self._process = self._running = None
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        self._lose(_DIED)

    def _hear(self, said: Mapping[str, object]) -> None:
        number = said.get("id")
        heard = self._heard.get(number) if isinstance(number, int) else None
        if heard is None:
            return
        if said["kind"] != "update" and isinstance(number, int):
            del self._heard[number]
        try:
            heard(said)
        except Exception:  # what others wait for goes on
            logging.getLogger("uvicorn.error").exception("what was heard")

    def _lose(self, why: str) -> None:
        """Whoever waits is told."""
        self._running = None
        heard, self._heard = self._heard, {}
        self._waiting = []
        for one in heard.values():
            one({"kind": "error", "error": why})

    async def ended(self) -> None:
        """After :meth:`close`: until the process is gone, for a loop that is closed next."""
        if self._running is not None:
            await asyncio.wait([self._running], timeout=_ENDING_SECONDS)
        process = self._process
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), _ENDING_SECONDS)
            await asyncio.sleep(0)

    def close(self) -> None:
        """It ends by itself once nobody is at the other end of its pipe."""
        self._over = True
        self._heard = {}
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
        if self._running is not None:
            self._running.cancel()
