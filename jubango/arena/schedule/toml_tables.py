"""Tables of the TOML files that people write: what a key may be, and in what words it is refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from jubango.bots.config import BotConfig, LevelConfig, bot_from_table
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.models import checked
from jubango.sgf_games.base.specs import value_text

LARGEST_PLAN = 10_000_000  # bytes of such a file
COLOUR_PAIRS = {"multiple_of": "should be an even number; games come in colour-swapped pairs"}

Table = TypeVar("Table", bound=BaseModel)


class TomlTable(BaseModel):
    """Its keys are those of the table; there are no others, and no value stands for one of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def checked_table(
    model: type[Table], given: Mapping[str, object], where: str, words: Mapping[str, str] | None = None,
    called: Mapping[str, str] | None = None,
) -> Table:  # fmt: skip
    """``model(**given)``. An unknown key is said first: it may be one that is missing, misspelt. ``words`` and
    ``called`` are those of :func:`jubango.sgf_games.base.models.checked`. Raises UserError."""
    unknown = next((key for key in given if key not in model.model_fields), None)
    if unknown is not None:
        raise UserError(f'{where}: no key "{unknown}"{nearest(unknown, model.model_fields)}')
    return checked(model, given, where, " = ", words, called)


def expand_table(table: Mapping[str, object], where: str) -> list[BotConfig]:
    """The bots of a ``[[bots]]`` table: one for every combination of the values given as lists, ``uct/c=0.7``,
    ``uct/c=1.4``. Without a name they are called by their kind, and levels ``level=800``. Raises UserError."""
    swept = {key: value for key, value in table.items() if isinstance(value, list)}
    for key, value in swept.items():
        if not value:
            raise UserError(f"{where}: {key} is an empty list; give at least one value")
        if key in ("name", "use"):
            raise UserError(f"{where}: {key} cannot be a list; write one [[bots]] table for each")
    bots = []
    for values in itertools.product(*swept.values()):
        chosen = {**table, **dict(zip(swept, values, strict=True))}
        bot = bot_from_table({"name": str(table.get("use", "uct")), **chosen}, where)
        if "name" not in table and isinstance(bot, LevelConfig):
            bot = bot.model_copy(update={"name": bot.usual_name})
        elif swept:
            suffix = ",".join(f"{key}={value_text(chosen[key])}" for key in swept)
            bot = bot_from_table({**chosen, "name": f"{bot.name}/{suffix}"}, where)
        bots.append(bot)
    return bots
