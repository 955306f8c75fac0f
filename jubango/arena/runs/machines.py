"""Where a run's games were played: ``machines.txt`` in its folder, a line for each machine and version.

``hosts.csv`` is there, too, if hosts have played it."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from importlib.metadata import version

import jax

from jubango.sgf_games import VERSION
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import cores, processor
from jubango.sgf_games.library.folder import Folder

FILE = "machines.txt"
HOSTS = "hosts.csv"
LARGEST_LIST = 100_000  # bytes
MOST_MACHINES = 20  # lines


def this_machine() -> str:
    """``jubango 0.2.0, JAX 0.10.0, Python 3.11.2; 8 cores, AMD EPYC``"""
    devices = jax.devices()
    if devices[0].platform == "cpu":
        model = re.search(r"model name\s*: (.*?)(?= flags\s*:|$)", processor())
        where = f"{cores()} cores, {model[1] if model else platform.machine()}"
    else:
        where = f"{len(devices)} x {devices[0].device_kind}"
    return f"jubango {VERSION}, JAX {version('jax')}, Python {platform.python_version()}; {where}"


def with_machines(known: Sequence[str], more: Sequence[str]) -> str | None:
    """The file with more machines in it; None if they are there already."""
    found = list(dict.fromkeys([*known, *more]))
    return None if len(found) == len(known) else "".join(f"{line}\n" for line in found[-MOST_MACHINES:])


def machines(folder: Folder) -> list[str]:
    """Where the games of a run were played, as far as that is known."""
    try:
        return (folder.read_text(FILE, LARGEST_LIST) or "").splitlines()[-MOST_MACHINES:]
    except UserError:  # somebody's own, or no file at all; it is no reason not to go on
        return []
