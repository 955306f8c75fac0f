"""The command as users meet it: exit statuses, data on stdout, one line on stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import jubango as jb
from jubango.arena.commands import run
from jubango.arena.commands.app import app
from jubango.arena.commands.positions import reviews
from jubango.arena.commands.terminal import completion
from jubango.arena.text import preparing
from jubango.bots.config import PRESETS
from jubango.sgf_games.base import shell
from jubango.sgf_games.rules.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    games = {
        "game.sgf": "(;GM[1]SZ[5]KM[0]PB[B[i\\]g]PW[x];B[cc];W[cd];B[bd];W[dc];B[db])",
        "typo.sgf": "(;SZ[5;B[aa])", "illegal.sgf": "(;SZ[5];B[aa];W[aa])", "empty.sgf": "(;SZ[5]KM[0])",
        "two.sgf": "(;SZ[5];B[aa])(;SZ[5]KM[0];B[bb];W[cc])", "c4.sgf": "(;GM[4]SZ[7]JG[connect_four];B[df])",
        "over.sgf": "(;SZ[3]KM[0];B[bb];W[];B[])",
    }  # fmt: skip
    for name, text in games.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def status_of(capsys, *arguments: str) -> tuple[int, str, str]:
    status = run(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


FAST = ["--simulations", "60"]


def test_the_package_is_the_command(tmp_path):
    said = subprocess.run(
        [sys.executable, "-m", "jubango", "match", "nobody", "random"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert said.returncode == 2 and said.stderr.startswith("jubango: ") and said.stderr.count("\n") == 1


@pytest.mark.full
def test_analyze_prints_a_table_json_and_csv(files, capsys):
    status, out, _ = status_of(capsys, "analyze", "game.sgf", *FAST)
    assert status == 0
    assert "principal variation" in out
    assert "after move 5" in out
    assert "B[i]g" in out, "names are printed as they are"
    status, out, _ = status_of(capsys, "analyze", "game.sgf", "--move", "2", "--format", "json", *FAST)
    found = json.loads(out)
    assert (status, found["move_number"], found["player"], found["next_move"]) == (0, 2, "black", "B2")
    assert sum(move["visits"] for move in found["moves"]) == found["simulations"] == 60
    assert found["note"] == "", "of boards without a network there is one"
    on_board = sum(m["visits"] for m in found["moves"] if m["move"] != "pass")
    assert sum(map(sum, found["visits"])) == on_board
    assert len(found["visits"]) == 5
    status, out, _ = status_of(capsys, "analyze", "game.sgf", "--move", "2", "--format", "csv", *FAST)
    lines = out.splitlines()
    assert status == 0
    assert (
        lines[0]
        == "move_number,player,rank,move,visits,share,win_rate,win_rate_black,prior,variation,position_win_rate_black"
    )
    assert {line.split(",")[0] for line in lines[1:]} == {"2"}


@pytest.mark.full
def test_analyze_says_the_position_s_win_rate_and_the_best_move_s(files, capsys):
    _, out, _ = status_of(capsys, "analyze", "game.sgf", "--format", "json", *FAST)
    whole = json.loads(out)
    mean, best = 100 * whole["win_rate"], 100 * whole["moves"][0]["win_rate"]
    assert whole["win_rate_black"] == pytest.approx(1 - whole["win_rate"], abs=1e-6), "White is to move"
    _, out, _ = status_of(capsys, "analyze", "game.sgf", *FAST)
    said = (
        f"White's win rate: {mean:.1f} %, the mean of the search; after {whole['moves'][0]['move']} alone {best:.1f} %"
    )
    assert said in out
    _, out, _ = status_of(capsys, "analyze", "empty.sgf", "--bot", "uct", "--simulations", "25")
    assert "which is noise" in out
    assert "alone" not in out, "one random game says nothing of a move"


@pytest.mark.full
def test_a_review_off_a_terminal_says_how_far_it_is(files, capsys, monkeypatch):
    monkeypatch.setattr(reviews, "AGAIN", 0.01)
    monkeypatch.setattr(preparing, "AGAIN", 0.01)
    words = ["analyze", "game.sgf", "--all", "--bot", "uct", "--simulations", "2000", "--format", "csv"]
    status, out, err = status_of(capsys, *words)
    assert status == 0
    told = re.findall(r"searching positions of the game: (\d+) of (\d+)", err)
    assert told and int(told[-1][0]) > 0, err
    assert re.search(r"of \d+, \d+:\d\d left", err)
    assert "searching" not in out


@pytest.mark.full
def test_analyze_shows_bots_without_visits(files, capsys):
    status, out, _ = status_of(capsys, "analyze", "over.sgf", "--all", "--bot", "policy", "--format", "json")
    found = json.loads(out)
    assert (status, [one["over"] for one in found["positions"]]) == (0, [False, False, False, True])
    assert {one["grade"] for one in found["moves"]} == {""}, "without visits nothing is sure"


@pytest.mark.full
def test_analyze_draws(files, capsys):
    status, _, _ = status_of(capsys, "analyze", "game.sgf", "--png", "map.png", "--csv", "t.csv", *FAST)
    assert status == 0
    data = (files / "map.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    assert width > 1000
    assert height > 1000
    assert (files / "t.csv").read_text().startswith("move_number")
    status, out, _ = status_of(capsys, "analyze", "c4.sgf", *FAST)
    assert status == 0
    assert "connect_four:7x6" in out
    status, out, _ = status_of(capsys, "analyze", "over.sgf", *FAST)
    assert status == 0
    assert "the game is over: B+9" in out
    status, out, _ = status_of(capsys, "analyze", "two.sgf", "--game-number", "2", "--format", "json", *FAST)
    assert json.loads(out)["move_number"] == 2
    status, out, _ = status_of(capsys, "analyze", "empty.sgf", "--format", "json", *FAST)
    assert (status, json.loads(out)["last_move"]) == (0, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze", "typo.sgf"], "typo.sgf: SZ[5;B[aa] is no board size"), (["analyze", "illegal.sgf"], "move 2 (W A5) is illegal"),
        (["analyze", "none.sgf"], "none.sgf: cannot be read"), (["analyze", "game.sgf", "--move", "99"], "between 0 and 5"),
        (["analyze", "game.sgf", "--bot", "random"], "searching bot"), (["analyze", "two.sgf", "--game-number", "3"], "no game 3"),
        (["analyze", "game.sgf", "--png", "no/such/x.png", *FAST], "cannot be written"),
        (["analyze", "game.sgf", "--png", "x.wat", *FAST], "pictures have no format"),
        (["analyze", "game.sgf", "--simulations", "0"], "simulations"), (["analyze"], "Missing argument"),
        (["match", "uct", "utc", "--games", "2"], 'did you mean "uct"'), (["match", "uct", "random", "--games", "3"], "even"),
        (["match", "uct:c=-1", "random"], "c=-1"), (["match", "uct:c=inf", "random"], "c=inf"),
        (["match", "uct:sims=5", "random"], 'no key "sims"'), (["tournament", "none.toml"], "none.toml: cannot be read"),
        (["rate", "nowhere"], "no such file"), (["rate", "empty.sgf"], "no finished games"), (["frobnicate"], "No such command"),
        (["rate", "game.sgf", "--anchor", "x"], "NAME=ELO"), (["play", "--game", "chess"], "no game is called"),
        (["bench", "playouts", "--lanes", "-1"], "lanes"),
        (["match", "uct:simulations=1000000", "random", "--game", "go:25"], "GiB"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(files, capsys, arguments, message):
    status, out, err = status_of(capsys, *arguments)
    assert status == 2, err
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("jubango: ")


@pytest.mark.full
def test_match_and_rate(files, capsys):
    arguments = ["match", "uct:simulations=30", "random", "--game", "tic_tac_toe", "--games", "8", "--out", "m"]
    status, out, err = status_of(capsys, *arguments)
    assert status == 0
    assert "stronger with a probability" in out
    assert "8/8 games" in err
    status, out, _ = status_of(capsys, "rate", "m", "--format", "csv")
    again = status_of(capsys, "rate", "m/games", "--format", "csv")
    assert out == again[1]
    assert (files / "m" / "ratings.csv").read_text().splitlines()[1].split(",")[1] == out.splitlines()[1].split(",")[1]
    status, out, _ = status_of(capsys, "rate", "m", "--format", "json", "--anchor", "random=1000", "--prior", "1")
    assert {row["name"]: row["elo"] for row in json.loads(out)["ratings"]}["random"] == 1000
    status, out, _ = status_of(capsys, "match", "random", "random", "--game", "tic_tac_toe", "--games", "2")
    assert status == 0
    assert "random (2)" in out


def test_lists(capsys):
    status, out, _ = status_of(capsys, "games", "--format", "json")
    assert status == 0
    assert {"go", "connect_four", "gomoku", "tic_tac_toe", "mnk"} <= {row["game"] for row in json.loads(out)}
    status, out, _ = status_of(capsys, "bots", "--format", "csv")
    assert status == 0
    assert "mcts-400" in out


def test_help_of_every_command(capsys):
    for command in (
        "games",
        "bots",
        "tournament",
        "match",
        "play",
        "analyze",
        "rate",
        "check",
        "export",
        "compare",
        "bench",
    ):
        status, out, _ = status_of(capsys, command, "--help")
        assert status == 0
        assert "Usage" in out


@pytest.mark.full
def test_a_person_can_play(tmp_path):
    """Moves, a wrong move, undo, and a game to its end, typed at the real command."""
    typed = "b2\nb2\nz9\nundo\nhelp\na1\nc1\n"
    command = [sys.executable, "-c", "from jubango.arena.commands import main; main()", "play", "--game", "tic_tac_toe"]
    command += ["--black", "human", "--white", "uct:simulations=50", "--sgf", str(tmp_path / "g.sgf")]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, cwd=ROOT, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "White ○ uct:simulations=50 plays" in done.stdout
    assert "visits, own win rate" in done.stdout
    assert "not a legal move" in done.stdout
    assert '"Z9" is not on' in done.stdout or '"z9" is not on' in done.stdout
    assert "(;" in (tmp_path / "g.sgf").read_text()


def test_the_examples_are_valid():
    from jubango.arena.schedule.plan import read_plan

    plans = [read_plan(path) for path in sorted((ROOT / "examples").glob("*.toml"))]
    assert len(plans) >= 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("match UCT random", 'bot "UCT": no bot is called "UCT"; did you mean "uct"?'),
        ("match random random --game Go:9", 'game "Go:9": no game is called "Go"; did you mean "go"?'),
        ("match human random", 'bot "human": people play with {command} play'),
        ("play --black utc", 'bot "utc": no bot is called "utc"; did you mean "uct"? (a person is "human")'),
        ("play --black uct:c=x", 'bot "uct:c=x": c=x: should be a valid number, unable to parse string as a number'),
        ("check nowhere", "nowhere: holds no tournament.toml; name a run's folder"),
        ("analyze g.sgf --png a.pnk", 'a.pnk: pictures have no format "pnk"; did you mean "png"?'),
        ("turnament x", "No such command 'turnament'. Did you mean 'tournament', 'tune'? (see {command} --help)"),
        ("match uct", "Missing argument 'BOT' (see {command} match --help)"),
    ],
)  # fmt: skip
def test_a_slip_is_answered_by_what_was_meant(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(words.split()) == 2
    assert capsys.readouterr().err == f"jubango: {said.replace('{command}', shell.command())}\n"


@pytest.mark.parametrize("way", ["below", "by path", "by name", "another", "through Python"])
def test_printed_commands_run_where_the_user_stands(way, tmp_path):
    """In the folder of an environment, beside it, with it on the PATH, with another program of the name there, and
    without its script."""
    home = tmp_path / "a clone"
    script = home / "env" / "jubango"
    script.parent.mkdir(parents=True)
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from jubango.arena.commands import main; main()"
    script.write_text(f"#!{sys.executable}\n{code}\n")
    other = tmp_path / "other" / "jubango"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another program\n")
    for one in (script, other):
        one.chmod(0o755)
    ahead = {"by name": script.parent, "another": other.parent}.get(way, tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{ahead}:/usr/bin:/bin"}
    typed = {
        "below": "env/jubango", "another": "env/jubango", "by path": shlex.quote(str(script)), "by name": "jubango",
        "through Python": f"{shlex.quote(sys.executable)} -m jubango.arena.commands",
    }[way]  # fmt: skip
    folder = tmp_path if way == "by path" else home

    def said(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)

    printed = re.search(r"\(see (.*)\)$", said(f"{typed} match uct").stderr.strip())[1]
    place = "'a clone/env/jubango'" if way == "by path" else typed
    assert printed == f"{place} match --help"
    assert "two bots" not in said(printed).stderr
    assert "colour-swapped pairs" in said(printed).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_the_output_is_no_error_of_this_program():
    code = "from jubango.arena.commands import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "--version"], stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert "jubango: there is no room for what is written: No space left on device\n" in done.stderr
    assert "error of this program" not in done.stderr
    assert done.returncode != 0


def commands() -> list[list[str]]:
    """Every command, those of ``bench`` too."""
    return [[], *([name] for name in get_command(app).commands), *(["bench", one] for one in ("playouts", "search"))]


def test_help_cuts_nothing_in_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words in commands():
        assert run([*words, "--help"]) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text
        command = get_command(app)
        for word in words:
            command = command.commands[word]
        names = [name for option in command.params for name in option.opts if name.startswith("-")]
        assert not [name for name in names if not re.search(rf"^  .*{name}\b", text, re.M)]
        if not words:
            listed = text.partition("Commands:")[2]
            assert all(one.help.split(".")[0].split()[-1] in listed for one in command.commands.values())


def test_a_shell_completes_the_games_and_bots_that_there_are():
    assert set(completion.GAME_NAMES) <= set(CATALOGUE)  # tests register more
    assert {name for name, entry in CATALOGUE.items() if entry.make.__module__.startswith("jubango.")} == set(
        completion.GAME_NAMES
    )
    assert set(completion.BOTS) == {name for name in PRESETS if name.islower()}  # tests register classes


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("ma", ["match"]),
        ("match --open", ["--openings", "--opening-plies"]),
        ("play --game tic_tac_toe --level ", ["600", "800"]),
        ("match --game t", ["tic_tac_toe"]),
        ("match uct uct-", ["uct-solver"]),
        ("play --black h", ["human"]),
        ("rate --format js", ["json"]),
    ],
)
def test_a_shell_completes(typed, words):
    """As the script that --install-completion installs asks, before JAX is there."""
    code = (
        "import sys\nfrom jubango.arena.commands import main\ntry: main()\n"
        "finally: print('jax' in sys.modules, file=sys.stderr)"
    )
    asked = {"COMP_WORDS": f"jubango {typed}", "COMP_CWORD": str(typed.count(" ") + 1)}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_JUBANGO_COMPLETE": "complete_bash", **asked}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (words, "False\n")


def test_a_path_that_is_named_by_nothing(files, capsys):
    """What a variable leaves that is not set; it is not the current folder."""
    (files / "t.toml").write_text('name = "x"\ngame = "tic_tac_toe"\n[[bots]]\nuse = "random"\nname = ["a", "b"]\n')
    before = sorted(files.iterdir())
    for arguments in (
        ["tournament", "t.toml", "--out", ""], ["match", "random", "random", "--game", "tic_tac_toe", "--out="], ["tune", "t.toml", "--out", ""],
        ["train", "--game", "tic_tac_toe", "--out", ""], ["report", ""], ["check", ""], ["rate", "game.sgf", ""], ["analyze", "game.sgf", "--png", ""],
    ):  # fmt: skip
        status, out, err = status_of(capsys, *arguments)
        assert (status, out) == (2, "")
        assert re.fullmatch(
            r"jubango: [a-z]+: is empty, where a file or a folder is named; \. is the current one\n", err
        )
    for arguments, said in (
        (["games", "--format", ""], "for '--format': '' is not one of"), (["match", "random", "random", "--games", ""], "--games"), ([""], "No such command ''"),
        (["match", "random", "", "--games", "2"], 'bot "": no bot is called ""'),
    ):  # fmt: skip
        status, _, err = status_of(capsys, *arguments)
        assert status == 2
        assert said in err
    assert sorted(files.iterdir()) == before
    for call in (lambda: jb.tournament("tic_tac_toe", ["random", "uct"], 2, out=""), lambda: jb.open_run("")):
        with pytest.raises(jb.UserError, match='"" names no folder'):
            call()
