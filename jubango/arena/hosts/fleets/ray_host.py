"""A host as an actor of Ray: it brings the weights that bots name to its own machine."""

from __future__ import annotations

import dataclasses
import importlib
import os
import socket
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jubango.arena.hosts.protocol import BotTable, Entered, HostWork, Leased, Signature, Step
from jubango.arena.hosts.work.every_host import EveryHost
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.bots.networks.named import moved
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import file_digest
from jubango.sgf_games.compute.cache import cache_folder


class SharedWeights(NamedTuple):
    """A file of weights that the driver has, and where Ray keeps what it holds."""

    digest: str  # SHA-256
    where: list[Any]  # one reference: Ray would resolve one that stands by itself


class RayHost(EveryHost):
    """Does what it is told. ``answer`` is how it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, str] = {}  # of weights: where those lie that the driver calls so
        self._problem = ""
        try:
            importlib.import_module("jubango.arena.commands").load_plugins()
        except UserError as error:
            self._problem = str(error)

    def answer(self, what: str, *arguments: Any) -> object:
        """What the host says to this question."""
        if self._problem:
            raise UserError(self._problem)
        return getattr(self, what)(*arguments)

    def ready(self) -> str:
        """The machine's name."""
        return socket.gethostname()

    def hello(self, work: HostWork | None, weights: Mapping[str, SharedWeights] | None = None) -> Signature:
        """Who it is, with this work."""
        try:
            for name, shared in (weights or {}).items():
                self._files[name] = moved(name, str(_brought(shared)))
        except UserError as error:
            return dataclasses.replace(super().hello(None), problem=str(error))
        if work is not None:
            work = dataclasses.replace(work, bots=tuple(map(self._own, work.bots)))
        said = super().hello(work)
        names = {file: name for name, file in self._files.items()}
        networks = {names.get(name, name): digest for name, digest in said.networks.items()}
        return dataclasses.replace(said, networks=networks)

    def prove(self, tasks: Sequence[Leased]) -> list[str]:
        """How these games went here."""
        return super().prove(self._with_own(tasks))

    def step(self, ack: int, tasks: Sequence[Leased], drop: Collection[str], look: int = 0) -> Step:
        """What it has to say."""
        return super().step(ack, self._with_own(tasks), drop, look)

    def _with_own(self, tasks: Sequence[Leased]) -> Sequence[Leased]:
        return [
            lease._replace(entered=tuple(Entered(self._own(one.bot), one.like) for one in lease.entered))
            if lease.entered
            else lease
            for lease in tasks
        ]

    def _own(self, bot: BotTable) -> BotTable:
        """The bot, with the file of its weights here."""
        network = str(bot.get("network") or "")
        return {**bot, "network": self._files[network]} if network in self._files else bot


def _brought(shared: SharedWeights) -> Path:
    """A file with these weights, whose name is their digest. Raises UserError."""
    folder = cache_folder("weights") or Path(tempfile.mkdtemp(prefix="jubango-"))
    path = folder / f"{shared.digest}.safetensors"
    try:
        if path.is_file() and file_digest(path, LARGEST_WEIGHTS) == shared.digest:
            return path
        data = importlib.import_module("ray").get(shared.where[0])
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
    except OSError as error:
        raise UserError(f"{path}: weights cannot be kept: {error.strerror}") from None
    return path
