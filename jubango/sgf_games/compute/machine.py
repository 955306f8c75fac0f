"""This machine: its cores or its accelerators as JAX devices, what suits their kind, and a cache of compiled programs.

:func:`claim` tells JAX what jubango wants, every core a device and programs kept on disk, unless the user has chosen
otherwise. What runs games and searches by itself calls it before it uses JAX; games, environments and searches inside
of somebody's own programs do not, and leave JAX as it is. Importing this module changes nothing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import psutil
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from jubango.sgf_games.base.errors import SetupWarning, UserError
from jubango.sgf_games.compute.cache import cache_folder, choose
from jubango.sgf_games.compute.cache_size import choose_size, keep_small


class Suited(NamedTuple):
    """What suits a kind of device. Nothing of it changes what comes out, but for the last bits of networks, of which
    ``together`` decides."""

    fill: int  # lanes that a device gets before the next one gets any
    block: int  # games that are best searched at once on a device, beyond which more gain nothing
    games: int  # at once, where nobody says how many
    together: int  # positions that a network evaluates together; a position's value may depend on this number alone
    first: int  # levels down a tree before it is asked whether there are more
    descent: int  # levels of each further turn
    climb: int  # levels of a path that are backed up in one go; 1 or more
    moved: int  # nodes of all trees that move at once when trees get other roots
    hand_over: float  # seconds, the fixed cost of a chunk of simulations
    in_order: bool  # whether what several leaves add to one number has to be put in order by us
    kernels: bool  # whether elementwise code is one kernel of Pallas, where that is right
    skips: bool  # whether what no lane needs is skipped; the host of an accelerator would have to wait to know
    simulations: int  # of each tree before it is asked whether any has more to make; the root's evaluation is one


DEVICE_KINDS = "cpu", "gpu", "tpu"
AXIS = "lanes"  # the name of the devices' axis, in what runs on several
# Measured.
CPU = Suited(
    fill=32, block=256, games=128, together=24, first=0, descent=1, climb=4, moved=1024, hand_over=6e-3, in_order=False,
    kernels=False, skips=True, simulations=1,
)  # fmt: skip
# Chosen by reading, none measured by itself: a turn of a loop whose end is data costs the host a wait, lanes are cheap,
# atomic additions come in any order.
ACCELERATOR = Suited(
    fill=1024, block=2**20, games=2048, together=1024, first=2, descent=4, climb=16, moved=2**18, hand_over=2e-3,
    in_order=True, kernels=True, skips=False, simulations=3,
)  # fmt: skip


_made_for: ContextVar[str] = ContextVar("made_for", default="")


@contextlib.contextmanager
def made_for(kind: str) -> Iterator[None]:
    """What is traced meanwhile is for this kind of device, whether there is one or not."""
    before = _made_for.set(kind)
    try:
        yield
    finally:
        _made_for.reset(before)


def kind() -> str:
    """The kind of device that programs are made for: "cpu", "gpu", "tpu"."""
    return _made_for.get() or present()[0].platform


def asked_device() -> str:
    """The kind of device that was asked for, for other processes; "" if none was."""
    return _device[-1] if _device else ""


def on_cpu() -> bool:
    return kind() == "cpu"


def suited() -> Suited:
    """What suits the devices here."""
    if on_cpu():
        return CPU._replace(together=_together())
    return ACCELERATOR._replace(kernels=kind() == "gpu" and os.environ.get("JUBANGO_KERNELS") != "plain")


@functools.cache
def _together() -> int:
    """Products of matrices take rows in eights with AVX-512, in fours and sixes with AVX2. Rows that are left over are
    added up in another order, so that the last positions would differ by their last bits from the same ones elsewhere.
    """
    has = processor().split()
    return 8 if "avx512f" in has else 12 if "avx2" in has else CPU.together


def devices() -> list[jax.Device]:
    """The devices that searches are spread over, once the machine is claimed. Raises UserError as :func:`present`."""
    claim()
    return present()


def present() -> list[jax.Device]:
    """The devices that JAX has. Raises UserError if there are none of the kind that is asked for, or if JAX had begun
    with others."""
    try:
        found = jax.local_devices()
    except (RuntimeError, AssertionError):  # of an unknown kind, of a known one without a driver
        asked = os.environ.get("JAX_PLATFORMS")
        if not asked and not _device:
            raise
        what = f"device {_device[-1]}" if _device else f"JAX_PLATFORMS={asked}"
        raise UserError(f"{what}: JAX finds no such device here; without it JAX takes what there is") from None
    if _device and found[0].platform != _device[-1]:
        raise UserError(
            f"device {_device[-1]}: JAX was in use before, on {found[0].platform}; call jubango.configure(device=...) "
            "before JAX is first used, or set JUBANGO_DEVICE"
        )
    return found


VECTOR = 32  # lanes that one vector instruction of the rules handles


def device_layout(games: int, lanes_each: int = 1, vector: int = VECTOR) -> tuple[int, int]:
    """(devices to use, games to hold) for at least ``games`` games of ``lanes_each`` lanes each.

    Lanes per device are rounded up to the SIMD width, as a partial vector runs lane by lane. Batches of at most one
    vector use one device, and an accelerator is filled before the next one is begun.
    """
    lanes = games * lanes_each
    if lanes <= 2 or games == 1:
        return 1, games
    each = -(-vector // lanes_each)
    fill = vector if on_cpu() else max(vector, suited().fill)
    wanted = 1 if lanes <= fill else -(-games // -(-fill // lanes_each))
    number = min(len(devices()), wanted) if wanted > 1 else 1
    if wanted > number:
        _say_what_lies_idle()
    return number, -(-games // (number * each)) * each * number


def full_lanes(vector: int = VECTOR) -> int:
    """How many lanes this machine works on side by side."""
    return (vector if on_cpu() else suited().fill) * len(devices())


def block_lanes() -> int:
    """How many games are best searched at once in one program: on a CPU as many as spread the cost of a step, beyond
    which more lanes gain nothing; an accelerator takes all there are."""
    return suited().block * len(devices())


def games_at_once(asked: int) -> int:
    """How many games are played side by side: as many as are asked for, or if that is 0 as many as suit the devices."""
    return asked or (suited().games if devices() else 0)


@functools.lru_cache
def shard(number: int) -> tuple[NamedSharding, NamedSharding]:
    """How arrays lie on the first ``number`` devices: (split evenly along the first axis, whole on each)."""
    mesh = Mesh(np.array(devices()[:number]), (AXIS,))
    return NamedSharding(mesh, PartitionSpec(AXIS)), NamedSharding(mesh, PartitionSpec())


def split_last(rank: int) -> PartitionSpec:
    """Of an array that is split along its last axis."""
    return PartitionSpec(*[None] * (rank - 1), AXIS)


def spread(
    function: Callable[..., Any], mesh: Mesh | AbstractMesh, in_specs: tuple[Any, ...], out_specs: Any
) -> Callable[..., Any]:
    """``function`` on every device of ``mesh``, by ``jax.shard_map``. Empty arrays are not handed in but made inside:
    JAX 0.11.2 dies in the compiler where one is an argument."""

    @functools.wraps(function)
    def mapped(*args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        specs = jax.tree.leaves(jax.tree.map(lambda spec, part: jax.tree.map(lambda _: spec, part), in_specs, args))
        full = [(x, spec) for x, spec in zip(leaves, specs, strict=True) if x.size]
        empty = [None if x.size else _part(x, NamedSharding(mesh, spec)) for x, spec in zip(leaves, specs, strict=True)]

        def inside(*own: jax.Array) -> Any:
            given = iter(own)
            parts = [next(given) if x is None else jnp.zeros(x.shape, x.dtype) for x in empty]
            return function(*jax.tree.unflatten(tree, parts))

        arrays, places = zip(*full, strict=True) if full else ((), ())
        return jax.shard_map(inside, mesh=mesh, in_specs=places, out_specs=out_specs, check_vma=False)(*arrays)

    return mapped


def _part(x: jax.Array, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
    """What one device has of it."""
    return jax.ShapeDtypeStruct(sharding.shard_shape(x.shape), x.dtype)


def gathered(array: jax.Array, axis: int = 0) -> np.ndarray:
    """An array that is split along ``axis``, or whole on every device, on the host; quicker than asking JAX for it."""
    each = [part for part in array.addressable_shards if part.replica_id == 0]
    parts = sorted(each, key=lambda part: part.index[axis].start or 0)
    if len(parts) == 1:
        return np.asarray(parts[0].data)
    return np.concatenate([np.asarray(part.data) for part in parts], axis=axis)


def row_of(array: jax.Array, index: int) -> np.ndarray:
    """A row on the host, quicker than asking JAX for it: where the device's memory is the host's it is copied there."""
    for part in array.addressable_shards:
        first, end, _ = part.index[0].indices(array.shape[0])
        if first <= index < end:
            return np.array(np.asarray(part.data)[index - first] if on_cpu() else part.data[index - first])
    raise IndexError(index)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The machine's memory."""
    return psutil.virtual_memory().total


