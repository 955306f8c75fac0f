"""Two CPU devices as on the smallest machine, and a cache of compiled programs between runs."""

from __future__ import annotations

import gc
import signal

import jax
import pytest

from jubango.sgf_games.machine import configure

configure(cores=2)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell leaves it for what it starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that the programs that tests start can be interrupted


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Every compiled program holds hundreds of memory maps, of which Linux gives a process 65,530; all that
    the tests compile together would be more. What another module needs again comes from the disk."""
    yield
    jax.clear_caches()
    gc.collect()
