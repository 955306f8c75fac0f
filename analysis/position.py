"""What a search makes of positions: visits, win rates, principal variations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bots.bot import affordable_lanes
from bots.config import UctConfig
from bots.search.mover import search_for
from bots.search.search import program
from bots.search.select import Settings
from sgf_games.compiled import rules
from sgf_games.coordinates import Point
from sgf_games.game import Game
from sgf_games.replay import Position

MOST_LANES = 64  # positions searched at once
CHUNK = 32  # simulations between two looks at the progress


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
    """Visited actions, most visits first."""

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
    bot: UctConfig,
    seed: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[PositionAnalysis]:
    """Search all ``positions`` (of one game), a lane each. Raises UserError if a tree is too large."""
    game = positions[0].game
    at_once = min(MOST_LANES, affordable_lanes(game, [bot]))
    out: list[PositionAnalysis] = []
    total = bot.simulations * -(-len(positions) // at_once)
    for first in range(0, len(positions), at_once):
        made = bot.simulations * (first // at_once)
        batch = positions[first : first + at_once]
        out += _analyse_batch(game, batch, bot, seed, functools.partial(_shifted, on_progress, made, total))
    return out


def _shifted(on_progress: Callable[[int, int], None], made: int, total: int, done: int) -> None:
    on_progress(made + done, total)


def _analyse_batch(
    game: Game, positions: list[Position], bot: UctConfig, seed: int, on_progress: Callable[[int], None]
) -> list[PositionAnalysis]:
    views = [jax.device_get(rules(game).view(p.state)) for p in positions]
    search = search_for(game, [bot])
    compiled = program(search, len(positions))
    lanes = compiled.lanes
    padded = [*positions, *[positions[0]] * (lanes - len(positions))]
    roots = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[game.without_history(p.state) for p in padded])
    legal = np.stack([np.asarray(v.legal) for v in views] + [np.asarray(views[0].legal)] * (lanes - len(views)))
    mask = np.arange(lanes) < len(positions)
    mask[: len(views)] &= ~np.array([bool(v.terminal) for v in views])
    # A position's dice depend on the seed and its place in the game, not on what is searched beside it.
    numbers = np.array([p.number for p in padded], np.uint64)
    seeds = ((numbers + np.uint64(seed % 2**32)) * np.uint64(2654435761) % 2**32).astype(np.uint32)
    settings = Settings(np.full(lanes, bot.simulations, np.int32), np.full(lanes, bot.c, np.float32))  # type: ignore[arg-type]
    s = compiled.begin(compiled.idle(), mask, roots, legal, settings, seeds)
    statistics = None
    for done in range(0, bot.simulations, CHUNK):
        s, statistics = compiled.advance(s, jnp.int32(min(CHUNK, bot.simulations - done)))
        jax.block_until_ready(statistics.visits)
        on_progress(min(done + CHUNK, bot.simulations))
    found = jax.device_get(statistics)
    out = []
    for i, (position, view) in enumerate(zip(positions, views, strict=True)):
        over = bool(view.terminal)
        tree = None if over else jax.device_get(
            {key: getattr(s.tree, key)[i] for key in ("visits", "child", "value_sum")}
        )  # fmt: skip
        moves = () if tree is None else _moves(game, position, tree, found.visits[i], found.value[i])
        out.append(PositionAnalysis(position, int(view.player), moves, bot.simulations, over))
    return out


def _moves(
    game: Game, position: Position, tree: dict[str, Any], visits: np.ndarray, value: np.ndarray
) -> tuple[MoveStatistics, ...]:
    total = max(1, int(visits.sum()))
    order = sorted(np.flatnonzero(visits), key=lambda a: (-visits[a], -value[a], a))
    return tuple(
        MoveStatistics(
            int(action),
            game.action_text(int(action)),
            game.action_point(position.state, int(action)),
            int(visits[action]),
            float(visits[action]) / total,
            0.5 + 0.5 * float(value[action]),
            tuple(game.action_text(a) for a in _variation(tree, int(action))),
        )
        for action in order
    )


def _variation(tree: dict[str, Any], first: int, longest: int = 12) -> list[int]:
    """``first`` and then the most visited action of every node, while there are visits."""
    line, node = [first], int(tree["child"][0, first])
    while node >= 0 and len(line) < longest:
        visits = tree["visits"][node]
        if not visits.any():
            break
        mean = tree["value_sum"][node] / np.maximum(visits, 1)
        action = int(np.lexsort((-mean, -visits))[0])
        line.append(action)
        node = int(tree["child"][node, action])
    return line
