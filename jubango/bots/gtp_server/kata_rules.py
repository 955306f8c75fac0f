"""What of the rules that KataGo's users name and write is played here."""

from __future__ import annotations

import json
from typing import Any

from jubango.bots.gtp_server.wire import GtpError
from jubango.bots.players.engines.analysts.kata_rules import KATA_KO, KATA_RULES


def rules_named(text: str | dict[str, object]) -> tuple[str, bool]:
    """(ko, suicide) of a name or of KataGo's JSON. Raises GtpError for what is not played here: territory, taxes, a
    button."""
    said: Any = text
    if isinstance(text, str):
        name = text.strip().lower().replace("_", "-")
        if name in KATA_RULES:
            return KATA_RULES[name]
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            raise GtpError(f"unknown rules; known: {', '.join(KATA_RULES)}, or JSON") from None
    if not isinstance(said, dict):
        raise GtpError(f"unknown rules; known: {', '.join(KATA_RULES)}, or JSON")
    ko = {name: key for key, name in KATA_KO.items()}.get(str(said.get("ko", "SIMPLE")).upper())
    scoring, tax = (str(said.get(key, plain)).upper() for key, plain in (("scoring", "AREA"), ("tax", "NONE")))
    if ko is None or scoring != "AREA" or tax != "NONE" or said.get("hasButton"):
        raise GtpError("these rules are not played here: ko SIMPLE, POSITIONAL or SITUATIONAL, scoring AREA, tax NONE")
    return ko, bool(said.get("suicide", False))
