"""Gumbel search: planning with few simulations that still improves the policy.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel". The root samples actions without
replacement (the Gumbel-top-k trick) and shares its simulations among them by sequential halving
(section 3); the nodes below follow the improved policy deterministically (section 5). Missing Q
values are completed with the mixed value of appendix D.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.search.rules.rule import Edges, MoveRule, Rule, Settings, steady_sum

TINY = 1e-37  # a prior that is as good as zero and still has a logarithm
LOWEST = -1e9  # a considered action may always be visited, whatever its logit


@functools.cache
def considered_visits(actions: int, simulations: int) -> tuple[int, ...]:
    """For each simulation, the visit count of the root actions that are in question.

    Sequential halving (Karnin et al. 2013) as a schedule: with m actions and n simulations each phase
    visits every action that is left n / (ceil(log2 m) * left) times, then keeps half of them.

    >>> considered_visits(4, 8)
    (0, 0, 0, 0, 1, 1, 2, 2)
    """
    if actions <= 1:
        return tuple(range(simulations))
    phases = math.ceil(math.log2(actions))
    schedule: list[int] = []
    visits, left = 0, actions
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            schedule += [visits] * left
            visits += 1
        left = max(2, left // 2)
    return tuple(schedule[:simulations])


def schedules(capacity: int, considered: int, simulations: int, legal: jax.Array) -> jax.Array:
    """int32 [B, capacity]: the schedules of roots with so many ``legal`` actions (int32 [B])."""
    plans = np.zeros((considered + 1, capacity), np.int32)
    for count in range(considered + 1):
        plans[count, :simulations] = considered_visits(count, simulations)
    return jnp.asarray(plans)[jnp.minimum(legal, considered)]


@dataclass(frozen=True)
class Gumbel(Rule):
    """sigma(q) = (c_visit + max n) c_scale q, with q rescaled to [0, 1] within a node if ``rescale``; differences below
    ``least_range`` are not blown up to that.

    The scores of interior nodes: the improved policy softmax(ln P + sigma(completed q)) less the
    share of visits it has had, n / (1 + sum n).
    """

    c_visit: float = 50.0
    c_scale: float = 0.1
    rescale: bool = True
    least_range: float = 1e-8
    scheduled: ClassVar[bool] = True
    move: ClassVar[MoveRule] = "gumbel"

    def __call__(self, edges: Edges, settings: Settings) -> jax.Array:
        return self.policy(edges, settings) - edges.visits / edges.node_visits[:, None].astype(jnp.float32)

    def root(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the best of the actions with the visits the schedule is at."""
        at = jnp.clip(edges.node_visits - 1, 0, settings.considered.shape[-1] - 1)
        visits = jnp.take_along_axis(settings.considered, at[:, None], axis=-1)
        return self._among(edges, settings, visits)

    def final(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the move to play is the best of the most visited."""
        return self._among(edges, settings, jnp.max(edges.visits, axis=-1, keepdims=True))

    def policy(self, edges: Edges, settings: Settings) -> jax.Array:
        """float32 [B, A]: the improved policy softmax(ln P + sigma(completed q)), section 4."""
        return _softmax(_logits(edges.prior) + self.completed(edges))

    def _among(self, edges: Edges, settings: Settings, visits: jax.Array) -> jax.Array:
        logits = _logits(edges.prior)
        logits -= jnp.max(logits, axis=-1, keepdims=True)
        score = jnp.maximum(LOWEST, settings.gumbel + logits + self.completed(edges))
        return jnp.where(edges.visits == visits, score, -jnp.inf)

    def completed(self, edges: Edges) -> jax.Array:
        """float32 [B, A]: sigma of the Q values, unvisited actions having the mixed value."""
        seen = edges.visits > 0
        total = jnp.sum(edges.visits, axis=-1).astype(jnp.float32)
        prior = jnp.where(seen, jnp.maximum(edges.prior, TINY), 0.0)
        weight = steady_sum(prior)
        share = prior / jnp.where(weight > 0, weight, 1.0)[:, None]
        mixed = (edges.value + total * steady_sum(share * edges.q)) / (total + 1)
        q = jnp.where(seen, edges.q, mixed[:, None])
        if self.rescale:
            low, high = jnp.min(q, axis=-1, keepdims=True), jnp.max(q, axis=-1, keepdims=True)
            q = (q - low) / jnp.maximum(high - low, self.least_range)
        most = jnp.max(edges.visits, axis=-1, keepdims=True).astype(jnp.float32)
        return (self.c_visit + most) * self.c_scale * q


def _logits(prior: jax.Array) -> jax.Array:
    return jnp.where(prior > 0, jnp.log(jnp.maximum(prior, TINY)), LOWEST)


def _softmax(x: jax.Array) -> jax.Array:
    grown = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return grown / steady_sum(grown)[:, None]
