"""Reviews: what is called a mistake is one, searches are kept and taken, and files say what they are of."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import full_but

from jubango.analysis.positions.position import searching_bot
from jubango.analysis.reviews import reviewing
from jubango.analysis.reviews.review_file import load, moves_digest, review_path
from jubango.analysis.reviews.review_moves import (
    Candidate,
    Evidence,
    Finding,
    PositionKey,
    Thresholds,
    candidates_of,
    grade_of,
    loss_between,
    phase_of,
    reviewed_move,
    reviewed_position,
)
from jubango.analysis.reviews.review_plot import Curves, Mark, graph_text
from jubango.analysis.reviews.review_search import SearchJob, search
from jubango.analysis.reviews.review_summary import LOSS_BINS, accuracy_of, histogram
from jubango.arena.commands import run as command
from jubango.arena.tournament import review
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.sgf.positions import Record, position, positions
from jubango.sgf_games.sgf.sgf import parse_sgf, write_line
from jubango.sgf_games.sgf.symmetries import turned, turns_of

ROOT = Path(__file__).parents[3]
# Black has a fork and gives it away with move 7, White misses the block with move 6.
TTT = "(;GM[4]SZ[3]JG[tic_tac_toe]PB[a]PW[b]RE[0];B[bb]C[the middle];W[ab];B[aa];W[cc];B[bc];W[ba];B[ca])"
FAST = {"simulations": 100}


def record(text: str) -> Record:
    return Record(parse_sgf(text.encode(), "game.sgf")[0])


@pytest.fixture(scope="module")
def ttt():
    return review(record(TTT), "uct", **FAST)


# -- how sure a loss is --------------------------------------------------------------------------


def findings(rates, simulations=100, move="A1"):
    return [Finding(float(rate), simulations, (Candidate(move, simulations, 1.0, float(rate)),)) for rate in rates]


@pytest.mark.parametrize("scatter", [1.0, 6.0])  # of a search, in binomial variances of as many games
@pytest.mark.parametrize("repeats", [2, 4])
def test_of_moves_as_good_as_the_bot_s_own_hardly_any_is_called_bad(scatter, repeats):
    """2,000 pairs of positions of equal worth, 40 to a game, searched by simulated searches of known scatter."""
    rng, n = np.random.default_rng(int(scatter) + repeats), 200
    called, inside, total = 0, 0, 0
    for _ in range(50):
        truth = rng.uniform(0.05, 0.95, 40)
        spread = np.sqrt(scatter * truth * (1 - truth) / n)
        rates = rng.normal(truth, spread, (2, repeats, 40)).clip(0, 1)
        places = {PositionKey(i, after): findings(rates[k, :, i], n) for i in range(40) for k, after in enumerate("AB")}
        evidence = Evidence(places)
        for i in range(40):
            a, b = evidence.of(PositionKey(i, "A")), evidence.of(PositionKey(i, "B"))
            loss, error, worse = loss_between(0, a, b)
            called += worse >= 0.995
            inside += abs(loss) <= error
            total += 1
    assert called / total <= 0.005 + 3 * math.sqrt(0.005 / total)
    assert inside / total >= 0.94, "the 95 % intervals hold the truth"


@pytest.mark.full
def test_real_searches_of_moves_that_are_the_same_by_symmetry():
    """Two corners of tic-tac-toe are one move, and not to block is a blunder: 150 games of either kind."""
    bot, number = searching_bot("uct", simulations=100), 150
    same = [position("tic_tac_toe", "B2 A3"), position("tic_tac_toe", "B2 C1")]
    lost = [position("tic_tac_toe", f"B2 A2 A3 {move}") for move in ("A1", "C1")]  # White does not block, and blocks
    wishes = [
        SearchJob(0, PositionKey(i, "AB"[k]), repeat, place)
        for i in range(number) for pair in (0, 1) for k, place in enumerate((same, lost)[pair])
        for repeat in (2 * pair, 2 * pair + 1)
    ]  # fmt: skip
    found: dict[tuple[int, PositionKey], list[Finding]] = {}
    for batch in search(wishes, bot, 7):
        for wish, one in batch:
            found.setdefault((wish.repeat // 2, wish.place), []).append(one)
    calls = []
    for pair in (0, 1):
        evidence = Evidence({place: own for (kind, place), own in found.items() if kind == pair})
        # White plays A and the bot would have played B.
        losses = [
            loss_between(1, evidence.of(PositionKey(i, "A")), evidence.of(PositionKey(i, "B"))) for i in range(number)
        ]
        calls.append([worse >= 0.995 for _, _, worse in losses])
        if not pair:
            deviations = np.array([loss / (error / 1.96) for loss, error, _ in losses])
            assert deviations.std() < 1.2
            assert abs(deviations.mean()) < 0.3
    assert np.mean(calls[0]) <= 0.02
    assert np.mean(calls[1]) >= 0.9


def test_the_largest_of_three_variances_counts():
    calm = {PositionKey(i): findings([0.5, 0.5]) for i in range(9)}
    wild = {**calm, PositionKey(9): findings([0.2, 0.8])}
    floor = 0.25 / 100 / 2  # as many games as simulations, two searches
    assert Evidence(calm).of(PositionKey(0)).variance == pytest.approx(floor, rel=0.01)
    evidence = Evidence(wild)
    assert evidence.of(PositionKey(9)).variance == pytest.approx(0.18 / 2)
    assert evidence.of(PositionKey(0)).variance == pytest.approx(0.018 / 2, rel=0.05), "pooled over ten positions"
    assert Evidence({PositionKey(0): [Finding(1.0, 0)]}).of(PositionKey(0)) == (1.0, 0.0), "a result has no error"
    alone = Evidence({PositionKey(0): findings([0.0])}).of(PositionKey(0))
    assert alone.variance > 0, "100 lost games leave some doubt"


@given(st.floats(-1, 1), st.floats(0, 1))
def test_grades(loss, worse):
    grade = grade_of(loss, worse, Thresholds())
    if grade in ("inaccuracy", "mistake", "blunder"):
        assert worse >= 0.995
        assert loss >= {"inaccuracy": 0.05, "mistake": 0.1, "blunder": 0.2}[grade]
    elif grade:
        assert (grade, worse <= 0.005 + 1e-12, loss <= -0.05) == ("surprise", True, True)
    assert grade_of(math.nan, math.nan, Thresholds()) == ""
    assert grade_of(0.3, 1.0, Thresholds()) == "blunder"
    assert grade_of(0.3, 0.99, Thresholds()) == ""


@given(st.lists(st.floats(-1, 1), max_size=50))
def test_a_histogram_loses_nothing(losses):
    counts = histogram(losses)
    assert sum(counts) == len(losses)
    assert counts[0] == sum(loss <= 0 for loss in losses)
    assert counts[-1] == sum(loss > 0.5 for loss in losses)
    assert len(counts) == len(LOSS_BINS) + 1


def test_accuracy_is_lichess_s_curve():
    assert [round(accuracy_of(loss), 2) for loss in (-0.1, 0, 0.1, 0.2, 1)] == [1, 1, 0.64, 0.4, 0]


def test_phases():
    assert [phase_of(n, 361) for n in (1, 51, 52, 180, 181)] == ["opening", "opening", "middle", "middle", "end"]


def test_searches_of_a_position_are_added_up():
    one = Finding(0.6, 10, (Candidate("A1", 6, 0.5, 0.7, ("A1", "B1")), Candidate("B1", 4, 0.5, 0.4, ("B1",))))
    two = Finding(0.5, 10, (Candidate("B1", 5, 0.3, 0.4, ("B1", "A1")), Candidate("A1", 5, 0.7, 0.5, ("A1",))))
    three = Finding(0.5, 10, (Candidate("B1", 9, 0.4, 0.5),))
    best, second = candidates_of([one, two])
    assert (best.move, best.visits, best.prior, best.variation) == ("A1", 11, 0.6, ("A1", "B1"))
    assert best.win_rate == pytest.approx((6 * 0.7 + 5 * 0.5) / 11)
    assert (second.move, second.visits) == ("B1", 9)
    assert candidates_of([one, two, three])[0].move == "B1", "what most of the searches would play"
    assert candidates_of([Finding(1.0, 0)]) == ()


# -- a game --------------------------------------------------------------------------------------


def test_the_blunder_is_found(ttt):
    assert [move.number for move in ttt.moves] == list(range(1, 8))
    assert [p.number for p in ttt.positions] == list(range(8))
    move = ttt.moves[4]  # B1, where C3 would have made a fork
    assert (move.move, move.best, move.player, move.grade in ("mistake", "blunder")) == ("B1", "C3", 0, True)
    assert move.loss == pytest.approx(move.win_rate_best - move.win_rate_after)
    assert move.loss > move.error > 0
    assert ttt.summary(0).worst[0] == 5
    assert ttt.positions[1].comment == "the middle"
    assert ttt.positions[1].stones == ("...", ".X.", "...")
    for one in ttt.moves:
        assert one.simulations == 2 * 100 == ttt.positions[one.number - 1].simulations
        assert (one.loss == 0) == one.is_best
        assert one.variation[0] == one.best
        assert one.lead_before is None
    frame = ttt.frame
    assert list(frame["number"]) == list(range(1, 8))
    assert np.allclose(frame["loss"], frame["win_rate_best"] - frame["win_rate_after"])
    black = np.where(frame["colour"] == "black", frame["win_rate_after"], 1 - frame["win_rate_after"])
    assert np.allclose(frame["win_rate_black"], black)
    assert "nan" not in json.dumps(ttt.document).lower(), "it is JSON that everybody reads"
    assert ttt._repr_html_().count("<svg") == 1


def test_games_beside_each_other_change_nothing(ttt):
    other = record("(;GM[4]SZ[3]JG[tic_tac_toe];B[aa];W[bb];B[cc])")
    both = review([other, record(TTT)], "uct", **FAST)
    assert both[1].document == ttt.document
    assert both[0].document == review(other, "uct", **FAST).document
    assert review(record(TTT), "uct", seed=2, **FAST).document != ttt.document


@pytest.mark.parametrize(
    "spec", full_but(["go:4x3", "tic_tac_toe"], ["go:4x3", "go:5", "connect_four", "tic_tac_toe", "gomoku:5x6"])
)
def test_a_game_on_a_turned_board_is_the_game(spec):
    """A random one: every position is the turned one, and every action where it should be."""
    rng, here, moves = np.random.default_rng(1), position(spec), []
    while not here.over and here.number < 12:
        moves.append(here.game.action_text(int(rng.choice(np.flatnonzero(here.legal)))))
        here = here.after(moves[-1])
    (sgf,) = parse_sgf(write_line(here.game, moves, {}), "x")
    for turn in range(turns_of(here.game)):
        points, actions = (own[turn] for own in here.game.symmetries)
        for before, after in zip(positions(sgf), positions(turned(sgf, turn)), strict=True):
            assert (after.stones.ravel() == before.stones.ravel()[points]).all()
            assert (after.legal == before.legal[actions]).all()
            assert after.player == before.player


@pytest.mark.full
def test_what_is_found_on_a_turned_board_is_said_of_the_game_s_own():
    """A win for whoever is to move: every search finds it, in its own corner."""
    found = review(
        record("(;GM[4]SZ[3]JG[tic_tac_toe];B[aa];W[bb];B[ba];W[bc];B[cb])"), "uct", repeats=8, simulations=80
    )
    assert (found.moves[4].best, found.positions[4].candidates[0].variation) == ("C3", ("C3",))
    assert found.positions[4].candidates[0].visits > 0.3 * found.positions[4].simulations
    assert found.positions[4].simulations == 8 * 80
    assert found.moves[4].grade == "blunder"


@pytest.mark.full
def test_komi_is_each_game_s_own():
    games = [record(f"(;SZ[3]KM[{komi}];B[bb];W[])") for komi in (-20, 20)]
    low, high = review(games, "uct", simulations=30)
    assert low.positions[1].win_rate > 0.95 > 0.05 > high.positions[1].win_rate
    assert low.positions[1].lead - high.positions[1].lead == pytest.approx(40, abs=4)


def test_thresholds_need_no_search(ttt, monkeypatch):
    monkeypatch.setattr(reviewing, "search", None)
    strict = ttt.with_thresholds(Thresholds(0.001, 0.002, 0.003, 0.6))
    assert sum(strict.summary(0).grades.values()) >= sum(ttt.summary(0).grades.values())
    assert strict.moves[4].grade == "blunder"
    assert strict.with_thresholds(ttt.thresholds).document == ttt.document


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("(;SZ[3]KM[0];B[bb];B[aa];W[ba])", [True] * 3),  # two moves of one colour
        ("(;SZ[3]KM[0];B[bb];AW[aa];W[ba])", [True] * 2),  # stones are set up in between
        ("(;SZ[3]KM[0];B[bb];W[];B[];W[ab])", [True, True, True, False]),  # play goes on after two passes
        ("(;SZ[3]KM[0]RE[B+4];B[bb];W[];B[])", [True, False, False]),  # the end
        ("(;SZ[3]KM[0];B[bb];W[])", [True, True]),
        ("(;SZ[3]KM[0]HA[2]AB[bb][ab];W[ba])", [True]), ("(;SZ[4:3]KM[0];B[da])", [True]), ("(;SZ[3])", []),
        ("(;GM[4]SZ[7]JG[connect_four];B[df];W[de])", [True] * 2),
    ],
)  # fmt: skip
def test_files_of_all_kinds(text, judged):
    found = review(record(text), "uct", simulations=30)
    assert [not math.isnan(move.loss) for move in found.moves] == judged
    assert len(found.positions) == len(judged) + 1
    again = Record(parse_sgf(found.sgf(), "x")[0])
    assert moves_digest(again.sgf) == moves_digest(found.record.sgf), "the notes change no move"
    if "RE[B+4]" in text:
        assert [p.win_rate for p in found.positions[2:]] == [1, 1], "what the file says of the end"
        assert found.positions[-1].lead == 4


@pytest.mark.full
def test_moves_of_one_colour_are_compared_alike():
    """After the first of two black moves White would have been to move: that is where the move's worth is."""
    found = review(record("(;SZ[3]KM[0];B[bb];B[aa];W[ba])"), "uct", simulations=30)
    case_best = found.moves[0]
    assert case_best.loss == pytest.approx(case_best.win_rate_best - case_best.win_rate_after)
    assert found.moves[0].win_rate_after != pytest.approx(found.positions[1].win_rate)


