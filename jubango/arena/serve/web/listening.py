"""The server: an application at an address, whatever its visitors do."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import platformdirs
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from jubango.sgf_games.base.errors import UserError

HOST = "127.0.0.1"
FIRST_PORT = 8361  # 19 x 19; if it is taken, one of those after it
PORTS_TRIED = 20
QUEUE = 1024  # connections that wait in the system's queue
_AT_ONCE = 16  # connections that are taken from there at once
_MOST_OPEN = 256
TO_ASK = 10.0  # seconds in which a first request is to be there
CLOSING_SECONDS = 1  # at the end, for answers on their way
TOKEN_FILE = "serve-token"
SHORTEST_TOKEN = 16


def bound(host: str, port: int | None) -> socket.socket:
    """A socket at the address; port: None for the first that is free. Raises UserError."""
    ports = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    why: OSError | OverflowError | None = None
    for tried in ports:
        try:
            return socket.create_server((host, tried), family=family, backlog=QUEUE)
        except (OSError, OverflowError) as error:
            why = error
            if isinstance(error, socket.gaierror):
                break
    said = getattr(why, "strerror", None) or why
    mend = "leave --port out for any that is free" if port is not None else "name another --host or --port"
    raise UserError(f"{host}{f':{port}' if port is not None else ''}: cannot be listened to: {said}; {mend}")


def names_of(listener: socket.socket, host: str) -> tuple[list[str], bool]:
    """What a server at the socket is called by browsers, the best name first; and whether every number that leads here
    is a name of it."""
    address, port = listener.getsockname()[:2]
    anywhere = address in ("0.0.0.0", "::")
    local = [HOST, "localhost", "[::1]"]
    given = f"[{host}]" if ":" in host else host
    names = (
        [*local, socket.gethostname()]
        if anywhere
        else list(dict.fromkeys([given, f"[{address}]" * (":" in address) or address]))
    )
    if not anywhere and set(names) & set(local):
        names = list(dict.fromkeys([*names, *local]))
    return [f"{name}:{port}" for name in names], anywhere


def own_token() -> str:
    """This user's, the same whenever a server starts, so that pages which are open go on; kept in a file that nobody
    else may read. Where none can be kept it is a new one."""
    file = Path(platformdirs.user_state_path("jubango")) / TOKEN_FILE
    try:
        found = file.read_text("ascii").strip()
        if len(found) >= SHORTEST_TOKEN and found.isalnum():
            return found
    except (OSError, UnicodeDecodeError):
        pass
    token = secrets.token_hex(24)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with open(file, "x", encoding="ascii", opener=privately) as opened:
            opened.write(token)
    except OSError:
        pass
    return token


def privately(path: str, flags: int) -> int:
    """For ``open``: a file that only its user may read."""
    return os.open(path, flags, 0o600)


class _Visitor(H11Protocol):
    """A connection. However many there are, so many stay open that the process has files left for its work: whoever
    keeps us waiting longest loses its place."""

    most = _MOST_OPEN

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since, self.gone = self.loop.time(), False
        self._late = self.loop.call_later(TO_ASK, self._give_up)
        there = [one for one in self.connections if isinstance(one, _Visitor) and not one.gone]
        if len(there) > self.most:
            slowest = max(there, key=lambda one: (one.waits, -one.since))
            slowest.gone = True
            slowest.transport.abort()

    @property
    def waits(self) -> int:
        """2: it has not asked yet, or was answered and asks no more; 1: it is slow to take its answer; 0: neither."""
        if self.cycle is None or self.cycle.response_complete:
            return 2
        return int(self.transport.get_write_buffer_size() > 0)

    def _give_up(self) -> None:
        if self.cycle is None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)


class Listening:
    """A server of one application. It prints nothing, unless JUBANGO_TRACEBACK is set."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        _Visitor.most = most_open()
        if not os.environ.get("JUBANGO_TRACEBACK"):
            log = logging.getLogger("uvicorn")
            log.handlers, log.propagate = [logging.NullHandler()], False
        config = uvicorn.Config(
            app, http=_Visitor, ws="none", loop="asyncio", log_config=None, access_log=False, server_header=False,
            date_header=False, proxy_headers=False, backlog=_AT_ONCE, timeout_graceful_shutdown=CLOSING_SECONDS,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until it is interrupted; ``ready`` is called once it answers. For the main thread."""

        async def serve() -> None:
            serving = asyncio.ensure_future(self._server.serve([self._listener]))
            while not self._server.started and not serving.done():
                await asyncio.sleep(0.005)
            with suppress(OSError):
                self._listener.listen(QUEUE)
            ready()
            await serving

        asyncio.run(serve())

    def start(self) -> None:
        """In a thread of its own."""
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answers on their way are given a moment."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(4 * CLOSING_SECONDS)


def most_open() -> int:
    """Connections at a time: of the descriptors that the process may have three quarters stay for the rest of it."""
    try:
        import resource
    except ImportError:  # Windows
        return _MOST_OPEN
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_OPEN if soft == resource.RLIM_INFINITY else max(8, min(_MOST_OPEN, soft // 4))
