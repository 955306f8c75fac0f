"""The search as a player: any number of bots in one driver."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from jubango.bots.composition import evaluator_for, most_visits_decide, params_of, search_for, temperature_for
from jubango.bots.config import SearchConfig
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest, RecalledGame
from jubango.bots.search.host.device_selfplay import can_go_on
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.host.search_program import compile_ahead
from jubango.bots.search.packing import DeviceSelfPlay, SearchRequest
from jubango.bots.search.passing import instead_of_a_lost_count, without_early_passes
from jubango.bots.search.root import final_moves
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.sgf_games.records.thoughts import Thought
from jubango.sgf_games.rules.game import Game, State

PLY = 4  # bytes of the number of moves before trees


@dataclass
class Asked:
    """A request under way."""

    request: MoveRequest
    bot: SearchConfig
    ply: int  # of the move that is looked for; it moves on with what has been played unasked

    @property
    def seed(self) -> int:
        whole = self.request.whole
        return whole.seeds(self.ply) if whole else self.request.seed


class SearchPlayer(BatchPlayer):
    """Searches in up to ``lanes`` games for bots that differ only in numbers; each game starts and ends on its own."""

    def __init__(self, game: Game, bots: Sequence[SearchConfig], lanes: int) -> None:
        self.game = game
        reuse = any(bot.reuse for bot in bots)
        evaluator, params = evaluator_for(game, bots[0])
        self.driver = Driver(search_for(game, bots, evaluator), lanes, bots[0].ensemble, params, reuse)
        self._by_itself = can_go_on(self.driver.search)
        self._most = math.inf  # seconds of the next chunk
        self._asked: dict[int, Asked] = {}
        self._held: dict[int, tuple[str, list[int]]] = {}  # the game and the moves a lane's trees stand at
        self._recalled: set[int] = set()  # lanes whose trees come from another process, until they are asked for

    @staticmethod
    def compile_ahead(game: Game, bots: Sequence[SearchConfig], lanes: int, aside: Executor) -> None:
        """Trace what such a player runs, and compile it in ``aside``."""
        evaluator, params = evaluator_for(game, bots[0])
        search, reuse = search_for(game, bots, evaluator), any(bot.reuse for bot in bots)
        compile_ahead(search, lanes, bots[0].ensemble, params, reuse, aside)

    @property
    def simulations(self) -> int:
        return self.driver.made

    def begin(self, requests: Sequence[MoveRequest], states: State) -> None:
        now = time.perf_counter()
        orders = []
        for request in requests:
            bot = request.bot
            assert isinstance(bot, SearchConfig)
            seconds, longest = request.limit.bounds(bot.seconds, bot.patience)
            params = params_of(self.game, bot, request.legal)
            line = self._line(request) if bot.reuse else None
            onward = self._onward(request) if math.isinf(seconds) else None
            worth = bool(request.limit.seconds) or not bot.reuse  # else what is saved is of no use, and what is kept is
            settles = worth and most_visits_decide(bot, len(request.moves))
            resumed = request.lane in self._recalled and self._held[request.lane] == (request.game_id, [*request.moves])
            self._recalled.discard(request.lane)
            order = SearchRequest(
                request.lane, request.legal, params, request.seed, now + seconds, now + longest, line, settles, onward,
                resumed,
            )  # fmt: skip
            orders.append(order)
            self._asked[request.lane] = Asked(request, bot, len(request.moves))
            if bot.reuse:
                self._held[request.lane] = request.game_id, list(request.moves)
        self.driver.begin(orders, states)

    def _onward(self, request: MoveRequest) -> DeviceSelfPlay | None:
        """What the lane's tree goes on with by itself, if that is all there is to the game's moves from here on."""
        if request.whole is None or not self._by_itself:
            return None
        ply, params = len(request.moves), []
        for bot in request.whole.bots:
            assert isinstance(bot, SearchConfig)
            chance = temperature_for(bot, ply) or bot.noise
            if chance or bot.move != "visits" or not bot.simulations or bot.seconds or bot.ensemble > 1 or bot.reuse:
                return None
            params.append(params_of(self.game, bot, request.legal))
        seeds = request.whole.seeds
        return DeviceSelfPlay((params[0], params[1]), lambda k: seeds(ply + k))

    def _line(self, request: MoveRequest) -> list[int] | None:
        """The moves since this lane's trees stood at a root, if it is the same game."""
        game_id, moves = self._held.get(request.lane, ("", []))
        line = list(request.moves[len(moves) :])
        same = game_id == request.game_id and list(request.moves[: len(moves)]) == moves
        return line if same and 0 < len(line) <= LONGEST_KEPT_LINE else None

    def remembered(self, lane: int, game_id: str) -> bytes:
        """The number of moves that the lane's trees stand at, and the trees."""
        held, moves = self._held.get(lane, ("", []))
        return len(moves).to_bytes(PLY, "little") + self.driver.stored(lane) if held == game_id else b""

    def recall(self, games: Mapping[int, RecalledGame]) -> list[int]:
        plies = {i: int.from_bytes(game.remembered[:PLY], "little") for i, game in games.items()}
        own = {i: game for i, game in games.items() if len(game.remembered) > PLY and plies[i] <= len(game.moves)}
        wrong = self.driver.restore({i: game.remembered[PLY:] for i, game in own.items()})
        for i in own.keys() - set(wrong):
            self._held[i] = own[i].game_id, list(own[i].moves[: plies[i]])
            self._recalled.add(i)
        return [*wrong, *(games.keys() - own.keys())]

    @property
    def next_look(self) -> float:
        return self.driver.next_look

    def start(self, most: float, at_once: bool) -> None:
        self._most = most
        if at_once:
            self.driver.start(most)

    def rescale(self, factor: float) -> None:
        by_clock = [i for i, own in self._asked.items() if own.request.limit.seconds and not own.bot.seconds]
        self.driver.rescale(by_clock, factor)

    def hold(self) -> None:
        self.driver.hold()

    def advance(self) -> list[MoveAnswer]:
        lanes, found, moved = self.driver.advance(self._most)
        answers = []
        for lane, rows in moved:
            self._asked[lane].ply += len(rows)
            reals = rows[:, 3:].copy().view(np.float32).tolist()
            for (action, visits, total, *_), real in zip(rows.tolist(), reals, strict=True):
                answers.append(MoveAnswer(lane, action, Thought(visits, total, *real), goes_on=True))
        if found is None:
            return answers
        asked = [self._asked.pop(int(lane)) for lane in lanes]
        moves = [own.bot.move for own in asked]
        heat = [temperature_for(own.bot, own.ply) for own in asked]
        actions = final_moves(found, moves, heat, [own.seed for own in asked], asked[0].bot.ties)
        actions = without_early_passes(
            self.driver.search, actions, found, moves, lambda row: self.driver.root(int(lanes[row]))
        )
        for row in np.flatnonzero([own.request.judged for own in asked]).tolist():
            game, state = asked[row].request.game or self.game, self.driver.root(int(lanes[row]))
            actions[row] = instead_of_a_lost_count(game, state, found, row, moves[row], int(actions[row]))
        each = range(len(lanes))
        visits, values, priors = (x[each, actions].tolist() for x in (found.visits, found.value, found.prior))
        total, means = found.visits.sum(axis=1).tolist(), found.mean.tolist()
        return answers + [
            MoveAnswer(lane, action, Thought(seen, made, value if seen else mean, prior))
            for lane, action, seen, made, value, mean, prior in zip(
                lanes.tolist(), actions.tolist(), visits, total, values, means, priors, strict=True
            )
        ]

    def close(self) -> None:
        self.driver.close()
