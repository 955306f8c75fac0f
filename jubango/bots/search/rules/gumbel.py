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
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.search.rules.params import LARGEST_WHOLE, Param, SearchParams, TracedParams
from jubango.bots.search.rules.root_noise import RootNoise
from jubango.bots.search.rules.rule import Edges, MoveRule, Rule, steady_sum
from jubango.sgf_games.base.checks import whole

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


def schedules(capacity: int, considered: int, simulations: int, legal: Any) -> Any:
    """int32 [n, capacity]: the schedules of roots with so many ``legal`` actions, int [n], numpy's or traced."""
    traced = isinstance(legal, jax.Array)
    counts = range(considered + 1) if traced else np.unique(np.minimum(legal, considered)).tolist()
    plans = np.zeros((considered + 1 if traced else len(counts), capacity), np.int32)
    for plan, count in zip(plans, counts, strict=True):
        visits = considered_visits(count, simulations)[:capacity]
        plan[: len(visits)] = visits
    if traced:
        return jnp.asarray(plans)[jnp.minimum(legal, considered)]
    return plans[np.searchsorted(counts, np.minimum(legal, considered))]


class GumbelRoot(NamedTuple):
    """What is decided of a root beforehand."""

    noise: Any  # float32 [n, A], Gumbel numbers
    visits: Any  # int32 [n, capacity], for each simulation the visits of the actions that are in question


@dataclass(frozen=True)
class Gumbel(Rule):
    """Gumbel AlphaZero's rule: logits plus sigma(q) = (c_visit + max n) c_scale q.

    At inner nodes the score is the improved policy softmax(ln P + sigma(completed q)) less the share of the visits that
    the action has had, n / (1 + sum n).

    rescale: whether q is rescaled to [0, 1] within a node.
    least_range: differences of q below this one are not blown up by that.
    """

    c_visit: float = 50.0
    c_scale: float = 0.1
    rescale: bool = True
    least_range: float = 1e-8
    params = (
        Param("considered", 16, 1, 1024, "actions a gumbel root begins with", whole=True),
        Param("gumbel_scale", 1.0, 0.0, 100.0, "of the gumbel noise; 0: none", random=True),
        Param("c_visit", most=1e6, about="gumbel: sigma(q) = (c_visit + max n) c_scale q"),
        Param("c_scale", most=1000.0, about="gumbel: see c_visit"),
    )
    scheduled: ClassVar[bool] = True
    move: ClassVar[MoveRule] = "gumbel"

    def prepare_root(self, noise: RootNoise, params: SearchParams, capacity: int) -> GumbelRoot:
        considered = whole("considered", params.considered, 0, LARGEST_WHOLE, "actions a Gumbel root begins with")
        visits = schedules(capacity, considered, params.simulations, noise.legal.sum(axis=-1))
        return GumbelRoot(params.gumbel_scale[..., None] * noise.gumbel(), visits)

    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        return self.policy(edges, params) - edges.visits / edges.node_visits[:, None].astype(jnp.float32)

    def root(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the best of the actions with the visits the schedule is at."""
        at = jnp.clip(edges.node_visits - 1, 0, params.prepared.visits.shape[-1] - 1)
        visits = jnp.take_along_axis(params.prepared.visits, at[:, None], axis=-1)
        return self._among(edges, params, visits)

    def final(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the move to play is the best of the most visited."""
        return self._among(edges, params, jnp.max(edges.visits, axis=-1, keepdims=True))

    def policy(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the improved policy softmax(ln P + sigma(completed q)), section 4."""
        return _softmax(_logits(edges.prior) + self.completed(edges))

    def _among(self, edges: Edges, params: TracedParams, visits: jax.Array) -> jax.Array:
        logits = _logits(edges.prior)
        logits -= jnp.max(logits, axis=-1, keepdims=True)
        score = jnp.maximum(LOWEST, params.prepared.noise + logits + self.completed(edges))
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
