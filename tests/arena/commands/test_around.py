"""What lies around a run: the demo, the list of runs, pages that open, a review at the end of a game, shells."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import termios
import time
import webbrowser
from pathlib import Path

import pytest
import tomli_w

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.commands.playing import demo
from jubango.arena.commands.terminal.completion import joined
from jubango.arena.runs.work_folder import locked
from jubango.arena.training.sitting import SittingFile, read_sitting
from jubango.sgf_games.base import shell
from jubango.sgf_games.library.folder import Folder

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "jubango.arena.commands"]
BOTS = ["random", "random:name=second"]


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser that writes down what it is shown."""
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >> {shlex.quote(str(tmp_path / "shown"))}\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(script))
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # what it knows of an earlier BROWSER
    monkeypatch.setattr(webbrowser, "_browsers", {})
    return tmp_path / "shown"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished match, and one that has some games to come."""
    folder = tmp_path_factory.mktemp("runs")
    jb.match(*BOTS, "tic_tac_toe", 4, folder / "whole")
    jb.match(*BOTS, "tic_tac_toe", 4, folder / "deep" / "begun")
    plan = folder / "deep" / "begun" / "tournament.toml"
    plan.write_text(plan.read_text().replace("games_per_pairing = 4", "games_per_pairing = 6"))
    return folder


def listed(capsys, folder: Path) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert command(["runs", str(folder), "--format", "json"]) == 0
    return {row["run"]: row for row in json.loads(capsys.readouterr().out)}


def test_the_runs_of_a_folder_and_what_to_type(runs, tmp_path, capsys):
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    (folder / "broken").mkdir()
    (folder / "broken" / "tournament.toml").write_text("name = 3")
    rows = listed(capsys, folder)
    assert {name: (row["kind"], row["state"]) for name, row in rows.items()} == {
        "whole": ("match", "finished"),
        "deep/begun": ("match", "interrupted"),
        "broken": ("tournament", "damaged"),
    }
    begun, whole = rows["deep/begun"], rows["whole"]
    assert (begun["done"], begun["total"], begun["game"]) == (4, 6, "tic_tac_toe")
    plan = folder / "deep" / "begun" / "tournament.toml"
    assert begun["go_on"] == shell.command("tournament", plan, "--out", plan.parent)
    assert whole["go_on"] == "" and whole["open"] == shell.command("report", folder / "whole", "--open")
    assert "tournament.toml" in rows["broken"]["why"]
    with locked(folder / "whole"):
        assert listed(capsys, folder)["whole"]["state"] == "running"
    assert command(["tournament", str(plan), "--out", str(plan.parent)]) == 0, "as it is said"
    assert listed(capsys, folder)["deep/begun"]["state"] == "finished"
    assert command(["runs", str(folder)]) == 0
    assert "4 of 4 games" in capsys.readouterr().out


def test_a_later_run_is_compared_with_the_one_before(runs, tmp_path, capsys):
    shutil.copytree(runs / "whole", tmp_path / "one")
    time.sleep(1.1)  # dates are known to the second
    jb.match(*BOTS, "tic_tac_toe", 4, tmp_path / "two")
    rows = listed(capsys, tmp_path)
    assert list(rows) == ["two", "one"], "the newest first"
    assert rows["two"]["compare"] == shell.command("compare", tmp_path / "one", tmp_path / "two")
    assert rows["one"]["compare"] == ""
    assert command(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 0


def test_a_training_is_gone_on_with_as_it_was_asked_for(tmp_path, capsys):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "train.toml").write_text(tomli_w.dumps({"games": ["tic_tac_toe", "gomoku:5"]}))
    file = SittingFile(Folder(folder), 3.5, float("inf"), 2.0, 8)
    file.note("self-play", "", 12.34, {"seconds": 90.0, "games": 7, "positions": 31}, 5)
    (row,) = listed(capsys, tmp_path).values()
    assert (row["kind"], row["state"], row["done"], row["total"], row["unit"]) == (
        "training", "interrupted", 1.5, 3.5, "minutes",
    )  # fmt: skip
    words = ["--minutes", "3.5", "--measure-minutes", "2", "--measure-games", "8"]
    assert row["go_on"] == shell.command(
        "train", "--game", "tic_tac_toe", "--game", "gomoku:5", "--out", folder, *words
    )
    file.note("done", "", 0.0, {"seconds": 210.0, "games": 9, "positions": 40}, 6)
    (row,) = listed(capsys, tmp_path).values()
    assert (row["state"], row["go_on"]) == ("finished", "")
    (folder / "sitting.json").write_text('{"minutes": "no"}')
    assert read_sitting(Folder(folder)) is None
    (row,) = listed(capsys, tmp_path).values()
    assert (row["state"], row["total"]) == ("interrupted", None)


def test_no_such_folder_of_runs(tmp_path, capsys):
    assert command(["runs", str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "there is no such folder" in err
    assert command(["runs", str(tmp_path), "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("run,path,kind,game,done,total,unit,when,state,why,go_on,open,compare\n")
    assert "there are no runs" in err


@pytest.mark.full
def test_the_demo_is_a_tournament_of_the_package(tmp_path, monkeypatch, capsys, browser):
    """Played with fewer simulations, as it takes a minute; the file is the one that `make demo` plays."""
    assert (ROOT / "examples" / "demo.toml").samefile(demo.DEMO_FILE)
    assert "jubango demo --out runs/demo" in (ROOT / "Makefile").read_text()
    plan = tmp_path / "demo.toml"
    text = (
        demo.DEMO_FILE.read_text()
        .replace("go:9,komi=7", "tic_tac_toe")
        .replace("games_per_pairing = 10", "games_per_pairing = 2")
    )
    plan.write_text(text.replace("00\n", "\n"))
    monkeypatch.setattr(demo, "DEMO_FILE", plan)
    monkeypatch.chdir(tmp_path)
    assert command(["demo"]) == 0
    out, err = capsys.readouterr()
    assert "uct-800" in out
    assert shell.command("report", "runs/demo", "--open") in err
    assert not browser.exists()
    assert command(["demo", "--open"]) == 0, "shown again, not played"
    page = tmp_path / "runs" / "demo" / "report.html"
    assert browser.read_text() == f"{page.as_uri()}\n"
    assert page.read_text().startswith("<!doctype html>")


def test_a_page_is_opened_where_there_is_a_display(runs, tmp_path, monkeypatch, capsys, browser):
    page = tmp_path / "page.html"
    assert command(["report", str(runs / "whole"), "--out", str(page), "--open"]) == 0
    assert browser.read_text() == f"{page.as_uri()}\n"
    browser.unlink()
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    capsys.readouterr()
    assert command(["report", str(runs / "whole"), "--out", str(page), "--open"]) == 0
    assert f"the page is at {page.as_uri()}\n" in capsys.readouterr().err
    assert not browser.exists()


@pytest.mark.full
def test_a_review_is_opened(tmp_path, capsys, browser):
    sgf, page = tmp_path / "one.sgf", tmp_path / "one.html"
    sgf.write_text("(;GM[1]SZ[3]JG[tic_tac_toe];B[bb];W[aa])")
    words = ["--bot", "uct:simulations=8", "--repeats", "1"]
    assert command(["analyze", str(sgf), "--html", str(page), "--open", *words]) == 0
    assert browser.read_text() == f"{page.as_uri()}\n"
    assert command(["analyze", str(sgf), "--open"]) == 2
    assert "--open opens the page of a review; give --html FILE" in capsys.readouterr().err


class Keyboard:
    """A process at a terminal, and what it has written there."""

    def __init__(self, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.ours, theirs = pytest.importorskip("pty").openpty()
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def until(self, text: str, seconds: float = 60.0) -> str:
        """What has come up to this text."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.ours], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} does not come: {self.seen!r}")
            try:
                piece = os.read(self.ours, 65536)
            except OSError:
                piece = b""
            assert piece, f"{text!r} did not come: {self.seen!r}"
            self.seen += piece.decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.mark.full
