"""Tables of the TOML files that people write: what a key may be, and in what words it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.models import checked

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
