"""Two CPU devices as on the smallest machine, and a cache of compiled programs between runs."""

from __future__ import annotations

import gc
import signal

import jax
import pytest

from jubango.sgf_games.compute.machine import configure

configure(cores=2)
# Who started the tests may have had signals ignored or blocked (a shell in the background, nohup, a container), which
# every process inherits; what the tests start is to be interrupted and ended all the same.
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Every compiled program holds hundreds of memory maps, of which Linux gives a process 65,530; all that
    the tests compile together would be more. What another module needs again comes from the disk."""
    yield
    jax.clear_caches()
    gc.collect()
