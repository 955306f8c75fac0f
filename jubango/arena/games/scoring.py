"""How a game in which an engine takes part is scored when it has been played out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.players.batch_player import ScoringVerdict
from jubango.sgf_games.records.record import VOID
from jubango.sgf_games.rules.coordinates import Point
from jubango.sgf_games.rules.game import Game, State

PLAYOUTS = "playouts"  # what our own verdict is called


class Score(NamedTuple):
    """``reason`` is "score" (nothing was taken off), "agreed" (dead stones were), "disputed" (what everybody calls
    dead was taken off, but there is more that only some do, or somebody sees another winner), or "refused" (void)."""

    result: str
    reason: str
    detail: str
    counted: str = ""  # what engines make of the score where that is another one: "gnugo B+3.5"


def score(game: Game, state: State, verdicts: Sequence[ScoringVerdict]) -> Score:
    """What follows from the engines' verdicts. Two have to agree on the dead stones; where less than two engines name
    them, random playouts are the other."""
    named = {v.name: whole_chains(game, state, v.dead) for v in verdicts if v.dead is not None}
    problems = [f"{v.name}: {v.problem}" for v in verdicts if v.problem]
    if any(v.refused for v in verdicts):
        return Score(VOID, "refused", "; ".join(problems))
    if len(problems) == len(verdicts):
        return Score(game.result_text(state), "score", "; ".join(["as it stands", *problems]))
    if len(named) < 2:
        named[PLAYOUTS] = game.dead_stones(state)
    dead = np.all(list(named.values()), axis=0)
    result = game.result_text(game.without_stones(state, dead))
    disputes = {name: list_ & ~dead for name, list_ in named.items() if (list_ & ~dead).any()}
    said = [f"dead: {_texts(game, dead)}" if dead.any() else "no dead stones"]
    said += [f"{name} alone calls dead: {_texts(game, more)}" for name, more in disputes.items()]
    others = [v for v in verdicts if v.winner and v.winner != result[0]]
    said += [f"{v.name} has {v.winner} for the winner" for v in others] + problems
    reason = "disputed" if disputes or others else "agreed" if dead.any() else "score"
    return Score(result, reason, "; ".join(said), _otherwise(result, verdicts))


def whole_chains(game: Game, state: State, points: Iterable[Point]) -> np.ndarray:
    """bool [H, W]: the chains with a stone on any of ``points``."""
    named = np.zeros((game.height, game.width), bool)
    named[tuple(np.array(list(points), int).reshape(-1, 2).T)] = True
    found = [chain for chain in game.chains(state) if (chain & named).any()]
    return np.any([named & False, *found], axis=0)


def _otherwise(result: str, verdicts: Sequence[ScoringVerdict]) -> str:
    """The engines' own scores that differ from the result."""
    return "; ".join(f"{v.name} {v.own_score}" for v in verdicts if v.own_score and not _same(v.own_score, result))


def _same(one: str, other: str) -> bool:
    """Do two scores say the same? One that names the winner alone says no more."""
    margins = [text[2:] for text in (one, other)]
    if one[:1] != other[:1] or not all(margins):
        return one[:1] == other[:1]
    try:
        return float(margins[0]) == float(margins[1])
    except ValueError:
        return False


def _texts(game: Game, stones: np.ndarray) -> str:
    return " ".join(game.point_text((int(row), int(column))) for row, column in np.argwhere(stones))
