"""The compiled forms of a game's rules, made once per game and shared by everybody."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jubango.sgf_games.game import Game, State
from jubango.sgf_games.machine import jit


class View(NamedTuple):
    """What the host needs to know of positions; arrays have the batch first, if there is one."""

    legal: jax.Array  # bool [A]
    player: jax.Array  # int32
    terminal: jax.Array  # bool
    returns: jax.Array  # float32 [num_players]


class Rules(NamedTuple):
    """Compiled functions of one game."""

    step: Callable[[State, Any], State]
    view: Callable[[State], View]
    step_lanes: Callable[[State, Any, Any], tuple[State, View]]
    view_lanes: Callable[[State], View]


@functools.cache
def rules(game: Game) -> Rules:
    """``step`` and ``view`` take one state; the others a batch of them, batch axis last.

    ``step_lanes(states, actions, fresh)``: an action of -1 leaves its lane alone; a lane with
    ``fresh`` starts a new game instead. Returns the states and a view of them.
    """

    def view(state: State) -> View:
        return View(
            game.legal_action_mask(state),
            game.current_player(state),
            game.is_terminal(state),
            game.returns(state),
        )

    def step_lanes(states: State, actions: jax.Array, fresh: jax.Array) -> tuple[State, View]:
        stepped = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)(states, jnp.maximum(actions, 0))
        first = game.init()

        def settle(old: jax.Array, new: jax.Array, start: jax.Array) -> jax.Array:
            return jnp.where(fresh, start[..., None], jnp.where(actions >= 0, new, old))

        states = jax.tree.map(settle, states, stepped, first)
        return states, jax.vmap(view, in_axes=-1)(states)

    return Rules(
        step=jit(game.step),
        view=jit(view),
        step_lanes=jit(step_lanes, donate_argnums=(0,)),
        view_lanes=jit(jax.vmap(view, in_axes=-1)),
    )


@functools.cache
def initial_state(game: Game) -> State:
    """``game.init()``, compiled."""
    return jit(game.init)()


def initial_states(game: Game, lanes: int) -> State:
    """A batch of first positions, batch axis last."""
    return jax.tree.map(lambda x: jnp.repeat(x[..., None], lanes, axis=-1), initial_state(game))