@pytest.mark.parametrize("key", ["r", "q"])
def test_a_review_is_one_key_away_at_the_end_of_a_game(tmp_path, browser, key):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "BROWSER": os.environ["BROWSER"]}
    words = ["play", "--game", "tic_tac_toe", "--white", "human", "--sgf", "game.sgf"]
    keyboard = Keyboard([*COMMAND, *words], tmp_path, environment)
    try:
        for move in ("a1", "a2", "b1", "b2", "c1"):
            keyboard.until("to move: ")
            keyboard.type(f"{move}\n")
        keyboard.until("r reviews it, any other key ends: ")
        while (
            termios.tcgetattr(keyboard.ours)[3] & termios.ICANON
        ):  # what is typed before it listens to keys is dropped
            time.sleep(0.01)
        keyboard.type(key)
        if key == "r":
            keyboard.until("the review is game.html", 300)
        assert keyboard.process.wait(60) == 0
    finally:
        keyboard.close()
    assert browser.exists() == (tmp_path / "game.html").exists() == (key == "r")


@pytest.mark.full
def test_off_a_terminal_it_is_said_how_to_review(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = ["play", "--game", "tic_tac_toe", "--white", "human", "--sgf", "game.sgf"]
    done = subprocess.run(
        [*COMMAND, *words], cwd=tmp_path, env=environment, input="a1\nquit\n", capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "review it: " in done.stderr
    assert done.stderr.rstrip().endswith("analyze game.sgf --html game.html --open")


def test_words_that_bash_takes_apart():
    """As ``COMP_WORDS`` has them: the manual's COMP_WORDBREAKS hold = and :."""
    assert joined(["jubango", "play", "--game", "go", ":", "9", "--white", "level", "=", "8"]) == (
        ["jubango", "play", "--game", "go:9", "--white", "level=8"], "level=",
    )  # fmt: skip
    assert joined(["jubango", "--game", "=", "go", ":"]) == (["jubango", "--game=go:"], "--game=go:")
    assert joined(["jubango", "match", "uct", ""]) == (["jubango", "match", "uct", ""], "")
    assert joined(["jubango", "play", "level", "=", ""]) == (["jubango", "play", "level=", ""], "")


COMPLETIONS = {
    "jubango ma": "match ",
    "jubango tournament --clu": "--cluster ",
    "jubango play --game tic": "tic_tac_toe ",
    "jubango play --game go:1": "go:1\x07\r\n13  19",
    "jubango play --game=gomoku:1": "--game=gomoku:15 ",
    "jubango play --black hum": "human ",
    "jubango play --game tic_tac_toe --white level=": "level=\x07\r\n600  800",
    "jubango play --game tic_tac_toe --level 8": "800 ",
    "jubango match uct mini": "minimax ",
    "jubango report who": "whole/",
}


def completing(shell: str, home: Path) -> dict[str, str]:
    """The environment of a shell at whose start ``--install-completion`` has put what it completes by."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (home / "bin").mkdir()
    script = home / "bin" / "jubango"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    script.chmod(0o755)
    environment = {
        **os.environ, "HOME": str(home), "ZDOTDIR": str(home), "PYTHONPATH": str(ROOT), "TERM": "dumb", "LC_ALL": "C",
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    install = [shell, "-c", "jubango --install-completion; exit $?"]  # so that this shell is what it is started by
    done = subprocess.run(install, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return environment


@pytest.mark.full
def test_zsh_completes_at_the_first_tab(runs, tmp_path):
    environment = completing("zsh", tmp_path)
    for typed, wanted in (("jubango to", "tournament "), ("jubango play --game go:9 --level 8", "800 ")):
        keyboard = Keyboard(["zsh", "-i"], runs, environment)
        try:
            keyboard.type("PS1='> '; echo ready\n")
            keyboard.until("ready\r\n")
            keyboard.until("> ")
            keyboard.type(typed)
            keyboard.until(typed)
            keyboard.type("\t")
            keyboard.until(wanted.removeprefix(typed.rpartition(" ")[2]))
        finally:
            keyboard.close()


@pytest.mark.full
def test_bash_completes(runs, tmp_path):
    """The shell itself, at a terminal, with what ``--install-completion`` has put into its start."""
    environment = completing("bash", tmp_path)
    keyboard = Keyboard(["bash", "--noprofile", "-i"], runs, environment)
    try:
        keyboard.type("PS1='> '; bind 'set bell-style audible'; echo ready\n")
        keyboard.until("ready\r\n")
        for typed, wanted in COMPLETIONS.items():
            keyboard.until("> ")
            twice = "\x07" in wanted  # a second Tab lists what there is
            keyboard.type(f"{typed}\t\t" if twice else f"{typed}\t")
            keyboard.until(f"{typed[: typed.rindex(' ')]} {wanted}")
            keyboard.type("\x15\n")
    finally:
        keyboard.close()
