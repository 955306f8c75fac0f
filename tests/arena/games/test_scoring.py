"""Games in which an engine takes part: how they are scored, and when they are void."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from jubango.analysis.ratings.ratings import rate
from jubango.analysis.tables.tables import frame_results, games_frame, results_of
from jubango.analysis.tables.verdicts import scored
from jubango.arena.games.pool import GamePool
from jubango.arena.games.scoring import whole_chains
from jubango.arena.runs.play import play_plan
from jubango.arena.runs.run_folder import PLAN_FILE, open_run
from jubango.arena.schedule.pairings import GameTask
from jubango.arena.schedule.plan import parse_plan
from jubango.arena.screens.dashboard import Dashboard
from jubango.bots.config import Bot
from jubango.bots.players.batch_player import MoveAnswer, MoveRequest
from jubango.bots.players.engines.gtp import GtpEngine
from jubango.bots.players.human import HumanConfig, HumanPlayer
from jubango.sgf_games.library.library import CREATE_GAMES, Library
from jubango.sgf_games.library.recovery import read_record
from jubango.sgf_games.records.record import GameRecord
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.sgf.sgf import parse_sgf, write_record

ENGINE = Path(__file__).parents[2] / "tools" / "scripted_engine.py"
GAME = make_game("go:5,komi=20.5")
WALLS = ["B1", "D1", "B2", "D2", "B3", "D3", "B4", "D4", "B5", "D5"]
INTRUDERS = ["A3", "E3"]  # without them Black has everything: 25 points; as it stands 15 to 2
STANDS, WITHOUT, WITHOUT_ONE = "W+7.5", "B+4.5", "W+1.5"


def engine(name: str, **script: object):
    return Bot("gtp", name=name, command=shlex.join([sys.executable, str(ENGINE), json.dumps(script)]))


def person(*moves: str) -> HumanPlayer:
    """Plays these, or takes moves back, then passes."""
    left = list(moves)

    def answer(request: MoveRequest, _: object) -> MoveAnswer:
        word = left.pop(0) if left else "pass"
        if word == "undo":
            return MoveAnswer(request.lane, event="undo")
        return MoveAnswer(request.lane, GAME.parse_action(word))

    return HumanPlayer(answer)


def played(black, white, **people: HumanPlayer):
    """The record of a game between bots, or people who are named."""
    names = [bot if isinstance(bot, str) else bot.name for bot in (black, white)]
    bots = [HumanConfig(name=bot) if isinstance(bot, str) else bot for bot in (black, white)]
    table = GamePool(GAME, bots, 1, players=people)
    (records,) = table.play([GameTask("game", *names, seed=1)])
    return records[0]


@pytest.mark.parametrize(
    ("final", "reason", "result", "said"),
    [
        ({"final_status_list": ["A3 E3"]}, "agreed", WITHOUT, "dead: A3 E3"),
        ({"final_status_list": ["a3\ne3"]}, "agreed", WITHOUT, "dead: A3 E3"),
        ({"final_status_list": ["A3"]}, "disputed", WITHOUT_ONE, "dead: A3; playouts alone calls dead: E3"),
        ({"final_status_list": [""]}, "disputed", STANDS, "playouts alone calls dead: A3 E3"),
        ({"final_status_list": ["A3 E3 B1 B2 B3 B4 B5"]}, "disputed", WITHOUT, "engine alone calls dead: B5 B4 B3 B2 B1"),
        ({"final_status_list": ["here and there"], "final_score": ["B+4.5"]}, "agreed", WITHOUT, "dead: A3 E3"),
        ({"final_score": ["B+3"]}, "agreed", WITHOUT, "dead: A3 E3"),
        ({"final_score": ["W+7.5"]}, "disputed", WITHOUT, "engine has W for the winner"),
        ({}, "score", STANDS, "as it stands; engine: names neither"),
        ({"final_status_list": ["exit"]}, "score", STANDS, "as it stands; engine: ended during"),
    ],
)  # fmt: skip
def test_dead_stones_are_taken_off_where_the_engine_and_playouts_agree(final, reason, result, said):
    record = played("we", engine("engine", moves=INTRUDERS, final=final), we=person(*WALLS))
    assert (record.result, record.reason) == (result, reason)
    assert said in record.detail
    (sgf,) = parse_sgf(write_record(record), "x")
    assert f"{result} ({reason}: {record.detail})" in sgf.properties["C"]
    assert record.detail in sgf.nodes[-1].comment, "the last position says what was taken off"


@pytest.mark.parametrize(
    ("count", "counted"), [("B+4.5", ""), ("B+", ""), ("W+3", "engine W+3"), ("B+9", "engine B+9")]
)
def test_an_engine_that_counts_otherwise_is_recorded(count, counted, tmp_path):
    bots = {"final": {"final_status_list": ["A3 E3"], "final_score": [count]}, "moves": INTRUDERS}
    record = played("we", engine("engine", **bots), we=person(*WALLS))
    assert (record.result, record.reason, record.counted) == (WITHOUT, "agreed", counted)
    assert read_record(write_record(record), "x").counted == counted
    library = Library(tmp_path)
    library.add([record])
    library.close()
    results = frame_results(games_frame(tmp_path))
    said = [line for line in scored(results) if "another score" in line]
    assert said == (
        [f"1 game in which an engine counts another score than the result (the first: {counted})"] if counted else []
    )


def test_games_without_engines_are_scored_as_they_stand():
    record = played("we", "you", we=person(*WALLS), you=person(*INTRUDERS))
    assert (record.result, record.reason, record.detail) == (STANDS, "score", "")


@pytest.mark.parametrize(
    ("first", "second", "reason", "result"),
    [("A3 E3", "E3 A3", "agreed", WITHOUT), ("A3 E3", "A3", "disputed", WITHOUT_ONE), ("A3 E3", "", "disputed", STANDS)],
)  # fmt: skip
def test_two_engines_have_to_agree(first, second, reason, result):
    black = engine("black", moves=WALLS, final={"final_status_list": [first]})
    white = engine("white", moves=INTRUDERS, final={"final_status_list": [second]})
    record = played(black, white)
    assert (record.result, record.reason) == (result, reason)
    assert "playouts" not in record.detail


@pytest.mark.parametrize(("later", "reason"), [("", "cleanup"), ("B1", "disputed")])
def test_play_goes_on_once_where_an_engine_can_show_what_is_dead(later, reason):
    """It captures with its other command; then what both still call dead is taken off, and nothing else."""
    final = {"final_status_list": ["A3", later]}
    black = engine("black", moves=WALLS, cleanup=["A2", "A4", "E2", "E4"], final=final)
    record = played(black, "we", we=person(*INTRUDERS))
    assert (record.result, record.reason) == (WITHOUT, reason)
    assert record.moves[21:] == ("pass", "A2", "pass", "A4", "pass", "E2", "pass", "E4", "pass", "pass")
    assert "play went on after move 21: dead: A3; playouts alone calls dead: E3" in record.detail


@pytest.mark.full
def test_a_game_goes_on_in_another_process_after_it_was_disputed():
    """At any of its moves: before, while dead stones are captured, and where it is over again."""
    final = {"final_status_list": ["A3 B1"]}
    black = engine("black", moves=WALLS, cleanup=["A2", "A4", "E2", "E4"], final=final)
    white = engine("white", moves=INTRUDERS, final={"final_status_list": ["A3"]})
    task, states = GameTask("game", "black", "white", seed=1), []
    (records,) = GamePool(GAME, [black, white], 1, on_tick=lambda table: states.extend(table.under_way(0.0, 0))).play(
        [task]
    )
    whole = records[0]
    assert "play went on after move 21" in whole.detail
    begun = {(len(own.moves), own.disputed): own for _, own in states}
    over = [number for number, disputed in begun if disputed]
    for number in (5, 21, over[0], over[3], over[-1]):
        for own in (own for (made, _), own in begun.items() if made == number):
            table = GamePool(GAME, [black, white], 1)
            (records,) = table.play([task], begun={"game": own})
            assert not table.anew
            alike = ("moves", "result", "reason", "detail", "opening_plies")
            assert [getattr(records[0], key) for key in alike] == [getattr(whole, key) for key in alike], number


def test_moves_are_taken_back_to_where_play_went_on():
    final = {"final_status_list": ["A3", ""]}
    black = engine("black", moves=WALLS, cleanup=["A2", "A4", "E2", "E4"], final=final)
    record = played(black, "we", we=person(*INTRUDERS, *["pass"] * 9, "undo", "pass", "pass", "undo", "undo"))
    assert (record.result, record.reason) == (WITHOUT, "cleanup")
    assert record.moves[21:] == ("pass", "A2", "pass", "A4", "pass", "E2", "pass", "E4", "pass", "pass")


@pytest.mark.full
def test_playouts_know_which_chains_are_dead():
    """Chains with two eyes and those in a seki are not; stones of either colour without room are."""
    game = make_game("go:9")

    def read(text: str):
        return game.set_up(np.array([[".XO".index(point) for point in row] for row in text.split()], np.int8), 0)

    state = read("""
        .X.XO.O.O
        XXXXOOOOO
        OOOOO....
        .........
        ....O....
        XXXXXXXXX
        X.X.XOO.X
        XXXXXOOXX
        .X.X.X.X.
    """)
    dead = game.dead_stones(state)
    assert np.argwhere(dead).tolist() == [[6, 5], [6, 6], [7, 5], [7, 6]]
    assert (whole_chains(game, state, [(6, 5), (3, 3)]) == dead).all(), "one stone stands for its chain"
    assert game.result_text(game.without_stones(state, dead)) != game.result_text(state)
    seki = read("""
        .OX.XO.OO
        OOXXXOOOO
        XXXOOXXXX
        .X.OOX.X.
        XXXOOXXXX
        OOOOO....
        ......X..
        .........
        .........
    """)
    assert not game.dead_stones(seki)[2].any()
    unequal = read("""
        .OOX.OOX.
        OOOX.OOXX
        .OOXOOXX.
        OOOOXXXXX
        OOOOXXXXX
        OOOOXXXXX
        OOOOXXXXX
        OOOOXXXXX
        OOOOXXXXX
    """)
    assert not game.dead_stones(unequal).any(), "who fills the seki with a small chain dies as well"


def refused_plan(games: int = 4) -> str:
    stubborn = engine("stubborn", refuses="C3", moves=["A1"]).command
    return (
        f'name = "r"\ngame = "go:3"\ngames_per_pairing = {games}\nseed = 1\n[[bots]]\nname = "random"\nuse = "random"\n'
        f'[[bots]]\nname = "stubborn"\nuse = "gtp"\ncommand = {json.dumps(stubborn)}\nprocesses = 1\n'
    )


@pytest.mark.full
def test_a_game_is_void_if_an_engine_refuses_a_legal_move(tmp_path):
    run = play_plan(parse_plan(refused_plan(), "x"), tmp_path)
    frame = run.games
    void = frame[frame["result"] == "Void"]
    assert len(frame) == 4
    assert 0 < len(void) == sum(run.games["reason"] == "refused")
    assert set(void["reason"]) == {"refused"}
    assert void["score"].isna().all()
    assert all(
        detail.startswith("stubborn: answered 'play") and "C3' with: illegal move" in detail
        for detail in void["detail"]
    )
    assert b"RE[Void]" in (tmp_path / void["sgf"].iloc[0]).read_bytes()

    assert not run.missing, "it has been played, but it is neither won nor lost"
    assert run.ratings["games"].tolist() == [4 - len(void)] * 2
    assert run.crosstable.loc["random", "stubborn"].count("-") == 2
    assert sum(map(int, run.crosstable.loc["random", "stubborn"].split("-"))) == 4 - len(void)
    assert f"{len(void)} games void, won and lost by nobody" in str(run)
    assert "an engine refused a legal move (the first: stubborn: answered 'play" in str(run) or len(void) == 1
    assert f"{len(void)} void" in Dashboard(Console(width=200)).line(run).plain
    for kept in (tmp_path, tmp_path / "games"):
        assert {r.games for r in rate(results_of([kept])).ratings} == {4 - len(void)}

    again = play_plan(parse_plan(refused_plan(), "x"), tmp_path)
    assert again.games.equals(frame), "void games are not played again"
    assert open_run(tmp_path).remarks == run.remarks

    willing = refused_plan().replace('\\"refuses\\": \\"C3\\", ', "")
    (tmp_path / PLAN_FILE).write_text(willing)
    whole = play_plan(parse_plan(willing, "x"), tmp_path, again=["refused"])
    assert (whole.remarks, whole.failures, whole.ratings["games"].tolist()) == ([], {}, [4, 4]), (
        "unless that is asked for"
    )


@pytest.mark.full
def test_a_refused_pass_makes_a_game_void_too():
    record = played(engine("black", refuses="pass"), "we", we=person())
    assert (record.result, record.reason, record.moves) == ("Void", "refused", ("pass", "pass"))


def test_a_folder_from_before_there_were_void_games_is_gone_on_with(tmp_path):
    old = CREATE_GAMES.replace("score real", "score real not null")
    first = GameRecord("1", "go:3", "a", "b", "random", "random", 1, ("A1", "pass", "pass"), "B+1.5", "score")
    (tmp_path / "games").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as db:
        db.execute(old)
    with contextlib.closing(Library(tmp_path)) as library:
        library.add([first, dataclasses.replace(first, game_id="2", result="Void", reason="refused")])
    with contextlib.closing(Library(tmp_path)) as library:
        assert library.finished() == {"1", "2"}
    assert games_frame(tmp_path)["score"].fillna(-1).tolist() == [1.0, -1]


@pytest.mark.full
@pytest.mark.skipif(
    not shutil.which("gnugo", path=os.environ.get("PATH", "") + ":/usr/games"), reason="gnugo is not installed"
)
def test_random_takes_nothing_from_gnugo(tmp_path):
    """Every game has the winner that GNU Go's own scorer sees in its last position."""
    text = (
        'name = "g"\ngame = "go:9"\ngames_per_pairing = 6\n[[bots]]\nname = "random"\nuse = "random"\n'
        '[[bots]]\nname = "gnugo"\nuse = "gtp"\ncommand = "gnugo --mode gtp --level 1 --chinese-rules"\n'
    )
    run = play_plan(parse_plan(text, "x"), tmp_path)
    assert set(run.games["reason"]) <= {"agreed", "cleanup", "disputed"}
    assert len(run.games) == 6
    referee = GtpEngine("gnugo --mode gtp --level 1 --chinese-rules")
    for game in run.games.itertuples():
        referee.ask(f"loadsgf {tmp_path / game.sgf}", 20)
        assert game.result[0] == referee.ask("final_score", 20)[0] == ("B" if game.black == "gnugo" else "W")
    referee.kill()
