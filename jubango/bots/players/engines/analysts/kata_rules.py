"""Go's rules as KataGo's users name and write them."""

from __future__ import annotations

import json
from typing import Any

from jubango.sgf_games.rules.game import Game

# (ko, suicide) of rules with area scoring.
KATA_RULES = {
    "chinese": ("simple", False), "chinese-ogs": ("positional", False), "chinese-kgs": ("positional", False),
    "tromp-taylor": ("positional", True), "new-zealand": ("situational", True), "aga": ("situational", False),
    "bga": ("situational", False), "aga-button": ("situational", False),
}  # fmt: skip
KATA_KO = {"simple": "SIMPLE", "positional": "POSITIONAL", "situational": "SITUATIONAL"}


def has_named_rules(game: Game) -> bool:
    """Whether the game is Go with the rules that KataGo has names for."""
    return game.dialect == "go" and {"ko", "suicide"} <= game.parameters


def rules_table(game: Any) -> dict[str, object]:
    """The rules of a game that :func:`has_named_rules`, as KataGo has them: area scoring, komi alone for White."""
    return {
        "friendlyPassOk": False, "hasButton": False, "ko": KATA_KO[game.ko], "scoring": "AREA",
        "suicide": game.suicide, "tax": "NONE", "whiteHandicapBonus": "0",
    }  # fmt: skip


def rules_json(game: Any) -> str:
    """The same as text."""
    return json.dumps(rules_table(game))
