"""KataGo's JSON analysis protocol: what KaTrain and others ask, and what comes back."""

from __future__ import annotations

import json
import math
import re
import time

import numpy as np
import pytest
from gtp_talk import Talk, command
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import random_network

from jubango.bots.gtp_server import analysis_server
from jubango.bots.gtp_server.analysis_server import AnalysisServer
from jubango.bots.gtp_server.query import QueryError, read_query
from jubango.bots.gtp_server.session import Session
from jubango.sgf_games.rules.catalogue import make_game

pytestmark = pytest.mark.full

QUERY = {
    "id": "q", "rules": "chinese", "komi": 0, "boardXSize": 5, "boardYSize": 5,
    "moves": [["B", "C3"], ["W", "C2"], ["B", "D2"]],
}  # fmt: skip
ROOT = {
    "currentPlayer",
    "visits",
    "weight",
    "winrate",
    "utility",
    "scoreLead",
    "scoreMean",
    "scoreSelfplay",
    "scoreStdev",
}
MOVE = {
    "move", "visits", "edgeVisits", "weight", "order", "winrate", "utility", "lcb", "utilityLcb", "scoreLead",
    "scoreMean", "scoreSelfplay", "scoreStdev", "pv",
}  # fmt: skip


@pytest.fixture(scope="module")
def katago():
    talk = Talk(server=lambda bot, lines, output: AnalysisServer(bot, lines, output, room=64))
    yield talk
    talk.end()


@pytest.fixture(scope="module")
def networked(tmp_path_factory):
    """With a bot that has a policy."""
    weights = tmp_path_factory.mktemp("weights") / "w.safetensors"
    random_network(weights, make_game("go:5"))
    bot = f"alphazero:network={weights},simulations=8"
    talk = Talk(bot=bot, server=lambda bot, lines, output: AnalysisServer(bot, lines, output, room=64))
    yield talk
    talk.end()


def ask(talk, answers=1, **query):
    """So many lines of an answer."""
    talk.write(json.dumps(query) + "\n")
    return [json.loads(talk.read_until("[^\n]*\n")) for _ in range(answers)]


def test_every_turn_is_answered_once(katago):
    found = ask(katago, 3, **QUERY, analyzeTurns=[0, 2, 3], maxVisits=20)
    assert [(own["id"], own["turnNumber"], own["isDuringSearch"]) for own in found] == [
        ("q", n, False) for n in (0, 2, 3)
    ]
    for own in found:
        assert set(own) == {"id", "turnNumber", "isDuringSearch", "moveInfos", "rootInfo"}
        assert set(own["rootInfo"]) == ROOT
        assert all(set(move) == MOVE and move["pv"][0] == move["move"] for move in own["moveInfos"])
        assert [move["order"] for move in own["moveInfos"]] == list(range(len(own["moveInfos"])))
        assert sum(move["visits"] for move in own["moveInfos"]) == own["rootInfo"]["visits"] == 20
    assert [own["rootInfo"]["currentPlayer"] for own in found] == ["B", "B", "W"]
    assert len(ask(katago, **QUERY)) == 1  # the last position
    assert ask(katago, **QUERY, overrideSettings={"maxTime": 0})[0]["moveInfos"]  # as little as there can be


def test_values_are_in_the_view_that_is_asked_for(katago):
    """The same search, told by Black, White and who is to move (White)."""
    told = {}
    for view in ("BLACK", "WHITE", "SIDETOMOVE"):
        settings = {"reportAnalysisWinratesAs": view, "maxTime": 100}
        told[view] = ask(katago, **QUERY, includeOwnership=True, includeMovesOwnership=True, overrideSettings=settings)[
            0
        ]
    black, white, mover = told.values()
    assert white == mover
    for key in ("winrate", "utility", "scoreLead"):
        other = (1 if key == "winrate" else 0) - black["rootInfo"][key]
        assert white["rootInfo"][key] == pytest.approx(other, abs=1e-5)
        assert [m[key] for m in white["moveInfos"]] == pytest.approx(
            [(key == "winrate") - m[key] for m in black["moveInfos"]], abs=1e-4
        )
    assert np.array(black["ownership"]) == pytest.approx(-np.array(white["ownership"]))
    assert len(black["ownership"]) == len(black["moveInfos"][0]["ownership"]) == 25
    assert black["rootInfo"]["scoreLead"] == black["moveInfos"][0]["scoreLead"], "the best move leads to no other"
    assert np.array(black["ownership"])[[12, 18]] == pytest.approx(1, abs=0.9)  # Black's stones are mostly Black's


