"""Searching positions from Python: ``run(search, state) -> SearchResult``."""

from __future__ import annotations

import functools
import math
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

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
from jubango.sgf_games.base.checks import finite, whole
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.environments.env import EnvState, game_state
from jubango.sgf_games.rules.batches import check_one
from jubango.sgf_games.rules.compiled import stacked, view_of
from jubango.sgf_games.rules.game import State

Progress: TypeAlias = Callable[[int, int], bool | None]
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
    seed: int | Sequence[int] = 0,
    seeds: Sequence[int] | None = None,
    move: MoveRule | None = None,
    temperature: float = 0.0,
    ensemble: int = 1,
    lanes: int = 0,
    on_progress: Progress = lambda done, wanted: None,
    **own: Unpack[SearchParamsKeys],
) -> list[SearchResult]:
    """What the search of each state found; all are searched at once, in ``ensemble`` trees each.

    search: the search.
    states: unbatched states of ``search.game``, or of the environment that the search was made of.
    numbers, seeds: of old, for simulations= and so on, and for seed=.
    params: the weights of the evaluator, if it has any; a module's own where they are left out.
    seconds: the search stops then at the latest, compiling not counted; 0 for no limit.
    seed: of the first state, those of the others being seed + 1, seed + 2, ...; or one for each.
    move, temperature: see :func:`jubango.bots.search.root.final_moves`.
    ensemble: trees for each state, whose results are added up.
    lanes: room for so many positions, so that one program does for batches of all sizes up to that.
    on_progress: called with (done, wanted) simulations a tree, a few times a second. Returning False stops the search,
        except at the first call; what has been found by then is returned.
    own: simulations, c and so on, a number for all or one for each: those of :class:`jb.SearchParams`, the rule's among
        them; by default as many simulations as the search has room for.

    Raises UserError for a finished position, for states of another game, and for numbers that cannot be meant.
    """
    if not isinstance(states, list | tuple) or hasattr(states, "_fields"):
        raise UserError("jb.run_many: wanted is a list of states; search(params, states, key) takes stacked ones")
    states = [_state(search, state, "jb.run_many") for state in states]
    if seeds is not None:
        _warn_of_old("seeds=[...]", "seed=[...]", 3)
        seed = seeds
    return search_each(
        search, states, _each(search, len(states), numbers, own), _seeds(seed, len(states)),
        params=search.evaluator.weights(params), seconds=seconds, move=move, temperature=temperature, ensemble=ensemble,
        lanes=lanes, on_progress=on_progress,
    )  # fmt: skip


def _warn_of_old(old: str, new: str, level: int) -> None:
    warnings.warn(f"jb.run and jb.run_many: {old} is now given as {new}", DeprecationWarning, stacklevel=level)


def _state(search: SearchSpec, state: State, where: str) -> State:
    if isinstance(state, EnvState):
        return game_state(search.game, state)
    check_one(search.game, state, where)
    return state


def _seeds(given: int | Sequence[int], number: int) -> list[int]:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        return [int(one) for one in _for_each("seed", given, number)]
    first = whole("seed", given, -(2**63), 2**64, "of the random numbers")
    return [first + i for i in range(number)]


def _each(
    search: SearchSpec, number: int, old: SearchParams | Sequence[SearchParams] | None, own: Mapping[str, Any]
) -> list[SearchParams]:
    """The parameters of so many positions."""
    if old is not None:
        _warn_of_old("numbers=SearchParams(...)", "simulations=, c= and so on, a number for all or one for each", 4)
        given = [old] * number if isinstance(old, SearchParams) else list(old)
        return [one.replace(**own) for one in given] if own else given
    lists = {name: _for_each(name, value, number) for name, value in own.items() if np.ndim(value)}
    alike = {name: value for name, value in own.items() if name not in lists}
    first = _checked(search, SearchParams(**{"simulations": search.capacity, **alike}))
    if not lists:
        return [first] * number
    rows = [{name: values[i] for name, values in lists.items()} for i in range(number)]
    return [_checked(search, first.replace(**row)) for row in rows]


def _checked(search: SearchSpec, params: SearchParams) -> SearchParams:
    whole("simulations", params.simulations, 0, search.capacity, "simulations, as many as the search has room for")
    whole("depth", params.depth, 0, 2**30, "nodes this deep are not expanded, 0 for no limit")
    for name, value in {"noise": params.noise, "alpha": params.alpha, **params.own}.items():
        finite(name, value)
    return params


def _for_each(name: str, given: Any, number: int) -> list[Any]:
    values = np.asarray(given).tolist()
    if len(values) != number:
        raise UserError(f"{name}: {len(values)} of them for {number} positions; give one, or one for each")
    return values


def search_each(
    search: SearchSpec,
    states: Sequence[State],
    given: Sequence[SearchParams] | Callable[[np.ndarray], SearchParams],
    seeds: Sequence[int],
    *,
    params: Params = (),
    seconds: float = 0.0,
    move: MoveRule | None = None,
    temperature: float = 0.0,
    ensemble: int = 1,
    lanes: int = 0,
    on_progress: Progress = lambda done, wanted: None,
) -> list[SearchResult]:
    """:func:`run_many` for positions that have parameters and seeds of their own.

    given: the parameters of each position, or a function that finds them by its legal actions, bool [A].
    """
    if not states:
        return []
    began = time.perf_counter()
    view = view_of(search.game, states)
    if view.terminal.any():
        raise UserError("the game is over in a position to be searched")
    each = [given(legal) for legal in view.legal] if callable(given) else given
    for one in {id(one): one for one in each}.values():
        check_numbers(search.rule, {**one.own, "noise": one.noise, "alpha": one.alpha, "temperature": temperature})
    wanted = max(one.simulations for one in each)
    if not 0 <= wanted <= search.capacity:
        raise UserError(f"a search with room for {search.capacity} simulations cannot make {wanted}")
    own_seeds = [one % 2**32 for one in seeds]
    if (move or search.rule.move) == "lcb" and ensemble > 1:
        raise UserError("move=lcb needs ensemble=1: bounds of several trees make no bound")
    driver = Driver(search, max(lanes, len(states)), ensemble, params)
    deadline = time.perf_counter() + seconds if seconds else math.inf
    orders = [SearchRequest(i, view.legal[i], one, own_seeds[i], deadline) for i, one in enumerate(each)]
    driver.begin(orders, stacked(states))
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
    on_progress: Progress = lambda done, wanted: None,
    **own: Unpack[SearchParamsKeys],
) -> SearchResult:
    """What the search of one position found: ``run(search, state, simulations=400, c=1.0, seed=1)``.

    search, state, numbers, own: as in :func:`run_many`, for one state.
    params, seconds, seed, move, temperature, ensemble, on_progress: as in :func:`run_many`.

    Raises UserError for a finished position, for states of another game, and for numbers that cannot be meant.
    """
    states = [_state(search, state, "jb.run")]
    return search_each(
        search, states, _each(search, 1, numbers, own), _seeds(seed, 1), params=search.evaluator.weights(params),
        seconds=seconds, move=move, temperature=temperature, ensemble=ensemble, on_progress=on_progress,
    )[0]  # fmt: skip
