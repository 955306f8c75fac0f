"""A searching bot at one position, which can be looked at while it searches: for programs that show its thoughts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jubango.bots.composition import calm, evaluator_for, most_visits_decide, params_of, search_for, temperature_for
from jubango.bots.config import SearchConfig
from jubango.bots.players.clock import MoveTime
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.search_program import compile_ahead
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.passing import instead_of_a_lost_count, without_early_passes
from jubango.bots.search.results.variations import variations
from jubango.bots.search.root import final_moves
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.bots.sizing import affordable_trees, with_parallel_leaves
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.programs import compiling_aside
from jubango.sgf_games.rules.compiled import initial_state, stacked
from jubango.sgf_games.rules.game import Game, State

LONGEST_ANALYSIS = 65_536  # simulations of an analysis that nobody ends
LONGEST_VARIATION = 15  # moves


class MoveInfo(NamedTuple):
    """What is known of a move."""

    action: int
    visits: int
    win_rate: float  # in [0, 1], for the player to move, draws counting half; without visits the position's
    lcb: float  # the lower end of its 95 % interval
    prior: float
    variation: tuple[int, ...]  # the principal variation, this move first
    bounds: tuple[float, float] = (0.0, 1.0)  # of the win rate that perfect play would have, as far as a solver proved


class AnalysisInfo(NamedTuple):
    """What a search has found so far."""

    moves: tuple[MoveInfo, ...]  # all legal ones: the best first, then by visits, then by prior
    visits: int
    win_rate: float  # in [0, 1], for the player to move: the mean of the search


NOTHING = AnalysisInfo((), 0, 0.5)


class SearchedPosition(NamedTuple):
    """What is searched."""

    state: State
    legal: np.ndarray  # bool [A], exact; moves that are not to be looked at are left out
    ply: int
    seed: int  # uint32, all the randomness there is
    line: tuple[object, ...] = ()  # the moves that led here, for bots that keep their trees


class InteractiveSearch:
    """One position at a time; many leaves of one tree at once fill the machine
    (:func:`jubango.bots.sizing.with_parallel_leaves`).

    room: simulations that an analysis makes at most, as far as the memory has room.
    beside: what is done while the search is being compiled.

    Raises UserError for a bot that does not suit the game.
    """

    def __init__(
        self, game: Game, bot: SearchConfig, room: int = LONGEST_ANALYSIS, beside: Callable[[], None] = lambda: None
    ) -> None:
        self.judge = evaluator_for(game, bot)
        self.game, self.bot = game, with_parallel_leaves(bot, self.judge.evaluator, 1)
        self.room = _room(game, self.bot, room)
        roomy = self.bot.model_copy(update={"simulations": self.room})
        search = search_for(game, [roomy], self.judge.evaluator)
        with compiling_aside() as aside:
            compile_ahead(search, 1, self.bot.ensemble, self.judge.params, bot.reuse, aside)
            beside()
        self.driver = Driver(search, 1, self.bot.ensemble, self.judge.params, bot.reuse)
        self.position: SearchedPosition | None = None
        self._began = 0.0
        self.begin(SearchedPosition(initial_state(game), np.ones(game.num_actions, bool), 0, 0), simulations=1)
        self.advance()
        self.findings()  # all programs have run once: compiling is on nobody's clock
        self.position = None

    def begin(
        self,
        position: SearchedPosition,
        *,
        simulations: int | None = None,
        seconds: float = math.inf,
        limit: MoveTime | None = None,
    ) -> None:
        """Search ``position``, whatever was searched before: with the bot's simulations by default, or with as many as
        there is room for, and for so many ``seconds`` at most. With a ``limit``, that of a game's clock, as the bot
        plays: with its noise, in its own seconds, and content once more time can change nothing."""
        quiet = {} if limit is not None else calm(self.bot)
        budget = {} if simulations is None else {"simulations": min(simulations, self.room)}
        params = params_of(self.game, self.bot.model_copy(update={**quiet, **budget}), position.legal)
        line = self._line(position) if self.bot.reuse else None
        self._began = time.perf_counter()
        settles = limit is not None and most_visits_decide(self.bot, position.ply)
        longest = seconds
        if limit is not None:
            seconds, longest = limit.bounds(self.bot.seconds, self.bot.patience)
        deadline, latest = self._began + seconds, self._began + longest
        order = SearchRequest(0, position.legal, params, position.seed, deadline, latest, line, settles)
        self.driver.begin([order], stacked([position.state]))
        self.position = position

    def _line(self, position: SearchedPosition) -> list[int] | None:
        """The moves since the last root, if they go on from there."""
        if self.position is None:
            return None
        before, now = self.position.line, position.line
        on = [action for action in now[len(before) :] if isinstance(action, int)]
        follows = now[: len(before)] == before and len(on) == len(now) - len(before)
        return on if follows and 0 < len(on) <= LONGEST_KEPT_LINE else None

    @property
    def busy(self) -> bool:
        """Is there anything left to do?"""
        return bool(self.driver.busy.any())

    @property
    def has_prior(self) -> bool:
        """Is what it says of moves before a search more than that they are all alike?"""
        return self.driver.search.evaluator.has_prior

    def advance(self, most: float = 0.1) -> None:
        """Search for ``most`` seconds at most."""
        self.driver.advance(most)

    def findings(self) -> AnalysisInfo:
        """What is known after the last :meth:`advance`."""
        assert self.position is not None
        found, legal = self.driver.statistics(1), np.flatnonzero(self.position.legal)
        visits, values, priors, mean = found.visits[0], found.value[0], found.prior[0], float(found.mean[0])
        lines = variations(self.driver.searching, LONGEST_VARIATION)
        proved = 0.5 + 0.5 * found.bounds[0] if self.bot.solver else None
        best = self._choice(0.0)
        order = sorted(
            legal.tolist(), key=lambda a: (a != best, -visits[a], -values[a] if visits[a] else 0, -priors[a], a)
        )
        moves = []
        for action in order:
            seen = int(visits[action])
            rate = 0.5 + 0.5 * float(values[action] if seen else mean)
            variation = tuple(a for a in lines[action].tolist() if a >= 0)
            bounds = (0.0, 1.0) if proved is None else (float(proved[0, action]), float(proved[1, action]))
            moves.append(MoveInfo(action, seen, rate, lower(rate, seen), float(priors[action]), variation, bounds))
        return AnalysisInfo(tuple(moves), int(visits.sum()), 0.5 + 0.5 * mean)

    def choice(self, judged: bool = False) -> int:
        """The move to play, with the temperature that the bot has there. judged: dead stones will be taken off before
        the points are counted."""
        assert self.position is not None
        chosen = self._choice(temperature_for(self.bot, self.position.ply))
        if not judged:
            return chosen
        found, state = self.driver.statistics(1), self.position.state
        return instead_of_a_lost_count(self.game, state, found, 0, self.bot.move, chosen)

    def _choice(self, temperature: float) -> int:
        assert self.position is not None
        found, state = self.driver.statistics(1), self.position.state
        chosen = final_moves(found, [self.bot.move], [temperature], [self.position.seed], self.bot.ties)
        return int(without_early_passes(self.driver.search, chosen, found, [self.bot.move], lambda _: state)[0])

    def close(self) -> None:
        self.driver.close()


def _room(game: Game, bot: SearchConfig, room: int) -> int:
    """Simulations that trees are made for. Raises UserError if the bot's own do not fit."""
    if not bot.simulations or bot.rule.scheduled:  # its schedule is made beforehand
        room = 0
    room = max(room, bot.simulations)
    while True:
        try:
            affordable_trees(game, bot.model_copy(update={"simulations": room}))
        except UserError:
            if room <= bot.simulations:
                raise
            room = max(room // 2, bot.simulations)
        else:
            return room


def lower(rate: float, visits: int) -> float:
    """The lower end of the 95 % interval of a win rate (Agresti & Coull 1998), as if every visit were a game that was
    won or lost: as wide as it can be."""
    games = visits + 4
    middle = (rate * visits + 2) / games
    return max(0.0, middle - 1.96 * math.sqrt(middle * (1 - middle) / games))


def line_of(moves: Sequence[tuple[int, int]], first: int) -> tuple[object, ...]:
    """(player, action) pairs as a :class:`SearchedPosition`'s line: the actions, while players take turns from
    ``first`` on; what is out of turn equals no tree's moves."""
    return tuple(action if player == (first + i) % 2 else (player, action) for i, (player, action) in enumerate(moves))
