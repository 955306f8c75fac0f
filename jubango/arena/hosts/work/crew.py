"""Hosts that answer one question after the other: who is free, who is gone, and what went with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jubango.arena.hosts.driver import JOIN_SECONDS, SILENCE_GAMES, SILENCE_SECONDS
from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, Fleet
from jubango.arena.hosts.protocol import HostWork, Signature
from jubango.arena.hosts.signature import difference_of_code, signature
from jubango.sgf_games.base.errors import CannotGoOn, UserError

TURN_SECONDS = 0.2  # for something to happen


class CrewAnswer(NamedTuple):
    """Of a host, to what it was asked ``about``. ``value`` is None if it is lost and has not answered."""

    host: str
    about: object
    value: object


@dataclass
class _Hand:
    """A host of a crew."""

    name: str
    refused: str = ""  # why
    work: HostWork | None = None  # that it has agreed to
    told: HostWork | None = None  # that it has been asked whether it can do
    about: object = None  # the question that it has not answered
    asked: float | None = None  # when
    program: object = None  # that it needs for the answer
    made: set[object] = field(default_factory=set)  # programs of what it has answered
    answers: int = 0

    @property
    def line(self) -> str:
        """What people are told of it."""
        doing = "waits" if self.asked is None else "joins" if self.about is None else "works"
        made = "1 answer" if self.answers == 1 else f"{self.answers:,} answers"
        return f"{self.name}: {doing}" + f", {made}" * bool(self.answers)


class Crew:
    """Hosts of a ``fleet``. ``unlike`` says of two signatures why what one host does is not what the other would.

    One that is lost while it is asked gives a :class:`CrewAnswer` without a value, so that another one can be asked.
    """

    def __init__(self, fleet: Fleet, unlike: Callable[[Signature, Signature], str] = lambda first, other: "") -> None:
        self._fleet, self._unlike = fleet, unlike
        self._hands: dict[str, _Hand] = {}
        self._own = signature(0)
        self._first: Signature | None = None
        self._longest = 0.0  # seconds of an answer
        self._listened = time.monotonic()
        self._why = ""
        self._played = False  # has any host been of use?
        self.notes: list[str] = []

    def start(self) -> None:
        """Raises UserError."""
        self._fleet.start()

    @property
    def size(self) -> int:
        """How many hosts there are that can be asked, now or once they have answered."""
        return sum(not hand.refused for hand in self._hands.values())

    @property
    def hosts(self) -> Sequence[str]:
        """A line for each host that is of use, or may come to be."""
        return [hand.line for hand in list(self._hands.values()) if not hand.refused]

    @property
    def coming(self) -> int:
        """How many more are expected."""
        return self._fleet.coming

    @property
    def free(self) -> list[str]:
        """Hosts that can be asked now."""
        return [name for name, hand in self._hands.items() if hand.asked is None and not hand.refused]

    def knows(self, host: str, work: HostWork) -> bool:
        """Can a host do this work? If it has not been asked it is now; the answer comes some turns later."""
        hand = self._hands[host]
        if hand.work == work:
            return True
        hand.told, hand.work = work, None
        self._ask(hand, "hello", (work,), None)
        return False

    def ask(self, host: str, what: str, arguments: tuple[object, ...], about: object, program: Hashable = None) -> None:
        """Ask a free host; ``about`` comes back with its answer. program: which compiled one it takes; until the
        host has answered with it once, it may take as long as compiling does."""
        self._ask(self._hands[host], what, arguments, about, program)

    def turn(self, seconds: float = TURN_SECONDS) -> list[CrewAnswer]:
        """What has been answered. Raises UserError where no host can be of use, and CannotGoOn where none is left."""
        found: list[CrewAnswer] = []
        now = time.monotonic()
        for hand in self._hands.values():
            if hand.asked is not None:  # nobody has listened meanwhile
                hand.asked += now - max(hand.asked, self._listened)
        for host, what, value in self._fleet.poll(seconds):
            if what == CAME:
                self._hands[host] = _Hand(host)
                self._ask(self._hands[host], "hello", (None,), None)
            elif host not in self._hands:
                continue
            elif what == GONE:
                found += self._lose(host, f"is gone: {value}")
            elif what == UNABLE:
                self._fleet.kill(host, again=False)
                found += self._lose(host, f"is refused: {value}")
            elif isinstance(value, Signature):
                self._hear(self._hands[host], value)
            else:
                found.append(self._answered(self._hands[host], value))
        for name, hand in list(self._hands.items()):
            if hand.asked is not None and not hand.refused and time.monotonic() - hand.asked > self._patience(hand):
                self._fleet.kill(name)
                found += self._lose(name, f"no answer in {time.monotonic() - hand.asked:.0f} s")
        self._listened = time.monotonic()
        if not found and not self.size and not self._fleet.hopeful:
            if self._played or not self._why:
                raise CannotGoOn(f"no host is left{': ' * bool(self._why)}{self._why}")
            raise UserError(f"no host can be of use: {self._why}")
        return found

    def close(self) -> None:
        """The hosts end."""
        self._fleet.close()

    def _patience(self, hand: _Hand) -> float:
        """Seconds that it may take; the first time its program is compiled."""
        usual = max(SILENCE_SECONDS, SILENCE_GAMES * self._longest)
        return usual if hand.program in hand.made else max(JOIN_SECONDS, usual)

    def _ask(
        self, hand: _Hand, what: str, arguments: tuple[object, ...], about: object, program: object = None
    ) -> None:
        hand.about, hand.asked, hand.program = about, time.monotonic(), program
        self._fleet.ask(hand.name, what, arguments)

    def _answered(self, hand: _Hand, value: object) -> CrewAnswer:
        if hand.asked is not None and hand.program in hand.made:
            self._longest = max(self._longest, time.monotonic() - hand.asked)
        hand.made.add(hand.program)
        self._played = True
        hand.answers += 1
        hand.asked = None
        return CrewAnswer(hand.name, hand.about, value)

    def _hear(self, hand: _Hand, its: Signature) -> None:
        """Who it is, or what it makes of its work."""
        hand.asked = None
        why = its.problem or difference_of_code(self._own, its)
        if hand.told is not None and not why:
            hand.work, hand.told = hand.told, None
            why = self._unlike(self._first or its, its)
            self._first = self._first or its
        if why:
            hand.refused = why
            self._note(f"host {hand.name} is refused: {why}")
            self._fleet.kill(hand.name, again=False)

    def _lose(self, host: str, why: str) -> list[CrewAnswer]:
        hand = self._hands.pop(host)
        if not hand.refused:
            self._note(f"host {host}: {why}" if why.startswith("no ") else f"host {host} {why}")
        return [CrewAnswer(host, hand.about, None)] if hand.asked is not None and hand.about is not None else []

    def _note(self, said: str) -> None:
        self._why = said
        self.notes.append(said)
