"""What a search makes of positions: visits, win rates, principal variations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from jubango.bots.config import SearchConfig
from jubango.bots.roster import affordable_lanes, run_bot
from jubango.bots.search.result import SearchResult
from jubango.sgf_games.compiled import rules
from jubango.sgf_games.coordinates import Point
from jubango.sgf_games.game import Game
from jubango.sgf_games.replay import Position

MOST_LANES = 64  # positions searched at once
LONGEST_VARIATION = 12  # moves


@dataclass(frozen=True)
class MoveStatistics:
    """One legal action of a position."""

    action: int
    text: str
    point: Point | None
    visits: int
    share: float  # of all visits
    win_rate: float  # of the player to move, in [0, 1]; 0.5 where unvisited
    variation: tuple[str, ...]  # the principal variation, this action first


@dataclass(frozen=True)
class PositionAnalysis:
    """Visited actions, the chosen one first, then by visits."""

    position: Position
    player: int
    moves: tuple[MoveStatistics, ...]
    simulations: int
    over: bool  # the game is over here: there is nothing to search

    @property
    def best(self) -> MoveStatistics | None:
        return self.moves[0] if self.moves else None

    def counts(self) -> np.ndarray:
        """int [H, W]: visits of the points; a pass is on no point."""
        game = self.position.game
        grid = np.zeros((game.height, game.width), int)
        for move in self.moves:
            if move.point is not None:
                grid[move.point] += move.visits
        return grid


def analyse(
    positions: list[Position],
    bot: SearchConfig,
    seed: int = 1,
    on_progress: Callable[[int, int], bool | None] = lambda done, total: None,
) -> list[PositionAnalysis]:
    """Search all ``positions`` (of one game), a lane each. Raises UserError if a tree is too large.

    on_progress(done, total), in simulations a lane, may return False to be content with what there is.
    """
    game = positions[0].game
    at_once = min(MOST_LANES, affordable_lanes(game, [bot]))
    total = bot.simulations * -(-len(positions) // at_once)
    out: list[PositionAnalysis] = []
    stopped = False

    def look(made: int, done: int, wanted: int) -> bool:
        nonlocal stopped
        stopped = stopped or on_progress(made + done, total) is False
        return not stopped

    for first in range(0, len(positions), at_once):
        made = bot.simulations * (first // at_once)
        out += _analyse_batch(game, positions[first : first + at_once], bot, seed, functools.partial(look, made))
    return out


def _analyse_batch(
    game: Game, positions: list[Position], bot: SearchConfig, seed: int, on_progress: Callable[[int, int], bool]
) -> list[PositionAnalysis]:
    views = [jax.device_get(rules(game).view(p.state)) for p in positions]
    going = [i for i, view in enumerate(views) if not bool(view.terminal)]
    # A position's dice depend on the seed and its place in the game, not on what is searched beside it.
    seeds = [(positions[i].number + seed) * 2654435761 % 2**32 for i in going]
    found = run_bot(game, bot, [positions[i].state for i in going], seeds, on_progress) if going else []
    results = dict(zip(going, found, strict=True))
    out = []
    for i, (position, view) in enumerate(zip(positions, views, strict=True)):
        result = results.get(i)
        moves = _moves(game, position, result) if result else ()
        out.append(
            PositionAnalysis(position, int(view.player), moves, result.simulations if result else 0, result is None)
        )
    return out


def _moves(game: Game, position: Position, result: SearchResult) -> tuple[MoveStatistics, ...]:
    visits, value = result.visits, result.values
    total = max(1, int(visits.sum()))
    order = sorted(np.flatnonzero(visits), key=lambda a: (a != result.action, -visits[a], -value[a], a))
    return tuple(
        MoveStatistics(
            int(action),
            game.action_text(int(action)),
            game.action_point(position.state, int(action)),
            int(visits[action]),
            float(visits[action]) / total,
            0.5 + 0.5 * float(value[action]),
            tuple(game.action_text(a) for a in result.variation_of(int(action))[:LONGEST_VARIATION]),
        )
        for action in order
    )
