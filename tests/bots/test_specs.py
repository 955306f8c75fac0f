"""What users write of bots, games, clocks and tournaments: read as it is meant, refused in one line."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from jubango.arena.schedule.plan import make_plan, match_plan, parse_plan, read_plan
from jubango.arena.schedule.toml_tables import expand_table
from jubango.bots.config import Bot, bot_from_spec
from jubango.bots.players.clock import TimeControl
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.files import parse_toml
from jubango.sgf_games.base.specs import parse_spec, value_text
from jubango.sgf_games.rules.catalogue import CATALOGUE, Entry, make_game

DIGITS = "9" * 5000


def refusal(action) -> str:
    with pytest.raises(UserError) as caught:
        action()
    message = str(caught.value)
    assert message.isprintable(), message
    return message


# -- numbers -------------------------------------------------------------------------------------


def test_numbers_are_written_as_short_as_they_are_exact():
    usual = {1.4: "1.4", 1.0: "1", 19652.0: "19652", 0.25: "0.25", 1e-05: "1e-05", 1e6: "1e+06", 0.1: "0.1"}
    for number, text in usual.items():
        assert value_text(number) == text
    for number in (0.123456789, 1 / 3, 2**0.5, 123456.7, 1234567.0, 1e-7 / 3):
        assert float(value_text(number)) == number
    assert bot_from_spec("uct:c=0.123456789").spec == "uct:c=0.123456789"
    assert Bot("uct", c=1 / 3) == bot_from_spec(Bot("uct", c=1 / 3).spec)
    assert str(TimeControl.parse("60.1234567+0.0000001")) == "60.1234567+1e-07"


def test_near_values_of_a_sweep_are_told_apart():
    bots = expand_table({"name": "u", "c": [0.1234567, 0.12345671, 1.4, 1.0]}, "x")
    assert [bot.name for bot in bots] == ["u/c=0.1234567", "u/c=0.12345671", "u/c=1.4", "u/c=1"]


# -- spec strings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name", "keys"),
    [
        ("gtp:command=gnugo --mode gtp --level 10", "gnugo", {"command": "gnugo --mode gtp --level 10"}),
        ('gtp:command="gnugo --mode gtp",move_seconds=5', "gnugo", {"command": "gnugo --mode gtp", "move_seconds": 5}),
        ("gtp:command=gnugo --mode gtp,move_seconds=5", "gnugo", {"command": "gnugo --mode gtp", "move_seconds": 5}),
        ("gtp:processes=2,command=/usr/bin/eng a,b=3,,c", "eng", {"command": "/usr/bin/eng a,b=3,,c", "processes": 2}),
        ("gtp:command='/my dir/eng' x,name=fred", "fred", {"command": "'/my dir/eng' x"}),
        ("gtp:command=python3 -u bots/my.py --fast", "my.py", {"command": "python3 -u bots/my.py --fast"}),
        ("gtp:command=java -jar leela.jar", "leela.jar", {"command": "java -jar leela.jar"}),
        ("gtp:command=bash -c true", "bash", {"command": "bash -c true"}),
        ("gtp:command='/my dir/eng' x", "eng", {"command": "'/my dir/eng' x"}),
        ('gtp:command="/my dir/eng" --x "a,b",start_seconds=3', "eng", {"command": '"/my dir/eng" --x "a,b"'}),
        ('gtp:command="""/my dir/eng"" --x", name="a, b"', "a, b", {"command": '"/my dir/eng" --x'}),
        ("uct:simulations=8,name=eight", "eight", {"simulations": 8}),
        ("uct:c=0.70", "uct:c=0.70", {"c": 0.7}),
        ('policy:network="a,b"', 'policy:network="a,b"', {"network": "a,b"}),
    ],
)
def test_specs_of_bots(spec, name, keys):
    bot = bot_from_spec(spec)
    assert bot.name == name
    assert {key: getattr(bot, key) for key in keys} == keys
    assert bot_from_spec(bot.spec, name) == bot, "what is recorded makes the same bot"
    assert bot_from_spec(spec, "mine").name == "mine"


def test_engines_of_one_program_are_told_apart():
    levels = [f"gtp:command=gnugo --level {level}" for level in (1, 5, 10)]
    assert [bot.name for bot in make_plan("go:5", levels, {}).bots] == ["gnugo", "gnugo (2)", "gnugo (3)"]
    plan = match_plan(*levels[:2], "go:5", 2)
    assert plan.name == "gnugo - gnugo (2)"
    assert parse_plan(plan.text, "x").bots == plan.bots
    assert [bot.name for bot in match_plan(levels[0], levels[0], "go:5", 2).bots] == ["gnugo", "gnugo (2)"]
    assert Bot("gtp", command="gnugo --level 1").name == "gnugo"
    assert "two bots are called" in refusal(lambda: make_plan("go:5", [levels[0], levels[0]], {}))
    long = "uct:name=" + "n" * 80
    assert parse_plan((again := match_plan(long, long, "go:5", 2)).text, "x").bots == again.bots


