"""Events from the server to whoever looks (server-sent events).

Nobody holds up anybody: of what a reader has not taken yet the newest of each kind is kept, and a reader that takes
nothing for a while loses its connection. A browser comes back by itself, and is told everything anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress

from starlette.types import Receive, Scope, Send

MOST_KINDS_WAITING = 64  # kinds of events that wait for a reader
SEND_SECONDS = 15.0  # in which a reader is to take what it is sent
BEAT_SECONDS = 15.0  # between two signs of life, which find out who has left
MOST_OF_A_BROWSER = 4  # streams at a time: browsers open six connections to a server, and pages need some
RETRY_MS = 1000  # until a browser comes back

Data = Mapping[str, object]


class Feed:
    """What happens to one thing, say a game, for all who look at it. Used in the thread of the event loop alone."""

    def __init__(self, snapshot: Callable[[], Data]) -> None:
        self._snapshot = snapshot
        self._readers: set[_Reader] = set()

    @property
    def watched(self) -> bool:
        """Does anybody look?"""
        return bool(self._readers)

    def send(self, kind: str, data: Data) -> None:
        """Tell everybody. What a reader has not been told yet of this ``kind`` is replaced by it."""
        for reader in list(self._readers):
            reader.put(kind, data)

    def answer(self) -> EventStream:
        """The answer to who begins to look: the snapshot, an event "all", and what happens from then on."""
        return EventStream(self)

    def _join(self) -> _Reader:
        reader = _Reader()
        reader.put("all", self._snapshot())
        self._readers.add(reader)
        return reader

    def _leave(self, reader: _Reader) -> None:
        self._readers.discard(reader)


class _Reader:
    """What one of them has not been told yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, Data] = {}
        self._some = asyncio.Event()
        self.over = False

    def put(self, kind: str, data: Data) -> None:
        self._waiting[kind] = data
        self.over |= len(self._waiting) > MOST_KINDS_WAITING
        self._some.set()

    def end(self) -> None:
        self.over = True
        self._some.set()

    async def take(self) -> bytes:
        """All that waits, as it is sent; a sign of life if nothing comes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._some.wait(), BEAT_SECONDS)
        self._some.clear()
        waiting, self._waiting = self._waiting, {}
        texts = [f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n" for kind, data in waiting.items()]
        return "".join(texts or [": still here\n\n"]).encode()


class EventStream:
    """An answer that goes on, as ASGI has it."""

    _of_browsers: dict[str, list[_Reader]] = {}  # noqa: RUF012 -- by their addresses, the oldest first

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        browser = str((scope.get("client") or ("",))[0])
        own = self._of_browsers.setdefault(browser, [])
        while len(own) >= MOST_OF_A_BROWSER:
            own.pop(0).end()  # it comes back, and ends another's: all of them are told, in turns
        reader = self._feed._join()
        own.append(reader)
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        leaving = asyncio.create_task(_left(receive))
        leaving.add_done_callback(lambda _: reader.end())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._push(send, f"retry: {RETRY_MS}\n\n".encode())
            await self._push(send, await reader.take())  # everybody is told once at least
            while not reader.over:
                await self._push(send, await reader.take())
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, OSError):
            pass  # too slow, or gone
        finally:
            leaving.cancel()
            self._feed._leave(reader)
            if reader in own:
                own.remove(reader)
            if not own and self._of_browsers.get(browser) is own:
                del self._of_browsers[browser]

    @staticmethod
    async def _push(send: Send, data: bytes) -> None:
        await asyncio.wait_for(send({"type": "http.response.body", "body": data, "more_body": True}), SEND_SECONDS)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
