"""How functions are compiled, and let go again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import jax

from jubango.sgf_games.machine import on_cpu
from jubango.sgf_games.traced import traced

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A function compiled by :func:`jit`; calling it runs the program."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any], everywhere: bool, parts: object) -> None:
        self.__wrapped__ = function
        self._options = options
        self._everywhere = everywhere
        self._parts = parts
        self._jitted: Any = None
        _ALL.add(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._jitted is None:  # the first call, so that importing a module never starts a backend
            chosen: dict[str, int | bool] = {"xla_cpu_prefer_vector_width": 512} if on_cpu() else {}
            if on_cpu() and self._everywhere:  # threads to help a device would take the cores from the others
                chosen["xla_cpu_multi_thread_eigen"] = False
            extra = {"compiler_options": chosen} if chosen else {}
            self._jitted = jax.jit(self._traced(), **{**self._options, **extra})
        return self._jitted(*args, **kwargs)

    def _traced(self) -> Callable[..., Any]:
        if self._parts is None:
            return self.__wrapped__
        places = {key: value for key, value in self._options.items() if key.endswith("_shardings")}
        return traced(self.__wrapped__, self._parts, places)

    def free(self) -> None:
        """Let the compiled programs go; the next call compiles again, or loads what the disk holds."""
        if self._jitted is not None:
            self._jitted.clear_cache()
            self._jitted = None


_ALL: weakref.WeakSet[Compiled[..., Any]] = weakref.WeakSet()


def jit(function: Callable[P, R], everywhere: bool = False, parts: object = None, **options: Any) -> Compiled[P, R]:
    """``jax.jit`` with this project's compiler options (full-width vectors on CPUs). ``everywhere``: the program keeps
    all devices busy by itself. ``parts``: its name and all that it is made of besides its code, so that other processes
    need not trace it again (:mod:`jubango.sgf_games.traced`); it takes no keywords then, and no ``vmap``.

    Search inside your own programs runs fastest when they are compiled by this.
    """
    return Compiled(function, options, everywhere, parts)


def free_programs() -> None:
    """Let go of every compiled program of this process."""
    for compiled in list(_ALL):
        compiled.free()
    jax.clear_caches()
