"""What a tournament does with its time: how much of it goes by inside compiled search and rules.

    python benchmarks/tournament.py [FILE.toml ...]

Every call of a compiled function is waited for and timed; the rest is Python: pairing, choosing the moves,
records, SQLite, SGF files, the dashboard. Making the bots, which compiles or loads their programs, and the first
calls are not counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from jubango.arena import tournament
from jubango.arena.dashboard import Dashboard
from jubango.arena.plan import read_plan
from jubango.arena.table import Table

WARM = 5  # calls of each function before it counts


class Timed:
    """A compiled function, waited for."""

    total, began = 0.0, 0.0

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        import jax

        start = time.perf_counter()
        out = jax.block_until_ready(self.function(*args))
        self.calls += 1
        if Timed.began:
            Timed.total += time.perf_counter() - start
        elif self.calls > WARM:
            Timed.began = time.perf_counter()
        return out


class TimedTable(Table):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rules = self._rules._replace(step_lanes=Timed(self._rules.step_lanes))
        for mover in set(self.movers.values()):
            inner = getattr(mover, "_program", None)
            if inner is not None:
                names = ("begin", "advance", "keep", "stop")
                mover._program = inner._replace(**{n: Timed(getattr(inner, n)) for n in names})  # type: ignore[attr-defined]


def main() -> None:
    from rich.console import Console

    tournament.Table = TimedTable  # type: ignore[misc]
    for file in sys.argv[1:] or ["examples/demo.toml", "examples/ladder-connect_four.toml"]:
        plan = read_plan(Path(file))
        Timed.total = Timed.began = 0.0
        dashboard = Dashboard(Console(file=open("/dev/null", "w"), force_terminal=True))  # noqa: SIM115
        with tempfile.TemporaryDirectory() as folder, dashboard.running():
            tournament.play_plan(plan, Path(folder), dashboard.show)
        wall = time.perf_counter() - Timed.began
        share = 100 * Timed.total / wall
        print(f"{plan.name:<24}{wall:7.1f} s, {share:5.1f} % inside compiled search and rules", flush=True)


if __name__ == "__main__":
    main()
