"""Searching positions from Python: ``run(search, state) -> SearchResult``."""

from __future__ import annotations

import functools
import math
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np

from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.passing import without_early_passes
from jubango.bots.search.results.result import SearchResult, lane_of
from jubango.bots.search.root import final_moves
from jubango.bots.search.rules.params import SearchParams, SearchParamsKeys
from jubango.bots.search.rules.registry import check_numbers
from jubango.bots.search.rules.rule import MoveRule
from jubango.bots.search.spec import SearchSpec
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.environments.env import EnvState, game_state
from jubango.sgf_games.rules.compiled import View, rules, stacked
from jubango.sgf_games.rules.game import State

CLOCK_SECONDS = 0.1  # between two looks at the clock and the progress


class Trees:
    """A finished search's trees, there for its results; when the last of these goes, they go."""

    def __init__(self, driver: Driver) -> None:
        self._searching = driver.searching
        weakref.finalize(self, driver.close)

    def lane(self, tree: int, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return lane_of(self._searching, tree, names)


def run_many(
    search: SearchSpec,
    states: Sequence[State],
    numbers: SearchParams | Sequence[SearchParams] | None = None,
    *,
    params: Params = (),
    seconds: float = 0.0,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    move: MoveRule | None = None,
    temperature: float = 0.0,
    ensemble: int = 1,
    lanes: int = 0,
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
    **own: Unpack[SearchParamsKeys],
) -> list[SearchResult]:
    """What the search of each state found; all are searched at once, in ``ensemble`` trees each.

    search: the search.
    states: unbatched states of ``search.game``, or of the environment that the search was made of.
    own: simulations, c and so on, for all: those of :class:`jb.SearchParams`, the rule's among them; by default as many
        simulations as the search has room for.
    numbers: the same as one value, or one for each position.
    params: the weights of the evaluator, if it has any.
    seconds: the search stops then at the latest, compiling not counted; 0 for no limit.
    seed: of the first state; those of the others are seed + 1, seed + 2, ...
    seeds: one for each, in their place.
    move, temperature: see :func:`jubango.bots.search.root.final_moves`.
    ensemble: trees for each state, whose results are added up.
    lanes: room for so many positions, so that one program does for batches of all sizes up to that.
    on_progress: called with (done, wanted) simulations a tree, a few times a second. Returning False stops the search,
        except at the first call; what has been found by then is returned.

    Raises UserError for a finished position.
    """
    if not states:
        return []
    began = time.perf_counter()
    states = [game_state(search.game, state) if isinstance(state, EnvState) else state for state in states]
    numbers = numbers or SearchParams(search.capacity)
    given = [numbers] * len(states) if isinstance(numbers, SearchParams) else list(numbers)
    each = [one.replace(**own) for one in given] if own else given
    for one in {id(one): one for one in each}.values():
        check_numbers(search.rule, one.own)
    wanted = max(one.simulations for one in each)
    if not 0 <= wanted <= search.capacity:
        raise UserError(f"a search with room for {search.capacity} simulations cannot make {wanted}")
    own_seeds = [one % 2**32 for one in (range(seed, seed + len(states)) if seeds is None else seeds)]
    driver = Driver(search, max(lanes, len(states)), ensemble, params)
    batch = stacked(states)
    view: View[np.ndarray] = View(*map(np.asarray, rules(search.game).view_lanes(batch)))
    if view.terminal[: len(states)].any():
        raise UserError("the game is over in a position to be searched")
    deadline = time.perf_counter() + seconds if seconds else math.inf
    orders = [SearchRequest(i, view.legal[i], one, own_seeds[i], deadline) for i, one in enumerate(each)]
    driver.begin(orders, batch)
    on_progress(0, wanted)
    going_on = True
    while going_on and driver.busy.any():  # at least once: there is always something to show
        driver.advance(CLOCK_SECONDS)
        going_on = on_progress(driver.least_done(len(states)), wanted) is not False
    found = driver.statistics(len(states))
    trees = Trees(driver)
    rule: MoveRule = move or search.rule.move
    actions = final_moves(found, [rule] * len(states), [temperature] * len(states), own_seeds, search.ties)
    actions = without_early_passes(search, actions, found, [rule] * len(states), states.__getitem__)
    spent = time.perf_counter() - began
    return [
        SearchResult(
            found.visits[i], found.value[i], found.prior[i], int(actions[i]), float(found.mean[i]), int(found.done[i]),
            spent, functools.partial(trees.lane, i * ensemble),
        )
        for i in range(len(states))
    ]  # fmt: skip


def run(
    search: SearchSpec,
    state: State,
    numbers: SearchParams | None = None,
    *,
    params: Params = (),
    seconds: float = 0.0,
    seed: int = 0,
    move: MoveRule | None = None,
    temperature: float = 0.0,
    ensemble: int = 1,
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
    **own: Unpack[SearchParamsKeys],
) -> SearchResult:
    """What the search of one position found: ``run(search, state, simulations=400, c=1.0, seed=1)``.

    search, state, numbers, own: as in :func:`run_many`, for one state.
    params, seconds, seed, move, temperature, ensemble, on_progress: as in :func:`run_many`.

    Raises UserError for a finished position.
    """
    return run_many(
        search, [state], numbers, params=params, seconds=seconds, seed=seed, move=move, temperature=temperature,
        ensemble=ensemble, on_progress=on_progress, **own,
    )[0]  # fmt: skip
