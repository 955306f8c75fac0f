"""Other people's engines that say what they think: what they are told, what is understood, how they fail."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from jubango.bots.players.engines.analysts import gtp_analyst
from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine
from jubango.bots.players.engines.analysts.analyst import EngineLimits, EngineLine, EngineQuestion
from jubango.bots.players.engines.analysts.gtp_analyst import parsed
from jubango.bots.players.engines.analysts.kata_rules import KATA_RULES, rules_table
from jubango.sgf_games.base.errors import CannotGoOn, UserError
from jubango.sgf_games.rules.catalogue import make_game

ROOT = Path(__file__).parents[3]
GAME = make_game("go:5,komi=0.5")
MOVES = ((0, "C3"), (1, "B2"), (0, "D4"), (1, "pass"))
LIMITS = EngineLimits(visits=10)

# What KataGo 1.17.2 says with g170-b6c96 by kata-analyze (shortened), for White to move.
KATAGO_LINE = (
    "info move D4 visits 222 edgeVisits 222 utility 0.251727 winrate 0.611244 scoreMean 1.84945 scoreStdev 14.3404 "
    "scoreLead 1.84945 scoreSelfplay 1.94404 prior 0.155234 lcb 0.596862 utilityLcb 0.211457 weight 221.911 order 0 "
    "pv D4 D6 C4 F5 F3 G3 F4 G4 info move F6 visits 52 edgeVisits 52 utility 0.119831 winrate 0.571246 scoreMean "
    "0.855516 scoreLead 0.855516 prior 0.41345 order 1 pv F6 D6 F3 pvVisits 52 40 3 rootInfo visits 330 utility 0.2 "
    "winrate 0.601 scoreLead 1.5 ownership 0.5 -0.25 1 0"
)


def fake(mode: str, silence: float = 20.0) -> AnalysisEngine:
    script = ROOT / "tests" / "tools" / "fake_analyst.py"
    return AnalysisEngine(f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} {mode}", silence)


def questions(game=GAME, moves=MOVES, stones=(), first=0, numbers=None):
    line = EngineLine(game, stones, first, moves)
    taken = {point for _, point in stones}
    out = []
    for number in range(len(moves) + 1) if numbers is None else numbers:
        legal = np.ones(game.num_actions, bool)
        for point in taken | {point for _, point in moves[:number]} - {"pass"}:
            legal[game.parse_action(point)] = False
        player = 1 - moves[number - 1][0] if number else first
        out.append(EngineQuestion(line, number, player, legal, f"after move {number}"))
    return out


def answers(engine, asked, limits=LIMITS, look=lambda done: None):
    found = dict(engine.ask(asked, limits, look))
    return [found[i] for i in range(len(asked))]


@pytest.fixture
def log(tmp_path, monkeypatch):
    """What an engine is told."""
    path = tmp_path / "told"
    path.touch()
    monkeypatch.setenv("FAKE_ANALYST_LOG", str(path))
    return path


def test_values_are_turned_to_the_player_to_move():
    with fake("fine") as engine:
        assert engine.name == "KataGo 1.99.0, tiny-b1c1"
        found = answers(engine, questions())
    for number, one in enumerate(found):
        sign = -1 if number % 2 else 1
        assert one.value == pytest.approx(sign * 2 * number / 100)  # Black's rate is 0.5 and a hundredth a move
        assert one.lead == number / 2
        assert one.simulations == 10
        assert (one.visits.sum(), one.visits[one.action]) == (10, 9)
        assert one.priors.sum() == pytest.approx(1)
        assert one.variation_of(one.action) == (one.action, one.action + 1, GAME.pass_action)
        assert one.leads[one.action] == 2.5
        assert sorted({*one.ownership}) == ([-0.25, 1] if number else [-0.25])
    assert [GAME.action_text(one.action) for one in found] == ["A5"] * 5


def test_a_game_is_one_query_with_its_rules(log):
    game = make_game("go:9x7,komi=6.5,ko=situational,suicide=true")
    with fake("fine") as engine:
        answers(engine, questions(game, MOVES, stones=((0, "G5"), (0, "C3")), first=1, numbers=[0, 2]))
    (query,) = map(json.loads, log.read_text().splitlines())
    assert (query["boardXSize"], query["boardYSize"], query["komi"]) == (9, 7, 6.5)
    assert query["initialStones"] == [["B", "G5"], ["B", "C3"]]
    assert query["initialPlayer"] == "W"
    assert query["moves"] == [["B", "C3"], ["W", "B2"]]
    assert query["analyzeTurns"] == [0, 2]
    assert query["maxVisits"] == 10
    assert query["includePolicy"]
    assert query["includeOwnership"]
    assert query["overrideSettings"] == {"reportAnalysisWinratesAs": "BLACK"}
    rules = query["rules"]
    assert (rules["ko"], rules["suicide"], rules["scoring"], rules["tax"]) == ("SITUATIONAL", True, "AREA", "NONE")
    assert (rules["whiteHandicapBonus"], rules["hasButton"]) == ("0", False)


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
@pytest.mark.parametrize("suicide", [False, True])
def test_rules_are_those_that_katago_has_names_for(ko, suicide):
    table = rules_table(make_game(f"go:9,ko={ko},suicide={str(suicide).lower()}"))
    named = set(KATA_RULES.values())
    assert (table["ko"].lower(), table["suicide"]) == (ko, suicide)
    assert ((ko, suicide) in named) == ((ko, suicide) != ("simple", True))


def test_seconds_take_the_place_of_visits(log):
    with fake("fine") as engine:
        answers(engine, questions(numbers=[0]), EngineLimits(seconds=2.5))
        answers(engine, questions(numbers=[0]), EngineLimits())
    timed, free = map(json.loads, log.read_text().splitlines())
    assert timed["overrideSettings"]["maxTime"] == 2.5
    assert timed["maxVisits"] >= 1_000_000  # the engine's own limit does not end it sooner
    assert "maxVisits" not in free
    assert "maxTime" not in free["overrideSettings"]


def test_what_is_asked_twice_is_searched_twice(log):
    asked = questions(numbers=[1, 2])
    with fake("fine") as engine:
        found = answers(engine, [*asked, asked[1]])
    told = [json.loads(line)["analyzeTurns"] for line in log.read_text().splitlines()]
    assert told == [[1, 2], [2]]
    assert [one.lead for one in found] == [0.5, 1, 1]


def test_noise_and_words_on_the_way_do_not_count():
    seen = []
    with fake("noise") as engine:
        found = answers(engine, questions(), look=seen.append)
    assert [one.lead for one in found] == [0, 0.5, 1, 1.5, 2]
    assert seen[-1] == 5
    assert seen == sorted(seen)


def test_a_warning_is_noted_once():
    with fake("warns") as engine:
        answers(engine, questions(numbers=[0]) + questions(numbers=[1]))
        assert engine.notes == ["KataGo 1.99.0 warns: rules: not by this network"]


def test_an_illegal_choice_gives_way_to_a_legal_one():
    (asked,) = questions(numbers=[0])
    asked.legal[GAME.parse_action("A5")] = False
    with fake("fine") as engine:
        (found,) = answers(engine, [asked])
    assert GAME.action_text(found.action) == "B5"
    assert found.priors[GAME.parse_action("A5")] == 0


@pytest.mark.parametrize(
    ("mode", "kind", "said"),
    [
        ("errs", UserError, "answered a query with the error: Illegal move 1: C3 (moves)"),
        ("dies", CannotGoOn, "ended during 'a query' (exit status 3); it said: out of memory"),
        ("torn", CannotGoOn, "ended during 'a query' (exit status 0)"),
        ("half", UserError, "with half a reply: {"),
        ("lacks", UserError, "without what a reply has (KeyError: 'visits')"),
    ],
)
def test_what_goes_wrong_is_one_line(mode, kind, said):
    with fake(mode) as engine, pytest.raises(kind) as caught:
        answers(engine, questions())
    text = str(caught.value)
    assert said in text
    assert "\n" not in text
    assert text.startswith('engine "KataGo 1.99.0"')
    assert not psutil.Process().children(recursive=True)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"rootInfo": {"visits": 10**30, "winrate": 0.5}}, "visits: 1000000"),
        ({"rootInfo": {"visits": "many", "winrate": 0.5}}, "could not convert"),
        ({"rootInfo": {"visits": 3, "winrate": 0.5, "scoreLead": float("inf")}}, "a lead: inf"),
        ({"rootInfo": {"visits": 3, "winrate": float("nan")}}, "a win rate: nan"),
        ({"ownership": [float("nan")] * 25}, "ownership: a number out of range"),
        ({"ownership": [0.5] * 24}, "ownership: 24 numbers where 25 should be"),
        ({"policy": [7.0] * 26}, "policy: a number out of range"),
        ({"moveInfos": [{"move": "A1", "visits": 2, "winrate": 50.0}]}, "a win rate: 50.0"),
        ({"moveInfos": "no list"}, "AttributeError"),
    ],
)
def test_numbers_that_cannot_be_meant_are_one_line(what, said):
    with fake(f"says {shlex.quote(json.dumps(what))}") as engine, pytest.raises(UserError) as caught:
        answers(engine, questions())
    text = str(caught.value)
    assert "without what a reply has" in text and said in text and "\n" not in text


def test_turns_that_are_none_are_no_answers():
    """Whatever they are; the engine is given up as one that says nothing."""
    mode = f"says {shlex.quote(json.dumps({'turnNumber': [1]}))}"
    with fake(mode, silence=1.0) as engine, pytest.raises(CannotGoOn, match="no answer"):
        answers(engine, questions(numbers=[0]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("info move A1 visits 3 order 0 pv A1", "KeyError: 'winrate'"),
        ("info move A1 visits x winrate 0.5 order 0 pv A1", "could not convert"),
        ("info move A1 visits 3 winrate nan order 0 pv A1", "a win rate: nan"),
        ("info move A1 visits 3 winrate 50000 order 0 pv A1", "a win rate: 50000"),
        ("info move A1 visits 3 winrate 0.5 scoreLead inf order 0 pv A1", "a lead: inf"),
        ("info move A1 visits 3 winrate 0.5 order 0 pv A1 ownership 0.5 0.5", "2 numbers where 25"),
        ("info move A1 visits 3 winrate 0.5 order 0 pv A1 ownership x", "could not convert"),
    ],
)
def test_lines_that_cannot_be_meant_are_one_line(line, said, monkeypatch):
    monkeypatch.setattr(gtp_analyst, "PROBE_SECONDS", 0.2)  # visits that are no number are never enough
    limits = EngineLimits(visits=2, seconds=0.5)
    with fake(f"gtp-says {shlex.quote(line)}") as engine, pytest.raises(UserError) as caught:
        answers(engine, questions(numbers=[0]), limits)
    text = str(caught.value)
    assert "said what cannot be understood" in text and said in text and "\n" not in text


def test_what_came_before_a_death_is_handed_on():
    found = []
    with fake("dies") as engine, pytest.raises(CannotGoOn):
        found.extend(engine.ask(questions(), LIMITS))
    assert [place for place, _ in found] == [4]


def test_silence_ends():
    with fake("silent", silence=1.0) as engine, pytest.raises(CannotGoOn, match="no answer to 'a query' in 1 s"):
        answers(engine, questions())


def test_who_stops_it_is_told_so():
    with fake("slow") as engine:
        found = answers(engine, questions(), look=lambda done: False)
        assert found == [None] * 5


@pytest.mark.parametrize(("mode", "number"), [("noise", 3), ("gtp", 3), ("gtp-black", 2)])
def test_what_is_known_on_the_way_is_what_is_known_in_the_end(mode, number):
    """The same terms, whoever is to move."""
    known = []
    with fake(mode) as engine:
        asked = questions(numbers=[0, number])
        ended = dict(engine.ask(asked, LIMITS, seen=lambda place, result: known.append((place, result))))
    assert {place for place, _ in known} == {0, 1}
    for place, result in known:
        end = ended[place]
        assert 0 < result.simulations <= end.simulations
        assert (result.action, result.value, result.lead) == (end.action, end.value, end.lead)


def test_who_leaves_early_can_ask_again():
    with fake("noise") as engine:
        begun = engine.ask(questions(), LIMITS)
        next(begun)
        begun.close()
        assert [one.lead for one in answers(engine, questions(numbers=[0, 3]))] == [0, 1.5]


def test_what_katago_itself_says():
    """A board 5 wide and 7 high after B C3, White to move, by KataGo 1.17.2 with g170-b6c96 and 6 visits."""
    recorded = Path(__file__).with_name("katago_reply.json")
    game = make_game("go:5x7,komi=7")
    with fake(f"recorded {shlex.quote(str(recorded))}") as engine:
        (found,) = answers(engine, questions(game, numbers=[1]))
    reply = json.loads(recorded.read_text())
    best = reply["moveInfos"][0]
    assert game.action_text(found.action) == best["move"] == "C5"
    assert found.simulations == 6
    assert found.visits.sum() == 5
    assert 0.5 - 0.5 * found.value == pytest.approx(reply["rootInfo"]["winrate"])  # Black's there, White's here
    assert 0.5 - 0.5 * found.values[found.action] == pytest.approx(best["winrate"])
    assert found.priors[found.action] == pytest.approx(best["prior"], abs=1e-6)
    assert found.priors.sum() == pytest.approx(1, abs=1e-3)
    assert found.priors[game.parse_action("C3")] == 0
    assert found.lead == pytest.approx(reply["rootInfo"]["scoreLead"])
    assert found.ownership.reshape(7, 5)[6, 4] == pytest.approx(reply["ownership"][-1])  # E1, Black's side
    assert [game.action_text(a) for a in found.variation_of(found.action)] == best["pv"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-engine analysis", 'cannot start "no-such-engine analysis"'),
        ("false", "ended during 'its first question' (exit status 1)"),
        ("yes", "speaks neither KataGo's JSON protocol nor GTP; it said: y"),
        ("cat", "speaks neither KataGo's JSON protocol nor GTP"),
        ("'unclosed", "badly quoted"),
    ],
)
def test_what_is_no_such_engine_is_said(command, said):
    with pytest.raises(UserError) as caught:
        AnalysisEngine(command)
    assert said in str(caught.value)


def test_an_engine_without_thoughts_is_refused():
    with pytest.raises(UserError, match=r"Fake 1\.0 knows neither kata-analyze nor lz-analyze"):
        fake("gtp-plain")
    assert not psutil.Process().children(recursive=True)


def test_engines_know_go_alone():
    game = make_game("tic_tac_toe")
    line = EngineLine(game, (), 0, ())
    with fake("fine") as engine, pytest.raises(UserError, match="engines analyse Go, not tic_tac_toe"):
        next(engine.ask([EngineQuestion(line, 0, 0, np.ones(9, bool), "here")], LIMITS))


# -- GTP -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["gtp", "gtp-black", "gtp-old", "gtp-lz"])
def test_gtp_engines_say_the_same_in_whatever_view(mode):
    with fake(mode) as engine:
        assert engine.name == "Fake 1.0"
        found = answers(engine, questions(), EngineLimits(visits=5))
    for number, one in enumerate(found):
        sign = -1 if number % 2 else 1
        if mode in ("gtp", "gtp-black"):
            assert one.value == pytest.approx(sign * 2 * number / 100)
            assert one.lead == number / 2
            assert one.ownership.sum() == len({point for _, point in MOVES[:number]} - {"pass"})
        assert one.values[one.action] == pytest.approx(sign * 2 * number / 100, abs=1e-4)
        assert one.priors[one.action] == 0.5
        assert one.simulations >= 5
        assert GAME.action_text(one.action) == "A5"
        assert one.variation_of(one.action)[:2] == (one.action, one.action + 1)
    assert (found[0].ownership is None) == (mode in ("gtp-old", "gtp-lz"))
    assert (found[0].lead is None) == (mode == "gtp-lz")


def test_a_gtp_engine_is_told_what_is_new(log):
    with fake("gtp") as engine:
        answers(engine, questions(numbers=[2, 3]) + questions(moves=(*MOVES[:2], (0, "A1")), numbers=[3]))
        assert not engine.notes
    told = [line.strip() for line in log.read_text().splitlines()]
    played = [line for line in told if line.split()[0] in ("play", "undo", "clear_board", "komi")]
    assert played[-7:] == ["clear_board", "komi 0.5", "play b C3", "play w B2", "play b D4", "undo", "play b A1"]
    assert any(line.startswith("kata-set-rules {") for line in told)


def test_set_up_stones_by_gtp(log):
    with fake("gtp") as engine:
        answers(engine, questions(stones=((0, "E5"), (1, "A1")), first=1, moves=(), numbers=[0]))
    assert "set_position b E5 w A1" in log.read_text()
    assert "kata-analyze w" in log.read_text().splitlines()[-2]


def test_an_engine_that_is_told_no_rules_is_noted():
    with fake("gtp-lz") as engine:
        answers(engine, questions(numbers=[0]))
        assert "is told no rules" in engine.notes[0]


def test_katagos_own_line():
    moves, root, owners = parsed(KATAGO_LINE)
    assert [move["move"] for move in moves] == ["D4", "F6"]
    assert moves[0]["pv"].split() == ["D4", "D6", "C4", "F5", "F3", "G3", "F4", "G4"]
    assert moves[1]["pv"] == "F6 D6 F3"
    assert (root["visits"], root["winrate"], root["scoreLead"]) == ("330", "0.601", "1.5")
    assert owners.tolist() == [0.5, -0.25, 1, 0]
