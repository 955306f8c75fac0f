"""What docs/cluster.md says to machines, said to processes: a Slurm array, a Kubernetes Job, and by hand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap

import pages
import pytest

import jubango as jb
from jubango.arena.commands import run as command

pytestmark = pytest.mark.full

PAGE = "docs/cluster.md"
LADDER = """
name = "ladder"
game = "tic_tac_toe"
games_per_pairing = 6
seed = 5
bots = [{ name = "a", use = "random" }, { name = "b", use = "random" }, { name = "c", use = "random" }]
"""


def games(run) -> list[tuple]:
    return list(run.games[["game_id", "moves", "result"]].itertuples(index=False))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder of all machines, with the tournament's file, and the command on the path."""
    (tmp_path / "ladder.toml").write_text(LADDER)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "jubango"
    said = f'echo "$*" >> {shlex.quote(str(tmp_path))}/said.txt\n'
    program.write_text(
        f'#!/bin/sh\n{said}[ "$DRY" ] || exec {shlex.quote(sys.executable)} -m jubango.arena.commands "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(pages.ROOT))
    return tmp_path


def on_machines(script: str, variable: str, values: range, **more: str) -> set[str]:
    """Run a script side by side as each of these; returns what jubango was told."""
    started = [
        subprocess.Popen(
            ["sh", "-c", script], env={**os.environ, variable: str(value), **more}, stdout=subprocess.DEVNULL
        )
        for value in values
    ]
    assert [process.wait(timeout=600) for process in started] == [0] * len(started)
    with open("said.txt") as file:
        told = set(file.read().splitlines())
    os.remove("said.txt")
    return told


def test_slurm_and_kubernetes(folder):
    ladder, merge = (text for language, text in pages.code(PAGE) if language == "sh" and text.startswith("#!"))
    first, last = map(int, re.search(r"--array=(\d+)-(\d+)", ladder).groups())
    told = on_machines(ladder, "SLURM_ARRAY_TASK_ID", range(first, last + 1))
    assert len(told) == last == 3
    merged = on_machines(merge, "NOTHING", range(1))
    whole = jb.tournament("ladder.toml", out="whole", progress=False)
    run = jb.open_run("runs/ladder")
    assert games(run) == games(whole)
    for name in ("ratings.csv", "crosstable.csv"):
        assert (run.folder / name).read_text() == (whole.folder / name).read_text()

    (job,) = (text for language, text in pages.code(PAGE) if language == "yaml")
    script = textwrap.dedent(re.search(r"args:\n\s+- \|\n(.*?)(?=^ {10}\S)", job, re.M | re.S).group(1))
    pods = int(re.search(r"completions: (\d+)", job).group(1))
    assert on_machines(script, "JOB_COMPLETION_INDEX", range(pods), DRY="1") == told, "the pods are told the same"
    assert shlex.split(merged.pop()) == pages.commands(PAGE)[-1][1:]


def test_by_hand(folder):
    every = [words for words in pages.commands(PAGE) if words[:1] == ["jubango"]]
    own = [words for words in every if "--cluster" not in words][:4]
    assert [words[1] for words in own] == ["tournament", "tournament", "merge", "tournament"]
    for words in own:
        assert command(words[1:]) == 0
    assert games(jb.open_run("runs/ladder")) == games(jb.tournament("ladder.toml", progress=False))


def test_by_hosts(folder):
    own = [words for words in pages.commands(PAGE) if "--cluster" in words]
    assert [words[1] for words in own] == ["tournament", "match", "tune", "hosts", "analyze", "train"]
    own[1] += ["--game", "tic_tac_toe", "--games", "2"]
    for words in (own[0], own[1], own[3]):
        small = [word.replace("uct", "uct:simulations=4").replace("rave", "rave:simulations=4") for word in words]
        assert command(small[1:]) == 0, words
    assert games(jb.open_run("runs/ladder")) == games(jb.tournament("ladder.toml", progress=False))
