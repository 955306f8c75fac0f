"""What users write passes type checkers: the code of the pages by mypy and pyright; the keys
that editors complete are those there are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pages
import pytest

from jubango.bots.bot_keys import BotKeys
from jubango.bots.config import KINDS
from jubango.bots.search.rules.params import Number, SearchParamsKeys, Whole
from jubango.bots.search.rules.registry import SHIPPED
from jubango.bots.search.rules.rule import numbers_of

ROOT = Path(__file__).parents[2]
PAGES = [page for page in pages.PAGES if "zh" not in page and any(kind == "python" for kind, _ in pages.code(page))]
WRONG = """
import typing, jax, numpy as np, jubango as jb

jb.Bot("uct", simulatons=8)
jb.Bot("uct", simulations="many")
jb.Search("connect_four", jb.Puct(), "uniform", capacity="all")
jb.run(jb.Search("connect_four", jb.Puct(), "uniform", 8), None, simulatons=8)


@jb.game("heap")
class Heap(jb.Game):
    width: int = 10


Heap(width="wide")


class Count(typing.NamedTuple):
    total: int


class Counting(jb.Game[Count]):
    def step(self, state: Count, action: jax.Array) -> int:
        return state.totl

    def stones(self, state: int) -> np.ndarray:
        return np.zeros((1, 1))


jb.run_many(jb.Search("connect_four", jb.Puct(), "uniform", 8), [], simulations=[4, 8], seed=[1, 2])
"""


def scripts(folder):
    """The code of a page (the Chinese ones have that of the others) as one script, whose lines are the page's; and one
    with a mistake a line."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        lines = [""] * text.count("\n")
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
            start = text.count("\n", 0, block.start(1))
            code = block.group(1).splitlines()
            lines[start : start + len(code)] = code
        (folder / f"page_{Path(page).stem.lower()}.py").write_text("\n".join(lines) + "\n")
    (folder / "page_wrong.py").write_text(WRONG)
    return sorted(folder.glob("page_*.py"))


def complaints(found):
    """Those of the pages, and the lines of the mistakes that were noticed."""
    right = [line for line in found if "page_wrong" not in line]
    return right, {int(line.split(":")[1]) for line in found if "page_wrong" in line}


@pytest.mark.full
def test_the_code_of_the_pages_passes_mypy(tmp_path):
    """As `make check` runs it, whose cache it shares."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *scripts(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)},
    )  # fmt: skip
    errors = [Path(line).name for line in done.stdout.splitlines() if "page_" in line and ": error:" in line]
    wrong, noticed = complaints(errors)
    assert not wrong, "\n".join(wrong) + done.stderr
    assert noticed == {4, 5, 6, 7, 15, 23, 24, 26}


@pytest.mark.full
def test_the_code_of_the_pages_passes_pyright(tmp_path):
    pytest.importorskip("pyright", reason="the newest JAX is tested without it")
    scripts(tmp_path)
    config = {"include": ["."], "extraPaths": [str(ROOT), *filter(None, sys.path)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    found = [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    wrong, noticed = complaints(found)
    assert not wrong, "\n".join(wrong)
    assert noticed == {4, 5, 6, 7, 15, 23, 24, 26}


def test_the_keys_of_bots_are_those_there_are():
    keys: dict[str, object] = {}
    for kind in KINDS.values():
        for name, field in kind.model_fields.items():
            if name not in ("name", "use"):
                assert keys.setdefault(name, field.annotation) == field.annotation, name
    assert typing.get_type_hints(BotKeys) == keys
    numbers = {own.name: int if own.whole else float for rule in SHIPPED.values() for own in numbers_of(rule)}
    own = {"simulations": int, "depth": int, "noise": float, "alpha": float}
    expected = {name: Whole if kind is int else Number for name, kind in {**own, **numbers}.items()}
    assert typing.get_type_hints(SearchParamsKeys) == {**expected, "c": Number | None}
