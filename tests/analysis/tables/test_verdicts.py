"""What is said beside the ratings: how games ended, which were played again, what could not be read."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

from jubango.analysis.ratings.ratings import expected_score, rate
from jubango.analysis.ratings.results import Result, distinct_games, doubts, endings
from jubango.analysis.tables.tables import results_of
from jubango.analysis.tables.verdicts import (
    evidence,
    remarks,
    signed,
    summary,
    summary_frame,
    surprises,
    verdict,
    verdicts,
)
from jubango.arena.commands import run
from jubango.arena.runs.run_folder import open_run
from jubango.arena.tournament import tournament
from jubango.bots.config import Bot
from jubango.sgf_games.base.errors import UserError

FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).parents[2] / 'tools' / 'fake_engine.py'))}"


def status_of(capsys, *arguments: str) -> tuple[int, str, str]:
    status = run(list(arguments))
    return status, *capsys.readouterr()


@pytest.mark.full
def test_a_match_that_an_engine_forfeits(tmp_path, capsys):
    """The winner's strength is not what decided: the reason stands under the verdict, in every format."""
    arguments = ["match", f"gtp:command={FAKE} nonsense", "random", "--game", "go:3", "--games", "4"]
    arguments += ["--out", str(tmp_path / "run")]
    status, out, _ = status_of(capsys, *arguments)
    assert status == 0
    *_, said, reason = out.splitlines()
    assert "stronger with a probability" in said
    assert "4 of the 4 games ended by forfeit" in said
    assert reason.startswith("lost by forfeit: ")
    assert reason.endswith("4 of 4 games (4 illegal; the first: genmove answered 'over there')")
    status, out, _ = status_of(capsys, *arguments, "--format", "json")
    found = json.loads(out)
    (only,) = found["verdicts"]
    assert (only["stronger"], only["wins"], only["losses"], only["forfeit"], only["games"]) == ("random", 4, 0, 4, 4)
    assert 0.5 < only["probability"] < 1
    assert only["elo"] > 0 < only["error"]
    assert found["endings"][0]["why"] == "genmove answered 'over there'"
    assert found["first_move"]["error"] > 0
    assert [row["forfeit"] for row in found["ratings"]] == [0, 4]
    status, out, _ = status_of(capsys, *arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["forfeit"] for row in rows] == ["0", "4"]
    assert rows[1]["why"] == "forfeit: 4 illegal; the first: genmove answered 'over there'"
    assert float(rows[0]["difference"]) == -float(rows[1]["difference"]) == pytest.approx(only["elo"])
    assert float(rows[0]["difference_error"]) == pytest.approx(only["error"])
    assert float(rows[0]["probability"]) == pytest.approx(only["probability"])
    assert float(rows[0]["first_move"]) == pytest.approx(found["first_move"]["elo"])
    assert rows[0][f"against {rows[1]['name']}"] == "4-0-0"
    status, out, _ = status_of(capsys, "rate", str(tmp_path / "run"))
    assert reason in out
    assert f"{reason[:20]}" not in status_of(capsys, *arguments)[2], "said once"
    assert reason.split(" (")[0] in status_of(capsys, "rate", str(tmp_path / "run" / "games"))[1]


def test_games_that_are_played_again(tmp_path):
    """Two points, any order: on a board that may be mirrored one game for each choice of colours, whatever the seeds."""
    played = tournament("mnk:2x1,k=2", ["random", Bot("random", name="again")], games=20, out=tmp_path, progress=False)
    assert len(set(played.games["moves"])) == 2
    distinct = 2
    assert (played.verdict.distinct_games, played.verdict.games) == (distinct, 20)
    assert f"only {distinct} of the 20 games are distinct" in str(played.verdict)
    assert str(played.verdict) in str(played)
    assert str(played.verdict) in played._repr_html_()
    assert distinct_games(results_of([tmp_path])) == distinct_games(results_of([tmp_path / "games"])) == distinct
    assert open_run(tmp_path).verdict == played.verdict


def test_what_makes_a_game_distinct():
    same = [Result("a", "b", 1.0, game=("go", "A1"))] * 3
    others = [
        Result("b", "a", 1.0, game=("go", "A1")), Result("a", "b", 1.0, game=("go", "A2")),
        Result("a", "b", 1.0, game=("mnk", "A1")), Result("a", "c", 1.0, game=("go", "A1")),
    ]  # fmt: skip
    assert distinct_games(same + others) == 5
    assert distinct_games([*same, ("a", "b", 1.0), ("a", "b", 1.0)]) == 3, "of some the moves are not known"
    assert distinct_games([("a", "b", 1.0)] * 2) is None
    three = same + others
    assert evidence(rate(three), three) == [
        "only 5 of the 7 games are distinct, however the board is turned or mirrored, and the same moves again are no "
        "new evidence"
    ]


