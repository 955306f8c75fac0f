"""Pages that are one file each: they load nothing, and what users have named in them stays text.

A page is a template with its style, its script and its data as JSON inside of it. A browser that opens it is told (by
its content security policy) to run that script alone, known by its digest, and to load nothing at all.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.coordinates import COLUMN_LETTERS
from jubango.sgf_games.rules.game import Game

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, title: str, data: Mapping[str, object], live: bool = False, **shown: object) -> str:
    """A page as HTML: ``template``.html, whose script is board.js and ``template``.js.

    data: what the script reads, anything that is plain for :func:`plain`. shown: what the template reads. live: the
    page may ask the server that it came from for more.
    """
    style, script = _text("page.css"), "\n".join(map(_text, ("board.js", f"{template}.js")))
    policy = [
        "default-src 'none'", f"style-src '{_digest(style)}'", f"script-src '{_digest(script)}'", "img-src data:",
        "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if live else []),
    ]  # fmt: skip
    return _environment().get_template(f"{template}.html").render(
        title=title, style=_markup(style), script=_markup(script), policy="; ".join(policy), data=plain(data), **shown
    )  # fmt: skip


def part(template: str, **shown: object) -> str:
    """A part of a page, ``template``.html, as HTML."""
    return _markup(_environment().get_template(f"{template}.html").render(**shown))


def board_facts(game: Game) -> dict[str, object]:
    """What a page's script has to know of a game to draw its boards."""
    return {
        "spec": game.spec,
        "width": game.width,
        "height": game.height,
        "columns": COLUMN_LETTERS,
        "crossings": game.on_crossings,
        "hexagonal": game.hexagonal,
        "stars": [r * game.width + c for r, c in game.star_points],
        "rules": game.placing,
    }


def plain(value: object) -> object:
    """What JSON knows: texts without what steers, no number that is none, infinities as text."""
    if isinstance(value, str):
        return printable(value, keep="\n\t")
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{value:+}"
    return value


def _markup(text: str) -> str:
    from markupsafe import Markup

    return Markup(text)


def _shown(value: object) -> object:
    """Every text that a template shows, made fit to be shown; it is escaped after that."""
    return printable(value, keep="\n") if type(value) is str else value


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("jubango.analysis.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, finalize=_shown, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


@functools.cache
def _text(name: str) -> str:
    return resources.files("jubango.analysis.report").joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
