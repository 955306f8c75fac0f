"""Who plays here: versions, code, instruction set, devices. By these a driver knows whose games are as its own."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import jax

from jubango.arena.hosts.protocol import Signature
from jubango.arena.runs.machines import this_machine
from jubango.bots.config import BotConfig, EngineConfig, SearchConfig
from jubango.bots.players.player import PlayerConfig
from jubango.sgf_games import VERSION
from jubango.sgf_games.base.own_parts import LOADED
from jubango.sgf_games.compute.machine import cores, memory_bytes, present, processor

EXACT_EVALUATORS = ("rollout", "uniform", "heuristic")  # whose values no size of a program changes


def signature(lanes: int, networks: Mapping[str, str] | None = None, problem: str = "") -> Signature:
    """Of this process, which plays so many games at once."""
    devices = present()
    return Signature(
        version=VERSION,
        code=code_digest(),
        processor=processor() if devices[0].platform == "cpu" else "",
        devices=devices[0].device_kind,
        number=len(devices),
        cores=cores(),
        lanes=lanes,
        machine=this_machine(),
        node=socket.gethostname() or platform.node(),
        pid=os.getpid(),
        memory=memory_bytes(),
        networks=dict(networks or {}),
        problem=problem,
    )


@functools.cache
def code_digest() -> str:
    """Of the package's files and of the plug-ins that are loaded."""
    said = hashlib.sha256(f"{jax.__version__}\n".encode())
    root = Path(__file__).parents[2]
    files = [(str(path.relative_to(root)), path) for path in sorted(root.rglob("*.py"))]
    plugins = [(name, getattr(sys.modules.get(name), "__file__", None)) for name in LOADED]
    files += [(name, Path(file)) for name, file in sorted(plugins) if file]
    for name, path in files:
        said.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return said.hexdigest()[:24]


def is_exact(bot: BotConfig) -> bool:
    """Does a bot make the same moves on every machine?"""
    if isinstance(bot, SearchConfig):
        return not bot.seconds and not bot.wants_network and bot.evaluator in EXACT_EVALUATORS
    return not isinstance(bot, EngineConfig | PlayerConfig)


def difference_of_code(first: Signature, own: Signature) -> str:
    """Why the games of one are not those of the other, whatever is played; or nothing."""
    if own.version != first.version:
        return f"has jubango {own.version}, not {first.version}"
    return "" if own.code == first.code else "has other code, another version of JAX, or other plug-ins"


def difference_of_machine(first: Signature, own: Signature, timed: bool) -> str:
    """Why the games of bots that depend on the machine do not go together, those by the clock (``timed``) or by
    networks; or nothing."""
    if (own.processor, own.devices) != (first.processor, first.devices):
        return "has another kind of processor than the first host"
    if timed and (own.number, own.cores) != (first.number, first.cores):
        return f"has {own.number} devices and {own.cores} cores, not {first.number} and {first.cores}"
    return ""
