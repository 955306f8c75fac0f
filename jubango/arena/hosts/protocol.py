"""What a driver and the hosts that play for it say to each other; all of it can be pickled.

A host is told what is played (:class:`HostWork`), says who it is (:class:`Signature`), proves that it plays as the
driver does, and from then on is asked for its next :class:`Step`. A step is a pull: a host keeps records until their
number is acknowledged, and takes a lease with a number once. Every question may be lost or repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from jubango.arena.games.slot import Begun
from jubango.arena.schedule.pairings import GameTask
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.coordinates import Point

BotTable = Mapping[str, object]  # a bot as a [[bots]] table has it


@dataclass(frozen=True)
class HostWork:
    """What a host is to play games of."""

    game: str  # spec string
    bots: tuple[BotTable, ...]
    lanes: int  # games at once at most
    event: str = ""
    timed: bool = False
    adjudication: Mapping[str, float] | None = None
    files: bool = False  # are the games written as SGF there, for whoever keeps them?
    proof_moves: int = 0  # how many moves of a game are played to prove something; 0: all


@dataclass(frozen=True)
class Signature:
    """Who a host is, as far as its games depend on it."""

    version: str
    code: str  # digest of the package's files, and of the plug-ins
    processor: str  # its kind, with all instruction sets
    devices: str  # "cpu", "NVIDIA H100"
    number: int  # of devices
    cores: int
    lanes: int  # games at once
    machine: str  # a line for people
    node: str  # the machine's name
    pid: int
    memory: int  # bytes of the machine
    networks: Mapping[str, str] = field(default_factory=dict)  # digests of weights, by their names
    problem: str = ""  # why it cannot play


class Entered(NamedTuple):
    """A bot that came later, and with whom it shares a player."""

    bot: BotTable
    like: str


class Leased(NamedTuple):
    """A game that is given to a host. Numbers count all that this host was given, from 1."""

    number: int
    task: GameTask
    begun: Begun | None = None  # if it goes on where it stopped
    entered: tuple[Entered, ...] = ()  # bots of it that the host may not know


class Playing(NamedTuple):
    """A game under way at a host, for the people who look on."""

    game_id: str
    moves: int
    seconds: float
    opening: int = 0  # moves that were made for the players
    last: int = -1  # action
    simulations: int = 0  # of the last move
    spent: float = 0.0  # seconds of the last move
    stones: np.ndarray | None = None  # [H, W]
    point: Point | None = None  # the last stone's


class Step(NamedTuple):
    """What a host has to say. ``records`` are those that are not acknowledged yet, with the numbers ``first`` and up to
    ``number``, or the first of them, as many as go into one answer."""

    first: int
    records: tuple[GameRecord, ...]
    taken: int  # number of the last lease that it has received
    waiting: int  # games that have not begun
    busy: int  # games under way
    unsaid: int  # records that did not go into this answer
    free: int  # lanes without a game
    seconds: float  # that it has played, in all
    moves: int  # made in all
    simulations: int  # made in all
    playing: tuple[Playing, ...] = ()
    begun: tuple[tuple[str, Begun], ...] = ()  # long games under way, now and then
    anew: tuple[str, ...] = ()  # ids of games that were to go on, and could not
    note: str = ""  # what people should know

    @property
    def number(self) -> int:
        """Of the last record in it."""
        return self.first + len(self.records) - 1


class GameHost(Protocol):
    """Plays games for a driver. What it raises ends it; a UserError says why it cannot play."""

    def hello(self, work: HostWork | None) -> Signature:
        """Who it is. It has nothing to play if there is no ``work``."""
        ...

    def prove(self, tasks: Sequence[Leased]) -> list[str]:
        """How these games went here, or their first moves: digests."""
        ...

    def step(self, ack: int, tasks: Sequence[Leased], drop: Collection[str], look: int = 0) -> Step:
        """Records up to ``ack`` have arrived; it is to play ``tasks``, and not to begin those in ``drop``. ``look``: of
        how many games under way somebody wants to see the boards; -1: of no game anything."""
        ...
