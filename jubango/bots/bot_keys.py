"""The keys of :func:`jubango.bots.config.Bot`: those of all bots for editors and type checkers, and those of selection
rules as their configurations check them."""

from __future__ import annotations

import dataclasses
import typing
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from jubango.bots.search.rules.params import Param
from jubango.bots.search.rules.rule import Rule


class BotKeys(TypedDict, total=False):
    """Every key of any kind of bot; ``jubango bots NAME`` says which a bot has, and what they are."""

    simulations: int
    seconds: float
    selection: str
    c: float
    base: float
    fpu: Literal["zero", "parent", "loss", "win"]
    fpu_reduction: float
    order: Literal["any", "prior"]
    equivalence: float
    bias: float
    considered: int
    gumbel_scale: float
    c_visit: float
    c_scale: float
    stdev: float
    stdev_scale: float
    lcb: float
    criticality: float
    evaluator: str
    rollouts: int
    rollout_moves: Literal["game", "tactical", "uniform", "policy"]
    prior: Literal["even", "patterns"]
    network: str
    precision: Literal["float32", "bfloat16", "int8"]
    symmetry: Literal["none", "random", "mean"]
    weight: float
    score_utility: float
    devices: int
    width: int
    depth: int
    cutoff: Literal["value", "draw"]
    opponent: Literal["searched", "sampled"]
    draws: Literal["half", "random"]
    solver: bool
    move: Literal["visits", "value", "prior", "gumbel", "lcb"]
    temperature: float
    temperature_moves: int
    noise: float
    alpha: float
    reuse: bool
    ensemble: int
    transpositions: bool
    leaves: int
    ties: Literal["first", "random"]
    patience: float
    level: float
    command: str
    move_seconds: float
    start_seconds: float
    processes: int


def key_of(rule: type[Rule], own: Param) -> tuple[Any, Any]:
    """A parameter of a rule as a key of bots: (its type with its range, its default and what it is)."""
    if own.default is None:  # a field of the rule
        kind, default = typing.get_type_hints(rule)[own.name], _default(rule, own.name)
    else:
        kind, default = (int if own.whole else float), own.default
    if kind in (int, float):
        kind = Annotated[kind, Field(ge=own.least, le=own.most)]
    return kind, Field(default, description=own.about)


def _default(rule: type[Rule], name: str) -> Any:
    return next(field.default for field in dataclasses.fields(rule) if field.name == name)  # type: ignore[arg-type]
