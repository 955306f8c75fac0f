"""One key, without Enter."""

from __future__ import annotations

import os
import sys


def read_key() -> str:
    """The next key that is pressed at the terminal; what was typed before is dropped. Empty at the end of the input.
    Raises KeyboardInterrupt for Ctrl-C."""
    try:
        import termios
        import tty
    except ImportError:
        return _read_key_of_windows()
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    sys.stdout.flush()
    try:
        tty.setcbreak(terminal, termios.TCSAFLUSH)
        return os.read(terminal, 16).decode(errors="ignore")[:1]  # a key may be several bytes
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_key_of_windows() -> str:
    import msvcrt

    return str(msvcrt.getwch())  # type: ignore[attr-defined]
