"""What a search knows of a position it has not searched: a value and a prior over the moves."""

from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import VECTOR
from jubango.sgf_games.rules.game import Game, State

Params: TypeAlias = Any  # a pytree of arrays: the weights of an evaluator, () where it has none


class Amaf(NamedTuple):
    """Which player took each action first, in G games from each of B positions.

    Source: all moves as first (AMAF), Gelly & Silver 2011, section 4.
    """

    player: jax.Array  # int32 [B, G, A], the first to take the action, or -1
    result: jax.Array  # float32 [B, G], for the player to move in the position


class Owners(NamedTuple):
    """Which player has the point of each action at the end of G games from each of B positions.

    Source: the statistics of criticality, Coulom 2009, "Criticality: a Monte-Carlo heuristic for Go programs".
    """

    player: jax.Array  # int32 [B, G, A], or -1 where nobody has it, or the action is no point
    result: jax.Array  # float32 [B, G], for the player to move in the position


class _Evaluation(NamedTuple):
    prior: jax.Array | None  # float32 [B, A], weights of the actions, not negative
    value: jax.Array  # float32 [B] in [-1, 1], from the view of the player to move
    amaf: Amaf | None = None  # for rules that ask for it (Rave), where games have been played
    logits: jax.Array | None = None  # float32 [B, A]: the prior is their softmax over the legal actions
    lead: jax.Array | None = None  # float32 [B], in points, komi included, of the player to move; for score_utility
    owners: Owners | None = None  # for rules that ask for them (CriticalPuct), where games have been played


class Evaluation(_Evaluation):
    """What an evaluator says of B positions, or, without the axis B, of one.

    It has a value, and for the actions either a prior, weights that need not add up to 1, or logits. The search masks
    and normalises both.

    Raises UserError unless just one of ``prior`` and ``logits`` is given.
    """

    __slots__ = ()

    def __new__(
        cls,
        prior: ArrayLike | None = None,
        value: ArrayLike | None = None,
        amaf: Amaf | None = None,
        logits: ArrayLike | None = None,
        lead: ArrayLike | None = None,
        firsts: Amaf | None = None,
        owners: Owners | None = None,
    ) -> Self:
        if firsts is not None:
            warnings.warn("Evaluation(firsts=...) is now called amaf=...", DeprecationWarning, stacklevel=2)
            amaf = firsts
        if value is not None and (prior is None) == (logits is None):  # JAX makes some of nothing at all
            raise UserError("Evaluation: give prior= (weights of the actions) or logits=, one of them, and value=")
        return super().__new__(cls, prior, value, amaf, logits, lead, owners)  # type: ignore[arg-type]  # arrays, once traced


class Evaluator(ABC):
    """A frozen (hashable) object; its call is traced into the search's program.

    Weights are an argument, so that a network that learns, or another of the same shape, needs no other program.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "vector" in vars(cls):
            warnings.warn(f"{cls.__name__}.vector is now called saturating_batch", DeprecationWarning, stacklevel=2)
            setattr(cls, "saturating_batch", vars(cls)["vector"])  # noqa: B010  # a property, or a number

    @property
    def trusted(self) -> bool:
        """Whether its values are known to be finite and in range, so that nothing checks them."""
        return False

    @property
    def title(self) -> str:
        """Its name as people know it."""
        return type(self).__name__

    @property
    def saturating_batch(self) -> int:
        """The batch size per core beyond which the time grows linearly."""
        return VECTOR

    @property
    def has_prior(self) -> bool:
        """Whether its prior tells actions apart; an even prior is not shown as a policy."""
        return True

    @property
    def knows_when_to_pass(self) -> bool:
        """Whether a pass that it likes can be believed while there are points to be taken."""
        return self.has_prior

    def game_for(self, game: Game) -> Game:
        """The game as searches with this evaluator have it: its ``remembering`` where nodes are to keep the last moves.

        game: as it is played.
        """
        return game

    def weights(self, given: Params = ()) -> Params:
        """The weights that a search uses: those it was given, or the evaluator's own in place of ``()``.

        given: what the search was given.

        Raises UserError where there are none.
        """
        return given

    @abstractmethod
    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        """The evaluation of B positions.

        params: the weights.
        game: the game of the states.
        states: B last, without history.
        legal: bool [B, A]. A row without any true is not asked for; what is said there does not matter, but for
            ``amaf`` and ``owners``, which are of finished games, too.
        seeds: uint32 [B], the only source of randomness, so that a lane's result does not depend on the others.
        """


class LoadedEvaluator(NamedTuple):
    """An evaluator with the weights that it is called with."""

    evaluator: Evaluator
    params: Params = ()


@dataclass(frozen=True)
class Uniform(Evaluator):
    """An even prior and the value 0 for every position: a search by the rules alone."""

    has_prior = False

    @property
    def trusted(self) -> bool:
        return True

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        return Evaluation(legal.astype(jnp.float32), jnp.zeros(legal.shape[:1], jnp.float32))


@dataclass(frozen=True)
class Heuristic(Evaluator):
    """The game's own estimate of a position, ``Game.heuristic``, and an even prior."""

    has_prior = False

    def __call__(self, params: Params, game: Game, states: State, legal: jax.Array, seeds: jax.Array) -> Evaluation:
        value = jax.vmap(game.heuristic, in_axes=-1)(states)
        return Evaluation(legal.astype(jnp.float32), value)


