"""What a process shows at a terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


def screen_of(command: list[str], cwd: Path, environment: dict[str, str], **pipes: int) -> str:
    """All that ``command`` writes to a terminal, stdout and stderr unless ``pipes`` say otherwise."""
    ours, theirs = pytest.importorskip("pty").openpty()
    with subprocess.Popen(command, cwd=cwd, env=environment, **{"stdout": theirs, "stderr": theirs, **pipes}):
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
    os.close(ours)
    return seen.decode()
