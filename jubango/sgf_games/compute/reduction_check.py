"""Does this machine's compiler reduce as the fused kernels need it?

What ``kernels.fused`` emits is right for one order of combining alone, and no compiler promises an order. So before
the first kernel of a program is made the answer is looked up, and found out where it is not known. A sample is run as
such a reduction, on batches of many sizes, in a loop and under ``vmap``, and compared with numpy.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax import lax

from jubango.sgf_games.compute import machine
from jubango.sgf_games.compute.cache import cache_folder
from jubango.sgf_games.compute.programs import jit

# What a vector of the rules holds (32 lanes), fewer, more, and enough to be shared among threads.
BATCH_SIZES = (1, 2, 5, 31, 32, 33, 64, 200, 4096)
TYPES = tuple(np.dtype(t) for t in ("uint16", "uint16", "uint32", "int32", "bool", "float32"))


@functools.cache
def reduction_holds(reduction: Callable[[Callable, tuple], Callable]) -> bool:
    """Is ``reduction(lane, types)``, a function of one lane as a reduction over lanes, right here?

    The outcome is kept in a small file in :func:`cache_folder`, one for each jaxlib, its flags and kind of
    processor; without the file the check, half a second, is made again. Warns, once a process, if the answer is no.
    """
    known = _outcome_file(reduction)
    outcome = ""
    with contextlib.suppress(OSError, ValueError):
        outcome = known.read_text() if known else ""
    if outcome not in ("holds", "fails"):
        # In a thread of its own, since this one may be in the middle of somebody's trace.
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            outcome = "holds" if thread.submit(_is_right, reduction).result() else "fails"
        with contextlib.suppress(OSError):
            if known:
                known.write_text(outcome)
    if outcome == "fails":
        warnings.warn(
            f"jaxlib {jaxlib.version.__version__} does not reduce on this CPU as jubango's fused kernels need it; "
            "the plain form is used: the same games, but slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return outcome == "holds"


def _outcome_file(reduction: Callable) -> Path | None:
    decides = [jaxlib.version.__version__, machine.processor(), os.environ.get("XLA_FLAGS", "")]
    with contextlib.suppress(OSError):  # and the code that makes and checks reductions
        decides += [Path(file).read_text(encoding="utf-8") for file in (__file__, reduction.__code__.co_filename)]
    name = hashlib.sha256("\n".join(decides).encode()).hexdigest()[:16]
    folder = cache_folder()
    return folder and folder / f"fused-{name}.txt"


def _is_right(reduction: Callable[[Callable, tuple], Callable]) -> bool:
    """Is it, on small batches, bit for bit what numpy makes of the same?"""
    call = reduction(functools.partial(_lane, jnp, lax.population_count), TYPES)

    def run(batches: list[list[jax.Array]]) -> list:
        out = []
        for batch in batches:  # in a loop, as games are played, and every result is read
            more = [jnp.zeros(x.shape, x.dtype) for x in jax.eval_shape(call, *batch)[len(TYPES) :]]
            out.append(lax.fori_loop(0, 3, lambda _, now: call(*now[: len(TYPES)]), [*batch, *more]))
        few = [call(*batches[4])[i] for i in (0, 7)]  # the others are not read
        return [*out, few, jax.vmap(call, in_axes=(0, None, 0, 0, 0, 0))(*_three_batches(batches[5]))]

    random = np.random.default_rng(0)
    batches = []
    for lanes in BATCH_SIZES:
        bits = random.integers(0, 1 << 16, (len(TYPES), lanes))
        batches.append([(x & 1 if t.kind == "b" else x).astype(t) for x, t in zip(bits, TYPES, strict=True)])
    correct = [_by_numpy(batch, 3) for batch in batches]
    correct.append([_by_numpy(batches[4])[i] for i in (0, 7)])
    correct.append(_by_numpy(_three_batches(batches[5])))
    try:
        found = jax.device_get(jit(run)(jax.device_put(batches)))
    except jax.errors.JaxRuntimeError:  # a compiler that will have none of it
        return False
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(correct), strict=True))


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
    return [x[:11] if i == 1 else x.reshape(3, 11) for i, x in enumerate(arrays)]
