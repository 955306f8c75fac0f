"""What an evaluator says, in the one form in which searches take it; and what is wrong with it, if something is."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jubango.bots.evaluators.evaluator import Amaf, Evaluation, Evaluator, Owners, Params, name_of, said
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import machine
from jubango.sgf_games.rules.game import Game, State

LARGEST_LOGIT = 1e33  # of weights and logits, so that no sum of weights is infinite
LARGEST_LEAD = 2000.0  # points, komi included
TOLERANCE = 1e-3  # by which a value may be beyond 1, as rounding has it
MOST_KNOWN = 256  # evaluators that are remembered as looked at

_faults: list[str] = []  # what has been found where nothing can be raised, the last one last
_looked_at: set[tuple[object, ...]] = set()


class Judged(NamedTuple):
    """What an evaluator says of B positions, as searches take it."""

    weights: jax.Array  # float32 [B, A], of the actions, finite, not negative, 0 where illegal
    value: jax.Array  # float32 [B] in [-1, 1]
    amaf: Amaf | None
    lead: jax.Array | None  # float32 [B], points
    owners: Owners | None


def judged(
    evaluator: Evaluator, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array
) -> Judged:
    """What the evaluator says of B positions. What is no number counts as nothing.

    Raises UserError for other shapes and types; with the ``debug`` of :func:`jubango.configure` the program
    looks at every number as well.
    """
    found = said(evaluator(params, game, states, legal, seeds), evaluator, game, legal.shape)
    given = _given(found)
    if machine.debugging() and not evaluator.trusted:
        look = functools.partial(_look, name_of(evaluator, game), found.logits is not None)
        jax.debug.callback(look, given, found.value, legal, found.lead)
    if found.logits is None:
        weights = jnp.where(legal & (given > 0), jnp.minimum(given, LARGEST_LOGIT), 0.0)
    else:
        logits = jnp.where(legal & ~jnp.isnan(given), jnp.minimum(given, LARGEST_LOGIT), -jnp.inf)
        top = jnp.maximum(jnp.max(logits, axis=-1, keepdims=True), -LARGEST_LOGIT)
        weights = jnp.exp(logits - top)
    amaf, owners = found.amaf, found.owners
    if amaf is not None:
        amaf = amaf._replace(result=_number(amaf.result))
    if owners is not None:
        owners = owners._replace(result=_number(owners.result))
    lead = None if found.lead is None else _number(found.lead, LARGEST_LEAD)
    return Judged(weights, _number(found.value), amaf, lead, owners)


def _number(x: jax.Array, most: float = 1.0) -> jax.Array:
    return jnp.where(jnp.isnan(x), 0.0, jnp.clip(x, -most, most))


def look_at(evaluator: Evaluator, params: Params, game: Game, states: State) -> None:
    """Ask the evaluator of a few positions (batch axis last, without history), once for each game and the first weights
    of a kind, where all of this is known already. Raises UserError if what it says cannot be meant: negative or
    infinite weights, no numbers, values beyond 1."""
    if evaluator.trusted or any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((params, states))):
        return
    kind = tuple((np.shape(x), jnp.result_type(x)) for x in jax.tree.leaves(params))
    key = evaluator, game.compiled_as, jax.tree.structure(params), kind
    if key in _looked_at:
        return

    def ask(params: Params, states: State) -> tuple[jax.Array, Evaluation]:
        legal = jax.vmap(game.compiled_as.legal_action_mask, in_axes=-1)(states)
        seeds = jnp.zeros(legal.shape[0], jnp.uint32)
        return legal, said(evaluator(params, game.compiled_as, states, legal, seeds), evaluator, game, legal.shape)

    legal, found = jax.device_get(jax.jit(ask)(params, states))
    fault = fault_in(found.logits is not None, _given(found), found.value, legal, found.lead)
    if fault:
        raise UserError(f"{name_of(evaluator, game)}: {fault}")
    if len(_looked_at) >= MOST_KNOWN:
        _looked_at.clear()
    _looked_at.add(key)


def _given(found: Evaluation) -> Any:
    return found.prior if found.logits is None else found.logits


def fault_in(
    logits: bool, given: np.ndarray, value: np.ndarray, legal: np.ndarray, lead: np.ndarray | None = None
) -> str:
    """What is wrong with logits or weights of the actions, [B, A], and values and leads, [B], of positions with these
    legal actions; nothing where there are none."""
    asked = legal.any(axis=-1)
    own, said = given[legal], value[asked]
    if np.isnan(own).any() or (np.isinf(own) if not logits else own == np.inf).any():
        what = "logits of legal actions hold" if logits else "prior of legal actions holds"
        return f"its {what} {own[~np.isfinite(own)][0]}"
    if not logits and (own < 0).any():
        return (
            f"its prior holds negative weights, such as {own.min():.3g}; "
            "logits are given as jb.Evaluation(logits=..., value=...)"
        )
    beyond = said[~(np.abs(said) <= 1 + TOLERANCE)]
    if beyond.size:
        return f"its value is {beyond[0]:.4g}; should be between -1 and 1, for the player to move"
    if lead is not None and not np.isfinite(lead[asked]).all():
        return f"its lead is {lead[asked][~np.isfinite(lead[asked])][0]}; should be points, of the player to move"
    return ""


def _look(
    name: str, logits: bool, given: np.ndarray, value: np.ndarray, legal: np.ndarray, lead: np.ndarray | None
) -> None:
    told = None if lead is None else np.asarray(lead)
    fault = fault_in(logits, np.asarray(given), np.asarray(value), np.asarray(legal), told)
    if fault:
        _faults.append(f"{name}: {fault}")
        raise UserError(_faults[-1])


@contextmanager
def plainly() -> Iterator[None]:
    """What a program that looks at every number has found, as a UserError of one line."""
    try:
        yield
    except Exception:
        if _faults:
            fault = _faults[-1]
            _faults.clear()
            raise UserError(fault) from None
        raise
