"""Who meets whom, where games begin, on which terms, and how they are cut short."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.runs.run_folder import open_run
from jubango.arena.schedule.adjudication import Adjudication
from jubango.arena.schedule.formats import Tally, TournamentFormat
from jubango.arena.schedule.openings import Openings, handicap_opening, openings_of
from jubango.arena.schedule.plan import parse_plan
from jubango.arena.serve.live import Live
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.library.recovery import problems, read_record
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.positions import position, read_sgf

TTT, C4, GO = make_game("tic_tac_toe"), make_game("connect_four:5x4,k=3"), make_game("go:5,komi=2")


def played(format: TournamentFormat, points, stop: int = 10**9) -> dict:
    """The results of a tournament whose games bring their first bot ``points(pair)``, or of its first ``stop`` games."""
    results: dict = {}
    while todo := [
        (pair, games) for one in format.known(results) for pair, games in one.items()
        if results.get(pair, Tally()).games < games
    ]:  # fmt: skip
        for pair, games in todo:
            while results.get(pair, Tally()).games < games:
                if sum(tally.games for tally in results.values()) == stop:
                    return results
                own, tally = points(pair), results.get(pair, Tally())
                results[pair] = Tally(tally.games + 1, tally.first + own, tally.second + 1 - own)
    return results


def names(count: int) -> tuple[str, ...]:
    return tuple(f"bot {i}" for i in range(count))


@given(st.integers(2, 33), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_knockout_leaves_one(count, seed):
    format, dice = TournamentFormat("knockout", names(count), 2, seed), random.Random(seed)
    results = played(format, lambda pair: dice.choice([0, 0.5, 1]))
    losses: Counter = Counter()
    for one in format.known(results)[:-1]:
        for pair in one:
            losses[pair[results[pair].first > results[pair].second]] += results[pair].first != results[pair].second
    assert max(losses.values(), default=0) <= 1, "who has lost a match plays no other"
    assert len(results) == count - 1
    assert len(format.known(results)) == math.ceil(math.log2(count))
    assert all(tally.games == 2 or tally.games == 4 for tally in results.values()), "a tied match goes on, once"
    assert format.total(results) == sum(tally.games for tally in results.values())
    assert format.told(results)[-1].endswith("has won the knockout")


def test_the_strongest_wins_a_knockout_wherever_it_begins():
    for seed in range(20):
        format = TournamentFormat("knockout", names(13), 2, seed)
        results = played(format, lambda pair: float(pair[0] > pair[1]))
        assert format.told(results)[-1] == f"{max(names(13))} has won the knockout"
    assert len({TournamentFormat("knockout", names(13), 2, seed).lots[0] for seed in range(20)}) > 5
    assert (
        TournamentFormat("knockout", names(13), 2, 3).lots == TournamentFormat("knockout", names(13)[::-1], 2, 3).lots
    )


@given(st.integers(2, 24), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_nobody_meets_anybody_twice_in_a_swiss_tournament(count, seed):
    format, dice = TournamentFormat("swiss", names(count), 2, seed, rounds=count // 2), random.Random(seed)
    results = played(format, lambda pair: dice.choice([0, 0.5, 1]))
    rounds = format.known(results)
    pairs = [pair for one in rounds for pair in one]
    assert len(rounds) == count // 2
    assert len(pairs) == len(set(pairs)) == len(rounds) * (count // 2)
    assert all(len({name for pair in one for name in pair}) == 2 * (count // 2) for one in rounds)
    rests = Counter(name for one in rounds for name in set(names(count)) - {name for pair in one for name in pair})
    assert max(rests.values(), default=0) <= 1
    assert format.total(results) == sum(tally.games for tally in results.values())


def test_equals_meet_in_a_swiss_tournament():
    """By hand: of four the two winners of the first round meet in the second, and the two losers."""
    format = TournamentFormat("swiss", names(4), 2, 1)
    first = format.known({})[0]
    results = played(format, lambda pair: 1.0, stop=4)
    second = format.known(results)[1]
    winners, losers = {pair[0] for pair in first}, {pair[1] for pair in first}
    assert {frozenset(pair) for pair in second} == {frozenset(winners), frozenset(losers)}


@given(st.sampled_from(["knockout", "swiss", "gauntlet", "round-robin"]), st.integers(4, 9), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_what_is_known_stays_as_games_end(kind, count, stop):
    """A round that has begun is not drawn anew, so that a run that stopped goes on with it."""
    format = TournamentFormat(kind, names(count), 2, 5)

    def points(pair):
        return float(hash(pair) % 3) / 2

    part, whole = format.known(played(format, points, stop)), format.known(played(format, points))
    assert [list(one) for one in part] == [list(one) for one in whole[: len(part)]]
    assert format.to_come(played(format, points, stop)) == [2 * len(one) for one in whole[len(part) :]]


def test_rounds_say_who_rested_and_where_the_lot_decided():
    swiss = TournamentFormat("swiss", names(3), 2, 1)
    (line, _) = swiss.told(played(swiss, lambda pair: 0.5))
    (resting,) = set(names(3)) - {name for pair in swiss.known({})[0] for name in pair}
    assert line.endswith(f", {resting} rests")
    knockout = TournamentFormat("knockout", names(2), 2, 1)
    tied, winner = knockout.told(played(knockout, lambda pair: 0.5))
    assert winner == f"{winner.partition(' has')[0]} has won the knockout"
    assert tied == f"round 1: bot 0 2-2 bot 1 (by lot {winner.partition(' has')[0]})"


def test_rounds_that_cannot_be():
    with pytest.raises(UserError, match="3 at most of 6 bots"):
        TournamentFormat("swiss", names(6), 2, 1, rounds=4)
    with pytest.raises(UserError, match='is for format = "swiss"'):
        TournamentFormat("knockout", names(6), 2, 1, rounds=2)
    with pytest.raises(UserError, match="is of two bots, here are 3"):
        TournamentFormat("match", names(3), 2, 1)


# -- played ------------------------------------------------------------------------------------------

KNOCKOUT = """
name = "ko"
game = "tic_tac_toe"
format = "knockout"
games_per_pairing = 2
openings = "random"
opening_plies = 2
[[bots]]
name = "u"
use = "uct"
simulations = [1, 2, 4, 8]
[[bots]]
use = "random"
"""


BEST = """
name = "best"
game = "tic_tac_toe"
format = "best"
indifference = 150
alpha = 0.1
games_at_once = 16
openings = "random"
opening_plies = 1
[[bots]]
name = "u"
use = "uct"
simulations = [1, 2, 16]
[[bots]]
use = "random"
"""


def killed_and_gone_on_with(file, tmp_path):
    """(as it is played in one go, as it is if it was killed after some games)."""
    (tmp_path / "ko.toml").write_text(file)
    whole = jb.tournament(tmp_path / "ko.toml")
    slow = (
        "import time\nfrom jubango.arena.games.batch import GameBatch\nplain = GameBatch.begin\n"
        "GameBatch.begin = lambda *a: (time.sleep(0.05), plain(*a))[1]\nfrom jubango.arena.commands import main; main()"
    )
    arguments = ["tournament", str(tmp_path / "ko.toml"), "--out", str(tmp_path / "run")]
    process = subprocess.Popen([sys.executable, "-c", slow, *arguments], stderr=subprocess.DEVNULL)
    while len(list((tmp_path / "run").glob("games/*.sgf"))) < 3:
        time.sleep(0.02)
        assert process.poll() is None
    process.kill()
    process.wait()
    return whole, jb.tournament(tmp_path / "ko.toml", out=tmp_path / "run")


@pytest.mark.full
def test_a_knockout_goes_on_where_it_was_killed(tmp_path):
    whole, run = killed_and_gone_on_with(KNOCKOUT, tmp_path)
    assert run.missing == 0
    assert run.told == whole.told
    key = ["game_id", "moves", "result", "opening", "opening_plies"]
    assert run.games[key].equals(whole.games[key])
    with pytest.raises(UserError, match="5 bots, 2 games per pairing, which rounds depend on"):
        jb.tournament(tmp_path / "ko.toml", games=4, out=tmp_path / "run")


@pytest.mark.full
def test_a_search_for_the_best_goes_on_where_it_was_killed(tmp_path):
    whole, run = killed_and_gone_on_with(BEST, tmp_path)
    assert whole.missing == run.missing == 0
    assert whole.best.decided
    assert whole.best.best == "u/simulations=16"
    assert run.best == whole.best
    (line,) = run.told
    assert line.startswith("u/simulations=16 is the best of 4, or less than 150 Elo below it, after ")
    looked_at = run.games.merge(whole.games, on="game_id")
    assert len(looked_at) >= whole.best.games
    assert (looked_at["moves_x"] == looked_at["moves_y"]).all()
    assert run.crosstable.equals(whole.crosstable)
    assert run.ratings.equals(whole.ratings), "games that happened to be finished count for nothing"
    assert str(run) == str(whole)
    assert len(run.results) == whole.best.games < len(whole.games)
    assert sorted([*run.left_out, *run.counting["game_id"]]) == sorted(run.games["game_id"])
    again = jb.tournament(tmp_path / "ko.toml", out=tmp_path / "run")
    assert len(again.games) == len(run.games)
    with pytest.raises(UserError, match=r"alpha = 0\.1, not 0\.05"):
        jb.tournament(tmp_path / "ko.toml", alpha=0.05, out=tmp_path / "run")


@pytest.mark.full
def test_commands_say_who_is_the_best(tmp_path, capsys):
    (tmp_path / "best.toml").write_text(BEST)
    given = ["tournament", str(tmp_path / "best.toml"), "--out", str(tmp_path / "run")]
    assert command([*given, "--check"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "format best of 4 bots, to 150 Elo, wrong in 10 % of the cases at most" in said
    assert "128, and as many more as it takes into" in said
    assert command(given) == 0
    assert "u/simulations=16 is the best of 4" in capsys.readouterr().out
    assert command([*given, "--format", "json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert best["decided"]
    assert best["standings"][0]["name"] == best["best"] == "u/simulations=16"
    assert command(["status", str(tmp_path / "run")]) == 0
    run = jb.open_run(tmp_path / "run")
    assert run.left_out
    told = f"{len(run.left_out)} more games were under way when it was decided: kept, and not counted"
    assert re.search(
        rf": {len(run.results)} of {len(run.results)} games; it is complete.*, {told}", capsys.readouterr().out
    )
    assert command(["check", str(tmp_path / "run")]) == 0
    assert told in capsys.readouterr().err
    assert command(["rate", str(tmp_path / "run"), "--format", "csv"]) == 0
    rated = capsys.readouterr()
    assert told in rated.err
    assert command([*given, "--format", "csv"]) == 0
    assert rated.out == capsys.readouterr().out
    run.save_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"{len(run.results):,} games" in page
    assert not any(f'"{game_id}"' in page for game_id in run.left_out)
    live = Live(run.plan, tmp_path / "run")
    live.note(run, lambda run: "complete")
    answer = json.loads(live._new(len(run.games)))
    live.close("the end")
    assert (answer["since"], len(answer["games"])) == (0, len(run.results))
    both = jb.compare_runs(run, run)
    assert both.frame["games_first"].sum() == 2 * len(run.results)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"format": "best", "games": 4}, 'games_per_pairing: is not for format = "best"'),
        ({"alpha": 0.1}, 'alpha: is for format = "best"'),
        ({"format": "best", "indifference": 0.0}, "indifference = 0: should be above 0"),
        ({"format": "best", "alpha": 1.0}, "alpha = 1: should be between 0 and 1"),
        ({"format": "best", "sprt": "0,10"}, "sprt: a test is of one bot against another"),
        ({"format": "best", "rounds": 2}, 'rounds = 2: is for format = "swiss"'),
    ],
)
def test_keys_that_do_not_go_with_the_format(keys, said):
    with pytest.raises(UserError, match=said):
        jb.tournament("tic_tac_toe", ["random:name=a", "random:name=b"], **keys)


def test_a_gauntlet_is_of_the_first_bot(capsys):
    run = jb.tournament("tic_tac_toe", ["random", "uct:simulations=2", "uct:simulations=4"], 2, format="gauntlet")
    assert Counter(run.games["black"].tolist() + run.games["white"].tolist())["random"] == 4
    assert run.missing == 0
    assert run.told == []


def test_every_pairing_has_the_same_openings_twice_with_colours_swapped():
    bots = ["random:name=a", "random:name=b", "random:name=c"]
    run = jb.tournament("connect_four:5x4,k=3", bots, 6, openings="random", opening_plies=3)
    begin = run.games.assign(first=[" ".join(moves.split()[:3]) for moves in run.games["moves"]])
    assert set(begin["opening_plies"]) == {3}
    per_pair = begin.groupby(begin["game_id"].str.rpartition("~")[0])["first"].apply(list)
    assert len(per_pair) == 3
    assert len({tuple(firsts) for firsts in per_pair}) == 1
    firsts = per_pair.iloc[0]
    assert firsts[0::2] == firsts[1::2]
    assert len(set(firsts)) == 3
    ended = run.games.iloc[0]
    sgf = read_record(jb_sgf(run, 0), "game")
    assert (sgf.opening, sgf.opening_plies) == (ended["opening"], 3)


def jb_sgf(run, index: int) -> bytes:
    from jubango.sgf_games.sgf.sgf import write_record

    return write_record(sorted(run.kept.records, key=lambda record: record.game_id)[index])


@given(st.integers(0, 1000), st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_random_openings_are_legal_different_and_not_over(seed, plies):
    openings = openings_of(C4, "random", plies, seed)
    found = [openings.at(i) for i in range(5)]
    for opening in found:
        place = position(C4, opening.moves)
        assert place.number == plies
        assert not place.over
    assert Openings(C4, seed, plies).at(4) == found[4], "whichever is asked for first"
    assert len({opening.moves for opening in found}) == (5 if plies > 1 else 3) or plies == 1


def test_openings_that_are_turned_into_each_other_are_one():
    """There are three first moves on a board of tic-tac-toe: corner, edge, middle; then they come again."""
    openings = openings_of(TTT, "random", 1, 1)
    kinds = {"A1": 0, "A3": 0, "C1": 0, "C3": 0, "B2": 2}
    found = [kinds.get(openings.at(i).moves[0], 1) for i in range(6)]
    assert sorted(found[:3]) == sorted(found[3:]) == [0, 1, 2]


@pytest.mark.full
def test_openings_come_from_files_and_stay_when_these_change(tmp_path):
    book = tmp_path / "book.sgf"
    book.write_text("(;GM[1]SZ[5];B[cc];W[bb])(;GM[1]SZ[5]ON[tengen];B[cc];W[cb];B[dd])(;GM[1]SZ[5];B[cc];W[bb])")
    keys = {"openings": book, "opening_plies": 2, "out": tmp_path / "run"}
    run = jb.tournament("go:5", ["random", "uct:simulations=2"], 4, **keys)
    assert sorted(run.games["opening"]) == ["book.sgf (game 1 of 3)"] * 2 + ["tengen"] * 2
    assert {tuple(moves.split()[:2]) for moves in run.games["moves"]} == {("C3", "B4"), ("C3", "C4")}
    again = jb.tournament(tmp_path / "run" / "tournament.toml", out=tmp_path / "run")
    assert again.missing == 0
    book.write_text("(;GM[1]SZ[5];B[cc];W[bb])(;GM[1]SZ[5]ON[tengen];B[cc];W[ab])")
    with pytest.raises(UserError, match="was begun with 2 openings, and these are others"):
        jb.tournament("go:5", ["random", "uct:simulations=2"], 4, **keys)


@pytest.mark.parametrize(
    ("sgf", "plies", "says"),
    [
        ("(;GM[1]SZ[9];B[cc])", 0, "is a game of go:9,komi=6.5, not of go:5"),
        ("(;GM[1]SZ[5]AB[cc];W[bb])", 0, "has set-up stones"),
        ("(;GM[1]SZ[5];B[cc];B[bb])", 0, "move 2 is not the turn"),
        ("(;GM[1]SZ[5];B[cc];W[cc])", 0, r"move 2 \(C3\) is illegal"),
        ("(;GM[1]SZ[5];B[cc];W[];B[])", 0, "the game ends with it"),
    ],
)
def test_openings_that_cannot_be_played(tmp_path, capsys, sgf, plies, says):
    (tmp_path / "book.sgf").write_text(sgf)
    status = command(
        ["match", "random", "random", "--game", "go:5", "--openings", str(tmp_path / "book.sgf"), "--games", "2"]
    )
    error = capsys.readouterr().err
    assert status == 2
    assert len(error.strip().splitlines()) == 1
    import re

    assert re.search(says, " ".join(error.split())), error


@pytest.mark.full
def test_terms_of_a_pairing(tmp_path):
    """Handicap, komi, colours and clock of two of three bots; the file has the stones as AB, and is read again."""
    matchup = {"bots": ["b", "a"], "handicap": 3, "komi": 0.5, "black": "b", "clock": "60+1"}
    bots = ["random:name=a", "random:name=b", "random:name=c"]
    run = jb.tournament("go:7,komi=9", bots, 2, matchups=[matchup], adjudication={"move_limit": 30}, out=tmp_path)
    own = run.games[run.games["game_id"].str.startswith("a~b")]
    others = run.games[~run.games["game_id"].str.startswith("a~b")]
    assert set(own["black"]) == {"b"}
    assert set(own["game"]) == {"go:7,komi=0.5"}
    assert set(others["game"]) == {"go:7,komi=9"}
    assert set(others["opening"]) == {""}
    assert all(moves.split()[1:5:2] == ["pass", "pass"] for moves in own["moves"])
    text = (tmp_path / own["sgf"].iloc[0]).read_text()
    assert "HA[3]AB[ce][ec][ee]" in text.replace("\n", "") or "HA[3]" in text
    record = read_sgf(tmp_path / own["sgf"].iloc[0])
    assert len(record) == own["plies"].iloc[0] - 5
    assert int((record.at(0).stones == 1).sum()) == 3
    assert record.at(0).player == 1
    assert problems(tmp_path) == []
    (tmp_path / "results.sqlite").unlink()
    assert command(["check", str(tmp_path), "--rebuild"]) == 0
    assert open_run(tmp_path).games["moves"].tolist() == run.games["moves"].tolist()


def test_a_game_with_its_own_komi_is_counted_by_it():
    bots = ["random:name=a", "random:name=b"]
    plain = jb.tournament("go:5,komi=0", bots, 8)
    other = jb.tournament("go:5,komi=0", bots, 8, matchups=[{"bots": ["a", "b"], "komi": 30}])
    assert plain.games["moves"].tolist() == other.games["moves"].tolist()
    assert set(other.games["score"]) == {0.0}

    def margin(result: str) -> float:
        return 0.0 if result == "0" else float(result[2:]) * (1 if result[0] == "B" else -1)

    gaps = [margin(a) - margin(b) for a, b in zip(plain.games["result"], other.games["result"], strict=True)]
    assert set(gaps) == {30.0}


def test_handicap_stones_lie_where_they_are_expected():
    assert handicap_opening(make_game("go:9"), 4).moves == ("C3", "pass", "G7", "pass", "C7", "pass", "G3")
    with pytest.raises(UserError, match="no usual points for so many stones"):
        handicap_opening(GO, 2)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('openings = "randon"', "randon"),
        ("opening_plies = 3", "of which openings"),
        ('openings = "balanced"', "no balanced set comes with jubango for go:5"),
        ("openings = [{moves = 'Z9'}]", "opening 1"),
        ("openings = [{move = 'C3'}]", "number 1"),
        ('format = "swis"', "format"),
        ("[adjudication]\nwin_rate = 0.4", "nobody is ahead"),
        ("[adjudication]\nmoves = 4", "says nothing of"),
        ("[adjudication]\nwinrate = 0.9", "winrate"),
        ("[[matchups]]\nbots = ['a', 'x']\nkomi = 1", 'no bot is called "x"'),
        ("[[matchups]]\nbots = ['a', 'b']\nkomi = 0.3", "whole or half"),
        ("[[matchups]]\nbots = ['a']\nkomi = 0.5", "two bots"),
        ("[[matchups]]\nbots = ['a', 'b']\nhandicap = 2", "no usual points"),
        ("[[matchups]]\nbots = ['a', 'b']\nclock = 'x'", "clock"),
        ("[[matchups]]\nbots = ['a', 'b']\n[[matchups]]\nbots = ['b', 'a']", "each pairing once"),
    ],
)
def test_a_file_that_cannot_be_played_is_one_line(keys, says):
    bots = "".join(f'[[bots]]\nname = "{name}"\nuse = "random"\n' for name in "ab")
    with pytest.raises(UserError) as caught:
        parse_plan(f'name = "t"\ngame = "go:5"\n{keys}\n{bots}', "t.toml")
    assert str(caught.value).startswith("t.toml: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


# -- adjudication ------------------------------------------------------------------------------------


def test_who_agrees_on_what():
    rule = Adjudication.of({"win_rate": 0.9, "draw": 0.02, "moves": 2})
    assert rule.agreed([0.9, 0.85, 0.81, 0.95]) == "B"
    assert rule.agreed([-1, -1, -0.9, -0.9, -0.8]) == "W"
    assert rule.agreed([0.9, 0.79, 0.9, 0.9]) == ""
    assert rule.agreed([0.9, math.nan, 0.9, 0.9]) == ""
    assert rule.agreed([0.9, 0.9, 0.9]) == ""
    assert rule.agreed([0.9, 0.04, -0.04, 0.0, 0.03]) == "0"
    assert Adjudication.of({"move_limit": 3}).agreed([1.0] * 20) == ""


def test_games_are_ended_when_both_agree():
    """A search with proved bounds knows who wins three in a row on a small board, moves before the end."""
    bots = ["uct-solver:simulations=100,name=a", "uct-solver:simulations=100,name=b"]
    plain = jb.tournament("connect_four:5x4,k=3", bots, 8)
    cut = jb.tournament("connect_four:5x4,k=3", bots, 8, adjudication={"win_rate": 0.95, "moves": 1})
    ended = cut.games[cut.games["reason"] == "adjudicated"]
    assert len(ended) >= 4
    assert set(ended["detail"]) == {"both players said so"}
    for before, after in zip(plain.games.itertuples(), cut.games.itertuples(), strict=True):
        assert before.moves.startswith(after.moves)
        if after.reason == "adjudicated":
            assert after.plies < before.plies
    same = [a == b for a, b in zip(plain.games["score"], cut.games["score"], strict=True)]
    assert sum(same) >= 7


def test_a_move_limit_ends_games_as_they_stand():
    run = jb.tournament("tic_tac_toe", ["random:name=a", "random:name=b"], 4, adjudication={"move_limit": 4})
    assert set(run.games["plies"]) == {4}
    assert set(run.games["result"]) == {"0"}
    go = jb.tournament("go:5,komi=0.5", ["random:name=a", "random:name=b"], 4, adjudication={"move_limit": 8})
    assert set(go.games["reason"]) == {"adjudicated"}
    assert set(go.games["plies"]) == {8}
    assert all(result[1] == "+" and float(result[2:]) % 1 == 0.5 for result in go.games["result"])


def test_pairs_of_a_schedule_are_what_a_test_looks_at():
    """The openings of a sequential test: both games of a pair have the same."""
    run = jb.match(
        "uct:simulations=2", "random", "tic_tac_toe", games=12, sprt="0,400", openings="random", opening_plies=2
    )
    firsts = run.games["moves"].str.split().str[:2].map(tuple).tolist()
    assert firsts[0::2] == firsts[1::2]
