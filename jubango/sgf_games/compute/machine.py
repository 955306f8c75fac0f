"""This machine: its cores as JAX devices, and a cache of compiled programs.

:func:`claim` tells JAX what jubango wants, every core a device and programs kept on disk, unless the user has chosen
otherwise. What runs games and searches by itself calls it before it uses JAX; games, environments and searches inside
of somebody's own programs do not, and leave JAX as it is. Importing this module changes nothing.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import psutil
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jubango.sgf_games.base.errors import SetupWarning, UserError
from jubango.sgf_games.compute.cache import cache_folder, choose


def on_cpu() -> bool:
    return present()[0].platform == "cpu"


def devices() -> list[jax.Device]:
    """The devices that searches are spread over, once the machine is claimed. Raises UserError as :func:`present`."""
    claim()
    return present()


def present() -> list[jax.Device]:
    """The devices that JAX has. Raises UserError if there are none of the kind that is asked for."""
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


def device_layout(games: int, lanes_each: int = 1, vector: int = VECTOR) -> tuple[int, int]:
    """(devices to use, games to hold) for at least ``games`` games of ``lanes_each`` lanes each.

    Lanes per device are rounded up to the SIMD width, as a partial vector runs lane by lane. Batches of at most one
    vector use one device.
    """
    lanes = games * lanes_each
    if lanes <= 2 or games == 1:
        return 1, games
    each = -(-vector // lanes_each)
    wanted = 1 if lanes <= vector else -(-games // each)
    number = min(len(devices()), wanted) if wanted > 1 else 1
    if wanted > number:
        _say_what_lies_idle()
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


_late: list[int] = []  # cores that were asked for when JAX had begun with others
_debug: list[bool] = []  # what configure() was told last


def debugging() -> bool:
    """Do programs look at every number that they are given, as ``jax_debug_nans`` has it?"""
    return _debug[-1] if _debug else os.environ.get("JUBANGO_DEBUG", "") not in ("", "0")


def configure(cores: int | None = None, cache: Path | str | None = None, debug: bool | None = None) -> None:
    """Nothing; it sets JAX up for jubango.

    What plays and searches by itself (tournaments, analyses, training) does this when it is first used. Call it before
    where JAX is used before that, or to choose. What JAX has been told by its own settings stays, but for what is named
    here. Once JAX is in use the number of devices stays as it is.

    cores: how many to use, a JAX device each; by default every one.
    cache: the folder of compiled programs; by default the user's cache folder.
    debug: programs that are compiled from now on check everything that evaluators say, slowly. They fail with a line at
        the first weight, logit or value that cannot be meant. Given alone it changes nothing else.

    Raises UserError for a number of cores that is impossible. Warns (SetupWarning) where JAX is in use already, and of
    a folder that cannot be trusted.
    """
    if debug is not None:
        _debug[:] = [bool(debug)]
        if cores is None and cache is None:
            return
    if cores is not None:
        if not isinstance(cores, int) or cores < 1:
            raise UserError(f"configure: cores = {cores!r}: should be a whole number, 1 or more")
        _set_cores(cores)
        _say_what_lies_idle()
    if cache is not None:
        choose(cache)
        _keep_programs()
    claim()


@functools.cache
def claim() -> None:
    """The first call sets up what nobody has chosen; ``JUBANGO_CORES`` and ``JUBANGO_CACHE`` choose from outside. It
    starts no backend. Raises UserError for a number of cores that is none."""
    asked = os.environ.get("JUBANGO_CORES") or str(cores())
    if not re.fullmatch("0*[1-9][0-9]{0,8}", asked):
        raise UserError(f"JUBANGO_CORES={asked}: should be a whole number, 1 or more")
    now: Any = jax.config
    if now.jax_num_cpu_devices <= 0 and "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        _set_cores(int(asked))
    if not now.jax_compilation_cache_dir:
        _keep_programs()
    _quieten()


def _quieten() -> None:
    """Keep XLA's own alarms ("Very slow compile?") to itself: they are for those who wrote a program, and whoever waits
    for ours reads our lines. What the user has said of JAX's messages stays."""
    now: Any = jax.config
    said = now.jax_logging_level
    if said in (None, "NOTSET") and os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1") == "1":  # which JAX sets by itself
        now.update("jax_logging_level", "CRITICAL")
        now.update("jax_logging_level", said)  # Python's loggers are as they were, XLA stays quiet


def _set_cores(number: int) -> None:
    try:
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError:  # JAX is in use, and keeps what it has
        _late[:] = [number]


def _keep_programs() -> None:
    """Have JAX keep compiled programs, small ones too, if there is a folder for them."""
    folder = cache_folder("xla")
    jax.config.update("jax_compilation_cache_dir", folder and str(folder))
    compilation_cache.reset_cache()  # JAX opens one once, and would stay with it
    if folder:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.03)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _say_what_lies_idle() -> None:
    """Once, if JAX had begun before it could be told how many cores to use."""
    if _late and on_cpu() and len(present()) < _late[0]:
        warnings.warn(
            f"JAX was in use before jubango: searches run on {len(present())} of {_late[0]} cores; call "
            "jubango.configure() before JAX is first used",
            SetupWarning,
            stacklevel=3,
        )
    _late.clear()
