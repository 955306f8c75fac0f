"""Ctrl-C, SIGTERM and SIGHUP: each ends the command once, quietly, and is not lost."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from types import FrameType

ONE_WISH = 1.0  # seconds within which hitting it again says nothing new
LONGEST_IMPORT = 3.0  # seconds that an import may take to its end
RAISE_AFTER = 0.002
INTERRUPTED = 130  # exit status of Ctrl-C

_ended_by: list[int] = []  # signals


def listen() -> None:
    """From now on they raise KeyboardInterrupt, a little later where that would do harm or be lost: an import cut
    short may end in an abort, and what is raised in a callback of the garbage collector is dropped."""
    asked = -ONE_WISH

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        now = time.monotonic()
        if number != signal.SIGALRM:
            if now - asked < ONE_WISH:  # what is being ended is not disturbed
                return
            asked = now
            _ended_by.append(number)
            _let_go_of_lost_terminals()
        if not _importing(frame):
            raise KeyboardInterrupt
        if now - asked > LONGEST_IMPORT:
            os._exit(status())
        signal.setitimer(signal.ITIMER_REAL, RAISE_AFTER)

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, RAISE_AFTER)
        else:
            sys.__unraisablehook__(unraisable)

    if not hasattr(signal, "setitimer"):  # Windows
        return
    signal.signal(signal.SIGALRM, interrupt)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A shell has SIGINT ignored for what it starts in the background, nohup SIGHUP; what is ignored stays so.
        if signal.getsignal(name) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(name, interrupt)
    sys.unraisablehook = lost


def status() -> int:
    """The exit status of a command that was interrupted."""
    return 128 + (_ended_by or [signal.SIGINT])[-1]


def _let_go_of_lost_terminals() -> None:
    for stream in (1, 2):
        try:
            os.get_terminal_size(stream)
        except OSError as error:
            if error.errno == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def ignore() -> None:
    """What Python still has to do at its end is soon done."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None
