"""The search as a pure function, for use inside anybody's JAX programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Params, as_evaluator
from jubango.bots.search import life
from jubango.bots.search.rules.gumbel import schedules
from jubango.bots.search.rules.rule import Settings
from jubango.bots.search.spec import SearchSpec
from jubango.bots.search.tree import in_question, lanes_last
from jubango.sgf_games.catalogue import as_game
from jubango.sgf_games.dice import random_bits
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import State
from jubango.sgf_games.kernels import first_largest


class SearchOutput(NamedTuple):
    """What a search of B positions found; values are for the player to move at the root."""

    action: jax.Array  # int32 [B], the move to play
    visits: jax.Array  # int32 [B, A]
    values: jax.Array  # float32 [B, A] in [-1, 1], the mean of each action; 0 where unvisited
    policy: jax.Array  # float32 [B, A], sums to 1: the improved policy, what a network is trained towards
    priors: jax.Array  # float32 [B, A], noise included
    value: jax.Array  # float32 [B], the mean of all values at the root
    raw_value: jax.Array  # float32 [B], what the evaluator said of the root


@dataclass(frozen=True)
class Search(SearchSpec):
    """A frozen search: ``search(params, states, key)`` is a pure function that can be called under ``jax.jit``,
    ``lax.scan`` and ``jax.shard_map``.

    >>> search = Search(game, Puct(), evaluate, capacity=64)
    >>> out = search(params, states, key)

    ``game`` may be a spec string, and ``evaluator`` a function of one position,
    ``(params, game, state, legal, seed) -> (prior [A], value [])``, where ``params`` may be left out.
    See :class:`SearchSpec` for the other parts.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "game", as_game(self.game))
        object.__setattr__(self, "evaluator", as_evaluator(self.evaluator))

    def __call__(
        self,
        params: Params,
        states: State,
        key: jax.Array,
        *,
        simulations: jax.Array | int | None = None,
        c: jax.Array | float | None = None,
        fpu_reduction: jax.Array | float = 0.0,
        equivalence: jax.Array | float = 1000.0,
        bias: jax.Array | float = 0.0,
        depth: jax.Array | int = 0,
        noise: jax.Array | float = 0.0,
        alpha: float = 0.3,
        considered: int = 16,
        gumbel_scale: jax.Array | float = 1.0,
        temperature: jax.Array | float = 0.0,
    ) -> SearchOutput:
        """Search ``states``, unbatched states of ``game`` stacked along the FIRST axis of every array [B, ...].

        params: the evaluator's weights, any pytree; changing it never recompiles. key: a JAX key; it decides all dice.
        simulations: at most (and by default) ``capacity``. c: by default the rule's own. The other numbers as in
        :class:`jubango.bots.search.root.Numbers`; all but ``alpha`` and ``considered`` may be traced, for all or [B].
        temperature: the action is drawn from policy^(1/t); 0: the rule's choice. What it says of a finished game
        means nothing.
        """
        game, actions = self.game, self.game.num_actions
        legal = jax.vmap(game.legal_action_mask)(states)
        roots = lanes_last(jax.vmap(game.without_history)(states))
        trees = legal.shape[0]
        dice, for_noise, for_gumbel, for_action = jax.random.split(key, 4)

        def each(value: jax.Array | float, dtype: type) -> jax.Array:
            return jnp.broadcast_to(jnp.asarray(value, dtype), (trees,))

        budget = jnp.minimum(each(self.capacity if simulations is None else simulations, jnp.int32), self.capacity)
        spread = (
            jax.random.gamma(for_noise, alpha, (trees, actions)) * legal if _given(noise) else jnp.zeros_like(legal)
        )
        dirichlet = spread / jnp.maximum(jnp.sum(spread, axis=-1, keepdims=True), 1e-30)
        gumbel = jnp.zeros((trees, 0), jnp.float32)
        plan = jnp.zeros((trees, 0), jnp.int32)
        if self.rule.scheduled:
            gumbel = each(gumbel_scale, jnp.float32)[:, None] * jax.random.gumbel(for_gumbel, (trees, actions))
            number = self.capacity if simulations is None else simulations
            if not isinstance(number, int):
                raise UserError("simulations: a Gumbel search's schedule is made beforehand; give a whole number")
            plan = schedules(self.capacity, considered, min(number, self.capacity), jnp.sum(legal, axis=-1))
        settings = Settings(
            simulations=budget,
            c=each(self.rule.usual_c if c is None else c, jnp.float32),
            fpu_reduction=each(fpu_reduction, jnp.float32),
            equivalence=each(equivalence, jnp.float32),
            bias=each(bias, jnp.float32),
            depth=jnp.where(each(depth, jnp.int32) > 0, each(depth, jnp.int32), 2**30),
            noise=each(noise, jnp.float32),
            dirichlet=dirichlet.astype(jnp.float32),
            gumbel=gumbel,
            considered=plan,
        )
        seeds = jax.random.bits(dice, (trees,), jnp.uint32)
        open_ = jnp.any(legal, axis=-1)
        nothing = jnp.zeros(trees, bool)
        s = life.begin(self, life.idle(self, trees), life.Cue(open_, nothing, roots, legal, settings, seeds))
        s, found = life.advance(self, params, s, jnp.int32(self.capacity + 1))
        edges = life.root_edges(s)
        searched = jnp.any(found.visits > 0, axis=-1, keepdims=True)
        policy = jnp.where(searched, self.rule.policy(edges, settings), found.prior)
        lots = random_bits(seeds[:, None], jnp.arange(actions)) >> 8 if self.ties == "random" else 1
        chosen = first_largest(jnp.where(life.leading(found), lots, -1).astype(jnp.int32))
        heat = each(temperature, jnp.float32)[:, None]
        choices = in_question(found.bounds, found.value, found.prior > 0) if self.solver else found.prior > 0
        logits = jnp.where(choices, jnp.log(jnp.maximum(policy, 1e-30)), -jnp.inf)
        drawn = jax.random.categorical(for_action, logits / jnp.maximum(heat, 1e-6)).astype(jnp.int32)
        action = jnp.where(heat[:, 0] > 0, drawn, chosen)
        return SearchOutput(action, found.visits, found.value, policy, found.prior, found.mean, found.raw)


def _given(number: jax.Array | float) -> bool:
    """Is the number there, as far as can be known now?"""
    return isinstance(number, jax.Array) or bool(np.any(np.asarray(number) != 0))