def test_the_policy_names_every_point(networked):
    found = ask(networked, **QUERY, includePolicy=True)[0]
    policy = found["policy"]
    assert len(policy) == 26
    assert [i for i, p in enumerate(policy) if p == -1] == [12, 17, 18]
    assert sum(p for p in policy if p >= 0) == pytest.approx(1, abs=1e-3)
    assert all(set(move) == {*MOVE, "prior"} for move in found["moveInfos"])


def test_what_has_no_policy_shows_none(katago):
    """To rollouts every move is alike: KaTrain would name the first ones as the best of a policy."""
    assert "policy" not in ask(katago, **QUERY, includePolicy=True)[0]


def test_moves_may_be_left_out_and_variations_cut(katago):
    rule = {"player": "W", "moves": ["A1", "B2", "pass"], "untilDepth": 1}
    found = ask(katago, **QUERY, allowMoves=[rule], analysisPVLen=1)[0]["moveInfos"]
    assert {move["move"] for move in found} == {"A1", "B2", "pass"}
    assert max(len(move["pv"]) for move in found) <= 2
    found = ask(katago, **QUERY, avoidMoves=[rule, {**rule, "player": "B", "moves": ["E5"]}])[0]["moveInfos"]
    assert not {"A1", "B2", "pass"} & {move["move"] for move in found}
    assert "E5" in {move["move"] for move in found}


def test_a_game_is_played_once(networked, katago, monkeypatch):
    """However many queries there are of its positions, forwards and backwards; another game has its own."""
    played, play = [], Session.play
    moves = [["BW"[i % 2], f"{('AB', 'DE')[i % 2][i // 2 % 2]}{1 + i // 4}"] for i in range(10)]
    monkeypatch.setattr(Session, "play", lambda self, *move: played.append(move) or play(self, *move))
    for n in [*range(1, 11), *range(10, 0, -1)]:
        (found,) = ask(networked, **{**QUERY, "moves": moves[:n]}, maxVisits=1, includePolicy=True)
        assert found["turnNumber"] == n and found["rootInfo"]["currentPlayer"] == "BW"[n % 2]
        assert found["policy"].count(-1) == n
    assert len(played) == 10
    other = [*moves[:4], ["B", "pass"], ["B", "E5"]]
    found = ask(networked, 3, **{**QUERY, "moves": other}, maxVisits=1, analyzeTurns=[2, 5, 6], includePolicy=True)
    assert [own["policy"].count(-1) for own in found] == [2, 4, 5]
    assert [own["rootInfo"]["currentPlayer"] for own in found] == ["B", "B", "W"]
    assert len(played) == 12
    (komi,) = ask(katago, **{**QUERY, "komi": 50, "moves": moves[:1]})
    (stones,) = ask(networked, **{**QUERY, "initialStones": [["W", "E5"]], "moves": moves[:1]}, includePolicy=True)
    assert komi["rootInfo"]["winrate"] < 0.1 and stones["policy"].count(-1) == 2
    (said,) = ask(katago, **{**QUERY, "moves": [*moves[:2], ["B", "A1"]], "analyzeTurns": [0, 1, 2]})
    assert (said["error"], said["field"]) == ("Illegal move 2: A1", "moves")
    assert ask(katago, id="v", action="clear_cache") == [{"id": "v", "action": "clear_cache"}]


def test_stones_may_lie_there_first(networked):
    query = {**QUERY, "moves": [], "initialStones": [["B", "C3"], ["W", "D4"]], "initialPlayer": "W"}
    found = ask(networked, **query, includePolicy=True)[0]
    assert (found["rootInfo"]["currentPlayer"], found["turnNumber"]) == ("W", 0)
    assert [i for i, p in enumerate(found["policy"]) if p == -1] == [8, 12]


def test_play_may_go_on_after_two_passes(katago):
    over = ask(katago, **{**QUERY, "komi": 1000, "moves": [["B", "pass"], ["W", "pass"]]})[0]
    assert over["rootInfo"]["visits"] > 0
    assert over["rootInfo"]["winrate"] < 0.01


def test_progress_is_reported():
    """While a long search goes on; then it is ended, and says what it has found."""
    talk = Talk(
        bot="uct:simulations=50000,leaves=1,ensemble=1",
        server=lambda bot, lines, output: AnalysisServer(bot, lines, output, room=50_000),
    )
    talk.write(
        json.dumps({**QUERY, "reportDuringSearchEvery": 0.01})
        + "\n"
        + json.dumps({**QUERY, "id": "later", "analyzeTurns": [0, 1]})
        + "\n"
    )
    during = json.loads(talk.read_until("[^\n]*\n"))
    assert during["isDuringSearch"] and during["rootInfo"]["visits"] > 0
    talk.write(json.dumps({"id": "t", "action": "terminate_all"}) + "\n")
    said = [json.loads(line) for line in talk.end().splitlines()]
    none = [own for own in said if own.get("noResults")]
    assert [(own["id"], own["turnNumber"], own["isDuringSearch"]) for own in none] == [
        ("later", 0, False),
        ("later", 1, False),
    ]
    assert {"id": "t", "action": "terminate_all"} in said
    final = [own for own in said if own["id"] == "q" and not own["isDuringSearch"]]
    assert len(final) == 1 and 0 < final[0]["rootInfo"]["visits"] < 50_000


