"""Opponents of a stated strength: what a level of a game stands for, as benchmarks/levels.py has measured it.

A game with a network of its own has a ladder of curves. On a curve one number of a bot changes: the temperature of the
policy network, then that of a small search, then the simulations. Between two bots whose Elo is known that number is
interpolated, by its logarithm. A level is on the strongest curve that reaches down to it.
"""

from __future__ import annotations

import functools
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jubango.bots.config import BotConfig, LevelConfig, bot_from_spec
from jubango.bots.networks.arrays import LARGEST_WEIGHTS
from jubango.bots.networks.shipped import shipped
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import file_digest
from jubango.sgf_games.base.specs import value_text
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.game import Game

RANDOM_ELO = 400.0  # of the uniformly random bot, in every game: where the scale begins
TABLE = Path(__file__).parent / "levels.toml"
HEAT_DIGITS = 3  # of a temperature


class MeasuredLevel(NamedTuple):
    """A bot of a ladder, as it was measured."""

    value: float  # of the number that changes on its curve
    elo: float
    error: float  # half the width of the 95 % interval
    games: int


@dataclass(frozen=True)
class Curve:
    """Bots that differ in one number."""

    bot: str  # their spec without it
    key: str
    points: tuple[MeasuredLevel, ...]  # the weakest first

    @functools.cached_property
    def rising(self) -> tuple[MeasuredLevel, ...]:
        """The points without those that were measured no stronger than one before them."""
        kept: list[MeasuredLevel] = []
        for point in self.points:
            if not kept or point.elo > kept[-1].elo:
                kept.append(point)
        return tuple(kept)

    def at(self, elo: float) -> float:
        """The number with which the bot has this strength; at the ends of the curve it stays."""
        rising = self.rising
        found = float(np.exp(np.interp(elo, [one.elo for one in rising], [math.log(one.value) for one in rising])))
        return round(found) if self.key == "simulations" else float(f"{found:.{HEAT_DIGITS}g}")

    def spec(self, value: float) -> str:
        return f"{self.bot}{',' if ':' in self.bot else ':'}{self.key}={value_text(value)}"


@dataclass(frozen=True)
class Ladder:
    """The levels of a game."""

    game: Game
    network: str  # the digest of the weights with which they were measured
    curves: tuple[Curve, ...]

    @property
    def least(self) -> float:
        return self.curves[0].points[0].elo

    @property
    def most(self) -> float:
        return max(one.elo for curve in self.curves for one in curve.points)

    def spec(self, elo: float) -> str:
        """The bot of this strength, which is between ``least`` and ``most``. Between two curves it is the nearest."""
        place = max(i for i, curve in enumerate(self.curves) if curve.points[0].elo <= elo)
        curve, later = self.curves[place], self.curves[place + 1 :]
        if later and later[0].points[0].elo - elo < elo - curve.rising[-1].elo:
            curve = later[0]
        return curve.spec(curve.at(elo))

    @property
    def outdated(self) -> bool:
        """Does another network come with the package than the one that was measured?"""
        file = shipped(self.game)
        return file is None or file_digest(file, LARGEST_WEIGHTS) != self.network


@functools.cache
def ladders() -> tuple[Ladder, ...]:
    """Those of all games that have levels."""
    return tuple(
        Ladder(
            make_game(table["game"]),
            table["network"],
            tuple(
                Curve(curve["bot"], curve["key"], tuple(MeasuredLevel(*point) for point in curve["points"]))
                for curve in table["curves"]
            ),
        )
        for table in tomllib.loads(TABLE.read_text())["games"]
    )


def ladder_of(game: Game) -> Ladder | None:
    """The levels of a game, whatever its komi is."""
    board = game.family, game.height, game.width
    return next((one for one in ladders() if (one.game.family, one.game.height, one.game.width) == board), None)


def at_level(game: Game, bot: BotConfig) -> BotConfig:
    """The bot itself, or, of a level, the bot of that strength at this game. Raises UserError for a level that the game
    does not have."""
    if not isinstance(bot, LevelConfig):
        return bot
    where, ladder = f'bot "{bot.name}"', ladder_of(game)
    if ladder is None:
        known = ", ".join(one.game.spec for one in ladders())
        raise UserError(f"{where}: there are no levels for {game.spec}; there are some for {known}")
    if not ladder.least <= bot.level <= ladder.most:
        raise UserError(
            f"{where}: {game.spec} has levels from {ladder.least:.0f} to {ladder.most:.0f} "
            f"({shell.command('bots', '--levels')} lists them)"
        )
    return bot_from_spec(ladder.spec(bot.level), bot.name)