@pytest.mark.full
def test_bad_wishes_are_one_line(tmp_path):
    wrong = [
        ({"repeats": 0}, "repeats=0"), ({"thresholds": Thresholds(0.2, 0.1, 0.3)}, "should rise"),
        ({"simulatons": 3}, 'did you mean "simulations"'), ({"bot": "minimax"}, "searching bot"),
        ({"file": tmp_path / "no" / "x.json"}, "cannot be written"),
    ]  # fmt: skip
    for keys, message in wrong:
        with pytest.raises(UserError, match=message) as caught:
            review(record(TTT), **{"bot": "uct", "simulations": 5, **keys})
        assert "\n" not in str(caught.value)
    (tmp_path / "x.json").write_text('{"review": 1, "searches": [{}]}')
    with pytest.raises(UserError, match="is no saved review, or is damaged"):
        review(record(TTT), "uct", file=tmp_path / "x.json", **FAST)


# -- what is saved -------------------------------------------------------------------------------


def test_what_is_saved_is_taken(tmp_path, ttt, monkeypatch):
    file = tmp_path / "ttt.review.json"
    first = review(record(TTT), "uct", file=file, **FAST)
    assert first.document == ttt.document
    asked = []
    real = reviewing.search
    monkeypatch.setattr(reviewing, "search", lambda wishes, *rest: asked.extend(wishes) or real(wishes, *rest))
    commented = TTT.replace("the middle", "another comment")
    again = review(record(commented), "uct", file=file, **FAST)
    assert not asked
    assert again.frame.equals(first.frame), "as if they were made now"
    more = review(record(TTT), "uct", file=file, repeats=3, **FAST)
    assert asked
    assert all(wish.repeat == 2 for wish in asked if wish.place.after == "")
    assert more.document == review(record(TTT), "uct", repeats=3, **FAST).document
    asked.clear()
    other = TTT.replace("B[ca]", "B[ac]")
    before = file.read_bytes()
    with pytest.raises(UserError, match="holds the review of another game"):
        review(record(other), "uct", file=file, **FAST)
    assert file.read_bytes() == before
    for keys in ({"simulations": 99}, {**FAST, "seed": 5}):
        review(record(TTT), "uct", file=file, **keys)
        assert asked, "of another subject"
        asked.clear()


