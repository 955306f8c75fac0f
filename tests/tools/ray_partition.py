"""A tournament on a Ray cluster whose nodes lie in network namespaces of this machine, of which one is cut off for a
while: its link is taken down, and up again.

python tests/tools/ray_partition.py [SECONDS...]     as root; 5, 30 and 90 without numbers

The games are those of one process, each is there once, and the folder is whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kills import kept_in
from ray_nodes import Nodes
from sitting import Sitting, check, environment, laid_out, rows

SPACE, BRIDGE, LINK, INNER = "jubango", "jbridge", "jlink", "jinner"  # of this machine while a case runs
HERE, THERE = "10.213.0.1", "10.213.0.2"


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


def possible() -> bool:
    """Can namespaces be made here?"""
    if os.name != "posix" or os.geteuid():
        return False
    try:
        with space():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def space() -> Iterator[None]:
    """A namespace whose one link leads to a bridge of this machine."""
    try:
        for words in (
            f"netns add {SPACE}", f"link add {BRIDGE} type bridge", f"addr add {HERE}/24 dev {BRIDGE}",
            f"link set {BRIDGE} up", f"link add {LINK} type veth peer name {INNER} netns {SPACE}",
            f"link set {LINK} master {BRIDGE}", f"link set {LINK} up", f"-n {SPACE} link set lo up",
            f"-n {SPACE} addr add {THERE}/24 dev {INNER}", f"-n {SPACE} link set {INNER} up",
        ):  # fmt: skip
            ip(words)
        yield
    finally:
        for words in (f"netns del {SPACE}", f"link del {BRIDGE}"):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(words)


def partition(seconds: float, place: Path) -> str:
    """Cut the node off for so long, and say what came of it. Raises AssertionError."""
    laid_out(place, games=2 * int(100 + 12 * seconds))
    with space(), Nodes(environment(place), head=HERE, quick=False) as nodes:
        node = nodes.add(THERE, SPACE)
        sitting = Sitting(place, nodes.address)
        try:
            sitting.games(150)
            assert len(node.hosts) == 1
            began, before = time.monotonic(), kept_in(sitting.run)
            ip(f"link set {LINK} down")
            time.sleep(seconds)
            after = kept_in(sitting.run)
            ip(f"link set {LINK} up")
            assert after > before, "nobody has played meanwhile"
            assert sitting.process.poll() is None, sitting.said
            sitting.end()
        finally:
            sitting.kill()
        notes = [f"{at - began:.1f} s: {note}" for at, note in sitting.notes if at > began]
        lives = "lives" if node.process.poll() is None else "has ended"
    check(place)
    games = [f"{row['host']} {row['games']} ({row['state']})" for row in rows(sitting.run)]
    return f"{after - before} games meanwhile; {'; '.join(notes) or 'nothing noted'}; its raylet {lives}; {', '.join(games)}"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster ends, too
    for number in sys.argv[1:] or ["5", "30", "90"]:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            said = partition(float(number), Path(folder))
        print(f"{number} s: {said}; all the same, {time.monotonic() - began:.0f} s", flush=True)
