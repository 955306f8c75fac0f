"""Imports go down the tower only: arena > analysis > bots > sgf_games."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ["sgf_games", "bots", "analysis", "arena"]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {floor_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != "jubango" else [f"jubango.{alias.name}" for alias in node.names]
            found |= {floor_of(name) for name in names}
    return found


def floor_of(module: str) -> str:
    return module.removeprefix("jubango.").split(".")[0]


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_go_down(floor):
    above = set(FLOORS[FLOORS.index(floor) + 1 :]) | {"tests", "benchmarks", "jubango"}
    files = sorted((ROOT / floor).rglob("*.py"))
    assert files
    for path in files:
        assert not imports(path) & above, path


def test_help_answers_without_jax():
    code = (
        "import sys\nfrom jubango.arena.commands import run\nstatus = run(['--help'])\n"
        "assert status == 0 and not {'jax', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
