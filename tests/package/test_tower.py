"""Imports go down the tower only, arena > analysis > bots > sgf_games, and no two files import each other."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ["sgf_games", "bots", "analysis", "arena"]


class Import(NamedTuple):
    module: str
    hidden: bool  # in a function or for type checkers only
    line: int


def modules() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {"jubango": ROOT / "jubango" / "__init__.py"}
    for floor in FLOORS:
        for path in sorted((ROOT / "jubango" / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def imports(code: str) -> Iterator[Import]:
    """All imports of a file, wherever they stand."""

    def inside(node: ast.AST, hidden: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, hidden, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.module and not child.level, "imports are absolute"
                for alias in child.names:
                    inner = f"{child.module}.{alias.name}"
                    yield Import(inner if inner in MODULES else child.module, hidden, child.lineno)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                yield from inside(child, hidden or function or typing)

    return inside(ast.parse(code), False)


IMPORTS = {name: list(imports(path.read_text())) for name, path in MODULES.items()}


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_go_down(floor):
    below = FLOORS[: FLOORS.index(floor) + 1]
    files = [name for name in MODULES if name.split(".")[1:2] == [floor]]
    assert len(files) > 3
    for name in files:
        for found in IMPORTS[name]:
            first, _, rest = found.module.partition(".")
            assert first not in {*FLOORS, "tests", "benchmarks"}, f"{name}:{found.line}"
            assert first != "jubango" or rest.split(".")[0] in below, f"{name}:{found.line}"


def test_no_circles():
    """Not one, the imports inside functions and for type checkers counted like any others."""
    graph = {name: {found.module for found in own if found.module in MODULES} for name, own in IMPORTS.items()}
    assert sum(map(len, graph.values())) > 200
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def rooms() -> dict[str, dict[str, set[str]]]:
    """Of every folder its rooms, files and folders, each with those beside it that it imports from."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, path in MODULES.items():
        if path.name != "__init__.py":
            parts = name.split(".")
            for depth in range(1, len(parts)):
                found.setdefault(".".join(parts[:depth]), {}).setdefault(parts[depth], set())
    for name, own in IMPORTS.items():
        for other in {found.module for found in own} & MODULES.keys():
            here, there = name.split("."), other.split(".")
            depth = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), 0)
            if depth:
                found[".".join(here[:depth])].setdefault(here[depth], set()).add(there[depth])
    return found


def test_folders_are_rooms_too():
    """No folder is a warehouse, and none is in a circle with those beside it."""
    for folder, own in rooms().items():
        assert len(own) <= 13, f"{folder} has {len(own)} rooms"
        try:
            TopologicalSorter(own).prepare()
        except CycleError as error:
            pytest.fail(f"{folder}: {' <- '.join(error.args[1])}")
    assert len(rooms()) > 30


def test_no_two_public_classes_have_one_name():
    homes: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_a_constant_has_one_meaning():
    homes: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for target in targets:
                if isinstance(target, ast.Name) and len(target.id) > 1 and target.id.isupper() and target.id[0] != "_":
                    homes.setdefault(target.id, []).append(name)
    twice = {name for name, where in homes.items() if len(where) > 1}
    assert twice <= {
        "CHUNK_SECONDS",  # a chunk of a search takes that at most
        "ERROR_TEXTS",  # of a plan's fields
        "LINE_SECONDS",  # between two plain lines
        "LIVE_SECONDS",  # between two pictures
        "LONGEST_VARIATION",  # moves
        "MAY_CHANGE",  # fields of work that goes on
        "TICK",  # seconds between two looks at the input
        "TINY",  # a prior as good as zero
        "Z95",  # standard errors of a 95 % interval
    }


def test_imports_are_where_they_are_looked_for():
    """At the top of the file, but for the commands', so that --help answers without JAX, the server's, so that it
    answers at once, and the lazy door's."""
    hidden = [
        f"{name}:{found.line}: {found.module}"
        for name, own in IMPORTS.items()
        if name != "jubango" and not name.startswith(("jubango.arena.commands", "jubango.arena.serve"))
        for found in own
        if found.hidden and found.module.split(".")[0] == "jubango"
    ]
    assert not hidden


def test_no_class_of_game_is_asked_for_above_its_floor():
    """A question to a game is a hook of ``Game``, so that a user's game can answer it, too."""
    rules = "jubango.sgf_games.rules."
    classes = [rules + name for name in ("go", "mnk", "connect_four", "pgx_adapter")]
    asked = [
        f"{name}:{found.line}: {found.module}"
        for name, own in IMPORTS.items()
        if name.split(".")[1:2] not in ([], ["sgf_games"])
        for found in own
        if any(f"{found.module}.".startswith(f"{known}.") for known in classes)
    ]
    assert not asked


def test_a_circle_would_be_seen():
    code = "import a\nif TYPE_CHECKING:\n    from jubango.bots.players import batch_player\ndef f():\n    from jubango.arena.runs.run import Run\n"
    assert list(imports(code)) == [
        Import("a", False, 1), Import("jubango.bots.players.batch_player", True, 3), Import("jubango.arena.runs.run", True, 5),
    ]  # fmt: skip


def test_help_answers_without_jax():
    code = (
        "import sys\nfrom jubango.arena.commands import run\nstatus = run(['--help'])\n"
        "assert status == 0 and not {'jax', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
