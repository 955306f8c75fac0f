"""Hosts on this machine, each a process with a share of the cores: ``local:3``."""

from __future__ import annotations

import os
import selectors
import time
from dataclasses import dataclass

from jubango.arena.hosts.fleet import CAME, GONE, HostEvent, has_worked
from jubango.arena.hosts.fleets.links import DIED, ProcessLink
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import asked_device, cores

MOST_FAILURES = 3  # of a place one after the other, without a game between them, until it stays empty
BACK_OFF = 1.0  # seconds until a host is replaced; twice as long after each failure


@dataclass
class _Place:
    """Where one host after the other runs."""

    number: int  # from 1
    cores: frozenset[int]
    lives: int = 0  # hosts that have run there
    told: bool = False  # that the last one has come
    failures: int = 0  # since a game ended there
    due: float | None = 0.0  # when the next is started; None: one runs, or none is to
    link: ProcessLink | None = None
    host: str = ""


class LocalFleet:
    """So many processes on this machine. One that crashes is replaced, unless it does so again and again."""

    def __init__(self, number: int) -> None:
        every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        asked = int(os.environ.get("JUBANGO_CORES") or cores())
        mine = every[:asked] if len(every) >= asked else every
        self._cores = max(1, asked // number)
        self._places = [
            _Place(i + 1, frozenset(mine[i::number]) if len(mine) >= number else frozenset()) for i in range(number)
        ]
        self._selector = selectors.DefaultSelector()
        self._hosts: dict[str, _Place] = {}

    @property
    def coming(self) -> int:
        """How many are to be started."""
        return sum(place.due is not None for place in self._places)

    @property
    def hopeful(self) -> bool:
        """May hosts still come?"""
        return any(place.due is not None or place.link is not None for place in self._places)

    def start(self) -> None:
        """Start them all. Raises UserError."""
        try:
            for place in self._places:
                self._begin(place)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise UserError(f"a host cannot be started: {error.strerror}") from None
            raise

    def poll(self, seconds: float) -> list[HostEvent]:
        """What has happened; it waits so long for something to happen."""
        now = time.monotonic()
        events = []
        for place in self._places:
            if place.due is not None and place.due <= now:
                try:
                    self._begin(place)
                except OSError:
                    self._failed(place)
        for place in self._hosts.values():
            if not place.told:
                place.told = True
                events.append(HostEvent(place.host, CAME))
        if events:
            seconds = 0.0
        for key, mask in self._selector.select(seconds):
            place = key.data
            if mask & selectors.EVENT_WRITE and place.link is not None:
                place.link.send()
                self._watch(place)
            if mask & selectors.EVENT_READ:
                events += self._heard(place)
        return events

    def ask(self, host: str, what: str, arguments: tuple[object, ...]) -> None:
        """Have a host do something; nothing if it is gone."""
        place = self._hosts.get(host)
        if place is not None and place.link is not None:
            place.link.ask(what, arguments)
            self._watch(place)

    def kill(self, host: str, again: bool = True) -> None:
        """End a host."""
        place = self._hosts.get(host)
        if place is not None and place.link is not None:
            if not again:
                place.failures = MOST_FAILURES
            place.link.kill()

    def close(self) -> None:
        """End all of them."""
        for place in self._places:
            place.due = None
            if place.link is not None:
                place.link.kill()
        for place in self._places:
            if place.link is not None:
                place.link.close()
                place.link = None
        self._hosts.clear()
        self._selector.close()

    def _begin(self, place: _Place) -> None:
        variables = {"JUBANGO_CORES": str(self._cores)} | ({"JUBANGO_DEVICE": kind} if (kind := asked_device()) else {})
        variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = os.environ.get(
            "XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.8 / (len(self._places) + 1):.3f}"
        )  # these processes and their parent share what accelerators there are
        place.link = ProcessLink(variables, place.cores)
        place.lives, place.due, place.told = place.lives + 1, None, False
        place.host = f"local-{place.number}" + (f".{place.lives}" if place.lives > 1 else "")
        self._hosts[place.host] = place
        self._selector.register(place.link.socket, selectors.EVENT_READ, place)

    def _watch(self, place: _Place) -> None:
        assert place.link is not None
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if place.link.sending else 0)
        if self._selector.get_key(place.link.socket).events != wanted:
            self._selector.modify(place.link.socket, wanted, place)

    def _heard(self, place: _Place) -> list[HostEvent]:
        link = place.link
        if link is None:
            return []
        found = link.receive()
        events = []
        for what, value in found or ():
            if what == DIED:
                link.said = str(value)
                continue
            if has_worked(what, value):
                place.failures = 0
            events.append(HostEvent(place.host, what, value))
        if found is None:
            self._selector.unregister(link.socket)
            link.end()
            events.append(HostEvent(place.host, GONE, link.why()))
            link.close()
            del self._hosts[place.host]
            place.link = None
            self._failed(place)
        return events

    def _failed(self, place: _Place) -> None:
        place.failures += 1
        left = place.failures <= MOST_FAILURES
        place.due = time.monotonic() + BACK_OFF * 2 ** (place.failures - 1) if left else None
