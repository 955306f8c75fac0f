"""The keys of :func:`jubango.bots.config.Bot`, for editors and type checkers; the configurations check the values."""

from __future__ import annotations

from typing import Literal, TypedDict


class BotKeys(TypedDict, total=False):
    """Every key of any kind of bot; ``jubango bots NAME`` says which a bot has, and what they are."""

    simulations: int
    seconds: float
    selection: Literal["ucb1", "rave", "puct", "alphago", "gumbel"]
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
    evaluator: str
    rollouts: int
    rollout_moves: Literal["game", "tactical", "uniform", "policy"]
    network: str
    weight: float
    width: int
    depth: int
    cutoff: Literal["value", "draw"]
    opponent: Literal["searched", "sampled"]
    draws: Literal["half", "random"]
    solver: bool
    move: Literal["visits", "value", "prior", "gumbel"]
    temperature: float
    temperature_moves: int
    noise: float
    alpha: float
    reuse: bool
    ensemble: int
    transpositions: bool
    leaves: int
    ties: Literal["first", "random"]
    command: str
    move_seconds: float
    start_seconds: float
    processes: int