def test_endings_are_counted_for_the_loser():
    results = [
        Result("a", "b", 1.0, "T"), Result("b", "a", 0.0, "T", "slow"), Result("a", "b", 0.0, "R"),
        Result("c", "a", 0.0, "F", "crashed"), ("a", "c", 1.0), Result("a", "c", 0.5),
    ]  # fmt: skip
    found = rate(results)
    counts = {r.name: (r.time, r.forfeit, r.resignation) for r in found.ratings}
    assert counts == {"a": (0, 0, 1), "b": (2, 0, 0), "c": (0, 1, 0)}
    assert [(e.name, e.ending, e.lost, e.games, e.why) for e in endings(results)] == [
        ("b", "time", 2, 3, "slow"), ("c", "forfeit", 1, 3, "crashed"), ("a", "resignation", 1, 6, ""),
    ]  # fmt: skip
    assert evidence(found, results) == [
        "lost on time: b 2 of 3 games (the first: slow)", "lost by forfeit: c 1 of 3 games (crashed)",
        "lost by resignation: a 1 of 6 games",
    ]  # fmt: skip


def test_doubts_and_scoring_in_every_format():
    """What the games were stands in short on the dashboard, in full below the table, in JSON and in CSV."""
    same = ("go:3", "A1 pass pass")
    results = [
        Result("a", "b", 1.0, "F", "ended", same, "crash"), Result("a", "b", 1.0, "F", "", same, "illegal"),
        Result("a", "b", 0.0, "", "", ("go:3", "B2"), "agreed"), Result("b", "a", math.nan, "", "b: no", None, "refused"),
    ]  # fmt: skip
    assert doubts(results) == ["2 distinct", "2 lost by forfeit", "1 without dead stones", "1 void"]
    found = rate(results)
    said = "\n".join(evidence(found, results))
    assert said.count("; but ") == 1
    assert "lost by forfeit: b 2 of 3 games (1 crash, 1 illegal; the first: ended)" in said
    assert "1 game void, won and lost by nobody: an engine refused a legal move (b: no)" in said
    data = summary(found, results)
    assert (data["scoring"], data["endings"][0]["reasons"]) == ({"agreed": 1, "refused": 1}, {"crash": 1, "illegal": 1})
    frame = summary_frame(found, results)
    assert frame["distinct_games"].tolist() == [r.distinct_games for r in found.ratings] == [2, 2]
    assert frame["scoring"].tolist() == ["1 agreed, 1 refused"] * 2


def test_verdicts_are_on_those_who_met():
    results = [("a", "b", 1.0)] * 3 + [("b", "c", 1.0)] * 3 + [("d", "d", 1.0)]
    found = rate(results)
    all_of_them = verdicts(found, results)
    assert [(v.stronger, v.weaker, v.wins) for v in all_of_them] == [("a", "b", 3), ("b", "c", 3)]
    assert verdict(found, results, "c", "a").games == 0
    assert (verdict(found, results, "c", "a").elo, verdict(found, results, "c", "a").stronger) == (
        pytest.approx(all_of_them[0].elo + all_of_them[1].elo), "a",
    )  # fmt: skip
    assert "do not say which" in str(verdict(found, results, "a", "d"))
    assert len(summary_frame(found, results)) == 4


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_everything_is_json(prior, capsys, tmp_path):
    """Infinities, players without a game against others, undecided games."""
    path = tmp_path / "r.csv"
    path.write_text("black,white,result\na,b,1-0\nb,a,0\nc,c,1\na,b,Void\nb,a,?\n")
    status, out, _ = status_of(capsys, "rate", str(path), "--prior", str(prior), "--format", "json")
    assert status == 0
    found = json.loads(out)
    assert (found["games"], found["undecided_games"], found["distinct_games"]) == (3, 2, None)
    assert {row["name"]: row["games"] for row in found["ratings"]} == {"a": 2, "b": 2, "c": 0}
    assert (found["first_move"]["error"] == "inf") is (prior == 0)
    assert isinstance(summary(rate([]), []), dict)
    status, out, _ = status_of(capsys, "rate", str(path), "--prior", str(prior))
    assert status == 0
    assert ("-inf" in out) is (prior == 0)
    assert "2 of the 5 games were not decided" in out


def test_groups_are_told_apart_unless_anchors_join_them():
    results = [("a", "b", 1.0), ("b", "a", 0.0), ("a", "b", 0.5), ("c", "d", 1.0), ("c", "d", 0.5)]
    assert remarks(rate(results))[0].splitlines()[1:] == ["  a, b", "  c, d"]
    assert len(remarks(rate(results, anchors={"a": 0}))) == 2
    (alone,) = remarks(rate(results, anchors={"a": 0, "d": 100}))
    assert alone.startswith("moving first is worth")


