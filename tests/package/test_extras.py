"""What is installed on request only: without it all else works, and who asks for it reads which extra to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
EXTRAS = ("matplotlib", "optax", "pyarrow", "ray")
BASE = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # as if they were not installed
from jubango.arena.commands import run
"""
GAME = "(;GM[1]FF[4]SZ[3]KM[0]RU[Chinese]PB[a]PW[b];B[bb];W[ba])"


def python(code, folder, given="", **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["analyze", "game.sgf", "--png", "map.png"],
            "map.png: pictures need matplotlib: pip install 'jubango[plots]'",
        ),
        (["train", "--game", "tic_tac_toe", "--out", "t"], "training needs optax: pip install 'jubango[train]'"),
        (
            ["match", "random", "random", "--game", "tic_tac_toe", "--games", "2", "--cluster", "auto"],
            "cluster \"auto\": Ray clusters need ray: pip install 'jubango[cluster]'",
        ),
        (["export", "run", "--games", "g.parquet"], "g.parquet: Parquet needs pyarrow: pip install 'jubango[parquet]'"),
    ],
)
def test_what_is_missing_is_named(tmp_path, command, said):
    (tmp_path / "game.sgf").write_text(GAME)
    done = python(f"{BASE}sys.exit(run({command}))", tmp_path)
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "pip install" in line] == [f"jubango: {said}"]
    assert not (tmp_path / "t").exists() or not any((tmp_path / "t").glob("*.safetensors"))


def test_the_base_plays_analyses_and_speaks_gtp(tmp_path):
    (tmp_path / "game.sgf").write_text(GAME)
    code = f"""{BASE}
assert run(["match", "random", "random", "--game", "go:3,komi=0", "--games", "2", "--out", "run"]) == 0
assert run(["report", "run", "-o", "report.html"]) == 0
assert run(["analyze", "game.sgf", "--bot", "uct", "--simulations", "2"]) == 0
sys.exit(run(["gtp", "--game", "go:3", "--bot", "uct:simulations=2"]))
"""
    done = python(code, tmp_path, given="play b b2\nname\nquit\n")
    assert done.returncode == 0, done.stderr
    assert "Black's win rate" in done.stdout
    assert "\n= jubango" in done.stdout
    assert len(list((tmp_path / "run" / "games").glob("*.sgf"))) == 2


def test_sgfmill_is_compiled_in_silence(tmp_path):
    """Its sources hold escapes that Python warns of, from 3.12 on whoever imports them first."""
    code = "import jubango.sgf_games.sgf.grammar"
    done = python(code, tmp_path, PYTHONPYCACHEPREFIX=str(tmp_path), PYTHONWARNINGS="always")
    assert not done.stderr
