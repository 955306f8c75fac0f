"""What to type: commands that are printed run where the user stands."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

COMMAND_NAME = "jubango"
MODULE = "jubango.arena.commands"


def command(*words: object) -> str:
    """``jubango WORDS``, quoted for a shell, as it can be typed in the current folder: by its name alone if that finds
    this very program, else by the path of its script, else through Python."""
    return shlex.join([*_program(), *map(str, words)])


def _program() -> list[str]:
    begun = Path(sys.argv[0])
    script = begun if begun.stem == COMMAND_NAME else Path(sys.executable).with_name(COMMAND_NAME)
    if begun.match("commands/__main__.py") or not script.is_file():
        return [_path(Path(sys.executable)), "-m", MODULE]
    found = shutil.which(COMMAND_NAME)
    return [COMMAND_NAME] if found and os.path.samefile(found, script) else [_path(script)]


def _path(file: Path) -> str:
    """From the current folder if it lies below that; a shell runs it as it is written."""
    own, here = Path(os.path.abspath(file)), Path.cwd()  # the link that Python is in an environment stays one
    if own.parent == here:
        return f"./{own.name}"
    return str(own.relative_to(here) if own.is_relative_to(here) else own)