def test_perfect_scores_are_said_plainly():
    results = [("a", "b", 1.0), ("b", "a", 0.0), ("b", "c", 1.0), ("c", "b", 0.5)]
    assert remarks(rate(results))[0] == "a has won all of 2: only the prior bounds such a rating"
    without = rate(results, prior=0)
    assert not surprises(without, results), "nothing finite explains them, and nothing is said"
    assert "only the prior" not in " ".join(remarks(without))


def test_a_csv_names_both_players(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text("black,white,result\na,b,1-0\n,b,1-0\n")
    status, _, err = status_of(capsys, "rate", str(path))
    assert (status, err) == (2, f"jubango: {path}: line 3: names no black player\n")


def test_json_has_the_likelihood_of_superiority(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text("black,white,result\na,b,1-0\nb,a,0-1\na,b,0-1\n")
    _, out, _ = status_of(capsys, "rate", str(path), "--format", "json")
    matrix = json.loads(out)["superiority"]
    assert matrix["a"]["b"] + matrix["b"]["a"] == pytest.approx(1)
    assert matrix["a"]["b"] > 0.5 == matrix["a"]["a"]


def test_players_who_met_nobody_else(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text("black,white,result\na,a,1-0\n")
    status, _, err = status_of(capsys, "rate", str(path))
    assert (status, err.count("\n")) == (2, 1)
    assert "no finished games of two players" in err


def test_files_that_cannot_be_read_are_left_out(tmp_path, capsys):
    (tmp_path / "sub").mkdir()
    games = {"1": "B+R", "2": "W+3.5", "3": "Void", "sub/4": "0"}
    for name, result in games.items():
        (tmp_path / f"{name}.sgf").write_text(f"(;SZ[3]PB[a]PW[b]RE[{result}];B[bb])")
    bad = {"bad": "(;SZ[5;B[aa])", "sub/worse": "no game", "empty": ""}
    for name, text in bad.items():
        (tmp_path / f"{name}.sgf").write_text(text)
    status, out, err = status_of(capsys, "rate", str(tmp_path), "--format", "json")
    found = json.loads(out)
    assert (status, found["games"], len(found["left_out"])) == (0, 3, 3)
    assert all(str(tmp_path / f"{name}.sgf") in err for name in bad)
    assert "3 file(s) could not be read" in err
    status, out, err = status_of(capsys, "rate", str(tmp_path), "--strict")
    assert (status, out, err.count("\n")) == (2, "", 1)
    status, out, err = status_of(capsys, "rate", str(tmp_path / "bad.sgf"))
    assert (status, out, err.count("\n")) == (2, "", 1), "a file that was named is asked for"


def test_a_database_of_something_else(tmp_path):
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        db.execute("create table games (game_id text, black text)")
    with pytest.raises(UserError, match='no column "game"'):
        results_of([tmp_path])


def test_signs():
    assert [signed(x) for x in (-0.4, -0.0, 0.4, -6.9e-15, 12.6, -3.0, math.inf, -math.inf)] == [
        "0", "0", "0", "0", "+13", "-3", "+inf", "-inf",
    ]  # fmt: skip


def test_results_that_the_ratings_do_not_explain():
    """Stone, scissors, paper: all are rated alike, and no pair plays as it is rated."""
    circle = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 1.0)] * 20
    found = surprises(rate(circle, first_move_advantage=False), circle)
    assert {(one.first, one.second) for one in found} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert {one.games for one in found} == {20}
    assert [one.expected for one in found] == pytest.approx([10, 10, 10])
    assert found[0].chance == pytest.approx(math.erfc(math.sqrt(20 / 2)), rel=1e-3)
    said = evidence(rate(circle, first_move_advantage=False), circle)
    assert any(
        line.startswith("not explained by the ratings: a has 20 of 20 points against b, where 10.0") for line in said
    )


@pytest.mark.full
def test_what_the_model_explains_is_no_surprise():
    """In 200 tables of players who play as they are rated about one in twenty has a surprise."""
    rng, names, elo = np.random.default_rng(5), "abcd", {"a": 150, "b": 60, "c": -20, "d": -190}
    surprised = 0
    for _ in range(200):
        games = [
            (x, y, float(rng.random() < expected_score(elo[x] - elo[y])))
            for x in names
            for y in names
            if x != y
            for _ in range(20)
        ]
        surprised += bool(surprises(rate(games), games))
    assert surprised <= 20
    assert not surprises(rate([("a", "b", 1.0)] * 9), [("a", "b", 1.0)] * 9), "of two players a rating explains all"