@pytest.mark.full
def test_fewer_searches_than_are_saved(tmp_path):
    """Of few simulations, so that two searches choose otherwise than six: what these chose was never gone into."""
    file, keys = tmp_path / "ttt.review.json", {"simulations": 12}
    for most, fewer in ((4, 2), (6, 1)):
        review(record(TTT), "uct", file=file, repeats=most, **keys)
        before = load(file)
        less = review(record(TTT), "uct", file=file, repeats=fewer, **keys)
        fresh = review(record(TTT), "uct", repeats=fewer, **keys)
        assert less.document == fresh.document, "as if no more had been made"
        assert all(load(file).findings[place] == found for place, found in before.findings.items()), "which stay"
        file.unlink()


@pytest.mark.full
def test_stopped_at_any_place_it_goes_on(tmp_path, ttt, monkeypatch):
    """Ctrl-C after each of the batches; in the end nothing was searched twice."""
    file, asked, real = tmp_path / "x.json", [], reviewing.search

    def interrupted(wishes, *rest):
        for i, batch in enumerate(real(wishes[:6], *rest)):
            asked.extend(wish[1:3] for wish, _ in batch)
            yield batch
            if len(wishes) > 6 or i:
                raise KeyboardInterrupt

    monkeypatch.setattr(reviewing, "search", interrupted)
    for _ in range(20):
        try:
            found = review(record(TTT), "uct", file=file, **FAST)
            break
        except KeyboardInterrupt:
            assert load(file) is not None
    assert found.document == ttt.document
    assert len(asked) == len(set(asked)) > 12


