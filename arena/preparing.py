"""What happens before the first move: programs are compiled, or loaded from the disk."""

from __future__ import annotations

import functools
import time
from collections import Counter

import jax.monitoring

# JAX's names for: a program came from its cache on disk; one was compiled and put there (small ones never are).
EVENTS = {"/jax/compilation_cache/cache_hits": "loaded", "/jax/compilation_cache/cache_misses": "compiled"}


class Preparing:
    """Programs are made ``what`` for. As text it says so, with what has been done and the time taken so far."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._began = time.perf_counter()
        self._before = _programs().copy()

    @property
    def seconds(self) -> float:
        """Taken so far."""
        return time.perf_counter() - self._began

    def __str__(self) -> str:
        made = _programs() - self._before
        done = "".join(f", {made[way]} {way}" for way in ("compiled", "loaded") if made[way])
        return f"making programs, {self.seconds:.0f} s{done}: {self.what}"


@functools.cache
def _programs() -> Counter[str]:
    """How many programs this process has compiled and loaded; counted from the first call on."""
    counted: Counter[str] = Counter()

    def listen(event: str, **_: str | int) -> None:
        if event in EVENTS:
            counted[EVENTS[event]] += 1

    jax.monitoring.register_event_listener(listen)
    return counted
