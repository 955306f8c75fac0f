"""PUCT (Silver et al. 2017, 2018): the rule of AlphaGo Zero and AlphaZero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import Param, TracedParams
from jubango.bots.search.rules.rule import Edges, Rule, steady_sum
from jubango.sgf_games.base.checks import one_of

Fpu = Literal["zero", "parent", "loss", "win"]


@dataclass(frozen=True)
class Puct(Rule):
    """Q + c P sqrt(N) / (1 + n).

    base: 0, or that of the log term of AlphaZero (19,652), which adds ln((1 + N + base) / base) to c.
    fpu: the Q of an unvisited action (first play urgency): "zero", "loss" (-1), "win" (+1), or "parent", the node's
        mean value less ``fpu_reduction`` times the root of the visited prior (Leela Zero).

    Source: Silver et al. 2017 (AlphaGo Zero), Methods, "Select"; the log term Silver et al. 2018, supplement.
    """

    base: float = 0.0
    fpu: Fpu = "zero"
    params: ClassVar[tuple[Param, ...]] = (
        Param("c", 1.25, 0.0, 1000.0, "exploration: c_puct"),
        Param("base", about="of puct's log term, AlphaZero's is 19652; 0: none"),
        Param("fpu", about="puct's value of an unvisited action"),
        Param("fpu_reduction", 0.0, 0.0, 10.0, "what fpu=parent is lowered by", needs={"fpu": "parent"}),
    )

    def __post_init__(self) -> None:
        one_of("fpu", self.fpu, Fpu)

    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        total = edges.node_visits.astype(jnp.float32)
        c = self.exploration(edges, params)
        explore = (c * jnp.sqrt(total))[:, None] * edges.prior / (1 + edges.visits).astype(jnp.float32)
        return jnp.where(edges.visits > 0, edges.q, self._unvisited(edges, params)) + explore

    def exploration(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B]: c at the node, with its log term."""
        if not self.base:
            return params.c
        return params.c + jnp.log((1.0 + edges.node_visits.astype(jnp.float32) + self.base) / self.base)

    def _unvisited(self, edges: Edges, params: TracedParams) -> jax.Array | float:
        if self.fpu != "parent":
            return {"zero": 0.0, "loss": -1.0, "win": 1.0}[self.fpu]
        mean = (edges.value + steady_sum(edges.value_sum)) / edges.node_visits.astype(jnp.float32)
        seen = steady_sum(jnp.where(edges.visits > 0, edges.prior, 0.0))
        return (mean - params.fpu_reduction * jnp.sqrt(seen))[:, None]