KILLED = """
import sys
from pathlib import Path
from jubango.analysis.reviews import review_search
from jubango.arena.commands import run
review_search.MOST_LANES = 2  # many small batches
sys.exit(run(["analyze", "g.sgf", "--all", "--bot", "uct", "--simulations", "400", "--format", "csv"]))
"""


@pytest.mark.full
def test_killed_it_goes_on_and_finds_the_same(tmp_path):
    (tmp_path / "g.sgf").write_text(TTT)
    (tmp_path / "h.sgf").write_text(TTT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    file = review_path(tmp_path / "g.sgf")
    worker = [sys.executable, "-c", KILLED]
    said = tmp_path / "said"
    with (
        said.open("w") as out,
        subprocess.Popen(worker, cwd=tmp_path, env=environment, stdout=out, stderr=out) as process,
    ):
        until = time.monotonic() + 300
        while not file.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    part = load(file)
    assert part is not None, said.read_text()
    assert part.findings, "what was found before is there, whole"
    done = subprocess.run(worker, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    whole = review(record(TTT), "uct", simulations=400)
    assert done.stdout.splitlines()[1:] == [
        line.replace("game.sgf", "g.sgf") for line in whole.frame.to_csv(index=False).splitlines()[1:]
    ]
    assert all(load(file).findings[place][: len(own)] == own for place, own in part.findings.items())


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def games(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sgf").write_text(TTT)
    (tmp_path / "b.sgf").write_text("(;GM[4]SZ[3]JG[tic_tac_toe];B[aa];W[bb];B[cc])")
    return tmp_path


ALL = ["--all", "--bot", "uct", "--simulations", "200"]


@pytest.mark.full
def test_the_command_reviews_and_renders_again(games, capsys, monkeypatch):
    assert command(["analyze", "a.sgf", *ALL, "--sgf", "a.sgf", "--png", "a.svg", "--csv", "a.csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in ("a – b, tic_tac_toe, 0", "Black's win rate", "accuracy", "a's worst: 5 B1"):
        assert words in out
    assert (games / "a.svg").read_text().count("</svg>") == 1
    assert (games / "a.csv").read_text().startswith("file,number,player,colour,move,phase,best,grade,loss")
    monkeypatch.setattr("jubango.analysis.reviews.reviewing.search", None)  # nothing is to be searched any more
    assert command(["analyze", "a.sgf", "--all", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["bot"], found["searches"]) == ("uct:simulations=200", 2)
    assert found["positions"][1]["comment"] == "the middle", "our own note is no comment of the author's"
    assert command(["analyze", "a.sgf", "--all", "--thresholds", "50,60,70", "--format", "json"]) == 0
    assert not any(move["grade"] in ("inaccuracy", "blunder") for move in json.loads(capsys.readouterr().out)["moves"])


@pytest.mark.full
def test_the_command_says_why_it_searches_again(games, capsys):
    assert command(["analyze", "b.sgf", *ALL, "--repeats", "1"]) == 0
    capsys.readouterr()
    assert command(["analyze", "b.sgf", "--all", "--bot", "uct", "--simulations", "50"]) == 0
    assert "b.review.json is by uct:simulations=200; it is searched again" in capsys.readouterr().err.replace("\n", " ")
    (games / "b.sgf").write_text("(;GM[4]SZ[3]JG[tic_tac_toe];B[bb])")
    assert command(["analyze", "b.sgf", *ALL]) == 0
    assert "b.review.json is of another game" in capsys.readouterr().err
    before = (games / "b.review.json").read_bytes()
    assert command(["analyze", "b.sgf", *ALL, "--seed", "9", "--no-save"]) == 0
    assert (games / "b.review.json").read_bytes() == before
    (games / "b.review.json").write_text("my own")
    assert command(["analyze", "b.sgf", *ALL]) == 2
    assert "is no saved review" in capsys.readouterr().err


@pytest.mark.full
def test_several_files_at_once(games, capsys):
    assert command(["analyze", "a.sgf", "b.sgf", *ALL, "--sgf", "out", "--png", "out", "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["a.sgf"] * 7 + ["b.sgf"] * 3
    assert sorted(path.name for path in (games / "out").iterdir()) == ["a.png", "a.sgf", "b.png", "b.sgf"]
    assert (games / "a.review.json").exists()
    assert (games / "b.review.json").exists()


def test_every_game_has_a_file_of_its_own(games, capsys):
    """Whatever its number, and whatever its file is called; or nothing is searched."""
    names = ["game.sgf", "game-2.sgf", "game.2.sgf", "game.review.sgf", "game.review.2.sgf"]
    kept = [review_path(Path(name), number) for name in names for number in (1, 2, 22)]
    assert len(set(kept)) == len(kept)
    (games / "a.SGF").write_text("(;GM[4]SZ[3]JG[tic_tac_toe];B[cc])")
    assert command(["analyze", "a.sgf", "a.SGF", *ALL]) == 2
    err = capsys.readouterr().err
    assert "a.SGF: its searches would be kept in a.review.json, as those of a.sgf are" in err
    assert not list(games.glob("*.json"))
    assert command(["analyze", "a.sgf", "a.SGF", *ALL, "--no-save", "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 7 + 1


@pytest.mark.full
def test_many_games_are_reviewed_group_by_group(games, capsys, monkeypatch):
    words = ["analyze", "a.sgf", "b.sgf", *ALL, "--no-save"]
    outputs = {}
    for at_once in (32, 1):
        monkeypatch.setattr(reviewing, "AT_ONCE", at_once)
        for form in ("json", "csv", "table"):
            assert command([*words, "--csv", "all.csv", "--sgf", "out", "--format", form]) == 0
            files = [
                path.read_bytes() for path in (games / "all.csv", games / "out" / "a.sgf", games / "out" / "b.sgf")
            ]
            outputs.setdefault(form, []).append((capsys.readouterr().out, files))
    assert all(one == other for one, other in outputs.values())
    both = review(["a.sgf", "b.sgf"], "uct", simulations=200)
    assert [found.document for found in both] == json.loads(outputs["json"][0][0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a.sgf b.sgf", "several are reviewed with --all"), ("a.sgf --sgf x.sgf", "give --all"),
        ("a.sgf --all --thresholds 5,10", 'thresholds "5,10"'), ("a.sgf --all --thresholds 20,10,5", "should rise"),
        ("a.sgf --all --sure 20", "sure 20"), ("a.sgf --all --csv x.txt", "neither .parquet nor .csv"),
        ("a.sgf --all --png x.pnk", "no format"), ("a.sgf b.sgf --all --sgf a.sgf", "should be a folder"),
        ("a.sgf a.sgf --all --sgf out", "two of the files have one name"), ("a.sgf none.sgf --all", "none.sgf: cannot be read"),
        ("a.sgf --all --move 3", "--all and --move exclude each other"),
        ("a.sgf --html x.html --against uct", "--html and --against exclude"),
        ("a.sgf --all --heat visits", "--all and --heat exclude"), ("a.sgf --repeats 3", "--repeats is for the review"),
        ("a.sgf --thresholds 5,10,20", "give --all"), ("a.sgf --sure 99", "give --all"),
        ("a.sgf --no-save", "--no-save is for the review of a whole game; give --all"), ("a.sgf --all --sgf no/x.sgf", "cannot be written"),
    ],
)  # fmt: skip
def test_wrong_wishes_of_the_command(games, capsys, words, message):
    assert command(["analyze", *words.split()]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


# -- curves --------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 400), st.integers(20, 120), st.booleans(), st.data())
def test_the_curves_fit_the_terminal(positions, width, has_leads, data):
    rates = data.draw(st.lists(st.floats(0, 1), min_size=positions, max_size=positions))
    leads = [100 * (rate - 0.5) if has_leads else None for rate in rates]
    numbers = data.draw(st.sets(st.integers(0, positions - 1), max_size=5))
    marks = [Mark(n, n % 2, "blunder", "??") for n in numbers]
    lines = graph_text(Curves(rates, [0.1] * positions, leads, marks, "t"), max(28, width)).plain.splitlines()
    assert max(map(len, lines)) <= max(28, width)
    assert ("lead" in " ".join(lines)) == has_leads
    rows = [line[7:] for line in lines if "▕" in line][:8]
    assert len({len(row) for row in rows}) == 1
    if positions <= max(28, width) - 8:  # a column each: its height is the rate
        for i, rate in enumerate(rates):
            full = sum(" ▁▂▃▄▅▆▇█".index(row[i]) for row in rows)
            assert abs(full / 64 - rate) <= 1 / 128 + 1e-9
        for player, name in enumerate((" Black ", " White ")):
            (line,) = (line for line in lines if line.startswith(name))
            assert {i for i, sign in enumerate(line[len(name) :]) if sign == "‼"} == {
                n for n in numbers if n % 2 == player
            }


def test_a_position_without_other_moves_has_no_rank():
    place = position("tic_tac_toe", "B2")
    evidence = Evidence(
        {
            PositionKey(1): findings([0.4, 0.5], move="A1"),
            PositionKey(2): findings([0.6]),
            PositionKey(1, "A1"): findings([0.5]),
        }
    )
    before = reviewed_position(place, evidence)
    move = reviewed_move(replace(place, next_move=(1, (0, 1))), "B3", before, PositionKey(2), evidence, Thresholds())
    assert (move.rank, move.visits, move.prior, move.best) == (None, 0, None, "A1")
    assert move.loss == pytest.approx(0.1), "White's: from Black's 50 % to Black's 60 %"


def test_a_game_without_moves(games, capsys):
    Path("empty.sgf").write_text("(;GM[4]SZ[3]JG[tic_tac_toe])")
    assert command(["analyze", "empty.sgf", *ALL]) == 0
    assert capsys.readouterr().out.endswith("there are no moves in it\n")


def test_a_file_that_cannot_be_read_is_left_out(games, capsys):
    """The others are reviewed; where there are none, that is all."""
    Path("bad.sgf").write_text("(;GM[1]SZ[5];B[cc];W[cc])")
    assert command(["analyze", "a.sgf", "bad.sgf", "b.sgf", *ALL, "--format", "json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 2
    assert said.err.count("left out: bad.sgf: ") == 1
    assert command(["analyze", "bad.sgf", "bad.sgf", *ALL]) == 2
    assert capsys.readouterr().err.count("\n") == 1
