"""Selection rules: which child a simulation goes down to, and which action is played in the end.

A rule scores all actions of a node at once. Shape legend: B lanes, A actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp

MoveRule = Literal["visits", "value", "prior", "gumbel"]


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
    equivalence: jax.Array  # float32 [B], see Rave
    bias: jax.Array  # float32 [B], see Rave


class Edges(NamedTuple):
    """The actions of one node per lane; arrays are [B, A], those of the node itself [B]."""

    visits: jax.Array  # int32
    value_sum: jax.Array  # float32, from the view of the node's player
    prior: jax.Array  # float32, sums to 1; zero where illegal
    value: jax.Array  # float32 [B], what the evaluator said of the node
    first_visits: jax.Array | None = None  # float32, games in which the node's player took the action first (AMAF)
    first_sum: jax.Array | None = None  # float32, their values, from the view of the node's player

    @property
    def node_visits(self) -> jax.Array:
        """int32 [B]: N, the node's visits: its own evaluation and its children's visits."""
        return 1 + jnp.sum(self.visits, axis=-1, dtype=jnp.int32)

    @property
    def q(self) -> jax.Array:
        """float32 [B, A]: mean values, 0 where unvisited."""
        return self.value_sum / jnp.maximum(self.visits, 1).astype(jnp.float32)


class Rule(ABC):
    """Subclasses are frozen dataclasses of their constants, hence hashable and static."""

    usual_c: ClassVar[float] = 0.0  # the constant where none is given
    move: ClassVar[MoveRule] = "visits"  # what the final move is chosen by where nobody says
    scheduled: ClassVar[bool] = False  # do the settings hold a visit schedule and noise for the root?
    firsts: ClassVar[bool] = False  # do the edges hold who took what first?

    @abstractmethod
    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the largest is chosen; what is illegal (prior 0) is masked afterwards."""

    def root(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the scores at the root; those of any other node unless the rule says otherwise."""
        return self(edges, settings)

    def final(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the root's action with the largest is played, by default the most visited."""
        return edges.visits.astype(jnp.float32)

    def policy(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A], sums to 1: what the search makes of the prior, by default the shares of the visits."""
        return edges.visits / jnp.maximum(jnp.sum(edges.visits, axis=-1, keepdims=True), 1).astype(jnp.float32)

    @property
    def root_differs(self) -> bool:
        return type(self).root is not Rule.root


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
