"""What is said while people wait: modules are loaded, programs are compiled or loaded from the disk."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

# JAX's names for: a program came from its cache on disk; one was compiled and put there (small ones never are).
EVENTS = {"/jax/compilation_cache/cache_hits": "loaded", "/jax/compilation_cache/cache_misses": "compiled"}
SILENT_SECONDS = 1.0  # seconds that something may take before a plain line says so
AGAIN = 20.0  # seconds between two such lines


class Busy:
    """``what`` takes a while. As text it says so, with the time taken so far."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Taken so far."""
        return time.perf_counter() - self._began

    def __str__(self) -> str:
        return f"{self.what}, {self.seconds:.0f} s"


class Preparing(Busy):
    """Programs are made ``what`` for; as text with what has been done so far."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._before = programs().copy()

    def __str__(self) -> str:
        made = programs() - self._before
        done = "".join(
            f", {made[way]} {words}" for way, words in (("compiled", "done"), ("loaded", "from the cache")) if made[way]
        )
        return f"compiling, {self.seconds:.0f} s{done}: {self.what}"


class Line:
    """What is shown of a wait; it may say something else as things go on. ``below``: further lines, on a terminal."""

    def __init__(self, says: Busy | str) -> None:
        self.says = says
        self.below: Callable[[], Sequence[str]] = tuple
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text(str(self.says))
        text.truncate(options.max_width - 3, overflow="ellipsis")
        self._spinner.update(text=text)
        yield self._spinner
        for line in self.below():
            yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")


@contextmanager
def shown(console: Console, waiting: Busy, everywhere: bool = False, patience: float | None = None) -> Iterator[Line]:
    """On a terminal a spinner with the time taken so far, at once; ``everywhere`` else a line if it takes longer than
    ``patience`` seconds (SILENT_SECONDS), and one every AGAIN seconds from then on, unless there is nothing to say."""
    line = Line(waiting)
    if console.is_terminal:
        with Live(line, console=console, refresh_per_second=8, transient=True):
            yield line
        return
    if not everywhere:
        yield line
        return
    over = threading.Event()

    def tell() -> None:
        wait = SILENT_SECONDS if patience is None else patience
        while not over.wait(wait):
            if said := str(line.says):
                console.print(said, soft_wrap=True)
            wait = AGAIN

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        over.set()
        thread.join()


@functools.cache
def programs() -> Counter[str]:
    """How many programs this process has compiled and loaded; counted from the first call on."""
    import jax.monitoring  # not before something is on the screen

    counted: Counter[str] = Counter()

    def listen(event: str, **_: str | int) -> None:
        if event in EVENTS:
            counted[EVENTS[event]] += 1

    jax.monitoring.register_event_listener(listen)
    return counted
