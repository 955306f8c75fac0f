"""A position looked at for as long as somebody looks on, by a bot of ours or by other people's engine."""

from __future__ import annotations

import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import cast

import numpy as np

from jubango.analysis.positions.asked import questions_of
from jubango.arena.serve.search.told import session_of
from jubango.arena.serve.search.work import PIECE_SECONDS, REPORT_SECONDS, Order, Tell, Work, bot_of
from jubango.bots.config import SearchConfig
from jubango.bots.gtp_server.session import Session, TurnToMove
from jubango.bots.gtp_server.territory import Territory
from jubango.bots.interactive.interactive_search import InteractiveSearch, SearchedPosition
from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine
from jubango.bots.players.engines.analysts.analyst import EngineLimits, EngineResult, Look, Seen
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.sgf.past import Past
from jubango.sgf_games.sgf.positions import Position

ROOM = 32_768  # simulations of an analysis at most
MOST_SEARCHES = 2  # whose trees are kept for the next position of their games
_SHOWN_MOVES = 24
_SHOWN_LINE = 12  # moves of a variation
FIRST_OWNERS = 0.4  # seconds of an analysis until it says whose each point is
LEAST_PIECE = 0.02  # seconds of a turn, however soon a report is due
ENGINE_POLL = 0.02  # seconds of a turn in which an engine has nothing new to say
ENGINE_TURN = 1.5  # seconds of an engine's first turn, where somebody else waits for it; then twice as many
ENGINE_CLOSING = 1.0  # that an engine is given to end
LONGEST_ENGINE = 60.0  # seconds of an engine's analysis
LONGEST_TRY = 5.0  # of one that ends at a number of simulations


class Searches:
    """Those that have analysed, for the next position of their game."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], InteractiveSearch] = OrderedDict()

    def take(self, key: str, session: Session, bot: SearchConfig) -> InteractiveSearch:
        """The search of a bot for whoever ``key`` names. Raises UserError."""
        own = self._key(key, session, bot)
        return self._kept.pop(own, None) or InteractiveSearch(session.game, bot, ROOM)

    def give_back(self, key: str, session: Session, bot: SearchConfig, search: InteractiveSearch) -> None:
        self._kept[self._key(key, session, bot)] = search
        while len(self._kept) > MOST_SEARCHES:
            self._kept.popitem(last=False)[1].close()

    @staticmethod
    def _key(key: str, session: Session, bot: SearchConfig) -> tuple[object, ...]:
        return key, session.game, repr(bot)


class AnalysisWork(Work):
    """By a bot of ours; what it says is Black's but for the moves' win rates, which are the mover's."""

    def __init__(self, order: Order, tell: Tell, searches: Searches) -> None:
        self._order, self._tell, self._searches = order, tell, searches
        self._search: InteractiveSearch | None = None
        self._stopped = False
        self._owners: list[int] | None = None
        self._lead: float | None = None
        self._owned_at = self._looked = 0.0
        self._spent = 0.0  # seconds of search

    def _begin(self) -> InteractiveSearch:
        self._session = session = session_of(self._order)
        bot = bot_of(self._order, session.game)
        if not isinstance(bot, SearchConfig):
            raise UserError(f"{bot.name} does not search, and so cannot analyse; choose another")
        if not bot.reuse and not bot.depth and not bot.rule.scheduled:
            bot = bot.model_copy(update={"reuse": True})  # what was searched is the next position's too
        self._bot, self._turn = bot, session.turn()
        if self._turn.over or not self._turn.legal.any():
            raise UserError("the game is over here")
        search = self._search = self._searches.take(str(self._order["key"]), session, bot)
        self._territory = Territory(session.game, search.judge)
        turn, most = self._turn, int(cast(int, self._order.get("most", ROOM)))
        seed = int(cast(int, self._order.get("seed", 1)))
        search.begin(SearchedPosition(turn.state, turn.legal, turn.ply, seed, turn.line), simulations=most)
        return search

    def advance(self) -> dict[str, object] | None:
        search, began = self._search or self._begin(), time.perf_counter()
        due = self._looked + REPORT_SECONDS
        search.advance(min(PIECE_SECONDS, max(LEAST_PIECE, due - began)))
        now = time.perf_counter()
        self._spent += now - began
        over = self._stopped or not search.busy
        if over or now >= due:
            self._looked = now
            said = self._said(search, over)
            if over:
                self._searches.give_back(str(self._order["key"]), self._session, self._bot, search)
                self._search = None
                return {**said, "kind": "done"}
            self._tell({**said, "kind": "update"})
        return None

    def _said(self, search: InteractiveSearch, over: bool) -> dict[str, object]:
        game, turn, found = self._session.game, self._turn, search.findings()
        if self._order.get("owners") and (over or self._spent >= max(FIRST_OWNERS, 2 * self._owned_at)):
            self._owned_at = self._spent
            owners = self._territory.owners(turn.state, found.moves)
            self._owners = [round(100 * own) for own in owners.tolist()]
            if game.counts_points:
                self._lead = round(self._territory.judge(turn.state, found.moves).score, 1)
        black = 1 - found.win_rate if turn.player else found.win_rate
        moves = []
        for move in found.moves[:_SHOWN_MOVES]:
            point = game.action_point(turn.state, move.action)
            moves.append({
                "move": game.action_text(move.action),
                "point": -1 if point is None else point[0] * game.width + point[1],
                "visits": move.visits,
                "prior": round(100 * move.prior, 1) if search.has_prior else None,
                "rate": round(100 * move.win_rate, 1),
                "line": [game.action_text(action) for action in move.variation[:_SHOWN_LINE]],
                "proved": move.bounds[0] if move.bounds[0] == move.bounds[1] else None,
            })  # fmt: skip
        return {
            "visits": found.visits, "rate": round(100 * black, 1), "moves": moves, "owners": self._owners,
            "lead": self._lead, "player": turn.player, "seconds": round(self._spent, 2),
        }  # fmt: skip

    def stop(self) -> None:
        self._stopped = True

    def close(self) -> None:
        if self._search is not None:  # its trees are the next position's
            self._searches.give_back(str(self._order["key"]), self._session, self._bot, self._search)
            self._search = None


