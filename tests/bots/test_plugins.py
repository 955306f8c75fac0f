"""What users bring along and what they ask for from outside: refused in one line and with status 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jubango import __version__
from jubango.arena.commands import run
from jubango.sgf_games.compute.machine import on_cpu

ROOT = Path(__file__).parents[2]


def refused(capsys, *arguments: str) -> str:
    status = run(list(arguments))
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), err
    assert err.startswith("jubango: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jubango_p1", "def f(:", 'module "jubango_p1" cannot be imported: SyntaxError'), ("jubango_p2", "import jubango_nowhere", "No module named 'jubango_nowhere'"),
        ("jubango_p3", "import sys\nsys.exit(7)", "cannot be imported: SystemExit: 7"), ("jubango_p4", "1 / 0", "ZeroDivisionError"),
        ("jubango_p5", "raise ValueError('two\\nlines')", "two lines"), ("jubango_p6", "from jubango.sgf_games.rules.catalogue import make_game\nmake_game('goo')", "did you mean"),
        (".rel", "", '".rel" is no name of a module'), ("a..b", "", "is no name of a module"), ("jubango_p7.inner", "", 'there is no module "jubango_p7.inner"'),
    ],
)  # fmt: skip
def test_plugins_that_cannot_be_imported(tmp_path, monkeypatch, capsys, name, text, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("JUBANGO_PLUGINS", name)
    if name.isidentifier():
        (tmp_path / f"{name}.py").write_text(text)
    error = refused(capsys, "games")
    assert "JUBANGO_PLUGINS: " in error
    assert message in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rate", "r.csv", "--prior", "1e308"], "--prior"), (["rate", "r.csv", "--prior", "nan"], "--prior"),
        (["bench", "playouts", "--lanes", "10000000"], "--lanes"), (["match", "random", "random", "--game", "gardner_chess"], 'did you mean "pgx:gardner_chess"'),
        (["analyze", "g.sgf", "--simulations", "2000000"], "simulations=2000000: should be less than or equal to 1000000"),
        (["match", "uct:name=a\nb", "random"], "name=a b"), (["match", "random", "random", "--clock", "60+3x0"], "a period takes"),
        (["play", "--black", "uct:name=human", "--white", "human"], 'both players are called "human"'),
        (["tournament", "pipe"], "is no regular file"), (["match", "random", "random", "--game", "go:" + "9" * 5000], "must be like 9 or 9x13"),
    ],
)  # fmt: skip
def test_what_is_asked_too_much(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("black,white,result\na,b,1\n")
    os.mkfifo(tmp_path / "pipe")
    assert message in refused(capsys, *arguments)


@pytest.mark.full
@pytest.mark.skipif(not on_cpu(), reason="the device may be here")
@pytest.mark.parametrize(("platforms", "game"), [("cuda", "tic_tac_toe"), ("nonsense", "pgx:hex")])
def test_devices_that_are_not_here(tmp_path, platforms, game):
    if game.startswith("pgx:"):
        pytest.importorskip("pgx")
    arguments = ["match", "random", "random", "--game", game, "--games", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "jubango.arena.commands", *arguments], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": platforms},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"jubango: JAX_PLATFORMS={platforms}: ")
    assert done.stderr.count("\n") == 1


def test_the_version_and_the_defaults_are_said(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"jubango {__version__}\n"
    for command, default in {"tournament": "runs/NAME", "match": "nowhere", "analyze": "the bot's"}.items():
        assert run([command, "--help"]) == 0
        assert default in capsys.readouterr().out
