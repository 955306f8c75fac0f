"""One kernel for a whole rules step: how thousands of games are played at once on a CPU.

A *lane* is one game of a batch. A rules step is a long function of a few hundred small integers
per lane and nothing else: no lane looks at another. XLA's CPU backend, given such a function with
many outputs, makes one kernel per output and recomputes what they share; for a Go move that is a
thirtyfold loss. :func:`fused` hands it over as ONE variadic reduction over an axis of broadcast
copies whose combiner ignores the accumulator. The loop over that axis is invariant, disappears,
and what is left is one loop over the lanes, computed once and vectorised to the machine's width.

A reduction promises nothing about the order in which it combines. The combiner here returns the
same for every order in which its second argument is an element, which is how the CPU backend
reduces. A compiler that reduces otherwise is noticed before the first kernel is made (``reduction_check``).
There the function is left to the compiler as it is.

A GPU has no use for that trick, and its compiler as little for so long a function. There :mod:`pallas_kernels` makes
one kernel of it, in which a lane's integers stay in registers, if that is found to be right there; other devices get
the function as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, ParamSpec, TypeVar, TypeVarTuple, overload

import jax
import jax.extend.core
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.interpreters import partial_eval as pe

from jubango.sgf_games.compute import machine
from jubango.sgf_games.compute.pallas_kernels import elementwise, repeated_between
from jubango.sgf_games.compute.reduction_check import reduction_holds

S = TypeVar("S")

# Two limits of the CPU compiler, found by measuring: a longer combiner is split into functions that
# recompute each other (3,500 equations still go well, 4,700 compile for minutes), and a kernel with more arrays
# is not vectorised.
MAX_EQUATIONS = 3_300
MAX_ARRAYS = 120

# For ``array.at[index]`` where no index is out of bounds or negative, which JAX before 0.7 always asks.
IN_BOUNDS: dict[str, Any] = {"mode": "promise_in_bounds"}
if jax.__version_info__ >= (0, 7):
    IN_BOUNDS["wrap_negative_indices"] = False

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


@overload
def fused(stage: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def fused(*stages: Callable[..., object]) -> Callable[..., Any]: ...
def fused(*stages: Callable[..., object]) -> Callable[..., Any]:
    """The composition of elementwise ``stages`` over pytrees of equally shaped arrays, as one kernel.

    A stage must be elementwise: output element i depends on input elements i alone, and on nothing
    else that is traced. It may change the number and the types of the arrays; a tuple it returns
    becomes the next stage's arguments. What is too long for one kernel is split between stages.
    Under ``vmap`` the batch becomes more lanes. Keep the result and call it again: a stage is
    traced once for each set of argument types.
    """
    plans: dict[Any, tuple[list[_Kernel], Any]] = {}

    def call(*args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        leaves = [jnp.asarray(x) for x in leaves]
        types = tuple(x.dtype for x in leaves)
        key = tree, types, jax.sharding.get_abstract_mesh()  # what is traced remembers its mesh
        if key not in plans:
            plans[key] = _plan(stages, tree, types)
        kernels, out_tree = plans[key]
        for kernel in kernels:
            leaves = kernel(leaves)
        return jax.tree.unflatten(out_tree, leaves)

    return call


def _plan(stages: tuple[Callable, ...], tree: Any, types: tuple) -> tuple[list[_Kernel], Any]:
    """(kernels that make up ``stages``, the tree of the last one's result)."""
    kernels: list[_Kernel] = []
    pending: list[_Stage] = []
    for function in stages:
        stage = _trace(function, tree, types)
        tree, types = stage.next_arguments, stage.types_after
        if pending and not _fit([*pending, stage]):
            kernels.append(_joined(pending))
            pending = []
        pending.append(stage)
    return [*kernels, _joined(pending)], stage.result


class _Stage(NamedTuple):
    """One lane of a stage as a function of flat values."""

    flat: Callable
    equations: int
    types: tuple  # of its arguments
    types_after: tuple  # of its results
    next_arguments: Any  # the tree of its results as the next stage's arguments
    result: Any  # and as they are


def _trace(stage: Callable, tree: Any, types: tuple) -> _Stage:
    arguments = jax.tree.unflatten(tree, [jax.ShapeDtypeStruct((), t) for t in types])
    closed, result = jax.make_jaxpr(stage, return_shape=True)(*arguments)

    def flat(*values: jax.Array) -> list[jax.Array]:
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *values)

    as_arguments = result if type(result) is tuple else (result,)
    types_after = tuple(x.dtype for x in jax.tree.leaves(result))
    equations = _count_equations(closed.jaxpr)
    return _Stage(flat, equations, types, types_after, jax.tree.structure(as_arguments), jax.tree.structure(result))


