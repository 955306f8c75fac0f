"""Hosts on the nodes of a Ray cluster, an actor a node, or a GPU: ``auto``, ``HOST:PORT``, ``ray://HOST:PORT``.

Ray starts the hosts and carries questions and answers. Who has which games is the driver's matter: no task is retried,
no actor restarted, and what is lost with a node is leased again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, HostEvent, has_worked
from jubango.arena.hosts.fleets.links import LONGEST_REASON_SAID
from jubango.arena.hosts.fleets.local import BACK_OFF, MOST_FAILURES
from jubango.arena.hosts.fleets.ray_host import RayHost, SharedWeights
from jubango.arena.hosts.protocol import HostWork
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.bots.networks.named import weights_path
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.base.extras import need
from jubango.sgf_games.base.files import read_file

NODES_SECONDS = 5.0  # between two looks at the nodes
STARTING_SECONDS = 300.0  # for an actor to start: its node's cores may be taken by others
HOPE_SECONDS = 120.0  # for a node to join, once the last one is gone
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
CONNECT_SECONDS = 5.0  # for the cluster to answer
JOIN_TRIES = 3  # a head that is busy may take longer to make a server for a client than Ray waits
SHARED_BYTES = 100_000  # from which on bytes are put where all hosts of a node find them
NO_TOKEN_HERE = "no token is here; copy ~/.ray/auth_token of the cluster's first machine, or set RAY_AUTH_TOKEN"
NO_SERVER = "client server failed"  # Ray says so
READY = "ready"  # what an actor is asked first
HANDED_DOWN = ("JUBANGO_PLUGINS", "JUBANGO_DEBUG", "XLA_PYTHON_CLIENT_MEM_FRACTION")  # of the environment
ADDRESS = re.compile(r"auto|(ray://)?(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")


@dataclass
class _Seat:
    """Where one host after the other runs: a node, or a GPU of it."""

    name: str
    node: str  # its id
    processors: float  # of the node, this seat's share
    gpu: bool
    lives: int = 0  # hosts that have run there
    failures: int = 0  # one after the other
    due: float | None = 0.0  # when the next is started; None: one runs, or none is to
    actor: Any = None
    host: str = ""
    began: float = 0.0
    ready: bool = False  # it has answered


class RayFleet:
    """The nodes of a Ray cluster at ``address``. A node that joins gets a host, and one that is lost is forgotten."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._ray: Any = None
        self._mine = False  # was the connection made here?
        self._seats: dict[tuple[str, int], _Seat] = {}
        self._numbers = Counter[str]()  # of seats on machines of one name
        self._pending: dict[Any, tuple[_Seat, str, str]] = {}  # questions: who was asked what
        self._events: list[HostEvent] = []
        self._shared: dict[str, Any] = {}  # what was put for all, by its digest
        self._looked = -NODES_SECONDS
        self._last = 0.0  # when there was a seat
        self._why = ""  # the last host was lost
        self._began = False  # has any host come?
        self._printed: Any = None

    @property
    def coming(self) -> int:
        """How many are to be started, or are starting."""
        return sum(seat.due is not None or (seat.actor is not None and not seat.ready) for seat in self._seats.values())

    @property
    def hopeful(self) -> bool:
        """May hosts still come?"""
        if any(seat.due is not None or seat.actor is not None for seat in self._seats.values()):
            return True
        return not self._seats and time.monotonic() - self._last < HOPE_SECONDS

    # -- the cluster -------------------------------------------------------------------------

    def start(self) -> None:
        """Connect, and begin with the nodes that there are. Raises UserError."""
        self._connect()
        try:
            self._look()
            if not self._seats:
                raise UserError(f'cluster "{self.address}": no node of it has cores to play on')
            for seat in self._seats.values():
                self._begin(seat)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        where = f'cluster "{self.address}"'
        need("ray", where)
        found = ADDRESS.fullmatch(self.address)
        if found and found["host"]:
            try:  # Ray itself would wait for a minute, and end the process
                speaks = _speaks_grpc(found["host"].strip("[]"), int(found["port"]))
            except (OSError, OverflowError) as error:
                raise UserError(f"{where}: nothing answers there: {error}") from None
            if not speaks:
                raise UserError(f"{where}: what answers there is no Ray cluster; is it the port of ray start --head?")
        self._ray = ray = importlib.import_module("ray")
        if ray.is_initialized():
            return
        try:
            self._join(ray)
        except ImportError as error:
            raise UserError(f"{where}: Ray's client needs more: pip install 'ray[client]' ({error})") from None
        except ConnectionError as error:
            why = f"cannot be joined: is its token here, and the same RAY_AUTH_MODE? ({_line(error)})"
            if NO_SERVER in str(error):
                why = f"its head was too busy to take a client in, {JOIN_TRIES} times; try again, or join by HOST:6379"
            if "Could not find" in str(error):
                why = "no Ray cluster runs on this machine; ray start --head begins one"
            raise UserError(f"{where}: {why}") from None
        except Exception as error:  # other versions of Ray or Python, a token that is missing, and more
            why = NO_TOKEN_HERE if "no authentication token was found" in str(error) else _line(error)
            raise UserError(f"{where}: {why}") from None
        self._mine = True
        with contextlib.suppress(ImportError, AttributeError):  # whose alarms would stand between our lines
            worker: Any = importlib.import_module("ray._private.worker")
            self._printed, worker.print_to_stdstream = worker.print_to_stdstream, _print_nothing

    def _join(self, ray: Any) -> None:
        for left in reversed(range(JOIN_TRIES)):
            try:
                with _handlers_kept(), _silence():
                    ray.init(address=self.address, log_to_driver=False, logging_level=logging.CRITICAL)
                return
            except ConnectionError as error:
                if not left or NO_SERVER not in str(error):
                    raise

    def _look(self) -> None:
        """Nodes may have come, and others may be gone."""
        self._looked = time.monotonic()
        try:
            nodes = self._ray.nodes()
        except Exception as error:
            raise CannotGoOn(f'cluster "{self.address}" does not answer: {_line(error)}') from None
        alive = {node["NodeID"]: node for node in nodes if node.get("Alive", node.get("alive"))}
        for key, seat in list(self._seats.items()):
            if seat.node not in alive:
                if seat.actor is not None:
                    self._lose(seat, "its node is gone")
                del self._seats[key]
        for own, node in alive.items():
            if (own, 0) in self._seats:
                continue
            resources: Mapping[str, float] = node.get("Resources") or {}
            processors, gpus = resources.get("CPU", 0.0), int(resources.get("GPU", 0))
            if processors <= 0:  # a head that is not to play
                continue
            name = str(node.get("NodeManagerHostname") or own[:8])
            for number in range(max(1, gpus)):
                self._numbers[name] += 1
                again = f"-{self._numbers[name]}" if self._numbers[name] > 1 else ""
                share = processors / max(1, gpus)
                self._seats[own, number] = _Seat(f"{name}{again}", own, share, gpus > 0)
        if self._seats:
            self._last = self._looked

    def _begin(self, seat: _Seat) -> None:
        """Its next host."""
        cores = max(1, int(seat.processors))
        variables = {name: os.environ[name] for name in HANDED_DOWN if name in os.environ}
        variables |= {"JUBANGO_CORES": str(cores), "TF_CPP_MIN_LOG_LEVEL": "3"}
        if not seat.gpu:
            variables["JAX_PLATFORMS"] = "cpu"
        affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        made = self._ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=2)(RayHost)
        seat.actor = made.options(
            num_cpus=seat.processors if seat.processors < 1 else cores,
            num_gpus=1 if seat.gpu else 0,
            scheduling_strategy=affinity(seat.node, soft=False),
            runtime_env={"env_vars": variables},
        ).remote()
        seat.lives, seat.due, seat.ready, seat.began = seat.lives + 1, None, False, time.monotonic()
        seat.host = f"{seat.name}.{seat.lives}" if seat.lives > 1 else seat.name
        self._send(seat, READY)

    # -- questions and answers ---------------------------------------------------------------

    def poll(self, seconds: float) -> list[HostEvent]:
        """What has happened. Raises UserError where no host of the cluster can start, and CannotGoOn."""
        now = time.monotonic()
        if now - self._looked >= NODES_SECONDS:
            self._look()
        for seat in self._seats.values():
            if seat.due is not None and seat.due <= now:
                self._begin(seat)
            elif seat.actor is not None and not seat.ready and now - seat.began > STARTING_SECONDS:
                taken = f"are its {seat.processors:g} cores taken by others?"
                self._lose(seat, f"has not started in {STARTING_SECONDS:.0f} s: {taken}", again=False)
        if not self._began and not self.hopeful:
            raise UserError(f'cluster "{self.address}": no host can start: {self._why or "there is no node"}')
        if self._events:
            seconds = 0.0
        self._hear(seconds)
        events, self._events = self._events, []
        return events

    def _hear(self, seconds: float) -> None:
        if not self._pending:
            time.sleep(seconds)
            return
        questions = list(self._pending)
        if self._ray.wait(questions, num_returns=1, timeout=seconds)[0]:
            for question in self._ray.wait(questions, num_returns=len(questions), timeout=0)[0]:
                if question in self._pending:  # its host has not been lost by an answer before
                    self._hear_one(question)

    def _hear_one(self, question: Any) -> None:
        seat, host, what = self._pending.pop(question)
        try:
            value = self._ray.get(question)
        except Exception as error:
            unable = isinstance(getattr(error, "cause", None), UserError)
            if unable and seat.ready:
                self._events.append(HostEvent(host, UNABLE, reason(error)))
            self._lose(seat, reason(error), again=not unable)
            return
        if what == READY:
            seat.ready = self._began = True
            self._events.append(HostEvent(host, CAME))
            return
        if has_worked(what, value):
            seat.failures = 0
        self._events.append(HostEvent(host, what, value))

    def ask(self, host: str, what: str, arguments: tuple[object, ...]) -> None:
        """Have a host do something; nothing if it is gone."""
        seat = self._seat(host)
        if seat is None:
            return
        if what == "hello" and arguments and isinstance(arguments[0], HostWork):
            arguments = (*arguments, self._weights(arguments[0]))
        large = [isinstance(one, bytes) and len(one) > SHARED_BYTES for one in arguments]
        self._send(
            seat, what, *(self._put(one) if own else one for one, own in zip(arguments, large, strict=True))
        )  # fmt: skip

    def _send(self, seat: _Seat, what: str, *arguments: object) -> None:
        try:
            question = seat.actor.answer.remote(what, *arguments)
        except Exception as error:
            self._lose(seat, reason(error))
        else:
            self._pending[question] = seat, seat.host, what

    def _weights(self, work: HostWork) -> dict[str, SharedWeights]:
        """The weights that bots name, which no other machine need have. A file that cannot be read is left out: the
        host will say so."""
        found = {}
        for name in dict.fromkeys(str(bot["network"]) for bot in work.bots if bot.get("network")):
            with contextlib.suppress(UserError):
                data = read_file(Path(weights_path(name)), LARGEST_WEIGHTS, "a file of weights")
                found[name] = SharedWeights(hashlib.sha256(data).hexdigest(), [self._put(data)])
        return found

    def _put(self, data: object) -> Any:
        """Where all hosts find these bytes; they travel to a node once."""
        assert isinstance(data, bytes)
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._shared:
            while len(self._shared) > 64:  # older ones are not asked for any more
                del self._shared[next(iter(self._shared))]
            self._shared[digest] = self._ray.put(data)
        return self._shared[digest]

    # -- ends --------------------------------------------------------------------------------

    def kill(self, host: str, again: bool = True) -> None:
        """End a host."""
        seat = self._seat(host)
        if seat is not None:
            self._lose(seat, "was ended", again)

    def close(self) -> None:
        """End all of them."""
        for seat in self._seats.values():
            seat.due = None
            if seat.actor is not None:
                self._end(seat)
        self._pending.clear()
        self._shared.clear()
        self._seats.clear()
        if self._mine:
            self._mine = False
            with contextlib.suppress(Exception), _handlers_kept():
                self._ray.shutdown()
        if self._printed is not None:
            worker: Any = importlib.import_module("ray._private.worker")
            worker.print_to_stdstream = self._printed
            self._printed = None

    def _seat(self, host: str) -> _Seat | None:
        return next((seat for seat in self._seats.values() if seat.host == host and seat.actor is not None), None)

    def _lose(self, seat: _Seat, why: str, again: bool = True) -> None:
        """Its host is gone. Another one takes its place, unless that has happened again and again."""
        self._why = f"{seat.host}: {why}"
        if seat.ready:
            self._events.append(HostEvent(seat.host, GONE, why))
        self._end(seat)
        seat.failures += 1
        left = again and seat.failures <= MOST_FAILURES
        seat.due = time.monotonic() + BACK_OFF * 2 ** (seat.failures - 1) if left else None

    def _end(self, seat: _Seat) -> None:
        for question in [question for question, (own, _, _) in self._pending.items() if own is seat]:
            del self._pending[question]
        with contextlib.suppress(Exception):
            self._ray.kill(seat.actor, no_restart=True)
        seat.actor, seat.ready = None, False


