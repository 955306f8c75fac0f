"""Several runs rated at once: who is one player, who is not, and what is said of it."""

from __future__ import annotations

import json

import pytest

import jubango as jb
from jubango.analysis.ratings.ratings import rate
from jubango.analysis.tables.tables import results_of
from jubango.arena.commands import run


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs of bots with the same names, of which "it's" is another in the second; and a CSV with one of them."""
    monkeypatch.chdir(tmp_path)
    for name, it in (("a", jb.Bot("random", name="it's")), ("b", jb.Bot("minimax", name="it's", depth=1))):
        jb.tournament("tic_tac_toe", ["random", it], games=6, out=name, progress=False)
    (tmp_path / "c.csv").write_text("black,white,result\nrandom,it's,1-0\nrandom,x,0-1\n")
    return tmp_path


def ratings(capsys, *words):
    assert run(["rate", *words, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    return {row["name"]: row for row in json.loads(out)["ratings"]}, err


SAID = "\"it's\" is rated as one player, though it is random in a, minimax:depth=1 in b; --apart 'it'\"'\"'s' tells them apart\n"


def test_one_name_is_one_player(runs, capsys):
    found, err = ratings(capsys, "a", "b", "c.csv")
    assert {name: row["games"] for name, row in found.items()} == {"it's": 13, "random": 14, "x": 1}
    assert err == SAID
    alone = [result for name in ("a", "b", "c.csv") for result in results_of([runs / name])]
    expected = {r.name: r.elo for r in rate(alone).ratings}
    assert {name: row["elo"] for name, row in found.items()} == pytest.approx(expected)


def test_but_not_if_told_otherwise(runs, capsys):
    found, err = ratings(capsys, "a", "b", "c.csv", "--apart", "it's")
    games = {"it's (a)": 6, "it's (b)": 6, "it's (c.csv)": 1, "random": 14, "x": 1}
    assert {name: row["games"] for name, row in found.items()} == games
    assert err == ""
    found, _ = ratings(capsys, "a", "b", "--apart", "it's", "--anchor", "it's (b)=500")
    assert found["it's (b)"]["elo"] == 500


def test_pairs_of_different_runs_are_different_pairs(runs):
    first, second = ({result.pair for result in results_of([runs / name])} for name in "ab")
    assert first == second
    together = {result.pair for result in results_of([runs / "a", runs / "b"])}
    assert len(together) == 6


def test_different_games_are_pointed_out(runs, capsys):
    jb.tournament("connect_four", ["random", jb.Bot("random", name="y")], games=2, out="d", progress=False)
    found, err = ratings(capsys, "a", "d")
    assert len(found) == 3
    assert err == "different games are rated as one: tic_tac_toe in a, connect_four:7x6 in d\n"
    _, err = ratings(capsys, "a", "a/games")
    assert err == "", "a folder of games says no settings"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "./a"], "a: is named twice; its games would count twice"),
        (["a", "--apart", "its"], '--apart "its": no player of that name; did you mean "it\'s"?'),
    ],
)
def test_slips_are_one_line(words, said, runs, capsys):
    assert run(["rate", *words]) == 2
    assert capsys.readouterr().err == f"jubango: {said}\n"
