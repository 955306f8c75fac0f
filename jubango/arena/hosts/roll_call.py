"""Which hosts a fleet has, before anything is played."""

from __future__ import annotations

import time
from typing import NamedTuple

from jubango.arena.hosts.fleet import CAME, GONE, UNABLE, Fleet
from jubango.arena.hosts.protocol import Signature
from jubango.arena.hosts.signature import difference_of_code, signature

CALL_SECONDS = 120.0  # for hosts to say who they are


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