RAY_REASONS = {
    "ActorUnavailableError": "its node cannot be reached",
    "GetTimeoutError": "no answer in time",
    "NodeDiedError": "its node is gone",
    "ActorUnschedulableError": "its node is gone",
    "OutOfMemoryError": "its node has run out of memory",
}  # Ray's errors, for people


def reason(error: BaseException) -> str:
    """Why a host is gone: a line for people."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):  # raised by the host itself
        plain = isinstance(cause, UserError | CannotGoOn)
        text = " ".join(str(cause).split())
        return (text if plain else f"{type(cause).__name__}: {text}")[:LONGEST_REASON_SAID]
    said = RAY_REASONS.get(type(error).__name__)
    if said:
        return said
    if type(error).__name__ in ("ActorDiedError", "RayActorError"):
        text = str(error)
        if "node has died" in text or "node was terminated" in text:
            return "its node is gone"
        return _line(error) if "creation task" in text else "its process has ended"
    return f"{type(error).__name__}: {_line(error)}"[:LONGEST_REASON_SAID]


def _speaks_grpc(host: str, port: int) -> bool:
    """Does whoever listens there greet as HTTP/2 does (RFC 9113, section 3.4)? With TLS one cannot tell: yes. Raises
    OSError."""
    with socket.create_connection((host, port), CONNECT_SECONDS) as line:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return True
        line.sendall(HTTP2_GREETING)
        try:
            said = line.recv(9)
        except TimeoutError:
            return False
    return len(said) > 3 and said[3] == 4  # a SETTINGS frame


def _line(error: BaseException) -> str:
    """What an error says last, which of a traceback is the error itself."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return " ".join((lines or [type(error).__name__])[-1].split())[:LONGEST_REASON_SAID]


def _print_nothing(*_: object, **__: object) -> None:
    """In place of what prints Ray's alarms."""


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What libraries print by themselves as errors is not to be seen: what goes wrong is said on our lines."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no such stream
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Signals go on meaning what they meant."""
    own = threading.current_thread() is threading.main_thread()
    before = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)} if own else {}
    try:
        yield
    finally:
        for name, handler in before.items():
            if handler is not None:
                signal.signal(name, handler)
