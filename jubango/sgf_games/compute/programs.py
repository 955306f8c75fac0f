"""How functions are compiled, and let go again."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Generic, ParamSpec, TypeVar

import jax

from jubango.sgf_games.compute.machine import on_cpu
from jubango.sgf_games.compute.traced import traced, tracing

# Passes of the CPU compiler that cost our own large programs more time to make than they gain: a reduction that is
# split in two is two kernels, and nothing of our loops is the same in every turn. Measured: benchmarks/README.md,
# "First contact".
LEFT_OUT_OF_OURS = "simplify-while-loops,while-loop-invariant-code-motion,tree_reduction_rewriter"
# JAX 0.12 makes one kernel of loops over whole batches of games, which is not vectorised: a sixth of the speed.
LEFT_OUT = "small-while-loop-hoisting" if jax.__version_info__ >= (0, 12) else ""

COMPILED_AT_ONCE = 2  # programs that are compiled; half of the time one has work for one core alone

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A function compiled by :func:`jit`; calling it runs the program. ``lower``, ``trace`` and ``eval_shape`` are as
    ``jax.jit`` has them."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any], everywhere: bool, parts: object) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self._options = options
        self._everywhere = everywhere
        self._parts = parts
        self._made: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return (self._made or self._jitted)(*args, **kwargs)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """The program for such arguments, not yet compiled."""
        return self._jitted.lower(*args, **kwargs)

    def ahead(self, aside: Executor, *args: P.args, **kwargs: P.kwargs) -> None:
        """Trace the program for such arguments now and compile it in ``aside``. A call after that finds it made, or
        says itself why it cannot be compiled. Before JAX 0.9 it is compiled once more where settings of JAX hold for
        this thread alone."""
        with tracing():
            lowered = self.lower(*args, **kwargs)
        aside.submit(lowered.compile)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Traced:
        """The program for such arguments, traced."""
        return self._jitted.trace(*args, **kwargs)

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The shapes and dtypes of what it returns, as ``jax.ShapeDtypeStruct``."""
        return self._jitted.eval_shape(*args, **kwargs)

    @property
    def _jitted(self) -> Any:
        if self._made is None:  # at the first use, so that importing a module never starts a backend
            chosen: dict[str, int | bool | str] = {}
            if on_cpu():
                left_out = [LEFT_OUT] if self._parts is None else [LEFT_OUT, LEFT_OUT_OF_OURS]
                chosen = {
                    "xla_cpu_prefer_vector_width": 512,
                    "xla_disable_hlo_passes": ",".join(filter(None, left_out)),
                }
                if self._everywhere:  # threads to help a device would take the cores from the others
                    chosen["xla_cpu_multi_thread_eigen"] = False
            extra = {"compiler_options": chosen | self._options.get("compiler_options", {})} if chosen else {}
            self._made = jax.jit(self._traced(), **{**self._options, **extra})
        return self._made

    def _traced(self) -> Callable[..., Any]:
        if self._parts is None:
            return self.__wrapped__
        places = {key: value for key, value in self._options.items() if key.endswith("_shardings")}
        return traced(self.__wrapped__, self._parts, places)

    def free(self) -> None:
        """Let the compiled programs go; the next call compiles again, or loads what the disk holds."""
        if self._made is not None:
            self._made.clear_cache()
            self._made = None


@contextlib.contextmanager
def compiling_aside() -> Iterator[Executor]:
    """Where programs are compiled (:meth:`Compiled.ahead`) while this thread does something else. All are made in the
    end; Ctrl-C waits for no more than is being compiled."""
    aside = ThreadPoolExecutor(COMPILED_AT_ONCE)
    try:
        yield aside
        aside.shutdown()
    except BaseException:
        aside.shutdown(wait=False, cancel_futures=True)
        raise


def jit(function: Callable[P, R], everywhere: bool = False, parts: object = None, **options: Any) -> Compiled[P, R]:
    """The compiled function: ``jax.jit`` with this project's compiler options (full-width vectors on CPUs).

    A search inside of your own program runs fastest when the program is compiled by this. It is for the outermost
    function: inside of another one JAX takes no compiler options.

    function: what is compiled.
    everywhere: for programs of this package: the program keeps all devices busy by itself.
    parts: for programs of this package: its name and all that it is made of besides its code. Other processes then need
        not trace it again (:mod:`jubango.sgf_games.compute.traced`); it takes no keywords then, and no ``vmap``.
    options: those of ``jax.jit``: ``static_argnums``, ``static_argnames``, ``donate_argnums``, ``in_shardings`` and so
        on.
    """
    return Compiled(function, options, everywhere, parts)
