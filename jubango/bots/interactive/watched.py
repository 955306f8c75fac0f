"""A searching bot in a game of its own, whose thoughts can be seen while it searches: for people at a board."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence

import jax

from jubango.bots.config import SearchConfig
from jubango.bots.interactive.interactive_search import AnalysisInfo, InteractiveSearch, SearchedPosition
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.sgf_games.records.thoughts import Thought
from jubango.sgf_games.rules.compiled import prepare
from jubango.sgf_games.rules.game import Game, State

LOOK_SECONDS = 0.4  # between two looks at a search


class WatchedPlayer(BatchPlayer):
    """Plays one game at a time, in the first lane. ``watch`` is called with what is known while the bot searches, and
    ``last`` is what was known when it moved. Raises UserError for a bot that does not suit the game."""

    def __init__(self, game: Game, bot: SearchConfig, watch: Callable[[AnalysisInfo], None]) -> None:
        self.thinker = InteractiveSearch(game, bot, room=0, beside=functools.partial(prepare, game))
        self.last: AnalysisInfo | None = None
        self._watch = watch
        self._request: MoveRequest | None = None
        self._looked = 0.0
        self._hurried = False

    def watch(self, watch: Callable[[AnalysisInfo], None]) -> None:
        """Somebody else looks on."""
        self._watch = watch

    @property
    def simulations(self) -> int:
        return self.thinker.driver.made

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        (self._request,) = requests
        request = self._request
        state = jax.tree.map(lambda x: x[..., request.lane], states)
        position = SearchedPosition(state, request.legal, len(request.moves), request.seed, tuple(request.moves))
        self.thinker.begin(position, limit=request.limit)
        self._looked = time.perf_counter()
        self._hurried = False

    def hurry(self) -> None:
        self._hurried = True

    def advance(self) -> list[MoveAnswer]:
        request = self._request
        if request is None:
            return []
        self.thinker.advance(LOOK_SECONDS / 2)
        if self.thinker.busy and not (self._hurried and self.thinker.driver.least_done(1)):
            now = time.perf_counter()
            if now - self._looked >= LOOK_SECONDS:
                self._looked = now
                self._watch(self.thinker.findings())
            return []
        self._request, self.last = None, self.thinker.findings()
        action = self.thinker.choice(request.judged)
        found = next(move for move in self.last.moves if move.action == action)
        thought = Thought(found.visits, self.last.visits, 2 * found.win_rate - 1, found.prior)
        return [MoveAnswer(request.lane, action, thought)]

    def close(self) -> None:
        self.thinker.close()
