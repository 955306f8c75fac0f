"""A user's own game of territory, ``tests/tools/influence.py``, is scored, handicapped, reviewed and played over GTP as
Go is."""

from __future__ import annotations

import subprocess

import pytest
from gtp_talk import COMMAND, ENVIRONMENT, ROOT, Talk
from influence import Influence

import jubango as jb
from jubango.analysis.positions.ownership import ownership
from jubango.analysis.report.review_page import review_page
from jubango.arena.schedule.plan import parse_plan
from jubango.bots.learning.self_player import KOMIS, variations
from jubango.sgf_games.rules.catalogue import CATALOGUE, register_game

QUICK = "uct:simulations=16,leaves=1,ensemble=1"
RULED = "gogui-rules_board_size", "gogui-rules_final_result", "gogui-rules_legal_moves"
OF_GO = "kata-get-rules", "kata-set-rules"


def test_its_points_are_counted():
    here = jb.position("influence:4,komi=1.5", "B2 C3 B3 C2")
    assert here.game.owners(here.state).reshape(4, 4).tolist() == [
        [0, 1, -1, 0], [1, 1, -1, -1], [1, 1, -1, -1], [0, 1, -1, 0],
    ]  # fmt: skip
    assert here.after("pass").after("pass").status == "the game is over: W+1.5"
    assert here.after("A4").after("pass").after("pass").status == "the game is over: W+0.5"
    assert here.diagram().crossings
    (heat,) = ownership([here])
    assert heat.grid[1, 1] == 1
    assert abs(heat.grid[0, 0]) < 0.7


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    pairing = {"bots": ["random", QUICK], "komi": 4.5, "handicap": 2}
    folder = tmp_path_factory.mktemp("runs") / "run"
    return jb.tournament("influence:7", ["random", QUICK], 4, folder, 3, matchups=[pairing], progress=False)


@pytest.mark.full
def test_komi_and_handicap_of_a_pairing(run):
    """Games of another komi share the program, and are scored with their own."""
    assert set(run.games["reason"]) == {"score"}
    files = sorted(run.folder.glob("games/*.sgf"))
    assert len(files) == 4
    for file in files:
        assert b"AB[ce][ec]" in file.read_bytes()
        record = jb.read_sgf(file)
        assert record.game == Influence(7, 7, 4.5)
        end = record.at()
        assert end.over
        assert end.game.result_text(end.state) == record.result
        assert float(record.result[2:]) % 1 == 0.5


@pytest.mark.full
def test_it_is_reviewed_in_points(run):
    review = jb.review(sorted(run.folder.glob("games/*.sgf"))[0], QUICK, repeats=1)
    leads = [one.lead for one in review.positions]
    assert None not in leads
    points = float(review.record.result[2:]) * (1 if review.record.result[0] == "B" else -1)
    assert leads[-1] == points
    assert None not in [move.lead_before for move in review.moves]
    assert '"owned":' in review_page(review)
    assert '"crossings":true' in review_page(review)


def test_it_is_played_over_gtp():
    talk = Talk("influence:7,komi=0.5", QUICK)
    known = talk.ask("list_commands")[2:].split("\n")
    assert {"fixed_handicap", "set_position", "final_status_list", *RULED} <= set(known)
    assert not set(OF_GO) & set(known)
    for line, answer in (
        ("play b b2", "="), ("play b b3", "="), ("komi 2.5", "="), ("final_score", "= B+5.5"),  # a player moves twice
        ("play w pass", "="), ("play b pass", "="), ("gogui-rules_final_result", "= unknown"),  # and after two passes
        ("play w b2", "? illegal move"), ("play w g7", "="), ("final_score", "= B+2.5"), ("undo", "="),
        ("clear_board", "="), ("fixed_handicap 3", "= C3 E5 C5"), ("final_status_list dead", "="),
    ):  # fmt: skip
        assert talk.ask(line) == answer, line
    assert talk.ask("final_status_list alive").split() == ["=", "C5", "E5", "C3"]
    assert talk.ask("genmove w").startswith("= ")
    said = talk.ask("kata-genmove_analyze b ownership true")
    assert " scoreLead " in said
    assert len(said.split(" ownership ")[1].split("\n")[0].split()) == 49
    talk.end()


@pytest.mark.full
def test_a_plug_in_is_an_engine():
    lines = "boardsize 7\nkomi 1.5\nfixed_handicap 2\ngenmove w\nfinal_score\nquit\n"
    done = subprocess.run(
        [*COMMAND, "gtp", "--game", "influence:5", "--bot", QUICK], input=lines, capture_output=True, text=True,
        env={**ENVIRONMENT, "JUBANGO_PLUGINS": "influence"}, cwd=ROOT / "tests" / "tools", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = done.stdout.split("\n\n")
    assert answers[:3] == ["= ", "= ", "= C3 E5"]
    assert answers[4].startswith(("= B+", "= W+"))


def test_self_play_begins_with_many_komis():
    assert {game.komi for game in variations(Influence(4, 4, 0.5))} == {0.5 + gap for gap in KOMIS}
    assert variations(jb.make_game("connect_four")) == [jb.make_game("connect_four")]


def test_what_a_game_has_not_is_refused():
    """Komi, handicap and set-up stones; a komi that is compiled into a game's programs."""

    class Fixed(Influence):
        name = "fixed"

        @property
        def compiled_as(self):
            return self

    register_game("fixed", Fixed, "7")
    try:
        for game, key, said in (
            ("connect_four", "komi = 1.5", "there is no komi in connect_four:7x6"),
            ("fixed", "komi = 1.5", "komi: states of fixed,width=7,height=7 do not hold it"),
            ("connect_four", "handicap = 2", "handicap: is for games with stones that are set up"),
            ("influence", "handicap = 2", "influence has no usual points for so many stones"),
        ):
            bots = '[[bots]]\nname = "a"\nuse = "random"\n[[bots]]\nname = "b"\nuse = "random"\n'
            text = f'name = "t"\ngame = "{game}"\ngames_per_pairing = 2\n{bots}[[matchups]]\nbots = ["a", "b"]\n{key}\n'
            with pytest.raises(jb.UserError, match=said):
                parse_plan(text, "a file")
    finally:
        del CATALOGUE["fixed"]
