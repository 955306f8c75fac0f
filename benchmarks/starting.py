"""How long a GTP server takes from the start of its process to each answer, everything compiled by an earlier one.

python benchmarks/starting.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

SERVERS = {
    "uct, 9x9": ["--game", "go:9", "--bot", "uct:simulations=400"],
    "alphazero, 9x9": ["--game", "go:9", "--bot", "alphazero:simulations=400"],
    "uct, 19x19": ["--game", "go:19", "--bot", "uct:simulations=400"],
    "(no bot named), 19x19": ["--game", "go:19"],
}
COMMANDS = ["name", "clear_board", "genmove b", "quit"]


def answers(arguments: list[str]) -> list[float]:
    """Seconds to the answer of every command; all are sent at once."""
    began = time.perf_counter()
    command = [sys.executable, "-c", "from jubango.arena.commands import main; main()", "gtp", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join([*COMMANDS, ""]))
        server.stdin.close()
        taken = [time.perf_counter() - began for line in server.stdout if line.startswith("=")]
    if server.returncode or len(taken) != len(COMMANDS):
        sys.exit(f"jubango gtp {' '.join(arguments)}: did not answer every command")
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'seconds, the middle of ' + str(options.repeats):32}" + "".join(f"{name:>13}" for name in COMMANDS))
    for name, arguments in SERVERS.items():
        answers(arguments)  # compiles
        taken = zip(*(answers(arguments) for _ in range(options.repeats)), strict=True)
        print(f"{name:32}" + "".join(f"{statistics.median(own):13.2f}" for own in taken), flush=True)


if __name__ == "__main__":
    main()
