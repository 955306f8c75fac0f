"""The parameters of a search: as a rule declares them, as a person gives them, and as a program reads them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypedDict

import jax
import numpy as np

from jubango.sgf_games.base.errors import UserError

LARGEST_WHOLE = 2**24  # whole numbers up to this one are exact in float32
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Param:
    """A parameter of a selection rule. Its name is a key of bots, of tunings and of searches.

    name: a word.
    default: its value where none is given.
    least, most: its range, both ends included.
    about: what it is, in a few words.
    whole: whether it is a whole number.
    tunable: whether ``jubango tune`` may look for its best value.
    needs: the values of other keys without which it changes nothing, ``{"fpu": "parent"}``.
    clash: the error's text where it is given without those; by default nothing is said.
    random: whether it is the size of random numbers at the root. An analysis sets it to 0.

    Each tree has its own value, which is traced: another value needs no other program. A parameter that is also a field
    of the rule's dataclass decides the program instead; its default and its type are the field's.
    """

    name: str
    default: float | None = None
    least: float = 0.0
    most: float = 1e9
    about: str = ""
    whole: bool = False
    tunable: bool = True
    needs: Mapping[str, object] = field(default_factory=dict)
    clash: str = ""
    random: bool = False

    def __post_init__(self) -> None:
        """Raises UserError for what can be no parameter of any rule."""
        if not isinstance(self.name, str):
            raise UserError(f"jb.Param: its name comes first and is text, not {self.name!r}")
        where = f'jb.Param("{self.name}")'
        for key in ("default", "least", "most"):
            value = getattr(self, key)
            if key == "default" and value is None:
                continue
            try:
                number = float("nan") if isinstance(value, bool | str) else float(value)
            except (TypeError, ValueError):
                number = float("nan")
            if not abs(number) <= LARGEST:
                raise UserError(f"{where}: {key}={value!r}: should be a number that float32 holds, to {LARGEST:.1e}")
        if not self.least < self.most:
            raise UserError(f"{where}: least={self.least:g}, most={self.most:g}: the first should be below the second")
        if not isinstance(self.needs, Mapping):
            raise UserError(f'{where}: needs={self.needs!r}: should be keys with their values, {{"fpu": "parent"}}')

    def check(self, given: Any) -> None:
        """Raises UserError for a number, or an array of some, that is not in the range, unless it is traced."""
        if given is None or isinstance(given, jax.core.Tracer):
            return
        try:
            numbers = np.asarray(given, np.float32)  # as a search has them
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if not np.all((numbers >= np.float32(self.least)) & (numbers <= np.float32(self.most))):
            raise UserError(f"{self.name}={given}: should be from {self.least:g} to {self.most:g}")

    @property
    def usual(self) -> float:
        """The default of a number."""
        assert self.default is not None, f"{self.name} is a field of its rule"
        return self.default


OF_SEARCHES = Param("noise", 0.0, 0.0, 1.0), Param("alpha", 0.0, 0.0, 1000.0), Param("temperature", 0.0, 0.0, 1000.0)


class TracedParams(NamedTuple):
    """The parameters that a program reads: ``params.c`` is the rule's ``c``, float32 [B], one for each tree.

    Other values need no other program.
    """

    simulations: jax.Array  # int32 [B], per move, up to the search's capacity
    depth: jax.Array  # int32 [B], nodes this deep are not expanded
    noise: jax.Array  # float32 [B], the share of the root's prior that is Dirichlet noise
    dirichlet: jax.Array  # float32 [B, A], the noise
    own: dict[str, jax.Array]  # float32 [B], the numbers that the rule declares
    prepared: Any  # what the rule's prepare_root has made of the roots

    def __getattr__(self, name: str) -> jax.Array:
        return _own(self.own, name)


# Of jb.Numbers, as SearchParams was called, after simulations and c.
OLD_ORDER = "fpu_reduction", "depth", "noise", "alpha", "considered", "gumbel_scale", "equivalence", "bias"


@dataclass(frozen=True, init=False)
class SearchParams:
    """The parameters of one tree, as a person gives them: ``SearchParams(400, c=1.3)``.

    simulations: of the search.
    c and others: the rule's parameters by name, by default the rule's defaults; those of other rules change nothing.
    depth: nodes this deep are not expanded; 0 for no limit.
    noise: the share of Dirichlet noise in the root's prior.
    alpha: of the Dirichlet distribution; 0 for 10 / legal actions.
    """

    simulations: int
    depth: int
    noise: float
    alpha: float
    own: Mapping[str, Any]

    def __init__(
        self, simulations: Any = 400, c: Any = None, *old: Any, depth: Any = 0, noise: Any = 0.0, alpha: Any = 0.0,
        **own: Any,
    ) -> None:  # fmt: skip
        if old:
            named = dict(zip(OLD_ORDER, old, strict=False))
            said = ", ".join(f"{name}={value}" for name, value in named.items())
            warnings.warn(f"SearchParams: after simulations and c write {said}", DeprecationWarning, stacklevel=2)
            self.__init__(simulations, c, **{"depth": depth, "noise": noise, "alpha": alpha, **own, **named})  # type: ignore[misc]
            return
        given = {name: value for name, value in {"c": c, **own}.items() if value is not None}
        self.__dict__.update(simulations=simulations, depth=depth, noise=noise, alpha=alpha, own=given)

    def __getattr__(self, name: str) -> Any:
        return _own(self.__dict__.get("own", {}), name)

    def __hash__(self) -> int:
        own = frozenset((name, float(value)) for name, value in self.own.items())
        return hash((self.simulations, self.depth, self.noise, self.alpha, own))

    def replace(self, **changes: Any) -> SearchParams:
        """The same parameters with some values changed."""
        kept = {name: value for name, value in self.__dict__.items() if name != "own"}
        return SearchParams(**{**kept, **self.own, **changes})

    _replace = replace  # its old name


# Of all positions that are searched together, or of each.
Whole: TypeAlias = int | Sequence[int] | np.ndarray
Number: TypeAlias = float | Sequence[float] | np.ndarray


class SearchParamsKeys(TypedDict, total=False):
    """The parameters of a search with jubango's own rules, for editors and type checkers; a test compares them with
    what the rules declare."""

    simulations: Whole
    depth: Whole
    noise: Number
    alpha: Number
    c: Number | None
    fpu_reduction: Number
    equivalence: Number
    bias: Number
    stdev: Number
    stdev_scale: Number
    lcb: Number
    criticality: Number
    considered: Whole
    gumbel_scale: Number


def _own(own: Mapping[str, Any], name: str) -> Any:
    if name not in own:
        raise AttributeError(f'"{name}" is none of the parameters of this search: {", ".join(own) or "it has none"}')
    return own[name]
