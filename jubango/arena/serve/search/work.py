"""What the process that searches does for a page, a piece at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from jubango.bots.config import BotConfig, bot_from_table
from jubango.bots.players.levels import at_level
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.game import Game

PIECE_SECONDS = 0.1  # how long a turn takes, about
REPORT_SECONDS = 0.1  # between two reports on a search

Order = Mapping[str, object]
Tell = Callable[[dict[str, object]], None]


class Work(ABC):
    """Something under way. Raises UserError, CannotGoOn where it cannot be."""

    @abstractmethod
    def advance(self) -> dict[str, object] | None:
        """Go on for a turn; the answer once there is one."""

    def stop(self) -> None:
        """Answer with what there is."""
        return

    def close(self) -> None:
        """Nobody wants it any more."""
        return


def bot_of(order: Order, game: Game) -> BotConfig:
    """The bot that an order names by its table; of a level the bot that it stands for. Raises UserError."""
    table = order.get("bot")
    if not isinstance(table, dict):
        raise UserError("no bot was named")
    return at_level(game, bot_from_table(table, f'bot "{table.get("name", "")}"'))


def told_table(bot: BotConfig) -> dict[str, object]:
    """A bot as its table in JSON, the inverse of :func:`bot_of`."""
    return {**bot.changed, "name": bot.name, "use": bot.use}
