"""Selection: which child a simulation goes down to. A rule scores all actions of a node at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp

UNVISITED_FIRST = 1e6  # above every other score


class Settings(NamedTuple):
    """The numbers a bot may vary without a new program; the trees (B) come first."""

    simulations: jax.Array  # int32 [B], per move, up to the search's capacity
    c: jax.Array  # float32 [B], the selection rule's constant: C, c_puct or eta
    fpu_reduction: jax.Array  # float32 [B], see Puct
    depth: jax.Array  # int32 [B], nodes this deep are not expanded
    noise: jax.Array  # float32 [B], the share of the root's prior that is Dirichlet noise
    dirichlet: jax.Array  # float32 [B, A], the noise
    gumbel: jax.Array  # float32 [B, A], noise of a Gumbel search's root; [B, 0] in the others
    considered: jax.Array  # int32 [B, capacity], a Gumbel root's visit schedule; [B, 0] in the others


class Edges(NamedTuple):
    """The actions of one node per lane; arrays are [B, A], those of the node itself [B]."""

    visits: jax.Array  # int32
    value_sum: jax.Array  # float32, from the view of the node's player
    prior: jax.Array  # float32, sums to 1; zero where illegal
    value: jax.Array  # float32 [B], what the evaluator said of the node

    @property
    def node_visits(self) -> jax.Array:
        """int32 [B]: N, the node's visits: its own evaluation and its children's visits."""
        return 1 + jnp.sum(self.visits, axis=-1)

    @property
    def q(self) -> jax.Array:
        """float32 [B, A]: mean values, 0 where unvisited."""
        return self.value_sum / jnp.maximum(self.visits, 1).astype(jnp.float32)


class Selection(Protocol):
    """A frozen (hashable) rule."""

    gumbel: ClassVar[bool]  # does the root follow a schedule of its own?
    usual_c: ClassVar[float]  # the constant where none is given

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the largest is chosen; what is illegal (prior 0) is masked afterwards."""
        ...


@dataclass(frozen=True)
class Ucb1:
    """w/n + c sqrt(ln N / n), with w/n a score between 0 and 1; unvisited actions come first.

    Kocsis & Szepesvari 2006, section 2.2; Browne et al. 2012, section 3.3.1. ``order`` says which
    unvisited action is first: "any" (the search's way with ties), or "prior", the largest prior.
    """

    order: Literal["any", "prior"] = "any"
    gumbel: ClassVar[bool] = False
    usual_c: ClassVar[float] = math.sqrt(2)

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        n = jnp.maximum(edges.visits, 1).astype(jnp.float32)
        log_total = jnp.log(edges.node_visits.astype(jnp.float32))
        bonus = settings.c[:, None] * jnp.sqrt(log_total[:, None] / n)
        unvisited = UNVISITED_FIRST * (1.0 + edges.prior) if self.order == "prior" else UNVISITED_FIRST
        return jnp.where(edges.visits > 0, 0.5 + 0.5 * edges.q + bonus, unvisited)


@dataclass(frozen=True)
class Puct:
    """Q + c P sqrt(N) / (1 + n). Silver et al. 2017 (AlphaGo Zero), Methods, "Select".

    base: 0, or that of the log term of AlphaZero (Silver et al. 2018, supplement: 19,652), which adds
        ln((1 + N + base) / base) to c.
    fpu: the Q of an unvisited action (first play urgency): "zero", "loss" (-1), "win" (+1), or "parent":
        the node's mean value less ``fpu_reduction`` times the root of the visited prior (Leela Zero).
    """

    base: float = 0.0
    fpu: Literal["zero", "parent", "loss", "win"] = "zero"
    gumbel: ClassVar[bool] = False
    usual_c: ClassVar[float] = 1.25

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        total = edges.node_visits.astype(jnp.float32)
        c = settings.c
        if self.base:
            c = c + jnp.log((1.0 + total + self.base) / self.base)
        explore = (c * jnp.sqrt(total))[:, None] * edges.prior / (1 + edges.visits).astype(jnp.float32)
        return jnp.where(edges.visits > 0, edges.q, self._unvisited(edges, settings)) + explore

    def _unvisited(self, edges: Edges, settings: Settings) -> jax.Array | float:
        if self.fpu != "parent":
            return {"zero": 0.0, "loss": -1.0, "win": 1.0}[self.fpu]
        mean = (edges.value + steady_sum(edges.value_sum)) / edges.node_visits.astype(jnp.float32)
        seen = steady_sum(jnp.where(edges.visits > 0, edges.prior, 0.0))
        return (mean - settings.fpu_reduction * jnp.sqrt(seen))[:, None]


@dataclass(frozen=True)
class AlphaGo:
    """Q + eta P / (1 + n): the bonus of AlphaGo without the parent's visits, as the articles on it
    give it (after Silver et al. 2016, Methods, "Searching with policy and value networks")."""

    gumbel: ClassVar[bool] = False
    usual_c: ClassVar[float] = 5.0

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        return edges.q + settings.c[:, None] * edges.prior / (1 + edges.visits).astype(jnp.float32)


def steady_sum(x: jax.Array) -> jax.Array:
    """The sum over the last axis, added in an order that does not depend on the batch.

    ``jnp.sum`` of floats may differ in the last bit between batch sizes, and then a lane's search
    would depend on its neighbours.
    """
    size = 1 << (x.shape[-1] - 1).bit_length()
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])
    while size > 1:
        size //= 2
        x = x[..., :size] + x[..., size:]
    return x[..., 0]
