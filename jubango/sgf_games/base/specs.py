"""Spec strings, ``NAME[:HEAD],key=value,...``: taken apart, and the values in them written."""

from __future__ import annotations

import re
from collections.abc import Collection

from jubango.sgf_games.base.errors import UserError

# What lies between two commas: key="value", in which commas do not count, or anything else.
_PART = re.compile(r'(?:^|,)(?:([^,="]*)=\s*"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))')


def parse_spec(text: str, what: str, open_key: str = "", keys: Collection[str] = ()) -> tuple[str, str, dict[str, str]]:
    """Split ``name[:rest]`` into (name, first part without "=", keys). Raises UserError.

    A value in quotation marks may hold commas, and quotation marks written twice. Without them a value ends at the next
    comma, but for that of ``open_key``, which goes on up to the next of ``keys``.
    """
    name, *rest = re.split("[:,]", text.strip(), maxsplit=1)
    head, options, going_on = "", dict[str, str](), False
    for i, part in enumerate(_PART.finditer("".join(rest))):
        quoted_key, quoted, plain = part.groups()
        key, equals, value = (quoted_key, "=", quoted) if plain is None else plain.partition("=")
        key = key.strip()
        if going_on and not (equals and key in keys):
            options[open_key] += part[0]
        elif equals:
            if key in options:
                raise UserError(f'{what} "{text}": {key} is given twice')
            options[key] = value.strip() if plain is not None else quoted.replace('""', '"')
            going_on = key == open_key and plain is not None
        elif key and i:
            raise UserError(f'{what} "{text}": "{key}" is not key=value')
        else:
            head = head or key
    return name.strip(), head, options


def value_text(value: object) -> str:
    """A key's value as spec strings have it: a number as short as it is exact, text in quotes where it needs them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    text = str(value)
    if "," in text or text != text.strip() or text.startswith('"'):
        text = '"' + text.replace('"', '""') + '"'
    return text
