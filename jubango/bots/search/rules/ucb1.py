"""UCB1 (Kocsis & Szepesvari 2006): UCT's rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.rule import Edges, Rule
from jubango.sgf_games.base.checks import one_of

Order = Literal["any", "prior"]
UNVISITED_FIRST = 1e6  # above every other score


@dataclass(frozen=True)
class Ucb1(Rule):
    """w/n + c sqrt(ln N / n), with w/n a score between 0 and 1; unvisited actions come first.

    order: which unvisited action is first: "any" (the search's tie-break), or "prior", the largest prior.

    Source: Kocsis & Szepesvari 2006, section 2.2; Browne et al. 2012, section 3.3.1.
    """

    order: Order = "any"
    params = (
        Param("c", math.sqrt(2), 0.0, 1000.0, "exploration: C of ucb1, c_puct, or eta of alphago"),
        Param("order", about="of ucb1's unvisited actions"),
    )

    def __post_init__(self) -> None:
        one_of("order", self.order, Order)

    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        n = jnp.maximum(edges.visits, 1).astype(jnp.float32)
        log_total = jnp.log(edges.node_visits.astype(jnp.float32))
        bonus = params.c[:, None] * jnp.sqrt(log_total[:, None] / n)
        unvisited = UNVISITED_FIRST * (1.0 + edges.prior) if self.order == "prior" else UNVISITED_FIRST
        return jnp.where(edges.visits > 0, 0.5 + 0.5 * edges.q + bonus, unvisited)
