"""``--open``: a page that was written is shown in the browser, where there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import messages

OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def open_page(page: Path | str) -> None:
    """Show a file, or an address that begins with http://; where nothing can be shown, say where it is."""
    address = page if isinstance(page, str) else page.resolve().as_uri()
    if not (_has_display() and _opened(address)):
        messages().print(f"no browser can be opened here; the page is at {address}", soft_wrap=True)


def _has_display() -> bool:
    """Can a window be opened? Browsers of the terminal would take the screen that the command writes to."""
    if os.environ.get("BROWSER") or sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _opened(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