def test_priorities_come_first_and_what_is_ended_is_said(katago, monkeypatch):
    """All lines are there before any is worked on."""
    monkeypatch.setattr(analysis_server, "BURST_SECONDS", 1.0)
    monkeypatch.setattr(analysis_server, "TICK", 5.0)
    lines = [
        {**QUERY, "id": "first", "analyzeTurns": [0, 1]}, {**QUERY, "id": "urgent", "priority": 5},
        {**QUERY, "id": "each", "analyzeTurns": [0, 1], "priorities": [-1, 9]},
        {"id": "x", "action": "terminate", "terminateId": "first", "turnNumbers": [1]},
    ]  # fmt: skip
    katago.write("".join(json.dumps(line) + "\n" for line in lines))
    said = [json.loads(katago.read_until("[^\n]*\n")) for _ in range(6)]
    order = [(own["id"], own["turnNumber"]) for own in said if "moveInfos" in own]
    assert order == [("each", 1), ("urgent", 3), ("first", 0), ("each", 0)]
    assert {"id": "first", "isDuringSearch": False, "noResults": True, "turnNumber": 1} in said


def test_all_may_be_asked_before_anything_is_read(katago):
    """However much: reading and writing wait for nobody."""
    lines = 10_000
    asked = "".join(json.dumps({"id": str(i), "action": "query_version"}) + "\n" for i in range(lines))
    for first in range(0, len(asked), 1 << 16):
        katago.write(asked[first : first + (1 << 16)])
    katago.write(json.dumps({**QUERY, "maxVisits": 2}) + "\n")
    said = map(json.loads, katago.read_until(r'"id":"q"[^\n]*\n').splitlines())
    assert [own["id"] for own in said] == [*map(str, range(lines)), "q"]


def test_what_is_being_prepared_can_be_ended(katago):
    """Others are answered meanwhile."""
    katago.write(json.dumps({**QUERY, "moves": [["B", "pass"], ["W", "pass"]] * 1000}) + "\n")
    while katago.server._current is None:
        time.sleep(0.01)
    katago.write('{"id": "v", "action": "query_version"}\n{"id": "t", "action": "terminate_all"}\n')
    said = [json.loads(katago.read_until("[^\n]*\n")) for _ in range(3)]
    assert [own["id"] for own in said] == ["v", "t", "q"]
    assert said[-1]["noResults"]
    assert ask(katago, **QUERY)[0]["moveInfos"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves"), ({"moves": [["B", "Z9"]]}, "moves"), ({"moves": [["B"]]}, "moves"),
        ({"moves": None}, "moves"), ({"boardXSize": 26}, "boardXSize"), ({"boardYSize": "5"}, "boardYSize"),
        ({"komi": "6"}, "komi"), ({"komi": 3.3}, "komi"), ({"rules": "chess"}, "rules"), ({"rules": {"tax": "ALL"}}, "rules"),
        ({"analyzeTurns": [4]}, "analyzeTurns"), ({"analyzeTurns": [True]}, "analyzeTurns"), ({"maxVisits": 0}, "maxVisits"),
        ({"initialPlayer": "X"}, "initialPlayer"), ({"initialStones": [["B", "A1"], ["W", "A2"], ["W", "B1"]]}, "initialStones"),
        ({"overrideSettings": 3}, "overrideSettings"), ({"includePolicy": 1}, "includePolicy"), ({"priorities": [1, 2]}, "priorities"),
        ({"avoidMoves": [{"player": "B"}]}, "avoidMoves"), ({"id": 3}, "id"), ({"reportDuringSearchEvery": -1}, "reportDuringSearchEvery"),
        ({"action": "dance"}, "action"), ({"action": "terminate"}, "terminateId"), ({"action": "terminate_all", "turnNumbers": 3}, "turnNumbers"),
        ({"overrideSettings": {"maxTime": 10**400}}, "overrideSettings"), ({"overrideSettings": {"maxTime": math.nan}}, "overrideSettings"),
        ({"overrideSettings": {"maxTime": math.inf}}, "overrideSettings"), ({"overrideSettings": {"maxTime": -1}}, "overrideSettings"),
        ({"maxVisits": 10**400}, "maxVisits"), ({"komi": math.inf}, "komi"), ({"priority": 10**400}, "priority"),
        ({"analyzeTurns": [10**400]}, "analyzeTurns"), ({"priorities": [10**400]}, "priorities"), ({"analysisPVLen": 10**400}, "analysisPVLen"),
        ({"avoidMoves": [{"player": "B", "moves": [], "untilDepth": 0}]}, "avoidMoves"), ({"moves": [["B", "pass"]] * 20_000}, "moves"),
    ],
)  # fmt: skip
def test_an_error_names_its_field(katago, change, field):
    (said,) = ask(katago, **{**QUERY, **change})
    assert said["field"] == field and said["error"]
    assert ("id" in said) == (field != "id")


