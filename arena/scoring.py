"""How a game in which an engine takes part is scored when it has been played out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.player import Verdict
from jubango.sgf_games.go import Go, GoState
from jubango.sgf_games.go_scoring import dead_by_playouts, result_without, whole_chains
from jubango.sgf_games.record import VOID

PLAYOUTS = "playouts"  # what our own verdict is called


class Score(NamedTuple):
    """``reason`` is "score" (nothing was taken off), "agreed" (dead stones were), "disputed" (what everybody calls
    dead was taken off, but there is more that only some do, or somebody sees another winner), or "refused" (void)."""

    result: str
    reason: str
    detail: str


def score(game: Go, state: GoState, verdicts: Sequence[Verdict]) -> Score:
    """What follows from the engines' verdicts. Two have to agree on the dead stones; where less than two engines name
    them, random playouts are the other."""
    named = {v.name: whole_chains(game, state, v.dead) for v in verdicts if v.dead is not None}
    nothing = np.zeros((game.height, game.width), bool)
    problems = [f"{v.name}: {v.problem}" for v in verdicts if v.problem]
    if any(v.refused for v in verdicts):
        return Score(VOID, "refused", "; ".join(problems))
    if len(problems) == len(verdicts):
        return Score(result_without(game, state, nothing), "score", "; ".join(["as it stands", *problems]))
    if len(named) < 2:
        named[PLAYOUTS] = dead_by_playouts(game, state)
    dead = np.all(list(named.values()), axis=0)
    result = result_without(game, state, dead)
    disputes = {name: list_ & ~dead for name, list_ in named.items() if (list_ & ~dead).any()}
    said = [f"dead: {_texts(game, dead)}" if dead.any() else "no dead stones"]
    said += [f"{name} alone calls dead: {_texts(game, more)}" for name, more in disputes.items()]
    others = [v for v in verdicts if v.winner and v.winner != result[0]]
    said += [f"{v.name} has {v.winner} for the winner" for v in others] + problems
    reason = "disputed" if disputes or others else "agreed" if dead.any() else "score"
    return Score(result, reason, "; ".join(said))


def _texts(game: Go, stones: np.ndarray) -> str:
    return " ".join(game.point_text((int(row), int(column))) for row, column in np.argwhere(stones))
