"""What can be said about a bot: the keys of a spec string and of a ``[[bots]]`` table, checked."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sgf_games.catalogue import parse_spec
from sgf_games.errors import UserError, nearest


class BotConfig(BaseModel):
    """A named, frozen configuration. ``use`` says what kind of bot the other keys configure."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f~]+$")]
    use: str

    @property
    def spec(self) -> str:
        """``use:key=value,...`` with the keys that differ from their defaults."""
        fields = type(self).model_fields
        changed = [
            f"{key}={_text(getattr(self, key))}"
            for key in fields
            if key not in ("name", "use") and getattr(self, key) != fields[key].default
        ]
        return self.use + (":" + ",".join(changed) if changed else "")


class RandomConfig(BotConfig):
    """Any legal move, uniformly."""

    use: Literal["random"] = "random"


class UctConfig(BotConfig):
    """UCT with random rollouts (Kocsis & Szepesvari 2006)."""

    use: Literal["uct"] = "uct"
    simulations: Annotated[int, Field(ge=1, le=1_000_000)] = 400
    c: Annotated[float, Field(ge=0, le=1000)] = math.sqrt(2)
    rollouts: Annotated[int, Field(ge=1, le=1024)] = 1


class GtpConfig(BotConfig):
    """An external Go program that speaks the Go Text Protocol, one process per game under way."""

    use: Literal["gtp"] = "gtp"
    command: Annotated[str, Field(min_length=1)]
    move_seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    start_seconds: Annotated[float, Field(gt=0, le=3_600)] = 30.0
    processes: Annotated[int, Field(ge=1, le=256)] = 4


KINDS: dict[str, type[BotConfig]] = {"random": RandomConfig, "uct": UctConfig, "gtp": GtpConfig}

# Ready-made bots: (kind, keys, what it is).
PRESETS: dict[str, tuple[str, dict[str, Any], str]] = {
    "random": ("random", {}, "any legal move, uniformly"),
    "uct": ("uct", {}, "UCT, one random rollout a leaf (Kocsis & Szepesvari 2006)"),
    **{
        f"mcts-{n}": ("uct", {"simulations": n}, f"the playout ladder: UCT with {n} rollouts a move")
        for n in (400, 800, 1600, 3200, 6400)
    },
    "gtp": ("gtp", {}, "an external Go program, e.g. gtp:command=gnugo --mode gtp"),
}


def bot_from_spec(spec: str, name: str | None = None) -> BotConfig:
    """The bot a spec string ``PRESET[:key=value,...]`` names. Raises UserError."""
    preset, _, rest = spec.strip().partition(":")
    if preset == "gtp" and rest.startswith("command="):  # a command line may hold commas
        return bot_from_table({"name": name or spec, "use": "gtp", "command": rest[8:]}, f'bot "{spec}"')
    _, head, options = parse_spec(spec, "bot")
    if head:
        raise UserError(f'bot "{spec}": "{head}" is not key=value')
    table = {"name": name or spec.strip(), "use": preset, **options}
    return bot_from_table(table, f'bot "{spec}"')


def bot_from_table(table: dict[str, Any], where: str) -> BotConfig:
    """The bot a ``[[bots]]`` table describes. Raises UserError, which begins with ``where``."""
    use = table.get("use", "uct")
    if use not in PRESETS:
        raise UserError(f'{where}: no bot is called "{use}"{nearest(str(use), PRESETS)}')
    kind, defaults, _ = PRESETS[use]
    model = KINDS[kind]
    unknown = [key for key in table if key not in model.model_fields]
    if unknown:
        known = [key for key in model.model_fields if key not in ("name", "use")]
        raise UserError(f'{where}: {kind} has no key "{unknown[0]}"{nearest(unknown[0], known)}')
    try:
        return model(**{**defaults, **table, "use": kind})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        given = "" if first["type"] == "missing" else f"={first['input']!r}".replace("'", "")
        if first["type"] == "string_pattern_mismatch":
            raise UserError(f"{where}: {key}{given}: may not hold ~ or control characters") from None
        message = first["msg"].removeprefix("Input ").removeprefix("Field ")
        raise UserError(f"{where}: {key}{given}: {message[:1].lower() + message[1:]}") from None


def expand_table(table: dict[str, Any], where: str) -> list[BotConfig]:
    """One bot for every combination of the values given as lists: ``uct/c=0.7``, ``uct/c=1.4``."""
    swept = [key for key, value in table.items() if isinstance(value, list)]
    for key in swept:
        if not table[key]:
            raise UserError(f"{where}: {key} is an empty list; give at least one value")
        if key in ("name", "use"):
            raise UserError(f"{where}: {key} cannot be a list; write one [[bots]] table for each")
    bots = []
    for values in itertools.product(*(table[key] for key in swept)):
        suffix = ",".join(f"{k}={_text(v)}" for k, v in zip(swept, values, strict=True))
        name = str(table.get("name", "")) + (f"/{suffix}" if suffix else "")
        bots.append(bot_from_table({**table, **dict(zip(swept, values, strict=True)), "name": name}, where))
    return bots


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