def device_memory_bytes() -> int:
    """The memory in which trees lie: the machine's, or that of all its accelerators as far as JAX may use it."""
    if on_cpu():
        return memory_bytes()
    told = [device.memory_stats() or {} for device in devices()]
    known = [one["bytes_limit"] for one in told if one.get("bytes_limit")]
    return sum(known) if known else memory_bytes()


def processor() -> str:
    """What this machine says of the kind of its processor: architecture, model and instruction sets."""
    try:
        first = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0].splitlines()
    except OSError:  # not Linux
        return f"{platform.machine()} {platform.processor()}"
    said = [line for line in first if line.startswith(("model name", "flags", "CPU part", "Features"))]
    return " ".join([platform.machine(), *said])


_device: list[str] = []  # the kind that was asked for last
_late: list[int] = []  # cores that were asked for when JAX had begun with others
_debug: list[bool] = []  # what configure() was told last


def debugging() -> bool:
    """Do programs look at every number that they are given, as ``jax_debug_nans`` has it?"""
    return _debug[-1] if _debug else os.environ.get("JUBANGO_DEBUG", "") not in ("", "0")


def configure(
    cores: int | None = None, cache: Path | str | None = None, debug: bool | None = None,
    cache_size: int | str | None = None, device: str | None = None,
) -> None:  # fmt: skip
    """Nothing; it sets JAX up for jubango.

    What plays and searches by itself (tournaments, analyses, training) does this when it is first used. Call it before
    where JAX is used before that, or to choose. What JAX has been told by its own settings stays, but for what is named
    here. Once JAX is in use the number of devices stays as it is.

    cores: how many to use, a JAX device each; by default every one.
    cache: the folder of compiled programs; by default the user's cache folder.
    device: "cpu", "gpu" or "tpu", all of that kind; by default what JAX takes by itself, an accelerator where there is
        one.
    debug: programs that are compiled from now on check everything that evaluators say, slowly. They fail with a line at
        the first weight, logit or value that cannot be meant. Given alone it changes nothing else.
    cache_size: how much the cache may hold, "500M", "2G" (the default) or bytes; 0 is no limit. What was used longest
        ago goes first.

    Raises UserError for a number of cores or a size that is impossible, and a device that is not there. Warns
    (SetupWarning) where JAX is in use already, and of a folder that cannot be trusted.
    """
    if debug is not None:
        _debug[:] = [bool(debug)]
        if cores is None and cache is None and cache_size is None and device is None:
            return
    if device is not None:
        _set_device(device, "configure: device = ")
    if cache_size is not None:
        choose_size(cache_size)
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
    """The first call sets up what nobody has chosen; ``JUBANGO_DEVICE``, ``JUBANGO_CORES``, ``JUBANGO_CACHE`` and
    ``JUBANGO_CACHE_SIZE`` choose from outside. It starts no backend. Raises UserError for a device, a number of cores
    or a size that is none."""
    if os.environ.get("JUBANGO_DEVICE") and not _device:
        _set_device(os.environ["JUBANGO_DEVICE"], "JUBANGO_DEVICE=")
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


def _set_device(name: str, said: str) -> None:
    """Have JAX take devices of this kind, if it has not begun; the CPU is there as well."""
    if name not in DEVICE_KINDS:
        raise UserError(f"{said}{name}: should be {', '.join(DEVICE_KINDS[:-1])} or {DEVICE_KINDS[-1]}")
    plugins = " ".join(one.name for one in importlib.metadata.entry_points(group="jax_plugins"))
    kind = next((one for one in ("cuda", "rocm") if one in plugins), "") if name == "gpu" else name
    if not kind:
        how = "pip install 'jubango[cuda]' brings NVIDIA's, 'jubango[cuda13]' that for CUDA 13"
        raise UserError(f"{said}{name}: JAX has no plug-in for GPUs here; {how}")
    jax.config.update("jax_platforms", "cpu" if kind == "cpu" else f"{kind},cpu")
    _device[:] = [name]


def _set_cores(number: int) -> None:
    try:
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError:  # JAX is in use, and keeps what it has
        _late[:] = [number]


def _keep_programs() -> None:
    """Have JAX keep compiled programs, small ones too, if there is a folder for them."""
    folder = cache_folder("xla")
    if folder:
        keep_small()
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
