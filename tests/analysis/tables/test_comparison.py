"""What changed between two runs: against simulated truths, against one fit of all games, and as users see it."""

from __future__ import annotations

import itertools
import json
import math
import sys

import numpy as np
import pytest

import jubango as jb
from jubango.analysis.ratings.ratings import expected_score, rate
from jubango.analysis.tables.comparison import RunGames, changes, compared
from jubango.analysis.tables.tables import records_frame
from jubango.arena.commands import run as command
from jubango.sgf_games.records.record import GameRecord

TRUTH = {"a": 150.0, "b": 40.0, "c": 0.0, "d": -60.0, "x": -130.0}


def played(rng, truth, games=40, first=35.0):
    """A round robin in colour-swapped pairs between players of these strengths: (black, white, Black's score)."""
    return [
        (black, white, float(rng.random() < expected_score(truth[black] - truth[white] + first)))
        for one, other in itertools.combinations(truth, 2)
        for black, white in ((one, other), (other, one))
        for _ in range(games // 2)
    ]


@pytest.mark.full
def test_changes_are_the_simulated_truth_s():
    """Of 150 pairs of runs: no bias, errors as large as the scatter, and 95 % intervals that hold the truth."""
    rng, found = np.random.default_rng(8), []
    for _ in range(150):
        lists = rate(played(rng, TRUTH)), rate(played(rng, TRUTH | {"x": -30.0}))
        found.append([changes(*lists, list(TRUTH), "abcd")[name] for name in TRUTH])
    elo, error, los = np.moveaxis(np.array(found), -1, 0)
    truth = np.array([0, 0, 0, 0, 100.0])
    inside = (np.abs(elo - truth) <= error).mean(axis=0)
    assert (inside > 0.89).all(), inside  # 95 %, with three times the error of a share of 150
    off = (elo - truth).mean(axis=0) / (elo.std(axis=0) / math.sqrt(len(elo)))
    assert (np.abs(off) < 3.5).all(), off
    np.testing.assert_allclose(elo.std(axis=0) * 1.96, error.mean(axis=0), rtol=0.2)
    assert los[:, 4].mean() > 0.9
    assert 0.4 < los[:, :4].mean() < 0.6


def test_it_is_one_fit_of_all_games():
    """Where only x is another, its change is the difference of two players in one fit, the others being one each."""
    rng = np.random.default_rng(3)
    before, after = played(rng, TRUTH, 400), played(rng, TRUTH | {"x": -30.0}, 400)
    names = [(("x2" if n == "x" else n) for n in game[:2]) for game in after]
    pooled = rate(before + [(*pair, game[2]) for pair, game in zip(names, after, strict=True)])
    elo, error, los = pooled.difference("x2", "x")
    found = changes(rate(before), rate(after), list(TRUTH), "abcd")["x"]
    assert found == pytest.approx((elo, error, los), abs=0.7)


def test_no_zero_matters_and_more_reference_is_no_worse():
    rng = np.random.default_rng(5)
    first, second = played(rng, TRUTH), played(rng, TRUTH)
    names = list(TRUTH)
    found = changes(rate(first), rate(second), names, "abcd")
    moved = changes(rate(first, anchors={"d": 2000}), rate(second, anchors={"a": -700}), names, "abcd")
    for name in names:
        assert moved[name] == pytest.approx(found[name], abs=1e-6)
    weak = [("a", "weak", 1.0), ("weak", "a", 0.0)] * 3  # a rating that nobody knows well
    lists = rate(first + weak), rate(second + weak)
    errors = [changes(*lists, [*names, "weak"], own)["x"].error for own in ("abcd", ["a", "b", "weak"], "ab", ["weak"])]
    with_weak = changes(*lists, [*names, "weak"], [*"abcd", "weak"])["x"].error
    assert with_weak <= errors[0] + 1e-6 < errors[1] <= errors[2] + 1e-6
    assert errors[3] > 2 * errors[0], "alone it would say little"


def test_where_nothing_can_be_said():
    rng = np.random.default_rng(6)
    apart = [*played(rng, {"a": 0, "b": 0}), *played(rng, {"c": 0, "d": 0})]
    whole = played(rng, {"a": 0, "b": 0, "c": 0, "d": 0})
    found = changes(rate(apart), rate(whole), "abcd", "ac")
    assert all(math.isnan(found[name].elo) for name in "ac"), "neither has met the other in both"
    assert all(math.isfinite(found[name].error) for name in "bd")
    alone = changes(rate(whole), rate(whole), "abcd", "a")
    assert math.isnan(alone["a"].los)
    assert alone["b"] == pytest.approx((0, alone["b"].error, 0.5))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    weak, strong = jb.Bot("random", name="mini[max]"), jb.Bot("minimax", name="mini[max]", depth=2)
    for name, bot, extra in (("a", weak, "old"), ("b", strong, "new")):
        bots = ["random", jb.Bot("random", name="random too"), bot, jb.Bot("random", name=extra)]
        jb.tournament("tic_tac_toe", bots, games=20, out=folder / name, progress=False)
    return folder


def test_a_comparison_has_all_bots(runs):
    found = jb.compare_runs(runs / "a", jb.open_run(runs / "b"))
    frame = found.frame.set_index("name")
    assert frame.index.tolist()[0] == "mini[max]", "the surest change comes first"
    assert frame["settings"].to_dict() == {
        "mini[max]": "other", "random": "same", "random too": "same", "old": "first only", "new": "second only",
    }  # fmt: skip
    assert found.reference == ("random", "random too")
    best = frame.loc["mini[max]"]
    assert (best.spec_first, best.spec_second) == ("random", "minimax:depth=2")
    assert best.change > best.error
    assert best.los > 0.99
    assert frame["games_first"].to_dict()["random"] == 60
    assert frame.loc["new", ["change", "games_first", "seconds_first"]].isna().all()
    games = jb.open_run(runs / "a").games
    own = games[(games["black"] == "old") | (games["white"] == "old")]
    assert frame.loc["old", "seconds_first"] == pytest.approx(own["seconds"].mean())
    assert "20 games are in both, move by move" in "\n".join(found.remarks), "those of the two random ones"
    assert "mini[max]: random → minimax:depth=2" in found.remarks
    assert str(found).splitlines()[0].startswith("first:  ")
    back = jb.compare_runs(runs / "b", runs / "a").frame.set_index("name")
    assert back.loc["mini[max]", "change"] == pytest.approx(-best.change)
    assert back.loc["mini[max]", "los"] == pytest.approx(1 - best.los)


def test_the_command_prints_it(runs, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    assert command(["compare", "a", "b"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "first:  a: tic_tac_toe:3, 120 games, 4 bots" or "120 games, 4 bots" in out
    assert "mini[max]" in out
    assert command(["compare", "a", "b", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reference"] == ["random", "random too"]
    assert [bot["name"] for bot in found["bots"]][3:] == ["old", "new"]
    assert found["bots"][4]["change"] is None
    assert command(["compare", "a", "b", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("name,settings,change,error,los,games_first,")
    assert command(["compare", "a", "nowhere"]) == 2
    assert capsys.readouterr().err == "jubango: nowhere: holds no tournament.toml; name a run's folder\n"


def test_failures_and_seconds_are_counted():
    games = records_frame([
        GameRecord(game_id, "go:9", black, white, "", "", 1, (), result, reason, seconds=seconds)
        for game_id, black, white, result, reason, seconds in [
            ("1", "e", "f", "W+T", "time", 2.0), ("2", "f", "e", "B+F", "crash", 4.0), ("3", "e", "f", "B+1", "score", 0.0),
        ]
    ])  # fmt: skip
    first, second = (RunGames(label, "go:9", {"e": "gtp", "f": "x"}, games) for label in "ab")
    row = compared(first, second).frame.set_index("name").loc["e"]
    assert row["failures_first"] == "1 time, 1 crash"
    assert row["seconds_second"] == 3.0, "0 is not known"
    with pytest.raises(jb.UserError, match="a and c have no bot in common"):
        compared(first, RunGames("c", "go:9", {"z": ""}, games[:0]))


PLAN = """
name = "p"
game = "tic_tac_toe"
games_per_pairing = 2
bots = [{ name = "random", use = "random" }, { name = "net", use = "policy", network = "w.safetensors" }]
[networks]
"w.safetensors" = "%s"
"""


def test_other_weights_are_other_settings(tmp_path):
    """The digests that a run states tell apart what a spec calls the same."""
    for digit in "01":
        bots = ["random", jb.Bot("random", name="net")]
        jb.tournament("tic_tac_toe", bots, games=2, out=tmp_path / digit, progress=False)
        (tmp_path / digit / "tournament.toml").write_text(PLAN % (64 * digit))
    found = jb.compare_runs(tmp_path / "0", tmp_path / "1")
    assert found.frame.set_index("name")["settings"].to_dict() == {"net": "other", "random": "same"}
    spec = "policy:network=w.safetensors (weights "
    assert f"net: {spec}00000000) → {spec}11111111)" in found.remarks


def test_a_terminal_of_80_columns_wraps_at_words(runs, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    monkeypatch.setenv("COLUMNS", "80")
    assert command(["compare", "a", "b"]) == 0
    piped = capsys.readouterr().out
    assert max(map(len, piped.splitlines())) > 80, "what is piped keeps its lines"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(["compare", "a", "b"]) == 0
    shown = capsys.readouterr().out
    footer = shown[shown.index("measured against") :]
    assert max(len(line.rstrip()) for line in footer.splitlines()) <= 80
    assert footer.split() == piped[piped.index("measured against") :].split(), "no word is cut"
