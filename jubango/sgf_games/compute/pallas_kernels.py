"""Elementwise code as one kernel of a GPU, by Pallas and Triton: a thread has a lane, whose integers stay in registers.

Left to the compiler, a rules step is many kernels, which meet the memory in between. A loop whose end is data costs
the host a wait at every turn, and goes on for all lanes until the last has ended. Here a loop is inside of the kernel,
and a block of lanes goes on alone until its last lane has ended. What comes out is the same, bit for bit:
``reduction_check`` looks at a sample where it is used first, and at whole random games. On a CPU the tests look, where
JAX interprets such kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core
import jax.numpy as jnp
from jax import lax

from jubango.sgf_games.compute.machine import on_cpu

LANES_A_BLOCK = 32  # lanes of a kernel's block: a warp's threads
# The custom calls that such a kernel becomes: of this machine's versions alone.
TRITON_CALLS = "__gpu$xla.gpu.triton", "triton_kernel_call_ffi", "triton_kernel_call"


def elementwise(lane: Callable, leaves: Sequence[jax.Array]) -> list[jax.Array]:
    """``lane(*values) -> values``, of one lane, for arrays of one shape."""
    return _over_blocks(jax.vmap(lane), leaves)


def repeated(step: Callable, leaves: Sequence[jax.Array], live: jax.Array) -> list[jax.Array]:
    """Repeat ``step(*values) -> (*values, live)``, of one lane, while any lane of a block is ``live``: bool, as the
    arrays ``leaves``. A lane may go on after it has ended; that must not change what matters of it."""
    return repeated_between(lambda *values: values, step, lambda *values: values, [*leaves, live.astype(jnp.int32)])


def repeated_between(begin: Callable, step: Callable, finish: Callable, leaves: Sequence[jax.Array]) -> list[jax.Array]:
    """``finish(*values)`` of what :func:`repeated` makes of ``begin(*leaves) -> (*values, live)``, all of it of one
    lane."""

    def block(*given: jax.Array) -> Sequence[jax.Array]:
        *values, live = jax.vmap(begin)(*given)

        def body(carry: list[jax.Array]) -> list[jax.Array]:
            *after, live = jax.vmap(step)(*carry[:-1])
            return [*after, some(live)]

        # Whether to go on is part of what goes round. An array that the condition alone reads would not be handed to
        # the body, which a pass of Triton (remove-layout-conversions) counts on: it would end the process.
        *ends, _ = lax.while_loop(lambda carry: carry[-1], body, [*values, some(live)])
        return jax.vmap(finish)(*ends)

    def some(live: jax.Array) -> jax.Array:
        return jnp.max(live.astype(jnp.int32)) > 0

    return _over_blocks(block, leaves)


def _over_blocks(compute: Callable, leaves: Sequence[jax.Array]) -> list[jax.Array]:
    """``compute`` of arrays [LANES_A_BLOCK], for arrays of one shape and whatever size.

    Arrays of one type are the rows of one array, so that the compiler copies them by one kernel, not by one each."""
    from jax.experimental import pallas as pl

    shape, size = leaves[0].shape, math.prod(leaves[0].shape)
    blocks = max(1, -(-size // LANES_A_BLOCK))
    padding = 0, blocks * LANES_A_BLOCK - size
    flat = [jnp.pad(x.reshape(-1), padding, mode="edge" if size else "constant") for x in leaves]
    lanes = [jax.ShapeDtypeStruct((LANES_A_BLOCK,), x.dtype) for x in flat]
    traced = jax.make_jaxpr(compute)(*lanes)
    given, made = _Rows.of([x.dtype for x in flat]), _Rows.of([x.dtype for x in traced.out_avals])

    def kernel(*refs: Any) -> None:
        read, written = refs[: len(given.types)], refs[len(given.types) :]
        values = _evaluated(traced.jaxpr, traced.consts, *(read[k][row, :] for k, row in given.places))
        for (k, row), value in zip(made.places, values, strict=True):
            written[k][row, :] = value

    def block(rows: int) -> Any:
        return pl.BlockSpec((rows, LANES_A_BLOCK), lambda i: (0, i))

    out = pl.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct((rows, blocks * LANES_A_BLOCK), t) for t, rows in made.types.items()],
        grid=(blocks,),
        in_specs=[block(rows) for rows in given.types.values()],
        out_specs=[block(rows) for rows in made.types.values()],
        **_how(),
    )(*given.stacked(flat))
    return [out[k][row, :size].reshape(shape) for k, row in made.places]


class _Rows(NamedTuple):
    """Arrays as the rows of one array for each type."""

    types: dict[Any, int]  # how many there are of each
    places: list[tuple[int, int]]  # of every array: (which type, which row)

    @staticmethod
    def of(types: Sequence[Any]) -> _Rows:
        counts: dict[Any, int] = {}
        rows = []
        for one in types:
            rows.append(counts.get(one, 0))
            counts[one] = rows[-1] + 1
        kinds = list(counts)
        return _Rows(counts, [(kinds.index(one), row) for one, row in zip(types, rows, strict=True)])

    def stacked(self, arrays: Sequence[jax.Array]) -> list[jax.Array]:
        return [jnp.stack([x for x in arrays if x.dtype == one]) for one in self.types]


def _how() -> dict[str, Any]:
    """By which compiler, and how."""
    if on_cpu():
        return {"interpret": True}
    from jax.experimental.pallas import triton

    own: Any = triton
    params = getattr(own, "CompilerParams", None) or own.TritonCompilerParams  # its name before JAX 0.7
    return {"compiler_params": params(num_warps=1, num_stages=1)}


def _evaluated(jaxpr: Any, consts: Sequence[Any], *args: jax.Array) -> list[jax.Array]:
    """``jaxpr`` with nothing in it that Triton has for other types only, or not at all."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def value(var: Any) -> Any:
        return var.val if isinstance(var, jax.extend.core.Literal) else known[var]

    for equation in jaxpr.eqns:
        name, given = equation.primitive.name, [value(var) for var in equation.invars]
        if name == "population_count":  # which it has of int32
            found = [lax.population_count(given[0].astype(jnp.int32)).astype(given[0].dtype)]
        elif name in ("pjit", "jit", "closed_call", "custom_jvp_call"):
            inner = equation.params.get("jaxpr") or equation.params["call_jaxpr"]
            found = _evaluated(inner.jaxpr, inner.consts, *given)
        elif name == "while":
            found = _loop(equation.params, given)
        else:
            found = equation.primitive.bind(*given, **equation.params)
            found = found if equation.primitive.multiple_results else [found]
        known.update(zip(equation.outvars, found, strict=True))
    return [value(var) for var in jaxpr.outvars]


def _loop(params: dict[str, Any], given: list[jax.Array]) -> list[jax.Array]:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    asked, done = params["cond_jaxpr"], params["body_jaxpr"]

    def going(carry: list[jax.Array]) -> jax.Array:
        return _evaluated(asked.jaxpr, asked.consts, *given[:first], *carry)[0]

    def turn(carry: list[jax.Array]) -> list[jax.Array]:
        after = _evaluated(done.jaxpr, done.consts, *given[first:second], *carry[:-1])
        return [*after, going(after)]

    return lax.while_loop(lambda carry: carry[-1], turn, [*given[second:], going(given[second:])])[:-1]