def test_warnings_and_answers_about_itself(katago):
    warned, unused, found = ask(katago, 3, **{**QUERY, "rules": "japanese", "colour": "red"})
    assert {warned["field"], unused["field"]} == {"rules", "colour"}
    assert warned["warning"] and unused["warning"] and found["moveInfos"]
    (version,) = ask(katago, id="v", action="query_version")
    assert (version["id"], version["action"]) == ("v", "query_version") and version["version"] and version["git_hash"]
    assert ask(katago, id="c", action="clear_cache") == [{"id": "c", "action": "clear_cache"}]
    assert ask(katago, id="m", action="query_models")[0]["models"] == []
    deep = json.dumps({**QUERY, "rules": "[" * 100_000})
    katago.write(deep + "\n")
    assert json.loads(katago.read_until("[^\n]*\n"))["field"] == "rules"
    for line in ("{not json", "[1, 2]", "{" * 100_000, '"text"'):
        katago.write(line + "\n")
        assert set(json.loads(katago.read_until("[^\n]*\n"))) == {"error"}


def test_an_error_of_ours_is_not_the_end(katago, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("jubango.bots.interactive.interactive_search.InteractiveSearch.findings", lambda self: 1 / 0)
        (said,) = ask(katago, **QUERY)
    assert said["id"] == "q" and "ZeroDivisionError" in said["error"]
    assert ask(katago, **QUERY)[0]["moveInfos"]
    with monkeypatch.context() as patch:
        patch.setattr("jubango.bots.gtp_server.analysis_server.read_query", lambda said: 1 / 0)
        (said,) = ask(katago, **QUERY)
    assert said["id"] == "q" and "ZeroDivisionError" in said["error"]
    assert ask(katago, **QUERY)[0]["moveInfos"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 30) | st.floats() | st.sampled_from(["B", "w", "C3", "pass", "", "chinese", "[" * 100_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["player", "moves", "ko", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([*QUERY, "analyzeTurns", "priority", "priorities", "maxVisits", "overrideSettings", "avoidMoves", "initialStones", "initialPlayer", "nothing"]), ANYTHING)  # fmt: skip
def test_any_query_is_read_or_refused(key, value):
    try:
        read_query({**QUERY, key: value})
    except QueryError as error:
        assert error.field
        assert "\n" not in str(error)


def test_the_command_answers_katrain():
    """What KaTrain sends when a game is opened; it says itself in whose view, and asks for Japanese rules."""
    query = {
        "rules": "japanese", "priority": 1, "analyzeTurns": [1], "maxVisits": 25, "komi": 6.5, "boardXSize": 5, "boardYSize": 5,
        "includeOwnership": True, "includeMovesOwnership": True, "includePolicy": True, "initialStones": [], "initialPlayer": "B",
        "moves": [["B", "C3"]], "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 8.0, "wideRootNoise": 0.04},
        "id": "QUERY:1",
    }  # fmt: skip
    lines = [query, {"action": "terminate", "terminateId": "QUERY:0", "id": "QUERY:2"}]
    process = command("analysis-server", "--bot", "uct:simulations=32,leaves=1,ensemble=1", "--simulations", "64")
    out, err = process.communicate("".join(json.dumps(line) + "\n" for line in lines).encode(), timeout=200)
    assert (process.returncode, err) == (0, b"")
    said = [json.loads(line) for line in out.decode().splitlines()]
    assert [own["id"] for own in said] == ["QUERY:1", "QUERY:2", "QUERY:1"]
    assert "warning" in said[0]
    final = said[-1]
    assert "policy" not in final and len(final["ownership"]) == 25
    assert final["rootInfo"]["visits"] == 25 == sum(move["visits"] for move in final["moveInfos"])
    assert all(re.fullmatch(r"[A-E][1-5]|pass", move["move"]) for move in final["moveInfos"])
