"""Bots at work: a mover is asked for moves in many games and answers when it has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jubango.bots.config import BotConfig, GtpConfig, MinimaxConfig, RandomConfig, SearchConfig
from jubango.sgf_games import machine
from jubango.sgf_games.errors import UserError
from jubango.sgf_games.game import Game


class MoveRequest(NamedTuple):
    """Find a move in one lane. ``seed`` is all the randomness there is: the same request, alone or
    among others, gets the same answer."""

    lane: int
    game_id: str
    bot: BotConfig
    seed: int  # uint32
    legal: np.ndarray  # bool [A]
    moves: list[int]  # the game so far
    colour: int  # 0 Black, 1 White
    seconds: float = 0.0  # to think at most, by the game's clock; 0: no limit
    clock: float = 0.0  # seconds until the flag falls; 0: no clock


class Thought(NamedTuple):
    """What a bot says of its move: its visits out of all, and the value in [-1, 1] for itself."""

    visits: int
    simulations: int
    value: float


@dataclass(frozen=True)
class MoveAnswer:
    """A move, or why there is none.

    ``failure`` is empty, "resign", or what an external engine did wrong: "time", "crash",
    "illegal", "error".
    """

    lane: int
    action: int = -1
    thought: Thought | None = None
    failure: str = ""
    detail: str = ""


class Mover(Protocol):
    """Answers move requests for one or more bots."""

    blocking: bool  # does advance() work towards the answers, rather than only look for them?

    def begin(self, requests: list[MoveRequest], states: Any) -> None:
        """Take on requests; ``states`` is the whole batch of lanes, batch axis last."""

    def advance(self) -> list[MoveAnswer]:
        """Go on for a while, a quarter of a second at most; returns what is ready."""
        ...

    def finish(self, game_id: str) -> None:
        """The game is over."""

    def close(self) -> None: ...


class RandomMover:
    """Uniformly random legal moves."""

    blocking = True

    def __init__(self) -> None:
        self._asked: list[MoveRequest] = []

    def begin(self, requests: list[MoveRequest], states: Any) -> None:
        self._asked += requests

    def advance(self) -> list[MoveAnswer]:
        answers = []
        for request in self._asked:
            choices = np.flatnonzero(request.legal)
            pick = np.random.default_rng(request.seed).integers(len(choices))
            answers.append(MoveAnswer(request.lane, int(choices[pick])))
        self._asked = []
        return answers

    def finish(self, game_id: str) -> None:
        pass

    def close(self) -> None:
        pass


def affordable_lanes(game: Game, bots: Sequence[BotConfig]) -> int:
    """How many games' trees a quarter of the machine's memory holds. Raises UserError for none."""
    from jubango.bots.composition import composition, simulations_for
    from jubango.bots.search.program import VECTOR
    from jubango.bots.search.tree import tree_bytes

    memory = machine.memory() // 4
    largest: dict[Any, int] = {}  # bytes of a game's trees, for each program
    for bot in bots:
        if isinstance(bot, SearchConfig):
            need = bot.ensemble * tree_bytes(game, simulations_for(game, bot), bot.solver)
            if need > memory:
                raise UserError(
                    f'bot "{bot.name}": a tree of {bot.simulations:,} simulations of {game.spec} takes '
                    f"{need / 2**30:.1f} GiB, more than a quarter of this machine's memory; lower simulations"
                )
            kind = composition(game, bot), bot.ensemble, bot.name if bot.reuse else ""
            largest[kind] = max(largest.get(kind, 0), need)
    each = sum(largest.values())
    lanes = memory // each if each else 16_384
    if lanes < VECTOR * len(jax.devices()):  # a search fills up its vectors, unless it has one or two lanes
        lanes = VECTOR if lanes >= VECTOR else min(lanes, 2)
    return max(1, lanes)


def make_movers(game: Game, bots: list[BotConfig], lanes: int) -> dict[str, Mover]:
    """A mover for every bot, by name. Raises UserError for a bot that cannot play this game."""
    from jubango.bots.gtp.engine import GtpMover
    from jubango.bots.minimax import MinimaxMover
    from jubango.bots.search.player import movers_for

    movers: dict[str, Mover] = {}
    for bot in bots:
        if isinstance(bot, RandomConfig):
            movers[bot.name] = RandomMover()
        elif isinstance(bot, MinimaxConfig):
            movers[bot.name] = MinimaxMover(game, bot, lanes)
        elif isinstance(bot, GtpConfig):
            movers[bot.name] = GtpMover(game, bot)
    searching = [bot for bot in bots if isinstance(bot, SearchConfig)]
    return movers | dict(movers_for(game, searching, lanes))
