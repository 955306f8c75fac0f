"""The search as a player: any number of bots in one driver."""

from __future__ import annotations

import time
from collections.abc import Sequence

from jubango.bots.composition import numbers_for, params_for, search_for, temperature_for
from jubango.bots.config import SearchConfig
from jubango.bots.player import MoveAnswer, MoveRequest, Player, Thought
from jubango.bots.search.driver import Driver
from jubango.bots.search.orders import Order
from jubango.bots.search.root import final_moves
from jubango.bots.search.tree import LONGEST_LINE
from jubango.sgf_games.game import Game, State


class SearchPlayer(Player):
    """Searches in up to ``lanes`` games for bots that differ only in numbers; each game starts and ends on its own."""

    def __init__(self, game: Game, bots: Sequence[SearchConfig], lanes: int) -> None:
        self.game = game
        reuse = any(bot.reuse for bot in bots)
        params = params_for(game, bots[0])
        self.driver = Driver(search_for(game, bots), lanes, bots[0].ensemble, params, reuse)
        self._asked: dict[int, tuple[MoveRequest, SearchConfig]] = {}
        self._held: dict[int, tuple[str, list[int]]] = {}  # the game and the moves a lane's trees stand at

    @property
    def simulations(self) -> int:
        return self.driver.made

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        now = time.perf_counter()
        orders = []
        for request in requests:
            bot = request.bot
            assert isinstance(bot, SearchConfig)
            limits = [seconds for seconds in (bot.seconds, request.seconds) if seconds]
            deadline = now + min(limits) if limits else float("inf")
            numbers = numbers_for(self.game, bot, request.legal)
            line = self._line(request) if bot.reuse else None
            orders.append(Order(request.lane, request.legal, numbers, request.seed, deadline, line))
            self._asked[request.lane] = request, bot
            if bot.reuse:
                self._held[request.lane] = request.game_id, list(request.moves)
        self.driver.begin(orders, states)

    def _line(self, request: MoveRequest) -> list[int] | None:
        """The moves since this lane's trees stood at a root, if it is the same game."""
        game_id, moves = self._held.get(request.lane, ("", []))
        line = list(request.moves[len(moves) :])
        same = game_id == request.game_id and list(request.moves[: len(moves)]) == moves
        return line if same and 0 < len(line) <= LONGEST_LINE else None

    def start(self) -> None:
        self.driver.start()

    def advance(self) -> list[MoveAnswer]:
        lanes, found = self.driver.advance()
        if found is None:
            return []
        asked = [self._asked.pop(int(lane)) for lane in lanes]
        actions = final_moves(
            found,
            [bot.move for _, bot in asked],
            [temperature_for(bot, len(request.moves)) for request, bot in asked],
            [request.seed for request, _ in asked],
            asked[0][1].ties,
        )
        rows = range(len(lanes))
        visits, values = found.visits[rows, actions].tolist(), found.value[rows, actions].tolist()
        total, means = found.visits.sum(axis=1).tolist(), found.mean.tolist()
        return [
            MoveAnswer(lane, action, Thought(seen, made, value if seen else mean))
            for lane, action, seen, made, value, mean in zip(
                lanes.tolist(), actions.tolist(), visits, total, values, means, strict=True
            )
        ]

    def close(self) -> None:
        self.driver.close()