class Engines:
    """The engine that was asked last, which stays ready. One question is asked at a time, in a thread: an engine is a
    process of its own, and others go on while it thinks."""

    def __init__(self) -> None:
        self._engine: AnalysisEngine | None = None
        self._thread = ThreadPoolExecutor(1)
        self._asked: list[Future[None]] = []
        self._over = False

    @property
    def crowded(self) -> bool:
        """Does a question wait for another one?"""
        return self._over or any(not one.running() and not one.done() for one in self._asked)

    def ask(self, command: str, position: Position, limits: EngineLimits, look: Look, seen: Seen) -> Future[None]:
        """Have it look at a position, as :meth:`AnalysisEngine.ask` says; ``seen`` has the answer too."""
        asked = self._thread.submit(self._answered, command, position, limits, look, seen)
        self._asked = [*(one for one in self._asked if not one.done()), asked]
        return asked

    def _answered(self, command: str, position: Position, limits: EngineLimits, look: Look, seen: Seen) -> None:
        if self._engine is None or self._engine.command != command:
            self._forget()
            self._engine = AnalysisEngine(command)
        engine = self._engine
        try:
            for place, result in engine.ask(questions_of([position]), limits, look, seen):
                if result is not None:
                    seen(place, result)
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def close(self) -> None:
        self._over = True
        with suppress(TimeoutError):
            self._thread.submit(self._forget).result(ENGINE_CLOSING)