def _joined(stages: list[_Stage]) -> _Kernel:
    def flat(*values: jax.Array) -> list[jax.Array]:
        now = list(values)
        for stage in stages:
            now = stage.flat(*now)
        return now

    return _Kernel(flat, stages[0].types)


def _fit(stages: list[_Stage]) -> bool:
    """Are they short enough for one kernel? What is surely so is not traced again to see what of it is needed."""
    types, types_after = stages[0].types, stages[-1].types_after
    arrays = len(types) + len(_slots(list(types), list(types_after))[1])
    surely = sum(stage.equations for stage in stages) <= MAX_EQUATIONS and arrays <= MAX_ARRAYS
    return surely or _joined(stages).fits()


class _Kernel:
    """A function of one lane, flat values to flat values, to be run over lanes as one kernel.

    Results that are inputs unchanged are passed by, and inputs that nothing needs are not read.
    """

    def __init__(self, flat: Callable, types: tuple) -> None:
        closed = jax.make_jaxpr(flat)(*[jax.ShapeDtypeStruct((), t) for t in types])
        inputs = {var: i for i, var in enumerate(closed.jaxpr.invars)}
        outvars = closed.jaxpr.outvars
        # For every result: the input it is, or None where it has to be computed.
        self.sources = [inputs.get(v) if isinstance(v, jax.extend.core.Var) else None for v in outvars]
        needed, used = pe.dce_jaxpr(closed.jaxpr, [source is None for source in self.sources])
        self.jaxpr: Any = needed
        self.consts = closed.consts
        self.read = [i for i, is_used in enumerate(used) if is_used]
        self._lane = functools.partial(jax.core.eval_jaxpr, self.jaxpr, self.consts)
        self._runs: dict[str, Callable] = {}

    def fits(self) -> bool:
        _, extra = _slots(*self._types())
        arrays = len(self.jaxpr.invars) + len(extra)
        return _count_equations(self.jaxpr) <= MAX_EQUATIONS and arrays <= MAX_ARRAYS

    def _types(self) -> tuple[list, list]:
        return [v.aval.dtype for v in self.jaxpr.invars], [v.aval.dtype for v in self.jaxpr.outvars]

    def __call__(self, leaves: list[jax.Array]) -> list[jax.Array]:
        run = self._lane if _inside.get() else self._run()
        computed = iter(run(*[leaves[i] for i in self.read]) if self.jaxpr.outvars else ())
        shape = jnp.broadcast_shapes(*[x.shape for x in leaves])
        return [next(computed) if i is None else jnp.broadcast_to(leaves[i], shape) for i in self.sources]

    def _run(self) -> Callable:
        """The kernel in the form for this device, a function of its own in every program: JAX traces and writes it
        down once for all places that call it with such shapes."""
        form = self.as_pallas if in_pallas() else self.as_written
        if machine.on_cpu() and reduction_holds(_reduction):
            form = self.as_reduction
        if form.__name__ not in self._runs:
            self._runs[form.__name__] = jax.jit(_over_lanes(form))
        return self._runs[form.__name__]

    def as_pallas(self, *leaves: jax.Array) -> list[jax.Array]:
        """The same as one kernel of a GPU."""
        return elementwise(self._lane, leaves)

    def as_written(self, *leaves: jax.Array) -> list[jax.Array]:
        """The results for ``leaves`` of one shape, left to the compiler."""
        compute = self._lane
        for _ in leaves[0].shape:  # functions called in it are traced for one lane as well
            compute = jax.vmap(compute)
        return compute(*leaves)

    def as_reduction(self, *leaves: jax.Array) -> list[jax.Array]:
        """The same as one variadic reduction."""
        slots, all_types, combine = self._combiner
        shape = leaves[0].shape
        operands = [jnp.broadcast_to(x[None], (2, *shape)) for x in leaves]
        operands += [jnp.zeros((2, *shape), t) for t in all_types[len(leaves) :]]
        zeros = tuple(jnp.zeros((), t) for t in all_types)
        # The barrier keeps unread outputs: the compiler mishandles a reduction that loses some.
        out = lax.optimization_barrier(lax.reduce(tuple(operands), zeros, combine, (0,)))
        return [out[slot] for slot in slots]

    @functools.cached_property
    def _combiner(self) -> tuple[list[int], list, Callable]:
        """(which operand's place each result takes, the operands' types, what combines two); JAX traces the same
        function once."""
        types, out_types = self._types()
        slots, extra = _slots(types, out_types)
        all_types = [*types, *extra]

        def combine(_: tuple, values: tuple) -> tuple:
            results = jax.core.eval_jaxpr(self.jaxpr, self.consts, *values[: len(types)])
            out = [jnp.zeros((), t) for t in all_types]
            for slot, value in zip(slots, results, strict=True):
                out[slot] = value
            return tuple(out)

        return slots, all_types, combine


