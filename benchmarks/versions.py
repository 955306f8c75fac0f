"""How fast each version of JAX is, by turns: random games of Go 9x9, and searches of connect four.

    make compat                          # makes the environments, .venv-compat-*
    python benchmarks/versions.py .venv/bin/python .venv-compat-*/bin/python

Every round measures all of them, one after the other. A ratio is the middle of the rounds' ratios to the first Python;
beside it the best of all rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from collections import defaultdict

import pandas as pd

COMMANDS = (["playouts", "--game", "go:9"], ["search", "--game", "connect_four", "--repeats", "3"])
NAMES = {"go:9,komi=7.5": "moves of random games, go:9"}
FOUND = "moves_per_second", "simulations_per_second"


def asked(python: str, *arguments: str) -> str:
    return subprocess.run([python, *arguments], check=True, capture_output=True, text=True).stdout


def measured(python: str) -> dict[str, float]:
    """By the case, how many a second."""
    rates = {}
    for command in COMMANDS:
        start = "from jubango.arena.commands import main; main()"
        for row in json.loads(asked(python, "-c", start, "bench", *command, "--format", "json")):
            case = row.get("case") or row["game"]
            rates[NAMES.get(case, case)] = next(row[key] for key in FOUND if key in row)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="+", help="Pythons that have jubango; the first is compared with")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    version = 'import jax, platform; print("JAX", jax.__version__, "Python", platform.python_version())'
    names = {python: asked(python, "-c", version).strip() for python in options.pythons}
    found: dict[str, dict[str, list[float]]] = {python: defaultdict(list) for python in names}
    for number in range(options.rounds + 1):
        for python in names:
            for case, rate in measured(python).items():
                if number:  # the first one compiles
                    found[python][case].append(rate)
    first = found[options.pythons[0]]
    rows = []
    for python, cases in found.items():
        for case, rates in cases.items():
            ratio = statistics.median(own / other for own, other in zip(rates, first[case], strict=True))
            best = max(rates) / max(first[case])
            rows.append((case, names[python], round(statistics.median(rates)), round(ratio, 2), round(best, 2)))
    table = pd.DataFrame(rows, columns=["case", "version", "a second", "ratio", "of the best"])
    print(table.sort_values("case", kind="stable").to_string(index=False))


if __name__ == "__main__":
    main()
