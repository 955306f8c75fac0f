"""Two CPU devices as on the smallest machine, a cache of compiled programs between runs; and the limit of the quick tests (tools/limit.py)."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings
from limit import pytest_runtest_call as pytest_runtest_call

from jubango.sgf_games.compute.machine import configure

MAPS = 20_000  # memory maps of one process: Linux allows 65,530, and these come with 2 to 3 GB of programs

configure(cores=2)
# The same examples in every run, so that what fails is what was changed. Others: pytest --hypothesis-profile=default
settings.register_profile("jubango", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("jubango")
# Who started the tests may have had signals ignored or blocked (a shell in the background, nohup, a container), which
# every process inherits; what the tests start is to be interrupted and ended all the same.
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


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
