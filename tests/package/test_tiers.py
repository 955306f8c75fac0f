"""The limit of `make test`: a slow test that is not marked fails, and a busy machine fails none."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import limit as guard
import numpy as np
import pytest


def outcome(clock, computing, idle=0.0, compiling=0.0, marked=False, limit=5.0):
    """What becomes of a test that passes and takes so many seconds."""
    clocks = iter([np.zeros(4), np.array([clock, computing, idle, compiling])])
    item = SimpleNamespace(get_closest_marker=lambda name: name if marked else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "_clocks", lambda: next(clocks))
        patch.setattr(guard, "LIMIT", limit)
        call = guard.pytest_runtest_call(item)
        next(call)
        try:
            call.send(None)
        except StopIteration:
            return "passes"
        except pytest.fail.Exception as failure:
            return str(failure)


@pytest.mark.parametrize(
    "seconds",
    [
        {"clock": 6.0, "computing": 6.0}, {"clock": 6.0, "computing": 0.0, "idle": 6.0}, {"clock": 6.0, "computing": 12.0},
        {"clock": 11.0, "computing": 11.0, "compiling": 10.0}, {"clock": 60.0, "computing": 6.0}, {"clock": 2.0, "computing": 2.0, "limit": 1.0},
    ],
)  # fmt: skip
def test_a_slow_test_fails(seconds):
    assert "or mark it with @pytest.mark.full" in outcome(**seconds)
    assert outcome(**seconds, marked=True) == "passes"
    assert outcome(**seconds | {"limit": 0.0}) == "passes"


@pytest.mark.parametrize(
    "seconds",
    [
        {"clock": 4.0, "computing": 8.0, "idle": 8.0}, {"clock": 60.0, "computing": 4.0}, {"clock": 60.0, "computing": 0.0},
        {"clock": 8.0, "computing": 8.0, "compiling": 6.0}, {"clock": 6.0, "computing": 6.0, "limit": 12.0},
    ],
)  # fmt: skip
def test_a_quick_test_passes_on_a_busy_machine_too(seconds):
    assert outcome(**seconds) == "passes"


def test_compiling_is_counted():
    before = guard._clocks()
    jax.jit(lambda x: x * 3 + 1)(np.arange(3))
    clock, computing, idle, compiling = guard._clocks() - before
    assert 0 < compiling <= clock and computing > 0 and idle >= 0
