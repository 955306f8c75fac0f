"""Whatever files, users and engines name reaches the terminal without control characters; data stays as it is."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import screen_of

from jubango.analysis.ratings.ratings import rate
from jubango.analysis.tables.tables import results_of
from jubango.arena.commands import run
from jubango.arena.commands.terminal.output import frame_table, print_json, show_notes
from jubango.arena.text.console import Console
from jubango.arena.text.standings import print_standings, standings_html
from jubango.bots.composition import strongest
from jubango.bots.config import bot_from_spec
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.printable import printable
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import read_sgf

ROOT = Path(__file__).parents[3]
EVIL = "a\x1b]0;title\x07b\x1b[2Jc\x9b31md\u202egfe\x7f[/red]:cat:"
FOREIGN = ("\x07", "\x1b]", "\x1b[2J", "\x9b", "\u202e", "\x7f")


def assert_harmless(text: str) -> None:
    assert not [sign for sign in FOREIGN if sign in text]


@given(st.text())
def test_printable_text_is_printable_and_as_long(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(char.isprintable() or char in "\u200c\u200d" for char in shown)
    assert printable(shown) == shown
    assert text.encode(errors="replace") == shown.encode() or not text.isprintable()


def test_what_people_write_stays():
    for text in ("Jürgen – 白 ½ é", "علی‌رضا", "👩‍💻", "a  b"):
        assert printable(text) == text
    assert printable("a\nb\tc\u3000d\x1be\udce9") == "a b c d␛e�"


@settings(deadline=None, max_examples=30)
@given(st.text(st.characters() | st.sampled_from(EVIL)))
def test_consoles_print_nothing_else(text):
    file = io.StringIO()
    console = Console(file=file, width=60, force_terminal=False)
    ratings = rate([(text, "b", 1.0)])
    print_standings(console, ratings, [(text, "b", 1.0)])
    console.print(text)
    assert all(char.isprintable() or char in "\n\u200c\u200d" for char in file.getvalue())
    assert_harmless(standings_html(text, ratings, [(text, "b", 1.0)]))


@given(st.text())
def test_json_says_it_all_in_printable_text(text):
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        print_json({"name": text})
        said = sys.stdout.getvalue()
    finally:
        sys.stdout = out
    assert json.loads(said) == {"name": text}
    assert said.replace("\n", "").isprintable()


def test_specs_break_after_commas_and_numbers_are_to_the_right():
    specs = ["random", "uct:simulations=1600,selection=puct,rollout_moves=tactical", "x" * 50]
    frame = pd.DataFrame({"games": [6, 1800, 7], "bot": specs, "about": "one, two and three"})
    console = Console(file=io.StringIO(), width=50, force_terminal=False)
    console.print(frame_table(frame))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines[:4] == [
        "games  bot                      about",
        "    6  random                   one, two and three",
        " 1800  uct:simulations=1600,    one, two and three",
        "       selection=puct,",
    ]
    assert "".join(line[7:31].strip() for line in lines[2:]) == "".join(specs[1:])


def test_sentences_wrap_at_words_on_a_terminal_alone():
    said = "a line of words that is longer than a terminal"
    for terminal in (True, False):
        console = Console(file=io.StringIO(), width=20, force_terminal=terminal, color_system=None)
        console.sentence(said)
        lines = [line.strip() for line in console.file.getvalue().splitlines()]
        assert " ".join(lines) == said
        assert (len(lines) > 1) == terminal


def on_a_terminal(*commands: list[str], cwd: Path) -> str:
    """What the commands write to a terminal, stdout and stderr."""
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    code = f"from jubango.arena.commands import run\nfor c in {commands!r}: run(c)"
    return screen_of([sys.executable, "-c", code], cwd, environment)


@pytest.mark.full
def test_terminals_see_no_foreign_sequences(tmp_path):
    with open(tmp_path / "r.csv", "w", newline="") as file:
        csv.writer(file).writerows([("black", "white", "result"), (EVIL, "=1+2", "1-0"), ("two\nlines", EVIL, "0-1")])
    text = on_a_terminal(["rate", "r.csv"], ["rate", "r.csv", "--format", "csv"], ["rate", f"{EVIL}.csv"], cwd=tmp_path)
    assert_harmless(text)
    assert "two lines" in text
    assert text.count("a␛]0;title␇b␛[2Jc�31md�gfe�[/red]:cat:") >= 3
    assert "=1+2" in text


def test_csv_is_data_off_a_terminal_and_is_read_back(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [EVIL, "=1+2", "+1", '-2, "x"', "two\nlines"]
    with open("r.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [("black", "white", "result"), *((a, b, "1-0") for a in names for b in names if a != b)]
        )
    assert {name for black, white, *_ in results_of([Path("r.csv")]) for name in (black, white)} == set(names)
    assert run(["rate", "r.csv", "--format", "csv"]) == 0
    assert {row["name"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} == set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "evil\x1b[2J\n.sgf"], ["rate", "a\nb\x9b"], ["analyze", "x.sgf"], ["match", "uct\x1b]0;x\x07", "random"],
        ["match", "a\nb", "random"], ["tournament", "\u202e.toml"], ["analyze", os.fsdecode(b"\xe9.sgf")],
        ["play", "--game", "go:" + "9" * 5000], ["match", "random", "random", "--clock", "9" * 400],
        ["match", "random", "random", "--clock", "1+3x0"], ["match", "random", "random", "--clock", "1+0x3"],
        ["match", "random", "random", "--clock", "1+" + "9" * 5000 + "x1"], ["analyze", "/dev/zero"], ["rate", "/dev/zero"],
        ["match", "gtp:command=sh -c 'printf \"\\033[2Jno\\n\" >&2'", "random"], ["tournament", "/dev/zero"], ["tournament", "huge.toml"], ["rate", "x.sgf", "--anchor", "\x1b[2J\n"], ["\x1b[2J"],
        ["analyze", "huge.sgf"], ["match", "random", "random", "--game", "mnk:5,k=" + "9" * 5000], ["tournament", "deep.toml"],
    ],
)  # fmt: skip
def test_bad_input_is_one_harmless_line(arguments, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.sgf").write_text(f"(;SZ[5]JG[{EVIL}]".replace("[/red]", "") + ")")
    Path("huge.toml").write_text(f'name = "x"\ngame = "go:5"\nseed = {"9" * 5000}\n')
    Path("deep.toml").write_text(f"name = {'[' * 5000}{']' * 5000}\n")
    Path("huge.sgf").write_text(f"(;SZ[5]HA[{'9' * 5000}])")
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("jubango: ")
    assert err.count("\n") == 1
    assert len(err) < 2000
    assert printable(err, keep="\n") == err


def test_python_s_errors_are_one_harmless_line():
    with pytest.raises(UserError) as caught:
        read_sgf(f"{EVIL}\n.sgf")
    assert_harmless(str(caught.value))
    assert "\n" not in str(caught.value)


def test_a_message_that_looks_like_markup_is_none(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("[/red]/x.sgf")
    path.parent.mkdir(parents=True)
    path.write_text("(;SZ[3]KM[0]PB[[/red\\]]PW[:cat:];B[bb];W[];B[])(;SZ[3])")
    assert run(["analyze", str(path)]) == 0
    out, err = capfd.readouterr()
    assert "[/red]/x.sgf holds 2 games" in err
    assert "[/red] – :cat:" in out


def test_what_python_shows_is_harmless(tmp_path):
    path = tmp_path / "x.sgf"
    path.write_text(f"(;SZ[3]PB[{EVIL.replace(']', chr(92) + ']')}]RE[\x1b[2J\\];B[bb])")
    record = read_sgf(path)
    assert "\x1b" in record.players[0], "data stay as they are"
    for shown in (repr(record), repr(record.at()), record._repr_html_()):
        assert_harmless(shown)


@pytest.mark.parametrize("name", ["what? 50% #1", "a b&mode=rw", "白"])
def test_a_run_can_be_rated_whatever_its_folder_is_called(name, tmp_path, capsys):
    folder = tmp_path / name
    assert run(["match", "random", "random", "--game", "go:3", "--games", "2", "--out", str(folder)]) == 0
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert run(["rate", str(folder), "--format", "csv"]) == 0
    assert "random (2)" in capsys.readouterr().out
    assert sorted(tmp_path.iterdir()) == before


def test_who_plays_at_the_board_reads_that_random_games_judge(capsys):
    """Nothing else says how weak the strongest bot for a large board is; a tournament's bots are its author's."""
    game = make_game("go:25")
    bots = [bot_from_spec(strongest(game)), bot_from_spec("random")]
    show_notes(game, bots)
    assert capsys.readouterr().err == ""
    show_notes(game, bots, judging=True)
    assert capsys.readouterr().err.startswith("no network for go:25: tactical random games judge")
