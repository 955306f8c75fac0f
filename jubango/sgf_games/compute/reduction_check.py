"""Does this machine's compiler reduce as the fused kernels need it?

What ``kernels.fused`` emits is right for one order of combining alone, and no compiler promises an order. So before
the first kernel of a program is made the answer is looked up, and found out where it is not known. A sample is run as
such a reduction, on batches of many sizes, in a loop and under ``vmap``, and compared with numpy. So are the kernels
of a GPU.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import hashlib
import importlib
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax import lax

from jubango.sgf_games.compute import machine, pallas_kernels
from jubango.sgf_games.compute.cache import cache_folder
from jubango.sgf_games.compute.programs import jit

# One lane, fewer than a vector of the rules holds (32), as many, one more, and enough to be shared among threads.
BATCH_SIZES = (1, 5, 32, 33, 4111)
A_VECTOR, ONE_MORE = map(BATCH_SIZES.index, (32, 33))
TYPES = tuple(np.dtype(t) for t in ("uint16", "uint16", "uint32", "int32", "bool", "float32"))


@functools.cache
def reduction_holds(reduction: Callable[[Callable, tuple], Callable]) -> bool:
    """Is ``reduction(lane, types)``, a function of one lane as a reduction over lanes or as a kernel, right here?

    The outcome is kept in a small file in :func:`cache_folder`, one for each jaxlib, its flags and kind of
    processor; without the file the check, a quarter of a second, is made again. Warns, once a process, if the answer is
    no.
    """
    kind, known = machine.kind(), _outcome_file(reduction.__name__, reduction.__code__.co_filename)
    holds = _found(known, lambda: _is_right_on(kind, reduction))
    if not holds:
        gpu = f"make kernels for this {machine.present()[0].device_kind}"
        where = "reduce on this CPU" if machine.on_cpu() else gpu
        _warn(f"does not {where} as jubango's fused kernels need it")
    return holds


def _is_right_on(kind: str, reduction: Callable[[Callable, tuple], Callable]) -> bool:
    """In a thread, which knows neither :func:`machine.made_for` nor the default device of who asks."""
    if kind != "cpu" or machine.present()[0].platform == "cpu":
        return _is_right(reduction)
    with machine.made_for("cpu"), jax.default_device(jax.local_devices(backend="cpu")[0]):
        return _is_right(reduction)


def agrees(name: str, file: str, form: Callable, plain: Callable, *args: Any) -> bool:
    """Does ``form(*args)``, made of the kernels of a GPU, find what ``plain`` does on this machine's CPU? The outcome
    is kept as that of :func:`reduction_holds`; ``file`` is that of the code."""

    def same() -> bool:
        try:
            found = jax.device_get(jit(form)(*args))
            with machine.made_for("cpu"), jax.default_device(jax.local_devices(backend="cpu")[0]):
                expected = jax.device_get(jit(plain)(*args))
        except Exception:  # whatever it is that Pallas or a compiler will have none of, or there is no CPU for JAX
            return False
        return all(np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (found, expected)), strict=True))

    holds = _found(_outcome_file(name, file), same)
    if not holds:
        _warn(f"does not make of jubango's {name} the kernel that it should be")
    return holds


def _found(known: Path | None, is_right: Callable[[], bool]) -> bool:
    """What is known, or is found out now."""
    outcome = ""
    with contextlib.suppress(OSError, ValueError):
        outcome = known.read_text() if known else ""
    if outcome not in ("holds", "fails"):
        # In a thread of its own, since this one may be in the middle of somebody's trace.
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            outcome = "holds" if thread.submit(is_right).result() else "fails"
        with contextlib.suppress(OSError):
            if known:
                known.write_text(outcome)
    return outcome == "holds"


def _warn(what: str) -> None:
    text = f"jaxlib {jaxlib.version.__version__} {what}; the plain form is used: the same games, but slower"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def _outcome_file(name: str, file: str) -> Path | None:
    device = "" if machine.on_cpu() else machine.present()[0].device_kind
    decides = [name, jaxlib.version.__version__, machine.processor(), os.environ.get("XLA_FLAGS", ""), device]
    with contextlib.suppress(OSError):  # and the code that makes and checks them
        own = __file__, pallas_kernels.__file__, file
        decides += [Path(one).read_text(encoding="utf-8") for one in own]
    name = hashlib.sha256("\n".join(decides).encode()).hexdigest()[:16]
    folder = cache_folder()
    return folder and folder / f"fused-{name}.txt"


def _is_right(reduction: Callable[[Callable, tuple], Callable]) -> bool:
    """Is it, on small batches, bit for bit what numpy makes of the same?"""
    call = reduction(functools.partial(_lane, jnp, lax.population_count), TYPES)

    def run(batches: list[list[jax.Array]]) -> list:
        out = []
        for batch in batches:  # in a loop, as games are played, and every result is read
            out.append(lax.fori_loop(0, 3, lambda _, now: call(*now[: len(TYPES)]), batch))
        few = [call(*batches[A_VECTOR][: len(TYPES)])[i] for i in (0, 7)]  # the others are not read
        return [*out, few, jax.vmap(call, in_axes=(0, None, 0, 0, 0, 0))(*_three_batches(batches[ONE_MORE]))]

    random = np.random.default_rng(0)
    batches = []
    for lanes in BATCH_SIZES:
        bits = random.integers(0, 1 << 16, (len(TYPES), lanes))
        batch = [(x & 1 if t.kind == "b" else x).astype(t) for x, t in zip(bits, TYPES, strict=True)]
        batches.append([*batch, *map(np.zeros_like, _by_numpy(batch)[len(TYPES) :])])  # room for all results
    correct = [_by_numpy(batch, 3) for batch in batches]
    correct.append([_by_numpy(batches[A_VECTOR])[i] for i in (0, 7)])
    correct.append(_by_numpy(_three_batches(batches[ONE_MORE])))
    try:
        call_all = jit(run).lower(batches)
        if jax.__version_info__ >= (0, 10):
            threading.Thread(target=_import_scipy).start()  # which JAX needs for exported programs, while it compiles
        found = jax.device_get(call_all.compile()(batches))
    except jax.errors.JaxRuntimeError:  # a compiler that will have none of it
        return False
    except Exception:  # nor will Pallas, which says so in many ways
        if machine.on_cpu():
            raise
        return False
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(correct), strict=True))


def _import_scipy() -> None:
    with contextlib.suppress(Exception):  # who needs it will say so
        importlib.import_module("scipy.linalg")


def _lane(np: Any, count: Callable, a: Any, b: Any, word: Any, number: Any, flag: Any, real: Any) -> list:
    """The sample, for numpy and jax.numpy alike: every type, more results than arguments, and no fixed point, so that
    applied twice, or to zeros, it is something else."""
    return [
        (a << 1) ^ b,
        a + b + np.uint16(1),
        word * np.uint32(1664525) + np.uint32(1013904223),
        np.where(flag, number - 3, number ^ 5),
        ~flag & (a >= b),
        real * np.float32(0.5) + np.where(flag, np.float32(2), np.float32(1)),  # exact for whole numbers
        count(a).astype(np.int32) + number,
        (word >> 7).astype(np.uint16),
        real > number.astype(np.float32),
    ]


def _by_numpy(arrays: list[np.ndarray], steps: int = 1) -> list[np.ndarray]:
    def count(x: np.ndarray) -> np.ndarray:
        return np.unpackbits(x[..., None].view(np.uint8), axis=-1).sum(-1)

    for _ in range(steps):
        arrays = _lane(np, count, *arrays[: len(TYPES)])
    return arrays


def _three_batches(arrays: list) -> list:
    """33 lanes as three batches of eleven, but for the second array, which they share."""
    return [x[:11] if i == 1 else x.reshape(3, 11) for i, x in enumerate(arrays[: len(TYPES)])]
