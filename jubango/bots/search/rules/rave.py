"""RAVE (Gelly & Silver 2011): what an action was worth later in a game says early what it is worth now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.rule import Edges, Rule

URGENCY = 1.0  # the score of an action that nobody has ever taken


@dataclass(frozen=True)
class Rave(Rule):
    """(1 - beta) w/n + beta w'/n' + c sqrt(ln N / n), scores between 0 and 1.

    w'/n' is the AMAF mean (all moves as first): the mean result of the games in which the node's player was the first
    to take the action, now or later.

    equivalence: k of the hand-selected schedule beta = sqrt(k / (3 N + k)), section 4.3. It is the number of visits of
        the node at which both means count alike.
    bias: if not 0, that of w'/n' in the schedule of minimum mean square error, beta = n' / (n + n' + 4 n n' bias^2),
        section 4.4.

    Source: Gelly & Silver 2011, "Monte-Carlo tree search and rapid action value estimation in computer Go", section 4.
    """

    params = (
        Param("c", 0.0, 0.0, 1000.0, "exploration"),
        Param(
            "equivalence", 1000.0, 0.0, 1e9, "rave: visits at which it counts half (k)", needs={"bias": 0.0},
            clash="equivalence is of the other schedule, it needs bias=0",
        ),
        Param("bias", 0.0, 0.0, 10.0, "rave: of its values, and the schedule of least error; 0: k's"),
    )  # fmt: skip
    amaf: ClassVar[bool] = True

    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        assert edges.amaf_visits is not None and edges.amaf_sum is not None
        n, m = edges.visits.astype(jnp.float32), edges.amaf_visits
        later = 0.5 + 0.5 * edges.amaf_sum / jnp.maximum(m, 1e-9)
        later = jnp.where(m > 0, later, URGENCY)
        total = edges.node_visits.astype(jnp.float32)[:, None]
        k, bias = params.equivalence[:, None], params.bias[:, None]
        by_hand = jnp.sqrt(k / jnp.maximum(3.0 * total + k, 1e-9))
        beta = jnp.where(bias > 0, m / jnp.maximum(n + m + 4.0 * bias**2 * n * m, 1e-9), by_hand)
        beta = jnp.where(n > 0, jnp.where(m > 0, beta, 0.0), 1.0)
        bonus = params.c[:, None] * jnp.sqrt(jnp.log(total) / jnp.maximum(n, 1.0))
        return (1.0 - beta) * (0.5 + 0.5 * edges.q) + beta * later + bonus
