"""Loops and branches that mean the same in ``jax.shard_map``, whose types say over which devices a value varies: there
a constant is one value for all devices, and a loop may not make something else of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax import lax

T = TypeVar("T")


def while_loop(cond: Callable[[T], jax.Array], body: Callable[[T], T], start: T) -> T:
    """``lax.while_loop``, of which everything may vary over the devices over which anything of ``start`` does."""
    result: T = lax.while_loop(cond, body, alike(start, start))
    return result


def times(number: int, step: Callable[[T], T]) -> Callable[[T], T]:
    """So many steps as one turn of a loop."""

    def turn(state: T) -> T:
        for _ in range(number):
            state = step(state)
        return state

    return turn


def in_a_row(number: int, step: Callable[[T], T]) -> Callable[[T], T]:
    """So many steps as a loop in a turn of another one. Its end is known, so that the host of an accelerator does not
    wait for it."""
    return step if number == 1 else lambda state: lax.fori_loop(0, number, lambda _, inner: step(inner), state)


def alike(tree: T, like: Any) -> T:
    """``tree`` with the types of values that vary over the devices over which anything of ``like`` does; elsewhere than
    in ``shard_map`` as it is."""
    axes = frozenset[str]().union(*map(_axes, jax.tree.leaves(like)))
    return jax.tree.map(lambda x: _cast(x, tuple(sorted(axes - _axes(x)))), tree) if axes else tree


def _axes(x: Any) -> frozenset[str]:
    """Those of the mesh over which it varies."""
    kind = jax.typeof(x)
    if hasattr(kind, "manual_axis_type"):
        return frozenset(kind.manual_axis_type.varying)
    return frozenset(getattr(kind, "vma", ()))  # before JAX 0.10


def _cast(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    if not axes:
        return x
    old: Any = lax  # it had another name
    return lax.pcast(x, axes, to="varying") if hasattr(lax, "pcast") else old.pvary(x, axes)
