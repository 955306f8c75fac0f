"""Starts an engine and sees to its end: ``python keeper.py SOCKET COMMAND...``, a process of its own for each engine.

``SOCKET`` is the number of a descriptor, one end of a pair. When the other end is closed, as the system does for a
process that ends in whatever way, the engine is killed; when the engine ends, the other end is told how. Either way
all that the engine has started ends with it, in its process group or (on Linux) not. Only the keeper kills, and only
what is still its own child, so that no number of a process can have become another's.

It imports nothing of jubango, so as to start quickly.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading

import psutil

SUBREAPER, DEATH_SIGNAL = 36, 1  # of Linux's prctl


def main() -> None:
    life = socket.socket(fileno=int(sys.argv[1]))
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else lambda *_: 0
    prctl(SUBREAPER, 1, 0, 0, 0)  # whose parents have ended are this process's children
    try:
        engine = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    except OSError as error:
        life.send(f"cannot start: {error.strerror}".encode())
        return
    leave_pipes()
    threading.Thread(target=wait_and_kill, args=(life, engine), daemon=True).start()
    status = engine.wait()
    with contextlib.suppress(OSError):  # nobody may be left to tell
        life.send((f"exit status {status}" if status >= 0 else f"signal {-status}").encode())
    end_all()


def leave_pipes() -> None:
    """They are the engine's alone, so that they close when it ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def wait_and_kill(life: socket.socket, engine: subprocess.Popen) -> None:
    life.recv(1)  # nothing is ever sent
    engine.kill()


def end_all() -> None:
    """Kill what the engine has left behind, and what that leaves to this process in its turn."""
    while children := psutil.Process().children(recursive=True):
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(children, timeout=1)
    os.killpg(0, signal.SIGKILL)  # where orphans go elsewhere: the group, this process with it


if __name__ == "__main__":
    main()
