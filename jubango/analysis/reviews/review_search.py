"""The searches of a review: the positions of many games side by side, each several times."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jubango.analysis.positions.lead import leads
from jubango.analysis.positions.position import LONGEST_VARIATION, MOST_LANES
from jubango.analysis.reviews.review_moves import Candidate, Finding, PositionKey
from jubango.bots.composition import evaluator_for
from jubango.bots.config import SearchConfig
from jubango.bots.players.engines.analysts.analyst import EngineResult
from jubango.bots.run_bot import run_bot
from jubango.bots.search.results.result import SearchResult
from jubango.bots.sizing import affordable_trees
from jubango.sgf_games.compute.machine import full_lanes
from jubango.sgf_games.records.record import score_of
from jubango.sgf_games.rules.game import Game
from jubango.sgf_games.sgf.positions import Position
from jubango.sgf_games.sgf.symmetries import turned_actions

VARIATIONS_KEPT = 10  # moves of a position whose variations are kept


class SearchJob(NamedTuple):
    """One search that is wanted."""

    game: int  # whose
    place: PositionKey
    repeat: int  # which search of the place, from 0
    position: Position  # on a board that is turned by ``symmetry``
    symmetry: int = 0


def seed_of(job: SearchJob, seed: int) -> int:
    """uint32: the seed of a search, which depends on nothing but the review's seed and the place in the game."""
    return zlib.crc32(f"{seed} {job.place.number} {job.place.after} {job.repeat}".encode())


def search(
    jobs: Sequence[SearchJob], bot: SearchConfig, seed: int,
    on_progress: Callable[[float, int], None] = lambda done, total: None,
) -> Iterator[list[tuple[SearchJob, Finding]]]:  # fmt: skip
    """What is found, batch by batch, as many positions side by side as the machine searches well. All are of games that
    differ in komi at most, and none is finished.

    on_progress(done, total), of searches. Raises UserError if a tree is too large.
    """
    if not jobs:
        return
    # One leaf at a time, however few positions there are, so that a search finds the same beside any others.
    bot = bot.model_copy(update={"leaves": bot.leaves})
    at_once = _at_once(jobs[0].position.game, bot, len(jobs))
    for first in range(0, len(jobs), at_once):
        batch = jobs[first : first + at_once]

        def look(done: int, wanted: int, first: int = first, size: int = len(batch)) -> None:
            on_progress(first + size * done / max(1, wanted), len(jobs))

        positions, seeds = [job.position for job in batch], [seed_of(job, seed) for job in batch]
        found = run_bot(positions[0].game, bot, [position.state for position in positions], seeds, look, at_once)
        # Of the bot's choices too only what a network says: elsewhere the difference of two leads is noise.
        ahead = leads(positions, found, seeds, bot, by_games=not all(job.place.after for job in batch))
        has_prior = evaluator_for(positions[0].game, bot).evaluator.has_prior
        told = zip(batch, found, ahead, strict=True)
        yield [(job, finding(job, result, lead, has_prior)) for job, result, lead in told]


def _at_once(game: Game, bot: SearchConfig, number: int) -> int:
    """Positions side by side, in one program for all batches: for rollouts up to four times what fills the machine, as
    everybody waits for the longest game; a step costs as much as 96 positions and then by the position."""
    most = 4 * full_lanes(evaluator_for(game, bot).evaluator.saturating_batch)
    sizes = [size for size in (MOST_LANES, 2 * MOST_LANES, 4 * MOST_LANES) if size <= max(most, MOST_LANES)]
    best = min(sizes, key=lambda size: -(-number // size) * (size + 96))
    return min(best, affordable_trees(game, bot))


def finding(
    job: SearchJob, result: SearchResult | EngineResult, lead: float | None, has_prior: bool = True,
    ownership: np.ndarray | None = None,
) -> Finding:  # fmt: skip
    """What is kept of a search, as it is on the game's own board: its visited moves, with variations of the most
    visited. Of a position that is not the game's own only the best move, and no ``ownership`` (float [H * W])."""
    position, game, visits = job.position, job.position.game, result.visits
    back = turned_actions(game)[job.symmetry]
    shown = {int(action) for action in visits.nonzero()[0]} | {result.action}
    order = sorted(shown, key=lambda a: (a != result.action, -visits[a], -result.values[a], a))
    order, told = (order[:1], 0) if job.place.after else (order, VARIATIONS_KEPT)

    sign = -0.5 if position.player else 0.5

    def line(action: int) -> tuple[str, ...]:
        return tuple(game.action_text(int(back[a])) for a in result.variation_of(action)[:LONGEST_VARIATION])

    def black(value: float) -> float:
        return round(0.5 + sign * value, 6)

    columns = (x[order].tolist() for x in (back, visits, result.priors, result.values))
    moves = tuple(
        Candidate(
            game.action_text(own),
            seen,
            round(prior, 6) if has_prior else None,
            black(value if seen else result.value),
            line(action) if i < told else (),
        )
        for i, (action, own, seen, prior, value) in enumerate(zip(order, *columns, strict=True))
    )
    owners = None
    if ownership is not None and not job.place.after:
        own_board = np.empty_like(ownership)
        own_board[back[: len(ownership)]] = ownership
        owners = tuple(np.round(own_board, 2).tolist())
    return Finding(black(result.value), result.simulations, moves, None if lead is None else round(lead, 2), owners)


def result_of(position: Position) -> Finding:
    """Of a finished game, by the rules."""
    lead = position.game.final_margin(position.state) if position.game.counts_points else None
    return Finding(0.5 + 0.5 * float(position.returns[0]), 0, (), lead)


def agreed_result(position: Position, said: str) -> Finding:
    """Of a game of points that its players have ended by passing: what its file says, as SGF's RE, or else the result
    without dead stones."""
    game = position.game
    if math.isnan(score_of(said)):
        said = game.result_text(game.without_stones(position.state, game.dead_stones(position.state)))
    points = re.fullmatch(r"([BW])\+(\d+(?:\.\d+)?)", said.strip().upper())
    lead = float(points[2]) * (-1 if points[1] == "W" else 1) if points else None
    return Finding(score_of(said), 0, (), lead)
