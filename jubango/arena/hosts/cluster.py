"""What ``--cluster`` names: who plays, and which hosts that would be."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jubango.arena.games.pool import GameTable
from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, Fleet
from jubango.arena.hosts.fleets.local import LocalFleet
from jubango.arena.hosts.fleets.ray_fleet import ADDRESS, RayFleet
from jubango.arena.hosts.protocol import Signature
from jubango.arena.hosts.signature import difference_of_code, signature
from jubango.arena.hosts.table import HostTable
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import Plan
from jubango.bots.config import BotConfig
from jubango.sgf_games.base.errors import UserError

MOST_LOCAL = 256  # hosts of one machine
CALL_SECONDS = 120.0  # for hosts to say who they are


@dataclass(frozen=True)
class Cluster:
    """``local:3``, three processes of this machine; or the nodes of a Ray cluster at ``address``. ``mixed``: hosts of
    unlike kinds may play together."""

    kind: str
    number: int
    mixed: bool = False
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """``local:3`` or ``local:3,mixed``; ``auto``, ``HOST:PORT``, ``ray://HOST:PORT``. Raises UserError."""
        own, _, more = text.strip().partition(",")
        if ADDRESS.fullmatch(own) and not own.startswith("local:") and more in ("", "mixed"):
            return cls("ray", 0, more == "mixed", own)
        found = re.fullmatch(r"local:([0-9]{1,4})", own)
        if not found or more not in ("", "mixed") or not 1 <= int(found[1]) <= MOST_LOCAL:
            raise UserError(
                f'cluster "{text}": write local:3 for 3 processes of this machine, {MOST_LOCAL} at most; auto or '
                "HOST:PORT for a Ray cluster"
            )
        return cls("local", int(found[1]), more == "mixed")

    def fleet(self) -> Fleet:
        """Its hosts, none of which has been started."""
        return RayFleet(self.address) if self.kind == "ray" else LocalFleet(self.number)

    def __call__(
        self, plan: Plan, bots: Sequence[BotConfig], games: int, on_tick: Callable[[GameTable], None],
        folder: Path | None, first: Iterable[GameTask],
    ) -> HostTable:  # fmt: skip
        """A table of its hosts: :class:`jubango.arena.runs.play.TableMaker`."""
        return HostTable(self.fleet(), plan, bots, games, on_tick, folder, first, self.mixed)


def cluster_of(text: str | None) -> Cluster | None:
    """None for nothing: this process plays. Raises UserError."""
    return Cluster.parse(text) if text else None


class HostFound(NamedTuple):
    """A host; ``problem`` says why it cannot play."""

    host: str
    node: str = ""
    machine: str = ""
    devices: str = ""
    memory: str = ""
    problem: str = ""


def called(fleet: Fleet) -> list[HostFound]:
    """The hosts that answer, in the order of their names. Raises UserError where none can be started."""
    own = signature(0)
    found: dict[str, HostFound] = {}
    waited, until = set[str](), time.monotonic() + CALL_SECONDS
    try:
        fleet.start()
        while time.monotonic() < until and (waited or fleet.coming or not found):
            for host, what, value in fleet.poll(0.05):
                if what == CAME:
                    waited.add(host)
                    fleet.ask(host, "hello", (None,))
                elif what in (GONE, UNABLE):
                    waited.discard(host)
                    found.setdefault(host, HostFound(host, problem=str(value)))
                elif isinstance(value, Signature):
                    waited.discard(host)
                    found[host] = _said(host, value, own)
            if not fleet.hopeful:
                break
        found |= {host: HostFound(host, problem="says nothing") for host in waited}
    finally:
        fleet.close()
    return [found[host] for host in sorted(found)]


def _said(host: str, its: Signature, own: Signature) -> HostFound:
    memory = f"{its.memory / 2**30:.1f} GiB"
    devices = f"{its.number} x {its.devices}"
    return HostFound(host, its.node, its.machine, devices, memory, its.problem or difference_of_code(own, its))
