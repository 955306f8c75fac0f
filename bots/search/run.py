"""Searching positions from Python: ``run(search, state) -> SearchResult``."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jubango.bots.composition import numbers_for, search_for
from jubango.bots.config import SearchConfig
from jubango.bots.search.program import program
from jubango.bots.search.result import SearchResult, lane_of
from jubango.bots.search.root import MoveRule, Numbers, final_move, merged, settings_for
from jubango.bots.search.search import Search
from jubango.bots.search.state import RootStatistics
from jubango.sgf_games.compiled import rules
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game

TICK_SECONDS = 0.1  # between two looks at the clock and the progress


def run_many(
    search: Search,
    states: Sequence[Any],
    numbers: Numbers | Sequence[Numbers] | None = None,
    *,
    seconds: float = 0.0,
    seeds: Sequence[int] | None = None,
    move: MoveRule | None = None,
    temperature: float = 0.0,
    merge: int = 1,
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
) -> list[SearchResult]:
    """Search ``states`` (unbatched states of ``search.game``), a tree each, all at once.

    numbers: simulations, c and so on, for all or for each; by default as many simulations as the search has room for.
    seconds: stop then at the latest, compiling not counted; 0 for no limit.
    seeds: uint32, one a state; by default 0, 1, 2, ...
    move, temperature: see :func:`jubango.bots.search.root.final_move`.
    merge: every so many neighbouring states are one position in several trees, answered together.
    on_progress(done, wanted), of simulations a tree, is called a few times a second and stops the
    search by returning False; what has been found by then is returned.
    Raises UserError for a finished position.
    """
    began = time.perf_counter()
    numbers = numbers or Numbers(simulations=search.capacity)
    each = [numbers] * len(states) if isinstance(numbers, Numbers) else list(numbers)
    wanted = max(own.simulations for own in each)
    if not 0 <= wanted <= search.capacity:
        raise UserError(f"a search with room for {search.capacity} simulations cannot make {wanted}")
    views = [jax.device_get(rules(search.game).view(state)) for state in states]
    if any(bool(view.terminal) for view in views):
        raise UserError("the game is over in a position to be searched")
    compiled = program(search, len(states))
    extra = compiled.trees - len(states)
    trimmed = [search.game.without_history(state) for state in states]
    roots = jax.tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *trimmed, *[trimmed[0]] * extra)
    legal = np.stack([np.asarray(view.legal) for view in [*views, *[views[0]] * extra]])
    mask = np.arange(compiled.trees) < len(states)
    chosen = [*(range(len(states)) if seeds is None else seeds), *[0] * extra]
    dice = np.array([seed % 2**32 for seed in chosen], np.uint32)
    settings = settings_for(search, each + [each[0]] * extra, legal, dice)
    s = compiled.begin(compiled.idle(), mask, np.zeros_like(mask), roots, legal, settings, dice)
    s, found = jax.block_until_ready(compiled.advance(s, 0))
    chunk, deadline = 1, time.perf_counter() + seconds  # compiling does not count
    while True:
        remaining, done = int(np.max(found.remaining)), int(np.min(np.asarray(found.done)[: len(states)]))
        late = bool(seconds) and time.perf_counter() >= deadline
        if on_progress(done, wanted) is False or remaining == 0 or (late and done > 0):
            break
        before = time.perf_counter()
        s, found = compiled.advance(s, min(chunk, remaining))
        jax.block_until_ready(found)
        spent = time.perf_counter() - before
        limit = min(TICK_SECONDS, max(deadline - time.perf_counter(), 1e-3)) if seconds else TICK_SECONDS
        chunk = max(1, min(chunk * 4, int(chunk * limit / max(spent, 1e-6))))
    statistics = jax.device_get(found)
    rule: MoveRule = move or ("gumbel" if search.selection.gumbel else "visits")
    results = []
    for i in range(0, len(states), merge):
        row = merged(RootStatistics(*(x[i : i + merge] for x in statistics)))
        action = final_move(row, rule, temperature, int(dice[i]), search.ties)
        lane = functools.cache(functools.partial(lane_of, s, i))
        spent = time.perf_counter() - began
        rows = [np.asarray(x) for x in (row.visits, row.value, row.prior)]
        results.append(SearchResult(rows[0], rows[1], rows[2], action, float(row.mean), int(row.done), spent, lane))
    return results


def run(search: Search, state: Any, numbers: Numbers | None = None, *, seed: int = 0, **options: Any) -> SearchResult:
    """Search one position; see :func:`run_many`."""
    return run_many(search, [state], numbers, seeds=[seed], **options)[0]


def run_bot(
    game: Game,
    bot: SearchConfig,
    states: Sequence[Any],
    seeds: Sequence[int],
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
) -> list[SearchResult]:
    """What a configured bot makes of positions, its ensemble, seconds and choice of the move included."""
    search = search_for(game, [bot])
    legal = [int(np.sum(rules(game).view(state).legal)) for state in states]
    numbers = [numbers_for(game, bot, n) for n in legal for _ in range(bot.ensemble)]
    trees = [state for state in states for _ in range(bot.ensemble)]
    dice = [(seed + k * 0x9E3779B9) % 2**32 for seed in seeds for k in range(bot.ensemble)]
    return run_many(
        search, trees, numbers, seconds=bot.seconds, seeds=dice, move=bot.move,
        temperature=bot.temperature, merge=bot.ensemble, on_progress=on_progress,
    )  # fmt: skip
