"""This machine: its cores as JAX devices, and where programs are kept.

Importing this module tells JAX what jubango wants, every core a device and a cache of compiled programs, unless
the user has chosen otherwise or has already used JAX. It starts no backend.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import platformdirs
import psutil
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jubango.sgf_games.errors import UserError


def on_cpu() -> bool:
    return devices()[0].platform == "cpu"


def devices() -> list[jax.Device]:
    """The devices that searches are spread over. Raises UserError if there are none of the kind that is asked for."""
    try:
        return jax.local_devices()
    except (RuntimeError, AssertionError):  # of an unknown kind, of a known one without a driver
        asked = os.environ.get("JAX_PLATFORMS")
        if not asked:
            raise
        raise UserError(
            f"JAX_PLATFORMS={asked}: JAX finds no such device here; without it JAX takes what there is"
        ) from None


VECTOR = 32  # lanes that one vector instruction of the rules handles


def spread(games: int, lanes_each: int = 1, vector: int = VECTOR) -> tuple[int, int]:
    """(devices to use, games to hold) for at least ``games`` games of ``lanes_each`` lanes each.

    Every device gets whole vectors of lanes, since one that is not full is done lane by lane, and a
    small batch stays on one device.
    """
    lanes = games * lanes_each
    if lanes <= 2 or games == 1:
        return 1, games
    each = -(-vector // lanes_each)
    number = 1 if lanes <= vector else min(len(devices()), -(-games // each))
    return number, -(-games // (number * each)) * each * number


def full_lanes(vector: int = VECTOR) -> int:
    """How many lanes this machine works on side by side."""
    return vector * len(devices()) if on_cpu() else 1024


def block_lanes() -> int:
    """How many games are best searched at once in one program: on a CPU as many as spread the cost of a step, beyond
    which more lanes gain nothing; an accelerator takes all there are."""
    return 256 * len(devices()) if on_cpu() else 2**30


@functools.lru_cache
def shard(number: int) -> tuple[NamedSharding, NamedSharding]:
    """How arrays lie on the first ``number`` devices: (split evenly along the first axis, whole on each)."""
    mesh = Mesh(np.array(devices()[:number]), ("lanes",))
    return NamedSharding(mesh, PartitionSpec("lanes")), NamedSharding(mesh, PartitionSpec())


def split_last(rank: int) -> PartitionSpec:
    """Of an array that is split along its last axis."""
    return PartitionSpec(*[None] * (rank - 1), "lanes")


def gathered(array: jax.Array, axis: int = 0) -> np.ndarray:
    """An array that is split along ``axis`` on the host; quicker than asking JAX for it whole."""
    parts = sorted(array.addressable_shards, key=lambda part: part.index[axis].start or 0)
    if len(parts) == 1:
        return np.asarray(parts[0].data)
    return np.concatenate([np.asarray(part.data) for part in parts], axis=axis)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The machine's memory."""
    return psutil.virtual_memory().total


def processor() -> str:
    """What this machine says of the kind of its processor: architecture, model and instruction sets."""
    try:
        first = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0].splitlines()
    except OSError:  # not Linux
        return f"{platform.machine()} {platform.processor()}"
    said = [line for line in first if line.startswith(("model name", "flags", "CPU part", "Features"))]
    return " ".join([platform.machine(), *said])


_configured: list[str] = []  # the folder that configure() was told last


def cache_directory() -> Path:
    """Where programs are kept: the user's cache folder, unless :func:`configure` or ``JUBANGO_CACHE`` name another."""
    chosen = _configured[-1] if _configured else os.environ.get("JUBANGO_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("jubango", appauthor=False)


def configure(cores: int | None = None, cache: Path | str | None = None) -> None:
    """Choose how many cores to use, a JAX device each, and where compiled programs are kept.

    Nothing needs this: without it every core is used and the cache is in the user's cache folder. It must be called
    before JAX is first used; afterwards the number of devices stays as it is. Raises UserError for a number of cores
    that is none.
    """
    if cores is not None:
        if not isinstance(cores, int) or cores < 1:
            raise UserError(f"configure: cores = {cores!r}: should be a whole number, 1 or more")
        with contextlib.suppress(RuntimeError):  # a backend is already up: keep what it has
            jax.config.update("jax_num_cpu_devices", cores)
    if cache is not None:
        _configured.append(str(cache))
        jax.config.update("jax_compilation_cache_dir", str(cache))


def _choose_defaults() -> None:
    """What nobody has chosen. ``JUBANGO_CORES`` and ``JUBANGO_CACHE`` choose from outside."""
    asked = os.environ.get("JUBANGO_CORES") or str(cores())
    if not re.fullmatch("0*[1-9][0-9]{0,8}", asked):
        raise UserError(f"JUBANGO_CORES={asked}: should be a whole number, 1 or more")
    devices_chosen = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    now: Any = jax.config
    if now.jax_num_cpu_devices <= 0 and not devices_chosen:
        configure(cores=int(asked))
    if not now.jax_compilation_cache_dir:
        now.update("jax_compilation_cache_dir", str(cache_directory() / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.03)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


_choose_defaults()