def title_of(function: Any) -> str:
    """The name of what is called, inside of ``functools.partial``."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def check_hashable(function: object, title: str) -> None:
    """Raises UserError."""
    try:
        hash(function)
    except TypeError:
        raise UserError(
            f'evaluator "{title}": cannot be hashed, and a program is compiled for it: make its class a dataclass with '
            "frozen=True, its fields no arrays, and give weights as params"
        ) from None


def flax_kind(thing: object) -> str:
    """``nnx`` and ``linen`` for modules of flax's, nothing for anything else."""
    kinds = {base.__module__.split(".")[1] for base in type(thing).__mro__ if _is_flax(base)}
    return next(iter(kinds), "")


def _is_flax(base: type) -> bool:
    return base.__name__ == "Module" and base.__module__.startswith(("flax.nnx.", "flax.linen."))


def name_of(evaluator: Evaluator, game: Game) -> str:
    """``evaluator "centre" of connect_four:7x6``."""
    return f'evaluator "{evaluator.title}" of {game.spec.partition(",")[0]}'


def said(found: object, evaluator: Evaluator, game: Game, shape: tuple[int, ...]) -> Evaluation:
    """What an evaluator gave back, in float32. shape: [B, A], or of one position [A].

    Raises UserError, which names the evaluator and the game, for what is no evaluation, and for other shapes and types
    than an evaluation has.
    """
    where = name_of(evaluator, game)
    if not isinstance(found, Evaluation):
        if not isinstance(found, tuple | list) or len(found) != 2 or found[0] is None or found[1] is None:
            raise UserError(f"{where}: gave {kind_of(found)}; should give (prior, value) or a jb.Evaluation")
        found = Evaluation(*found)

    def array(name: str, x: Any, wanted: tuple[int, ...], kind: Any = jnp.floating) -> jax.Array:
        try:
            given = jnp.asarray(x)
        except (TypeError, ValueError):
            given = None
        numbers = given is not None and any(jnp.issubdtype(given.dtype, k) for k in (kind, jnp.integer))
        weights = name == "prior" and given is not None and given.dtype == bool
        if given is None or given.shape != wanted or not (numbers or weights):
            should = "int32" if kind is jnp.integer else "float32"
            many = " (a number for each action)" if wanted == shape else ""
            raise UserError(f"{where}: its {name} is {kind_of(x)}; should be {should}{[*wanted]}{many}")
        return given.astype(jnp.int32 if kind is jnp.integer else jnp.float32)

    def of_games(name: str, told: Amaf | Owners, kind: type[Amaf | Owners]) -> Any:
        if not isinstance(told, kind):
            raise UserError(f"{where}: its {name} is {kind_of(told)}; should be a jb.{kind.__name__}(player, result)")
        games = (*shape[:-1], *jnp.shape(told.result)[-1:])
        player = array(f"{name}.player", told.player, (*games, shape[-1]), jnp.integer)
        return kind(player, array(f"{name}.result", told.result, games))

    prior, value, amaf, logits, lead, owners = found
    return Evaluation(
        prior=None if prior is None else array("prior", prior, shape),
        value=array("value", value, shape[:-1]),
        amaf=None if amaf is None else of_games("amaf", amaf, Amaf),
        logits=None if logits is None else array("logits", logits, shape),
        lead=None if lead is None else array("lead", lead, shape[:-1]),
        owners=None if owners is None else of_games("owners", owners, Owners),
    )


def kind_of(x: object) -> str:
    """``float32[3, 7]``, ``None``, ``(float32[7], float32[7], int32[])``."""
    if isinstance(x, tuple | list):
        return f"({', '.join(map(kind_of, x))})"
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"{x.dtype}{[*x.shape]}"
    return "nothing" if x is None else f"{x!r}" if isinstance(x, bool | int | float | str) else f"a {type(x).__name__}"
