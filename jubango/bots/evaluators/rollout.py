"""Rollouts: the value of a position is how games from it end."""

from __future__ import annotations

import warnings
from dataclasses import InitVar, dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from jubango.bots.evaluators.evaluator import Amaf, Evaluation, Evaluator, Owners, Params
from jubango.bots.evaluators.judgement import judged
from jubango.sgf_games.base.checks import one_of, whole
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.kernels import first_largest
from jubango.sgf_games.compute.loops import while_loop
from jubango.sgf_games.compute.random_numbers import coin, gumbel_max_scores, mix, random_bits
from jubango.sgf_games.rules.game import Game, State

Moves = Literal["game", "tactical", "uniform", "policy"]
Draws = Literal["half", "random"]
MOST_ROLLOUTS = 2**16


@dataclass(frozen=True)
class Rollout(Evaluator):
    """The mean result of ``rollouts`` random games; the prior is even. Params: those of ``policy``.

    moves: "game", random as the game plays them itself (in Go never filling an own eye); "tactical", with the game's
        tactics first; "uniform", any legal move; or "policy", drawn from the prior of ``policy``.
    draws: count "half", or each goes to a "random" side.
    amaf: whether it also finds which player took each action first, for :class:`jubango.Rave` (once ``firsts``).
    owners: whether it finds, in place of that, who has which point at the end, for :class:`jubango.CriticalPuct`.

    Source: Kocsis & Szepesvari 2006, section 3; "policy" is the rollout policy of Silver et al. 2016.
    """

    rollouts: int = 1
    moves: Moves = "game"
    policy: Evaluator | None = None
    draws: Draws = "half"
    amaf: bool = False
    firsts: InitVar[bool | None] = None
    owners: bool = False

    has_prior = False

    def __post_init__(self, firsts: bool | None) -> None:
        if firsts is not None:
            warnings.warn("Rollout(firsts=...) is now called amaf=...", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "amaf", firsts)
        object.__setattr__(
            self, "rollouts", whole("rollouts", self.rollouts, 1, MOST_ROLLOUTS, "games from a position")
        )
        one_of("moves", self.moves, Moves)
        one_of("draws", self.draws, Draws)
        if self.moves == "policy" and self.policy is None:
            raise UserError('moves="policy": are drawn from the prior of an evaluator, policy=')
        if self.moves == "policy" and self.amaf:
            raise UserError("a policy's rollouts do not tell who played what first: amaf=True needs other moves")
        if self.owners and self.moves not in ("game", "tactical"):
            raise UserError(f'owners=True needs moves="game" or "tactical", not "{self.moves}"')
        if self.owners and self.amaf:
            raise UserError("rollouts tell who played what first (amaf=True) or who has what at the end (owners=True)")

    @property
    def trusted(self) -> bool:
        return self.policy is None or self.policy.trusted

    def game_for(self, game: Game) -> Game:
        return self.policy.game_for(game) if self.policy else game

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        lanes = seeds.shape[0]
        # All rollouts of a position are lanes of one batch: [..., B] -> [..., rollouts * B].
        repeated = jax.tree.map(lambda x: jnp.concatenate([x] * self.rollouts, axis=-1), states)
        which = jnp.repeat(jnp.arange(1, self.rollouts + 1, dtype=jnp.uint32), lanes)
        each = mix(jnp.tile(seeds, self.rollouts) + which * jnp.uint32(0x632BE5AB))
        returns, taken = self._games(params, game, repeated, each)
        mover = jnp.tile(jax.vmap(game.current_player, in_axes=-1)(states), self.rollouts)
        result = jnp.take_along_axis(returns, mover[None], axis=0)[0]
        if self.draws == "random":
            result = jnp.where(result == 0, coin(each), result)
        value = result.reshape(self.rollouts, lanes)
        total = value[0]
        for k in range(1, self.rollouts):  # in this order whatever the batch
            total = total + value[k]
        prior, mean = legal.astype(jnp.float32), total / self.rollouts
        if taken is None:
            return Evaluation(prior, mean)
        player = taken.reshape(-1, self.rollouts, lanes).T
        if self.owners:
            return Evaluation(prior, mean, owners=Owners(player, value.T))
        return Evaluation(prior, mean, Amaf(player, value.T))

    def _games(self, params: Params, game: Game, states: State, seeds: jax.Array) -> tuple[jax.Array, jax.Array | None]:
        """(returns [players, B]; who played what first, or has what at the end, [A, B], where that is asked for)."""
        if self.moves == "policy":
            assert self.policy is not None
            return _policy_playout(params, game, self.policy, states, seeds), None
        if self.owners:
            return game.playout_with_owners(states, seeds, self.moves == "tactical")
        if self.moves == "tactical":
            if self.amaf:
                return game.tactical_playout_with_firsts(states, seeds)
            return game.tactical_playout(states, seeds), None
        rules = type(game) if self.moves == "game" else Game
        if self.amaf:
            return rules.random_playout_with_amaf(game, states, seeds)
        return rules.random_playout(game, states, seeds), None


def _policy_playout(params: Params, game: Game, policy: Evaluator, states: State, seeds: jax.Array) -> jax.Array:
    """float32 [players, B]: games in which every move is drawn from the policy's prior."""
    step = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)
    terminal = jax.vmap(game.is_terminal, in_axes=-1)

    def body(carry: tuple) -> tuple:
        states, t = carry
        legal = jax.vmap(game.legal_action_mask, in_axes=-1)(states)
        throw = random_bits(seeds, jnp.full(seeds.shape, t))
        prior = judged(policy, params, game, states, legal, mix(throw)).weights  # with a seed of its own
        action = first_largest(jnp.where(legal, gumbel_max_scores(prior, throw), -jnp.inf))
        return step(states, action), t + 1

    def going_on(carry: tuple) -> jax.Array:
        return ~jnp.all(terminal(carry[0])) & (carry[1] < game.max_plies)

    states, _ = while_loop(going_on, body, (states, jnp.int32(0)))
    return jax.vmap(game.returns, in_axes=-1, out_axes=-1)(states)
