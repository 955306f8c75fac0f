"""What a search is made of: a frozen composition of parts for one game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jubango.bots.evaluators.evaluator import Evaluator
from jubango.bots.search.rules.rule import Rule
from jubango.bots.search.tree import MOST_NODES
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game


@dataclass(frozen=True)
class SearchSpec:
    """A composition of parts. It decides the program; numbers that do not are in
    :class:`jubango.bots.search.rules.rule.Settings`, and weights are arguments.

    capacity: simulations a tree has room for.
    width: actions of a node that are considered, by largest prior; 0 for all.
    cutoff: a leaf at the depth limit counts as the evaluator says ("value") or as a draw ("draw").
    opponent: replies are "searched", or "sampled" from the prior (AlphaGo as the articles describe it).
    draws: count "half", or go to a "random" side.
    solver: prove bounds of values and search no further what they decide (Cazenave & Saffidine 2010, Score Bounded
        Monte-Carlo Tree Search). They are those of the best replies, so that it needs these searched and draws half.
    transpositions: positions reached by different orders share a node.
    leaves: K, evaluated at once in one tree, kept apart by virtual losses (Chaslot et al. 2008).
    ties: between equal scores the "first" action or a "random" one.
    """

    game: Game
    rule: Rule
    evaluator: Evaluator
    capacity: int
    width: int = 0
    cutoff: Literal["value", "draw"] = "value"
    opponent: Literal["searched", "sampled"] = "searched"
    draws: Literal["half", "random"] = "half"
    solver: bool = False
    transpositions: bool = False
    leaves: int = 1
    ties: Literal["first", "random"] = "first"

    def __post_init__(self) -> None:
        if not 0 <= self.capacity <= MOST_NODES - 2:
            raise UserError(f"capacity={self.capacity}: a tree has room for 0 to {MOST_NODES - 2:,} simulations")
        if self.solver and (self.opponent, self.draws) != ("searched", "half"):
            raise UserError(
                'solver=True proves what the best replies allow; it needs opponent="searched" and draws="half"'
            )

    @property
    def spare(self) -> int:
        """The node that takes the writes of idle lanes."""
        return self.capacity + 1
