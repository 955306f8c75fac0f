"""What ``--cluster`` names: who plays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jubango.arena.games.pool import GameTable
from jubango.arena.hosts.fleet import Fleet
from jubango.arena.hosts.local import LocalFleet
from jubango.arena.hosts.table import HostTable
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import Plan
from jubango.bots.config import BotConfig
from jubango.sgf_games.base.errors import UserError

MOST_LOCAL = 256  # hosts of one machine


@dataclass(frozen=True)
class Cluster:
    """``local:3``, three processes of this machine. ``mixed``: hosts of unlike kinds may play together."""

    kind: str
    number: int
    mixed: bool = False

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """``local:3`` or ``local:3,mixed``. Raises UserError."""
        own, _, more = text.strip().partition(",")
        found = re.fullmatch(r"local:([0-9]{1,4})", own)
        if not found or more not in ("", "mixed") or not 1 <= int(found[1]) <= MOST_LOCAL:
            raise UserError(f'cluster "{text}": write local:3 for 3 processes of this machine, {MOST_LOCAL} at most')
        return cls("local", int(found[1]), more == "mixed")

    def fleet(self) -> Fleet:
        """Its hosts, none of which has been started."""
        return LocalFleet(self.number)

    def __call__(
        self, plan: Plan, bots: Sequence[BotConfig], games: int, on_tick: Callable[[GameTable], None],
        folder: Path | None, first: Iterable[GameTask],
    ) -> HostTable:  # fmt: skip
        """A table of its hosts: :class:`jubango.arena.runs.play.TableMaker`."""
        return HostTable(self.fleet(), plan, bots, games, on_tick, folder, first, self.mixed)


def cluster_of(text: str | None) -> Cluster | None:
    """None for nothing: this process plays. Raises UserError."""
    return Cluster.parse(text) if text else None