class EngineWork(Work):
    """The same by other people's engine."""

    def __init__(self, order: Order, tell: Tell, engines: Engines) -> None:
        self._order, self._tell, self._engines = order, tell, engines
        self._turn: TurnToMove | None = None
        self._asked: Future[None] | None = None
        self._stopped = self._yielded = False
        self._turn_seconds = ENGINE_TURN
        self._result: EngineResult | None = None
        self._told: EngineResult | None = None
        self._began = 0.0  # when the engine began with this question
        self._spent = 0.0  # seconds of those before it

    @property
    def _seconds(self) -> float:
        return self._spent + (time.perf_counter() - self._began if self._began else 0.0)

    def _ask(self) -> Future[None]:
        if self._turn is None:
            self._session = session_of(self._order)
            self._turn = self._session.turn()
            self._position = position_of(self._session, self._turn)
        most = int(cast(int, self._order.get("most", 0)))
        self._longest = LONGEST_TRY if most else LONGEST_ENGINE
        limits = EngineLimits(most or None, self._longest - self._spent)
        self._asked = self._engines.ask(str(self._order["command"]), self._position, limits, self._look, self._see)
        return self._asked

    def _look(self, done: float) -> bool:
        """In the engine's thread: may it go on?"""
        self._began = self._began or time.perf_counter()
        self._yielded |= self._engines.crowded and time.perf_counter() - self._began > self._turn_seconds
        return not (self._stopped or self._yielded)

    def _see(self, place: int, result: EngineResult) -> None:
        self._began = self._began or time.perf_counter()
        if self._result is None or result.simulations >= self._result.simulations:  # it begins anew at each turn
            self._result = result

    def advance(self) -> dict[str, object] | None:
        asked = self._asked or self._ask()
        over = bool(wait([asked], ENGINE_POLL).done)
        result = self._result
        if over:
            self._spent, self._began = self._seconds, 0.0
            self._asked = None
            asked.result()
            if self._stopped or not self._yielded or self._spent >= self._longest:
                return {**(self._said(result) if result else {}), "kind": "done"}
            self._yielded, self._turn_seconds = False, 2 * self._turn_seconds
        if result is not None and result is not self._told:
            self._told = result
            self._tell({**self._said(result), "kind": "update"})
        return None

    def _said(self, result: EngineResult) -> dict[str, object]:
        assert self._turn is not None
        game, turn = self._session.game, self._turn
        order = sorted(
            np.flatnonzero(turn.legal).tolist(),
            key=lambda a: (a != result.action, -result.visits[a], -result.priors[a], a),
        )
        moves = []
        for action in order[:_SHOWN_MOVES]:
            point = game.action_point(turn.state, action)
            value = result.values[action] if result.visits[action] else result.value
            moves.append({
                "move": game.action_text(action), "point": -1 if point is None else point[0] * game.width + point[1],
                "visits": int(result.visits[action]),
                "prior": round(100 * float(result.priors[action]), 1) if result.has_prior else None,
                "rate": round(50 + 50 * float(value), 1),
                "line": [game.action_text(one) for one in result.variation_of(action)[:_SHOWN_LINE]], "proved": None,
            })  # fmt: skip
        rate = 50 + 50 * result.value
        owners = None if result.ownership is None else [round(100 * x) for x in result.ownership.tolist()]
        return {
            "visits": result.simulations, "rate": round(100 - rate if turn.player else rate, 1), "moves": moves,
            "owners": owners, "lead": None if result.lead is None else round(result.lead, 1), "player": turn.player,
            "seconds": round(self._seconds, 2),
        }  # fmt: skip

    def stop(self) -> None:
        self._stopped = True

    def close(self) -> None:
        self._stopped = True


def position_of(session: Session, turn: TurnToMove) -> Position:
    """The position of a game under way, with what led there."""
    game, stones = session.game, None
    node = session.beginning
    if node.black or node.white:
        stones = np.zeros((game.height, game.width), np.int8)
        for colour, points in ((1, node.black), (2, node.white)):
            for point in points:
                stones[point] = colour
    line = []
    for i, own in enumerate(session.played):
        line.append((own.player, session.point_of(i)))
        if own.setup is not None:
            stones, line = game.stones(own.state), []
    last = line[-1] if line else (None, None)
    past = Past(stones, line, len(line))
    return Position(game, turn.state, len(session.played), last[1], last[0], None, past=past)
