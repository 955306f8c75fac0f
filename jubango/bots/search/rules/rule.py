"""Selection rules: which child a simulation goes down to, and which action is played in the end.

A rule scores all actions of a node at once. Shape legend: B lanes, A actions.
"""

from __future__ import annotations

import dataclasses
import functools
import keyword
import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jubango.bots.search.rules.params import LARGEST_WHOLE, Param, SearchParams, TracedParams
from jubango.bots.search.rules.root_noise import RootNoise
from jubango.sgf_games.base.errors import UserError

MoveRule = Literal["visits", "value", "prior", "gumbel", "lcb"]


class Edges(NamedTuple):
    """The actions of one node per lane; arrays are [B, A], those of the node itself [B]."""

    visits: jax.Array  # int32
    value_sum: jax.Array  # float32, from the view of the node's player
    prior: jax.Array  # float32, sums to 1; zero where illegal
    value: jax.Array  # float32 [B], what the evaluator said of the node
    amaf_visits: jax.Array | None = None  # float32, games in which the node's player took the action first (AMAF)
    amaf_sum: jax.Array | None = None  # float32, their values, from the view of the node's player
    square_sum: jax.Array | None = None  # float32, of the values' squares
    # How many simulations' games end with the action's point the node's player's (of several games a share), and their
    # values, from the view of the node's player; float32.
    owned_visits: jax.Array | None = None
    owned_sum: jax.Array | None = None

    @property
    def first_visits(self) -> jax.Array | None:
        """``amaf_visits``, by its old name."""
        return self.amaf_visits

    @property
    def first_sum(self) -> jax.Array | None:
        """``amaf_sum``, by its old name."""
        return self.amaf_sum

    @property
    def node_visits(self) -> jax.Array:
        """int32 [B]: N, the node's visits: its own evaluation and its children's visits."""
        return 1 + jnp.sum(self.visits, axis=-1, dtype=jnp.int32)

    @property
    def q(self) -> jax.Array:
        """float32 [B, A]: mean values, 0 where unvisited."""
        return self.value_sum / jnp.maximum(self.visits, 1).astype(jnp.float32)


