"""Folders that somebody has sent, through every command that takes one: nothing outside is changed, nothing is waited
for, and what is wrong is said in one line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from pathlib import Path

import pytest
from test_every_command import BOT, TUNING

from jubango.arena.commands import run
from jubango.sgf_games.base.errors import UserError

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are Unix's"),
]
SECRET = b"ssh-ed25519 AAAA nobody reads, writes or deletes this\n"
EVIL = "\x1b]0;x\x07\x1b[31m[red]x[/red]<script>alert(1)</script>\u202e"
TOURNAMENT = """
name = "small"
game = "tic_tac_toe"
games_per_pairing = 4
[[bots]]
use = "random"
[[bots]]
name = "b"
use = "random"
"""
LONGEST = 60  # seconds of a command


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A finished run, a tuning and a training that has begun, a reviewed game."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.toml").write_text(TOURNAMENT)
    (folder / "tuning.toml").write_text(TUNING)
    (folder / "game.sgf").write_text("(;GM[1]SZ[3]JG[tic_tac_toe];B[bb];W[aa])")
    assert run(["tournament", str(folder / "small.toml"), "--out", str(folder / "run")]) == 0
    assert run(["tune", str(folder / "tuning.toml"), "--out", str(folder / "tuned")]) == 0
    assert run(["analyze", str(folder / "game.sgf"), "--all", "--bot", BOT]) == 0
    return folder


@pytest.fixture
def place(original, tmp_path, monkeypatch):
    """The same, beside somebody's own files, which are as they were afterwards."""
    for path in original.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    shutil.copytree(original / "run", tmp_path / "later")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keys").write_bytes(SECRET)
    (outside / "keys.part").write_bytes(SECRET)
    shutil.copytree(original / "run" / "games", outside / "games")
    os.mkfifo(outside / "pipe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUBANGO_TRACEBACK", raising=False)
    before = _all_of(outside), sorted(path.name for path in tmp_path.iterdir())
    yield tmp_path
    assert (_all_of(outside), sorted(path.name for path in tmp_path.iterdir() if path.name != "out")) == before


