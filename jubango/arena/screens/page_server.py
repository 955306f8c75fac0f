"""A small HTTP server for this machine alone, in a thread of its own. Whatever its visitors do costs the rest of the
process a bounded number of descriptors, and nothing is printed."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

HOST = "127.0.0.1"
MOST_OPEN = 256  # connections; more of them wait in the system's queue, where they are no descriptors of ours
QUEUE = 4096  # connections that may wait there
LONGEST_HEAD = 1 << 14  # bytes of a request
TO_ASK = 10.0  # seconds in which a request is to be there
TO_READ = 60.0  # seconds in which an answer is to be taken
GRACE = 0.5  # seconds that a visitor may keep us waiting while others wait for its place
CLOSING_SECONDS = 2.0  # seconds at the end for answers on their way
RETRY_SECONDS = 0.1  # seconds before a connection is tried again that could not be taken


class PageResponse(NamedTuple):
    status: HTTPStatus
    kind: str = "text/plain"  # its media type
    body: bytes = b""


class PageServer:
    """answer: what is said to a GET of a path with its query; asked in a thread, one question after another.

    port: of the loopback address, 0 for any that is free. Raises OSError and OverflowError for one that cannot be had.
    """

    def __init__(self, answer: Callable[[str], PageResponse], port: int = 0) -> None:
        self._answer = answer
        self._most = _most_open()
        self._socket = socket.create_server((HOST, port), backlog=QUEUE)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._worker = ThreadPoolExecutor(1)
        self._visitors: set[asyncio.Task[None]] = set()
        # Who keeps us waiting, and since when; the longest first.
        self._waited_for: dict[asyncio.Task[None], float] = {}
        self._heard: set[asyncio.Task[None]] = set()  # whose request is there
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # it would print
        self._closed = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No more visitors; who has asked is answered if that is quick."""
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join(2 * CLOSING_SECONDS)

    # -- in its thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        with self._socket:
            self._loop.run_until_complete(self._serve())
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._loop.close()

    async def _serve(self) -> None:
        welcoming = asyncio.create_task(self._welcome())
        await self._closed.wait()
        welcoming.cancel()
        if self._heard:
            await asyncio.wait(self._heard, timeout=CLOSING_SECONDS)
        for task in self._visitors:
            task.cancel()
        await asyncio.gather(welcoming, *self._visitors, return_exceptions=True)

    async def _welcome(self) -> None:
        while True:
            try:
                connection, _ = await self._loop.sock_accept(self._socket)
            except OSError:  # no descriptor is free, or the visitor has left
                await asyncio.sleep(RETRY_SECONDS)
                continue
            task = asyncio.create_task(self._meet(connection))
            self._visitors.add(task)
            task.add_done_callback(self._forget)
            await self._make_room()

    async def _make_room(self) -> None:
        """Until nobody has too much of it: whoever keeps us waiting longest loses its place."""
        while len(self._visitors) > self._most:
            slowest = next(iter(self._waited_for), None)
            left = GRACE if slowest is None else self._waited_for[slowest] + GRACE - time.monotonic()
            if slowest is not None and left <= 0:
                slowest.cancel()
                await asyncio.wait([slowest])
            else:
                await asyncio.wait(self._visitors, timeout=left, return_when=asyncio.FIRST_COMPLETED)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._visitors.discard(task)
        self._heard.discard(task)
        self._waited_for.pop(task, None)
        if not task.cancelled():
            task.exception()  # or it would be printed

    async def _meet(self, connection: socket.socket) -> None:
        """One request and its answer, in time or not at all."""
        own = asyncio.current_task()
        assert own is not None
        with connection, suppress(OSError):  # a timeout, too
            self._waited_for[own] = time.monotonic()
            async with asyncio.timeout(TO_ASK):
                head = await self._head(connection)
            self._heard.add(own)
            del self._waited_for[own]
            said = _bytes(await self._loop.run_in_executor(self._worker, self._say, head))
            self._waited_for[own] = time.monotonic()
            async with asyncio.timeout(TO_READ):
                await self._loop.sock_sendall(connection, said)

    async def _head(self, connection: socket.socket) -> bytes:
        """A request up to its first empty line, or as much of it as is read. Raises ConnectionError where it ends
        before."""
        head = b""
        while b"\r\n\r\n" not in head and len(head) <= LONGEST_HEAD:
            data = await self._loop.sock_recv(connection, LONGEST_HEAD)
            if not data:
                raise ConnectionError
            head += data
        return head

    # -- in the worker's -------------------------------------------------------------------------

    def _say(self, head: bytes) -> PageResponse:
        if len(head) > LONGEST_HEAD:
            return PageResponse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        asked = re.match(rb"([A-Z]+) (/[!-~]*) HTTP/1\.[01]\r\n", head)
        if asked is None:
            return PageResponse(HTTPStatus.BAD_REQUEST)
        hosts = re.findall(rb"(?im)^host:[ \t]*(\S*)[ \t]*\r$", head)
        if hosts not in ([b"%s:%d" % (name, self.port)] for name in (HOST.encode(), b"localhost")):
            return PageResponse(HTTPStatus.FORBIDDEN)  # another site's name for us
        if asked[1] != b"GET":
            return PageResponse(HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            return self._answer(asked[2].decode())
        except Exception as error:  # one visitor's misfortune
            return PageResponse(HTTPStatus.INTERNAL_SERVER_ERROR, body=f"{type(error).__name__}: {error}".encode())


def _bytes(answer: PageResponse) -> bytes:
    """An answer as it is sent; pages of others may not frame it."""
    headers = {
        "Content-Type": f"{answer.kind}; charset=utf-8", "Content-Length": str(len(answer.body)), "Connection": "close",
        "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "frame-ancestors 'none'",
    }  # fmt: skip
    lines = [f"HTTP/1.1 {answer.status.value} {answer.status.phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + answer.body


def _most_open() -> int:
    """Connections at a time: of the descriptors that the process may have three quarters stay for the rest of it."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_OPEN
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if soft == resource.RLIM_INFINITY else max(8, min(MOST_OPEN, soft // 4))