def _over_lanes(compute: Callable) -> Callable:
    """``compute`` for arrays of any shapes that broadcast; ``vmap`` adds lanes."""

    @custom_vmap
    def run(*leaves: jax.Array) -> list[jax.Array]:
        shape = jnp.broadcast_shapes(*[x.shape for x in leaves])
        return compute(*[jnp.broadcast_to(x, shape) for x in leaves])

    run.def_vmap(batch_is_lanes(run))
    return run


def _reduction(lane: Callable, types: tuple) -> Callable:
    """``lane`` as one reduction, whatever may come of it."""
    return _over_lanes(_Kernel(lane, types).as_reduction)


def _pallas(lane: Callable, types: tuple) -> Callable:
    """``lane`` as one kernel of a GPU, after a loop in it that changes nothing."""

    def begin(*values: jax.Array) -> tuple[jax.Array, ...]:
        return *values, jnp.int32(0), jnp.bool_(True)

    def step(*values: jax.Array) -> tuple[jax.Array, ...]:
        return *values[:-1], values[-1] + 1, values[-1] < 2

    return _over_lanes(lambda *leaves: repeated_between(begin, step, lambda *values: lane(*values[:-1]), leaves))


def in_pallas() -> bool:
    """Is elementwise code a kernel of a GPU here?"""
    return machine.suited().kernels and reduction_holds(_pallas)


_inside: ContextVar[bool] = ContextVar("inside", default=False)  # is what is traced part of a kernel already?


def lane_of(step: Callable, like: Sequence[Any]) -> Callable:
    """``step`` of flat values, made of fused parts, as part of a kernel: one lane of it."""
    before = _inside.set(True)
    try:
        closed = jax.make_jaxpr(step)(*[jax.ShapeDtypeStruct((), x.dtype) for x in like])
    finally:
        _inside.reset(before)
    return functools.partial(jax.core.eval_jaxpr, closed.jaxpr, closed.consts)


def _count_equations(jaxpr: Any) -> int:
    total = 0
    for equation in jaxpr.eqns:
        inner = [p.jaxpr for p in equation.params.values() if hasattr(p, "jaxpr")]
        total += sum(_count_equations(j) for j in inner) or 1
    return total


def _slots(types: list, out_types: list) -> tuple[list[int], list]:
    """Which operand's place each output takes, and the types of places that must be added.

    An output takes the place of an input of its type, so that buffers are reused in loops.
    """
    free = list(range(len(types)))
    slots: list[int] = []
    extra: list = []
    for dtype in out_types:
        slot = next((i for i in free if types[i] == dtype), None)
        if slot is None:
            slot = len(types) + len(extra)
            extra.append(dtype)
        else:
            free.remove(slot)
        slots.append(slot)
    return slots, extra


def batch_is_lanes(function: Callable) -> Callable:
    """The batching rule of an elementwise function: the batch axis is one more axis of lanes."""

    def rule(axis_size: int, batched: list[bool], *leaves: jax.Array) -> tuple:
        rank = max(x.ndim - b for x, b in zip(leaves, batched, strict=True))
        aligned = []
        for leaf, is_batched in zip(leaves, batched, strict=True):
            lead = leaf.shape[:1] if is_batched else (1,)
            rest = leaf.shape[1:] if is_batched else leaf.shape
            leaf = leaf.reshape(*lead, *(1,) * (rank - len(rest)), *rest)
            aligned.append(jnp.broadcast_to(leaf, (axis_size, *leaf.shape[1:])))
        out = function(*aligned)
        return out, jax.tree.map(lambda _: True, out)

    return rule


def first_largest(scores: jax.Array) -> jax.Array:
    """int32 [B]: argmax over the last axis. Two plain reductions: ``jnp.argmax`` takes four times as
    long on a CPU."""
    actions = jnp.arange(scores.shape[-1], dtype=jnp.int32)
    largest = jnp.max(scores, axis=-1, keepdims=True)
    return jnp.min(jnp.where(scores == largest, actions, scores.shape[-1] - 1), axis=-1)