def _all_of(folder: Path) -> dict[str, object]:
    """Of everything in it the kind, the size, when it was written, and what it holds; a second name changes nothing."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        own = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, own)
    return found


def change(statement: str, *values: object):
    def act(place: Path) -> None:
        db = sqlite3.connect(place / "run/results.sqlite")
        with db:
            db.execute(statement, values)
        db.close()

    return act


def replaced(names: str, make):
    """What is called so is something else now."""

    def act(place: Path) -> None:
        for name in names.split():
            path = place / "run" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            make(path)

    return act


def link(to: str):
    return lambda path: path.symlink_to(Path(os.path.relpath(path.parents[1] / "outside" / to, path.parent)))


def hard(path: Path) -> None:
    os.link(path.parents[1] / "outside/keys", path)


def games(place: Path) -> None:
    """Of every kind one among the games."""
    files = sorted((place / "run/games").iterdir())
    for path in files:
        path.unlink()
    files[0].symlink_to("../../outside/keys")
    files[1].symlink_to("/dev/zero")
    os.mkfifo(files[2])
    os.link(place / "outside/keys", files[3])
    (place / "run/games/more.sgf").symlink_to("../../outside/pipe")


def no_database(place: Path) -> None:
    (place / "run/results.sqlite").unlink()
    games(place)
    (place / "run/games/one.sgf").symlink_to(next((place / "outside/games").iterdir()))


def plan(begin: str):
    def act(place: Path) -> None:
        path = place / "run/tournament.toml"
        path.write_text(begin.format(place / "outside") + path.read_text())

    return act


TABLES = "report.html ratings.csv crosstable.csv machines.txt"
TRAPS = {
    "rows name files outside": change("update games set sgf = '../outside/keys', reason = 'crash'"),
    "a row's id is a path": change("update games set game_id = '../outside/keys', reason = 'crash' where rowid = 1"),
    "text that steers a terminal": change(
        "update games set black = ?1, detail = ?1, event = ?1, date = ?1, reason = ?1, opening = ?1", EVIL
    ),
    "links, pipes and devices among the games": games,
    "the games are a link": replaced("games", link("games")),
    "the database is a link": replaced("results.sqlite", link("keys")),
    "what is beside the database is a link": replaced("results.sqlite-wal", link("keys")),
    "a journal is a hard link": replaced("results.sqlite-journal", hard),
    "tables are links": replaced(TABLES, link("keys")),
    "tables are links to nothing": replaced(f"{TABLES} .lock", link("new")),
    "tables are pipes": replaced(TABLES, os.mkfifo),
    "tables and what they are written as have other names": replaced(
        f"{TABLES} .lock {TABLES.replace(' ', '.part ')}.part", hard
    ),
    "the plan is a link": replaced("tournament.toml", link("keys")),
    "the plan is a pipe": replaced("tournament.toml", os.mkfifo),
    "the plan names openings outside": plan('openings = "{}/games"\n'),
    "there is no database": no_database,
}
COMMANDS = [
    "status run", "check run", "check run --format json", "rate run", "rate run/games", "rate run later --distinct", "report run",
    "compare run later", "compare later run --format json", "export run --games out/g.csv --moves out/m.csv",
    "tournament run/tournament.toml --out run --check", "tournament run/tournament.toml --out run",
    "tournament small.toml --out run --again crash", "check run --rebuild",
    "match random random --game tic_tac_toe --games 4 --out run", "tune tuning.toml --out run",
    "train --game tic_tac_toe --games 1 --out run/tournament.toml",
]  # fmt: skip


def too_long(*_: object) -> None:
    raise TimeoutError("it takes too long")


def tried(command: str, capfd) -> int:
    """The exit status; asserts that it comes soon, and that no traceback and nothing that steers a terminal is said."""
    before = signal.signal(signal.SIGALRM, too_long)  # whatever is waited for
    signal.alarm(LONGEST)
    try:
        status = run(command.split())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    out, err = capfd.readouterr()
    assert status in (0, 1, 2), (command, err)
    assert "Traceback" not in err and "error of this program" not in err, (command, err)
    assert "\x1b" not in out + err and "\u202e" not in err, (command, out, err)
    return status


@pytest.mark.parametrize("trap", TRAPS)
def test_a_hostile_run_in_every_command(trap, place, capfd):
    """The folder is as it was sent for each of them."""
    (place / "out").mkdir()
    capfd.readouterr()
    for command in COMMANDS:
        shutil.rmtree(place / "run")
        shutil.copytree(place / "later", place / "run")
        TRAPS[trap](place)
        tried(command, capfd)


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "hard", "folder"])
@pytest.mark.parametrize("name", ["tune.toml", "settings.csv", "tune.png", "results.sqlite", "games"])
def test_a_hostile_tuning(name, kind, place, capfd):
    """What can be replaced may be, all else is refused; files outside are not opened."""
    path = place / "tuned" / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    {
        "link": link("keys"), "dangling": link("new"), "pipe": os.mkfifo, "folder": os.mkdir,
        "hard": lambda path: os.link(place / "outside/keys", path),
    }[kind](path)  # fmt: skip
    tried("tune tuning.toml --out tuned", capfd)


def test_a_tuning_that_names_openings_outside(place, capfd):
    (place / "tuned/tune.toml").write_text(f'openings = "{place}/outside/games"\n{TUNING}')
    assert run(["tune", "tuning.toml", "--out", "tuned"]) == 2
    assert "a run's own file lists its openings and names none" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_saved_searches_that_are_no_file(kind, place, capfd):
    """They come with the game: a link in their place would be written through."""
    file = place / "game.review.json"
    file.unlink()
    make = {"link": "outside/keys", "dangling": "outside/new"}
    file.symlink_to(make[kind]) if kind in make else {"pipe": os.mkfifo, "folder": os.mkdir}[kind](file)
    assert tried(f"analyze game.sgf --all --bot {BOT}", capfd) == 2
    assert tried(f"analyze game.sgf --all --bot {BOT} --no-save", capfd) == 0


def test_saved_searches_that_nobody_has_made(place, capfd):
    """Whatever stands in them, with the digests of this game: they are taken, searched again, or refused in a line."""
    file = place / "game.review.json"
    whole = json.loads(file.read_text())
    for key, value in (
        ("win_rate", float("nan")), ("win_rate", 1e308), ("win_rate", -5), ("simulations", -1), ("simulations", 10**30), ("lead", 1e308),
        ("after", EVIL), ("after", "../x"), ("number", -1), ("number", 10**40), ("moves", [["Z99", 1, 0.1, 0.5, "A1"]]), ("moves", []),
        ("moves", [[EVIL, 1, 0.1, 0.5, EVIL]]), ("moves", [["A1", -1, float("nan"), float("inf"), "A1 " * 1000]]), ("moves", [["A1"] * 5]),
        ("moves", [["A1", 10**30, 0.1, 0.5, "A1 A1"]]), ("moves", {"x": 1}), ("moves", [["B2", 1, 0.1, 0.5, "B2"]] * 50),
    ):  # fmt: skip
        document = json.loads(json.dumps(whole))
        for one in document["searches"]:
            one[key] = value
        file.write_text(json.dumps(document))
        tried("analyze game.sgf --all --html out.html --sgf out.sgf --csv out.csv", capfd)
        for name in ("out.html", "out.sgf", "out.csv"):
            (place / name).unlink(missing_ok=True)
    for key, value in (("bot", "gtp:command=touch outside/new"), ("bot", "uct:network=/dev/zero"), ("bot", EVIL), ("repeats", 10**9), ("repeats", -1), ("seed", -(10**30))):  # fmt: skip
        file.write_text(json.dumps({**whole, key: value}))
        tried("analyze game.sgf --all", capfd)


def test_a_file_of_its_own_in_a_runs_folder_is_read(place):
    """A plan that somebody has written where the run is to be is none that has begun there."""
    from jubango.arena.runs.run_folder import plan_in

    (place / "run/tournament.toml").write_text('openings = "game.sgf"\n' + TOURNAMENT)
    with pytest.raises(UserError, match="keep the file that you have written in another folder"):
        plan_in(place / "run")
