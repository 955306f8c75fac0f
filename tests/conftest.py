"""Two CPU devices as on the smallest machine, a cache of compiled programs between runs, and the guard of the quick tests."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path

import jax
import jax.monitoring
import numpy as np
import psutil
import pytest

from jubango.sgf_games.compute.machine import configure

# Seconds that a test of `make test` may take; slower ones are marked `full`. 0 switches the guard off.
LIMIT = float(os.environ.get("JUBANGO_TEST_LIMIT", "5"))
MAPS = 20_000  # memory maps of one process: Linux allows 65,530, and these come with 2 to 3 GB of programs

configure(cores=2)
# Who started the tests may have had signals ignored or blocked (a shell in the background, nohup, a container), which
# every process inherits; what the tests start is to be interrupted and ended all the same.
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_compiling = [0.0]


def _count(event: str, seconds: float, **_: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compiling[0] += seconds


jax.monitoring.register_event_duration_secs_listener(_count)


def _clocks() -> np.ndarray:
    """Seconds by the clock, of computing by this process and those it has waited for, that cores stood idle, and by the
    clock while programs were compiled."""
    return np.array([time.monotonic(), sum(os.times()[:4]), psutil.cpu_times().idle, _compiling[0]])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that passes, is not marked `full` and takes more than LIMIT seconds fails.

    What counts is the time that it computed or that a core was free for it, so that a busy machine fails no test. The
    first test that needs a program compiles it for the others: with compiling a test may take twice as long."""
    before = _clocks()
    result = yield
    clock, computing, idle, compiling = _clocks() - before
    spent = min(clock, computing + idle)
    without = spent * (1 - min(1.0, compiling / clock))
    if LIMIT > 0 and (without > LIMIT or spent > 2 * LIMIT) and item.get_closest_marker("full") is None:
        pytest.fail(
            f"took {spent:.1f} s, {spent - without:.1f} s of them compiling, and `make test` allows {LIMIT:g} s, with "
            f"compiling {2 * LIMIT:g} s: make it quicker, or mark it with @pytest.mark.full (on a slow machine set "
            "JUBANGO_TEST_LIMIT to more seconds; 0 switches this off)",
            pytrace=False,
        )
    return result


def _memory_maps() -> int:
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:  # not Linux
        return 0


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Every compiled program holds hundreds of memory maps, and all that the tests compile together would be more than
    Linux gives a process. Then all are dropped; what another module needs again comes from the disk."""
    yield
    if _memory_maps() > MAPS or not Path("/proc/self/maps").exists():
        jax.clear_caches()
        gc.collect()
