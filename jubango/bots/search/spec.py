"""What a search is made of: a frozen composition of parts for one game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jubango.bots.evaluators.evaluator import Evaluator
from jubango.bots.search.rules.rule import Rule
from jubango.bots.search.tree.tree import MOST_NODES
from jubango.sgf_games.base.checks import finite, one_of, truth, whole
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game

Cutoff = Literal["value", "draw"]
Opponent = Literal["searched", "sampled"]
Draws = Literal["half", "random"]
Ties = Literal["first", "random"]
CHOICES = {"cutoff": Cutoff, "opponent": Opponent, "draws": Draws, "ties": Ties}
MOST_LEAVES = 2**16


@dataclass(frozen=True)
class SearchSpec:
    """A composition of parts. It decides the program; numbers that do not are in
    :class:`jubango.bots.search.rules.params.TracedParams`, and weights are arguments.

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
    score_utility: the share of the lead in what the search compares, 0 to 1; see
        :mod:`jubango.bots.search.tree.score_utility`.
    devices: that search every tree together, if more than one: each has all of it, and evaluates its share of the
        leaves. For bots, :func:`jubango.run` and :func:`jubango.run_many`.
    """

    game: Game
    rule: Rule
    evaluator: Evaluator
    capacity: int
    width: int = 0
    cutoff: Cutoff = "value"
    opponent: Opponent = "searched"
    draws: Draws = "half"
    solver: bool = False
    transpositions: bool = False
    leaves: int = 1
    ties: Ties = "first"
    score_utility: float = 0.0
    devices: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise UserError(f'game={self.game!r}: should be a game, or its spec such as "go:9"')
        object.__setattr__(self, "game", self.evaluator.game_for(self.game))
        if self.game.num_players > 2:
            raise UserError(
                f"{self.game.spec} has {self.game.num_players} players; a search is of games for one or two, "
                "as one number is all that it knows of a value"
            )
        if not isinstance(self.rule, Rule):
            raise UserError(f"rule={self.rule!r}: should be a selection rule, such as jb.Puct() or jb.Ucb1()")
        if not callable(self.rule.prior):
            raise UserError(f"{type(self.rule).__name__}: prior is a method of rules, no field; choose another name")
        if self.rule.amaf and self.rule.owners:
            raise UserError(f"{type(self.rule).__name__}: a rule counts who was first (amaf) or has points (owners)")
        if self.rule.owners:
            wanted = {"cutoff": "value", "draws": "half", "transpositions": False, "solver": False}
            for key, value in wanted.items():
                if getattr(self, key) != value:
                    raise UserError(f"{type(self.rule).__name__}: needs {key}={value!r}: values of its games alone")
        numbers = {
            "capacity": (0, MOST_NODES - 2, "simulations that a tree has room for"),
            "width": (0, MOST_NODES, "actions of a node that are considered, 0 for all"),
            "leaves": (1, 1 if self.rule.scheduled else MOST_LEAVES, "leaves that a tree evaluates at once"),
            "devices": (1, MOST_LEAVES, "that search a tree together"),
        }
        for key, (least, most, what) in numbers.items():
            object.__setattr__(self, key, whole(key, getattr(self, key), least, most, what))
        if self.leaves % self.devices:
            raise UserError(f"leaves={self.leaves}: should be a multiple of devices={self.devices}, which share them")
        for key, choices in CHOICES.items():
            one_of(key, getattr(self, key), choices)
        truth("solver", self.solver)
        truth("transpositions", self.transpositions)
        if self.solver and (self.opponent, self.draws) != ("searched", "half"):
            raise UserError(
                'solver=True proves what the best replies allow; it needs opponent="searched" and draws="half"'
            )

        self._check_score_utility()

    def _check_score_utility(self) -> None:
        share = finite("score_utility", self.score_utility)
        if not 0 <= share <= 1:
            raise UserError(f"score_utility={share}: should be a number from 0 to 1, the share of the lead")
        object.__setattr__(self, "score_utility", share)
        if share and not (self.game.counts_points and self.game.num_players == 2):
            raise UserError(f"score_utility={share}: {self.game.spec} counts no points")
        if share and self.cutoff == "draw":
            raise UserError(f'score_utility={share}: needs cutoff="value"; a draw has no lead')
        if share and (self.rule.amaf or self.rule.owners):
            raise UserError(f"score_utility={share}: {type(self.rule).__name__} counts games by their results")

    @property
    def spare(self) -> int:
        """The node that takes the writes of idle lanes."""
        return self.capacity + 1
