"""The Python code of the documentation runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jubango.arena.tournament import tournament
from jubango.bots.config import KINDS, PRESETS, Bot
from jubango.bots.evaluators.registry import EVALUATORS
from jubango.bots.search.rules.registry import RULES
from jubango.sgf_games.rules.catalogue import CATALOGUE

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page",
    [
        "docs/python.md",
        "docs/extend.md",
        "docs/env.md",
        "docs/usage.md",
        "docs/training.md",
        "docs/cluster.md",
        "docs/tables.md",
        "docs/reviews.md",
        "README.md",
    ],
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text()
    blocks = [(m.start(1), m.group(1)) for m in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)]
    assert blocks
    monkeypatch.chdir(tmp_path)
    if '"runs/demo"' in text:  # what the page looks into
        bots = [Bot("random", name="uct-800"), Bot("random", name="uct-200")]
        tournament("tic_tac_toe", bots, games=4, out="runs/demo")
    kept = [(registry, dict(registry)) for registry in (CATALOGUE, EVALUATORS, KINDS, PRESETS, RULES)]
    names: dict = {"__name__": "page"}
    sys.modules["page"] = type(sys)("page")  # dataclasses look their module up
    try:
        for start, code in blocks:
            line = text.count("\n", 0, start)
            exec(compile("\n" * line + code, page, "exec"), names)
    finally:
        del sys.modules["page"]
        for registry, before in kept:
            registry.clear()
            registry.update(before)


def test_the_command_finds_plugins(tmp_path):
    (tmp_path / "my_things.py").write_text(
        "from jubango.sgf_games.rules.catalogue import register_game\nfrom jubango.sgf_games.rules.lines.mnk import Mnk\n"
        "register_game('my_game', Mnk, size='3', about='mine')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JUBANGO_PLUGINS": "my_things"}

    def command(*words, **plugins):
        return subprocess.run(
            [sys.executable, "-m", "jubango.arena.commands", *words], capture_output=True, text=True, cwd=tmp_path,
            env={**environment, **plugins},
        )  # fmt: skip

    assert "my_game" in command("games", "--format", "csv").stdout
    missing = command("games", JUBANGO_PLUGINS="nowhere")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
    assert 'JUBANGO_PLUGINS: there is no module "nowhere"' in missing.stderr
