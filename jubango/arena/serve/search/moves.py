"""A move that a bot or an engine chooses, with its thoughts on the way."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import cast

import numpy as np

from jubango.arena.serve.search.told import session_of
from jubango.arena.serve.search.work import Order, Tell, Work, bot_of
from jubango.bots.config import BotConfig, EngineConfig, SearchConfig
from jubango.bots.gtp_server.session import Session
from jubango.bots.interactive.interactive_search import AnalysisInfo
from jubango.bots.interactive.watched import WatchedPlayer
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.clock import NO_LIMIT, MoveTime
from jubango.bots.roster import make_players
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import stacked
from jubango.sgf_games.rules.game import Game

MOST_PLAYERS = 4  # that are kept for the next move of their games
_SHOWN_LINE = 10  # moves
_EVENTS = {
    "time": "took too long", "crash": "has died", "illegal": "made an illegal move", "error": "failed",
    "refused": "does not accept a move of this game",
}  # fmt: skip


class Players:
    """Those that have played, each in one game, for its next move."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Game, str], BatchPlayer] = OrderedDict()

    def take(self, key: str, game: Game, bot: BotConfig) -> BatchPlayer:
        """The player of a bot in the game that ``key`` names. Raises UserError."""
        own = key, game, repr(bot)
        found = self._kept.pop(own, None)
        if found is None:
            if isinstance(bot, SearchConfig):
                found = WatchedPlayer(game, bot, lambda found: None)
            else:
                found = make_players(game, [bot], 1)[bot.name]
        return found

    def give_back(self, key: str, game: Game, bot: BotConfig, player: BatchPlayer) -> None:
        self._kept[key, game, repr(bot)] = player
        while len(self._kept) > MOST_PLAYERS:
            self._kept.popitem(last=False)[1].close()

    def close(self) -> None:
        while self._kept:
            self._kept.popitem()[1].close()


class MoveWork(Work):
    """A move in a game; see :func:`jubango.arena.serve.search.thinker.Thinker.begin` for the order."""

    def __init__(self, order: Order, tell: Tell, players: Players) -> None:
        self._order, self._tell, self._players = order, tell, players
        self._player: BatchPlayer | None = None
        self._session: Session | None = None

    def _begin(self) -> BatchPlayer:
        order = self._order
        self._session = session = session_of(order)
        self._bot = bot = bot_of(order, session.game)
        turn = session.turn()
        if isinstance(bot, EngineConfig) and (session.beginning.black or session.beginning.white):
            raise UserError(f"{bot.name} is an engine, and cannot go on from stones that were set up; name a bot")
        player = self._players.take(str(order["key"]), session.game, bot)
        self._player = player
        if isinstance(player, WatchedPlayer):
            player.watch(self._watch)
        request = MoveRequest(
            0, str(order["key"]), bot, int(cast(int, order["seed"])), turn.legal,
            [own.action for own in session.played], turn.player,
            MoveTime(*cast("list[float]", order.get("limit", NO_LIMIT))), float(cast(float, order.get("clock", 0.0))),
            game=session.game, judged=True,
        )  # fmt: skip
        self._began = time.perf_counter()
        self._turn = turn
        player.begin([request], stacked([turn.state]))
        return player

    def _watch(self, found: AnalysisInfo) -> None:
        if found.moves and found.visits:
            self._tell({"kind": "update", **self._thought(found)})

    def _thought(self, found: AnalysisInfo) -> dict[str, object]:
        assert self._session is not None
        best, game = found.moves[0], self._session.game
        rates = [best.win_rate, 1 - best.win_rate]
        return {
            "visits": found.visits, "rate": round(100 * rates[self._turn.player], 1),
            "line": [game.action_text(action) for action in best.variation[:_SHOWN_LINE]],
            "seconds": round(time.perf_counter() - self._began, 1),
        }  # fmt: skip

    def advance(self) -> dict[str, object] | None:
        player = self._player or self._begin()
        answers = player.advance()
        return self._answered(player, answers[0]) if answers else None

    def _answered(self, player: BatchPlayer, answer: MoveAnswer) -> dict[str, object]:
        assert self._session is not None
        game, thought = self._session.game, answer.thought
        said: dict[str, object] = {"kind": "done", "event": answer.event, "detail": answer.detail}
        if answer.event in _EVENTS:
            player.close()
            said["error"] = f"{self._bot.name} {_EVENTS[answer.event]}: {answer.detail}".rstrip(": ")
        else:
            self._players.give_back(str(self._order["key"]), game, self._bot, player)
            if not answer.event:
                said["move"] = game.action_text(answer.action)
        self._player = None
        if isinstance(player, WatchedPlayer) and player.last is not None:
            said["thought"] = self._thought(player.last)
        elif thought is not None and not math.isnan(thought.value):
            share = 0.5 + 0.5 * thought.value
            rate = round(100 * [share, 1 - share][self._turn.player], 1)
            said["thought"] = {"visits": max(0, thought.simulations), "rate": rate, "line": [], "seconds": 0.0}
        return said

    def stop(self) -> None:
        if self._player is not None:
            self._player.hurry()

    def close(self) -> None:
        if self._player is not None:
            self._player.close()


class ReadyWork(Work):
    """The player of the move that comes next in a game, while somebody else thinks; ordered as the move is."""

    def __init__(self, order: Order, players: Players) -> None:
        self._order, self._players = order, players

    def advance(self) -> dict[str, object]:
        key, game = str(self._order["key"]), session_of(self._order).game
        bot = bot_of(self._order, game)
        self._players.give_back(key, game, bot, self._players.take(key, game, bot))
        return {"kind": "done"}


def dead_stones(session: Session) -> list[int]:
    """The points of stones that the players would take off before they count, as random games see it."""
    return [int(point) for point in np.flatnonzero(session.game.dead_stones(session.state))]