def test_specs_of_games():
    assert parse_spec("go:9,komi=7", "game") == ("go", "9", {"komi": "7"})
    assert parse_spec("mine,a=1,b=x:y", "game") == ("mine", "", {"a": "1", "b": "x:y"})
    for word, meant in (("othelo", "othello"), ("shogi", "pgx:shogi"), ("gardner_ches", "pgx:gardner_chess")):
        assert f'did you mean "{meant}"' in refusal(lambda word=word: make_game(word))
    assert "must be like 9 or 9x13" in refusal(lambda: make_game(f"go:{DIGITS}"))
    assert "not a number" in refusal(lambda: make_game(f"mnk:3,k={DIGITS}"))


@dataclass(frozen=True)
class Plain:
    length: int = 10


def test_sizes_of_a_game_that_has_none(monkeypatch):
    monkeypatch.setitem(CATALOGUE, "plain", Entry(Plain, "", {}, ""))
    assert make_game("plain,length=7") == Plain(7)
    for size in ("7", "7x7", "seven"):
        text = refusal(lambda size=size: make_game(f"plain:{size}"))
        assert text == f'game "plain:{size}": plain has no sizes, its keys: length'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uct:use=random", "the bot's name comes first"), ("uct:name=a\nb", "control characters"), ("uct:name=a\x85b", "control"),
        ("uct:c=\n1,sims=2", 'no key "sims"'), (f"uct:c={DIGITS}", "c=999"), (f"uct:simulations={DIGITS}", "simulations=999"),
        ("gtp:command=", "command=: "), ("uct:name=\udcff", "name=�"), ("uct:c=true", "c=true"),
    ],
)  # fmt: skip
def test_bad_specs_of_bots(spec, message):
    assert message in (said := refusal(lambda: bot_from_spec(spec)))
    assert len(said) < 500


# -- clocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["60+3x0", "60+0x30", "60+2x0.0001", f"{DIGITS}", f"60+{DIGITS}x30", "99999999", "60+1x99999999", "٣"]
)
def test_clocks_that_cannot_run(text):
    assert refusal(lambda: TimeControl.parse(text)).startswith("clock ")


def test_a_clock_of_python_is_checked():
    assert "a period takes" in refusal(lambda: TimeControl(60, periods=3))


# -- tournament files ----------------------------------------------------------------------------

HEAD = 'name = "t"\ngame = "tic_tac_toe"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "[[bots]]\nname = {a = 1}", "name={'a': 1}: should be a valid string"), (HEAD + "[[bots]]\nname = true", "name=true"),
        (HEAD + "[[bots]]\nc = true", "c=true: should be a number"), (HEAD + "[[bots]]\nsimulations = true", "should be a number"),
        (HEAD + "[[bots]]\nuse = {}", 'no bot is called "{}"'), (HEAD + "[[bots]]\nuse = []", "empty list"),
        (HEAD + "[[bots]]\nname = [true]", "name cannot be a list"), (HEAD + f"[[bots]]\nsimulations = 0x{'f' * 5000}", "thousands of digits"),
        (HEAD + f"[[bots]]\nsimulations = [1, 0x{'f' * 5000}]", "thousands of digits"), (HEAD + f"[[bots]]\nseconds = {DIGITS[:400]}", "seconds=9"),
        (HEAD + f"[[bots]]\nc = {DIGITS}", "more digits than can be read"), (HEAD + f"seed = {DIGITS}", "more digits than can be read"), (HEAD + f"x = {'[' * 20_000}", "too deep"),
        (HEAD + '[[bots]]\nname = "a\\nb"', 'bot "a b": name=a b'), ('name = "a\\nb"\ngame = "go"', "name = 'a\\nb'"),
        ('name = "a\\u0085b"\ngame = "go"', "control characters"), (HEAD + '"a\\nb" = 1', 'no key "a b"'), (HEAD + 'clock = "60+3x0"\n[[bots]]\n[[bots]]\nname = "b"', "period"),
    ],
)  # fmt: skip
def test_bad_tournament_files(text, message):
    said = refusal(lambda: parse_plan(text, "t.toml"))
    assert message in said
    assert said.startswith("t.toml: ")
    assert len(said) < 500


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "x = {{ {} = 1 }}", '[["a" . {}]]', "\n\n  {}"])
def test_names_of_100_000_parts_are_refused_at_once(text):
    """Python's reader takes a minute for one."""
    with pytest.raises(UserError, match=r"^x: line \d: a name of more than 10 parts"):
        parse_toml(text.format(".".join("a" * 100_000)), "x")
    with pytest.raises(UserError, match="with dots in between"):
        parse_toml('"\\""' + '."\\""' * 100_000 + " = 1", "x")  # a quoted part with a quote in it
    assert parse_toml(f"# {'.' * 10_000}\na = '{'.' * 10_000}'\n{'.'.join('b' * 10)} = 1.5", "x")["a"] == "." * 10_000


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is no regular file" in refusal(lambda: read_plan(tmp_path / "pipe"))
    assert "is a folder" in refusal(lambda: read_plan(tmp_path))
    with open(tmp_path / "large", "wb") as file:
        file.truncate(10**9)
    assert "1,000,000,000 bytes are too many" in refusal(lambda: read_plan(tmp_path / "large"))
