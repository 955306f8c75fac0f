"""One bot on given positions: what it finds, without a game around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from jubango.bots.composition import calm, evaluator_for, params_of, search_for
from jubango.bots.config import BotConfig, SearchConfig
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.run import search_each
from jubango.bots.search.results.result import SearchResult
from jubango.bots.sizing import with_parallel_leaves
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import initial_state, rules, stacked
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


def make_programs(game: Game, bot: SearchConfig) -> None:
    """Nothing; it makes the programs with which :func:`run_bot` searches one position. Raises UserError for a bot that
    cannot play the game."""
    evaluator, weights = evaluator_for(game, bot)
    bot = with_parallel_leaves(bot, evaluator, 1)
    rules(game).view_lanes(stacked([initial_state(game)]))
    Driver(search_for(game, [bot], evaluator), 1, bot.ensemble, weights).close()