class Rule(ABC):
    """The formula that chooses the next action. ``@jb.rule("name")`` makes a rule known to bots.

    Subclasses are frozen dataclasses, hence hashable and static: their fields decide the program. The parameters that
    they declare besides are traced; each tree has its own.
    """

    params: ClassVar[tuple[Param, ...]] = (Param("c", 0.0, 0.0, 1000.0, "exploration"),)  # in the order of their keys
    move: ClassVar[MoveRule] = "visits"  # what the final move is chosen by where nobody says
    scheduled: ClassVar[bool] = False  # is every simulation of a root planned beforehand? Then leaves=1, and no clock
    amaf: ClassVar[bool] = False  # does the rule need AMAF statistics in its edges?
    owners: ClassVar[bool] = False  # in their place, those of who has which point at the end of rollouts?
    variance: ClassVar[bool] = False  # does it need the squares of the values?

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "firsts" in vars(cls):
            warnings.warn(f"{cls.__name__}.firsts is now called amaf", DeprecationWarning, stacklevel=2)
            cls.amaf = vars(cls)["firsts"]
        usual = vars(cls).get("usual_c")
        if usual is not None and "params" not in vars(cls):
            new = 'declare params = (jb.Param("c", default, least, most),) in its place'
            warnings.warn(f"{cls.__name__}.usual_c is deprecated; {new}", DeprecationWarning, stacklevel=2)
            cls.params = tuple(replace(own, default=usual) if own.name == "c" else own for own in cls.params)

    @abstractmethod
    def __call__(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the scores, of which the largest is chosen. Illegal actions (prior 0) are masked afterwards.

        edges: the actions of one node in each of B lanes.
        params: the rule's parameters, [B] each.
        """

    def prior(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: weights of the actions, what ``edges.prior`` is to be on the way down the tree, where scores
        are found and sampled replies drawn; by default it stays. ``final`` and ``policy`` see the evaluator's.

        edges: without the virtual losses of several leaves, so that values are those of the games alone.
        params: as in ``__call__``.
        """
        return edges.prior

    def root(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the scores at the root, by default those of any other node.

        edges, params: as in ``__call__``.
        """
        return self(edges, params)

    def final(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A]: the scores of the root's actions, of which the largest is played: by default the visits.

        edges, params: as in ``__call__``.
        """
        return edges.visits.astype(jnp.float32)

    def policy(self, edges: Edges, params: TracedParams) -> jax.Array:
        """float32 [B, A], sums to 1: the policy after the search, by default the shares of the visits.

        edges, params: as in ``__call__``.
        """
        return edges.visits / jnp.maximum(jnp.sum(edges.visits, axis=-1, keepdims=True), 1).astype(jnp.float32)

    def prepare_root(self, noise: RootNoise, params: SearchParams, capacity: int) -> Any:
        """A pytree of arrays [n, ...]: what the rule knows of n roots before their first simulation; by default
        nothing.

        The rule reads it as ``params.prepared``.

        noise: the roots' legal actions and random numbers; numpy's for games, traced inside of :class:`Search`.
        params: all parameters of the rule, whole ones as they are, others as arrays [n] or numpy's numbers.
        capacity: simulations that a tree has room for.
        """
        return ()

    @property
    def root_differs(self) -> bool:
        """Whether the root has scores of its own."""
        return type(self).root is not Rule.root

    @property
    def changes_prior(self) -> bool:
        """Whether the way down the tree has a prior of its own."""
        return type(self).prior is not Rule.prior

    @property
    def prepares(self) -> bool:
        """Whether the rule prepares its roots."""
        return type(self).prepare_root is not Rule.prepare_root


@functools.cache
def numbers_of(rule: type[Rule]) -> tuple[Param, ...]:
    """The parameters that are traced: those that are no fields. Raises UserError for what no rule may declare."""
    if not isinstance(rule.params, tuple | list) or not all(isinstance(own, Param) for own in rule.params):
        raise UserError(f"rule {rule.__name__}: params should be a tuple of jb.Param, like (jb.Param(...),)")
    fields: set[str] = {own.name for own in dataclasses.fields(rule)} if dataclasses.is_dataclass(rule) else set()
    for own in rule.params:
        wrong = _wrong(own, fields) or ("it is there twice" if _names(rule).count(own.name) > 1 else "")
        if wrong:
            raise UserError(f'rule {rule.__name__}: parameter "{own.name}": {wrong}')
    return tuple(own for own in rule.params if own.name not in fields)


def _names(rule: type[Rule]) -> list[str]:
    return [own.name for own in rule.params]


def _wrong(own: Param, fields: set[str]) -> str:
    """What is wrong with a parameter, or nothing."""
    if not own.name.isidentifier() or keyword.iskeyword(own.name) or own.name.startswith("_"):
        return "its name should be a word of letters, digits and _"
    if (
        hasattr(TracedParams, own.name)
        or own.name in SearchParams.__dataclass_fields__
        or hasattr(SearchParams, own.name)
    ):
        return "every search has something of this name; choose another"
    if own.name in fields:
        return "its default is its field's; give none" if own.default is not None else ""
    if own.default is None or not own.least <= own.default <= own.most:
        return f"default={own.default}: should be a number from {own.least:g} to {own.most:g}"
    if own.whole and (own.default != int(own.default) or max(-own.least, own.most) > LARGEST_WHOLE):
        return f"should be whole numbers up to {LARGEST_WHOLE:,}"
    return ""


def steady_sum(x: jax.Array) -> jax.Array:
    """The sum over the last axis, added in an order that does not depend on the batch.

    ``jnp.sum`` of floats may differ in the last bit between batch sizes, and then a lane's search
    would depend on its neighbours.
    """
    size = 1 << (x.shape[-1] - 1).bit_length()
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])
    while size > 1:
        size //= 2
        x = x[..., :size] + x[..., size:]
    return x[..., 0]
