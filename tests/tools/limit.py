"""The limit of `make test`: a test that takes longer and is not marked `full` fails."""

from __future__ import annotations

import os
import time

import jax.monitoring
import numpy as np
import psutil
import pytest

# Seconds that a test of `make test` may take; slower ones are marked `full`. 0 switches the guard off.
LIMIT = float(os.environ.get("JUBANGO_TEST_LIMIT", "5"))

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
