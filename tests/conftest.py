"""Two CPU devices as on the smallest machine, and a cache of compiled programs between runs."""

from __future__ import annotations

import gc
import signal

import jax
import pytest

from jubango.sgf_games.machine import configure

configure(cores=2)
# A shell has these ignored for what it starts in the background; what the tests start is to be interrupted all the same.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Every compiled program holds hundreds of memory maps, of which Linux gives a process 65,530; all that
    the tests compile together would be more. What another module needs again comes from the disk."""
    yield
    jax.clear_caches()
    gc.collect()
