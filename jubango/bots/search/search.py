"""The search as a pure function, for use inside anybody's JAX programs."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.evaluators.judgement import look_at
from jubango.bots.evaluators.registry import AnyEvaluator, as_evaluator
from jubango.bots.search import lifecycle
from jubango.bots.search.packing import WORD_TYPES
from jubango.bots.search.results.output import SearchOutput as SearchOutput
from jubango.bots.search.results.output import nodes_of
from jubango.bots.search.rules.params import SearchParams, TracedParams
from jubango.bots.search.rules.registry import check_numbers
from jubango.bots.search.rules.root_noise import KeyedNoise
from jubango.bots.search.rules.rule import Rule, numbers_of
from jubango.bots.search.spec import Cutoff, Draws, Opponent, SearchSpec, Ties
from jubango.bots.search.tree.node_states import lanes_last, words_of_lanes
from jubango.bots.search.tree.tree import in_question
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.kernels import first_largest
from jubango.sgf_games.compute.random_numbers import random_bits
from jubango.sgf_games.environments.env import Env, EnvState, game_state
from jubango.sgf_games.rules.batches import check_stacked
from jubango.sgf_games.rules.catalogue import as_game
from jubango.sgf_games.rules.game import Game, State


@dataclass(frozen=True)
class Search(SearchSpec):
    """A frozen search: ``search(params, states, key)`` is a pure function, for ``jax.jit``, ``lax.scan`` and
    ``shard_map``.

    >>> search = Search(game, Puct(), evaluate, capacity=64)
    >>> out = search(params, states, key)

    game: a game, its spec string, or an environment (:func:`jubango.env`), whose states are then searched.
    rule: the selection rule.
    evaluator: an :class:`Evaluator`, or a function of one position, ``(params, game, state, legal, seed) -> (prior [A],
        value [])``, where ``params`` may be left out.
    capacity: simulations that a tree has room for.

    :class:`SearchSpec` has the other parts.

    Raises UserError for a part that does not exist.
    """

    def __init__(
        self,
        game: Game | Env | str,
        rule: Rule,
        evaluator: AnyEvaluator,
        capacity: int,
        width: int = 0,
        cutoff: Cutoff = "value",
        opponent: Opponent = "searched",
        draws: Draws = "half",
        solver: bool = False,
        transpositions: bool = False,
        leaves: int = 1,
        ties: Ties = "first",
        score_utility: float = 0.0,
        devices: int = 1,
    ) -> None:
        game = game.game if isinstance(game, Env) else as_game(game)
        judge = as_evaluator(evaluator)
        super().__init__(
            game, rule, judge, capacity, width, cutoff, opponent, draws, solver, transpositions, leaves, ties,
            score_utility, devices,
        )  # fmt: skip

    def __call__(
        self,
        params: Params,
        states: State | EnvState,
        key: jax.Array,
        *,
        invalid_actions: jax.Array | None = None,
        simulations: jax.Array | int | None = None,
        depth: jax.Array | int = 0,
        noise: jax.Array | float = 0.0,
        alpha: float = 0.3,
        temperature: jax.Array | float = 0.0,
        tree: bool = False,
        **numbers: jax.Array | float | None,
    ) -> SearchOutput:
        """What the search of B positions found.

        params: the evaluator's weights, any pytree; changing them never recompiles.
        states: unbatched states of ``game`` stacked along the FIRST axis of every array, [B, ...]; or those of the
            environment that the search was made of, with what its rules know of the past.
        key: a JAX key; it decides all that is random.
        invalid_actions: bool [B, A], true where the root does not consider an action, besides what the rules forbid.
        simulations: at most, and by default, ``capacity``.
        depth, noise: as in :class:`jb.SearchParams`.
        alpha: of the noise; 0 for 10 / legal actions.
        temperature: the action is drawn from policy^(1/t); 0 plays the rule's choice.
        tree: whether ``search_tree`` has all nodes, or the root alone.
        numbers: the rule's parameters by name (``c=1.4``); those of other rules change nothing.

        Numbers may be traced, one for all or [B], but not whole ones such as a Gumbel search's ``considered``. What it
        says of a finished game, or of a position in which nothing may be played, means nothing; it is no error.

        Raises UserError for states of another game or environment, or stacked along another axis, and for a number that
        no rule has or that is out of its range.
        """
        if self.devices > 1:
            raise UserError(f"devices={self.devices}: is for jb.run and jb.run_many; in other programs devices=1")
        game, actions = self.game, self.game.num_actions
        params = self._weights(params)
        if isinstance(states, EnvState):
            states = jax.vmap(functools.partial(game_state, game))(states)
        else:
            check_stacked(game, states, f"search of {game.spec}")
        legal = jax.vmap(game.legal_action_mask)(states)
        if invalid_actions is not None:
            if jnp.shape(invalid_actions) not in (legal.shape, legal.shape[1:]):
                raise UserError(f"invalid_actions: is {[*jnp.shape(invalid_actions)]}; should be bool{[*legal.shape]}")
            legal &= ~jnp.asarray(invalid_actions, bool)
        positions = lanes_last(jax.vmap(game.without_history)(states))
        look_at(self.evaluator, params, game, jax.tree.map(lambda x: x[..., :1], positions))
        trees = legal.shape[0]
        for_ties, for_noise, for_gumbel, for_action = jax.random.split(key, 4)

        def each(value: jax.Array | float, dtype: type, name: str) -> jax.Array:
            if jnp.shape(value) not in ((), (trees,)):
                raise UserError(f"{name}: is {[*jnp.shape(value)]}; should be one number for all, or [{trees}]")
            return jnp.broadcast_to(jnp.asarray(value, dtype), (trees,))

        budget = jnp.minimum(
            each(self.capacity if simulations is None else simulations, jnp.int32, "simulations"), self.capacity
        )
        check_numbers(self.rule, {**numbers, "noise": noise, "alpha": alpha, "temperature": temperature})
        given = {name: value for name, value in numbers.items() if value is not None}
        own = numbers_of(type(self.rule))
        traced = {one.name: each(given.get(one.name, one.usual), jnp.float32, one.name) for one in own}
        for_rule = {one.name: given.get(one.name, one.usual) if one.whole else traced[one.name] for one in own}
        roots = KeyedNoise(for_noise, for_gumbel, legal)
        planned = self._planned(simulations) if self.rule.scheduled else budget
        prepared = self.rule.prepare_root(roots, SearchParams(planned, **for_rule), self.capacity)
        traced_params = TracedParams(
            simulations=budget,
            depth=jnp.where(each(depth, jnp.int32, "depth") > 0, each(depth, jnp.int32, "depth"), 2**30),
            noise=each(noise, jnp.float32, "noise"),
            dirichlet=roots.dirichlet(alpha) if _given(noise) else jnp.zeros(legal.shape, jnp.float32),
            own=traced,
            prepared=jax.tree.map(lambda x: jnp.asarray(x, WORD_TYPES[jnp.asarray(x).dtype.kind]), prepared),
        )
        seeds = jax.random.bits(for_ties, (trees,), jnp.uint32)
        open_ = jnp.any(legal, axis=-1)
        nothing = jnp.zeros(trees, bool)
        new_roots = lifecycle.NewRoots(open_, nothing, words_of_lanes(positions, game), legal, traced_params, seeds)
        s = lifecycle.begin(self, lifecycle.idle(self, trees), new_roots)
        s, found = lifecycle.advance(self, params, s, jnp.int32(self.capacity + 1))
        edges = lifecycle.roots_to_compare(self, s, lifecycle.root_edges(self.rule, s))
        searched = jnp.any(found.visits > 0, axis=-1, keepdims=True)
        policy = jnp.where(searched, self.rule.policy(edges, traced_params), found.prior)
        tie_bits = random_bits(seeds[:, None], jnp.arange(actions)) >> 8 if self.ties == "random" else 1
        chosen = first_largest(jnp.where(lifecycle.leading(found), tie_bits, -1).astype(jnp.int32))
        temperatures = each(temperature, jnp.float32, "temperature")[:, None]
        choices = in_question(found.bounds, found.value, found.prior > 0) if self.solver else found.prior > 0
        logits = jnp.where(choices, jnp.log(jnp.maximum(policy, 1e-30)), -jnp.inf)
        drawn = jax.random.categorical(for_action, logits / jnp.maximum(temperatures, 1e-6)).astype(jnp.int32)
        action = jnp.where(temperatures[:, 0] > 0, drawn, chosen)
        nodes = nodes_of(s.tree, found, tree)
        return SearchOutput(action, found.visits, found.value, policy, found.prior, found.mean, found.raw, nodes)

    def _weights(self, params: Params) -> Params:
        """Own weights of an evaluator would be constants of a program that others run, too."""
        if isinstance(params, tuple) and not params and jax.tree.leaves(self.evaluator.weights()):
            raise UserError(
                f'evaluator "{self.evaluator.title}": give its weights, search(nnx.state(module), states, key), or the '
                "variables of a linen module; jb.run takes its own"
            )
        return self.evaluator.weights(params)

    def _planned(self, simulations: jax.Array | int | None) -> int:
        """The simulations of a schedule that is made while the program is."""
        try:
            number = operator.index(self.capacity if simulations is None else simulations)
        except TypeError:  # a traced one, too
            raise UserError(
                f"simulations: a {type(self.rule).__name__} search's schedule is made beforehand; give a whole number"
            ) from None
        return min(number, self.capacity)


def _given(number: jax.Array | float) -> bool:
    """Is the number there, as far as can be known now?"""
    return isinstance(number, jax.Array) or bool(np.any(np.asarray(number) != 0))
