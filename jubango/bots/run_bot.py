"""One bot on given positions: what it finds, without a game around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from jubango.bots.composition import calm, evaluator_for, params_of, search_for
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.evaluators.evaluator import Params
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.run import search_each
from jubango.bots.search.host.search_program import compile_ahead
from jubango.bots.search.results.result import SearchResult
from jubango.bots.search.spec import SearchSpec
from jubango.bots.sizing import affordable_trees, with_parallel_leaves
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import compiling_aside
from jubango.sgf_games.rules.compiled import prepare
from jubango.sgf_games.rules.game import Game, State


def run_bot(
    game: Game,
    bot: BotConfig,
    states: Sequence[State],
    seeds: Sequence[int],
    on_progress: Callable[[int, int], bool | None] = lambda done, wanted: None,
    lanes: int = 0,
) -> list[SearchResult]:
    """What a configured bot finds in positions, its ensemble, seconds and choice of the move included. The move is the
    best it finds: what chance adds to its games (temperature, noise at the root) is left out. Of few positions it
    searches as many leaves at once as fill the machine, see :func:`with_parallel_leaves`. ``lanes``: as in
    ``search_each``.

    Positions have no past: no tree is kept from one to another. Raises UserError for a bot that does not search.
    """
    if not isinstance(bot, SearchConfig):
        raise UserError(f'bot "{bot.name}": only a searching bot (uct, alphazero, ...) can show its visits')
    evaluator, weights = evaluator_for(game, bot)
    bot = with_parallel_leaves(bot, evaluator, len(states)).model_copy(update={"temperature": 0.0, **calm(bot)})
    return search_each(
        search_for(game, [bot], evaluator), states, functools.partial(params_of, game, bot), seeds, params=weights,
        seconds=bot.seconds,
        move=bot.move, ensemble=bot.ensemble, lanes=lanes, on_progress=on_progress,
    )  # fmt: skip


def compile_for_one(game: Game, bot: SearchConfig, aside: Executor) -> None:
    """Trace the search with which :func:`run_bot` looks at one position, and compile it in ``aside``. Raises UserError
    for a bot that cannot play the game, and for a tree that is too large."""
    affordable_trees(game, bot)
    compile_ahead(*_of_one(game, bot), False, aside)


def make_programs(game: Game, bot: SearchConfig) -> None:
    """Nothing; it makes the programs with which :func:`run_bot` searches one position of a game. Raises UserError for
    a bot that cannot play the game."""
    with compiling_aside() as aside:
        compile_for_one(game, bot, aside)
        prepare(game)
    Driver(*_of_one(game, bot)).close()


def _of_one(game: Game, bot: SearchConfig) -> tuple[SearchSpec, int, int, Params]:
    """What a :class:`Driver` is made of that searches one position."""
    evaluator, weights = evaluator_for(game, bot)
    bot = with_parallel_leaves(bot, evaluator, 1)
    return search_for(game, [bot], evaluator), 1, bot.ensemble, weights
