"""A search by the clock ends once no other move can be played any more, and not before."""

from __future__ import annotations

import numpy as np
import pytest
from final_move import final_move
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import UCT, after

import jubango as jb
from jubango.bots.search.host import driver as driver_module
from jubango.bots.search.host.driver import Driver
from jubango.bots.search.packing import SearchRequest
from jubango.bots.search.root import final_moves, settled, undecided
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.tree.state import RootStatistics
from jubango.sgf_games.rules.compiled import rules, stacked


def statistics(visits, legal):
    a = len(visits)
    visits = np.where(legal, visits, 0)
    total = int(visits.sum())
    return RootStatistics(
        visits, np.zeros(a, np.float32), np.where(legal, 1 / a, 0), np.float32(0), np.float32(0),
        np.zeros((2, 0), np.float32), np.zeros(a, np.float32), np.zeros(0, np.float32), np.int32(total), np.int32(0),
    )  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_settled_stays_whatever_is_still_searched(data):
    a = data.draw(st.integers(1, 6))
    visits = np.array(data.draw(st.lists(st.integers(0, 30), min_size=a, max_size=a)))
    legal = np.array(data.draw(st.lists(st.booleans(), min_size=a, max_size=a).filter(any)))
    more = np.array(data.draw(st.lists(st.integers(0, 12), min_size=a, max_size=a)))
    before, later = statistics(visits, legal), statistics(visits + more, legal)
    left = float(np.where(legal, more, 0).sum())
    batch = RootStatistics(*(np.asarray(x)[None] for x in before))
    if settled(batch, np.array([left]))[0]:
        assert final_move(before) == final_move(later)
    else:  # one of them could still be played instead
        first = final_move(before)
        turned = [final_move(statistics(visits + left * (np.arange(a) == i), legal)) for i in np.flatnonzero(legal)]
        tied = [i for i in np.flatnonzero(legal) if visits[i] + left >= visits[first] and i != first]
        assert any(move != first for move in turned) or tied or not left


@pytest.mark.full
@pytest.mark.parametrize("settles", [False, True])
def test_a_search_by_the_clock_ends_when_its_move_is_settled(settles):
    """Black wins with D4: most simulations go there, and those that are left cannot help the others."""
    search = UCT
    state = after(search.game, "D1 A1 D2 A2 D3 A3")
    legal = np.asarray(rules(search.game).view(state).legal)
    driver = Driver(search, 2)
    orders = [
        SearchRequest(0, legal, SearchParams(96, 0.5), 1, settles=True),  # no deadline: all its simulations are made
        SearchRequest(1, legal, SearchParams(96, 0.5), 1, deadline=1e9, settles=settles),
    ]
    driver.begin(orders, stacked([state] * driver.trees))
    found = {}
    while driver.busy.any():
        lanes, answers, _ = driver.advance(0.0)  # a step at a time
        for row, lane in enumerate(lanes.tolist()):
            found[lane] = RootStatistics(*(x[row : row + 1] for x in answers))
    driver.close()
    moves = {lane: int(final_moves(own, ["visits"], [0.0], [1])[0]) for lane, own in found.items()}
    assert moves[0] == moves[1] == search.game.parse_action("D4")
    assert found[0].visits.sum() == 96
    assert (found[1].visits.sum() < 96) == settles
    if settles:
        first, second = np.sort(found[1].visits[0])[:-3:-1]
        assert first - second > 96 - found[1].visits.sum() >= first - second - 2


@pytest.mark.full
@pytest.mark.parametrize("spec", ["uct:", "uct:reuse=true,"])
def test_what_is_kept_for_the_next_move_is_searched_in_full(spec, monkeypatch):
    """Where no clock keeps what is saved: of a kept tree's simulations those for the next move are worth making."""
    start = Driver.start
    monkeypatch.setattr(Driver, "start", lambda self, most=0.0: start(self, 0.0))  # a step at a time
    run = jb.match(f"{spec}simulations=200,seconds=1000", "random", "tic_tac_toe", 2, progress=False)
    made = run.moves.query("player != 'random'").simulations
    assert len(made) > 0
    assert (made >= 200).all() if "reuse" in spec else (made < 200).any()


@pytest.fixture
def watch(monkeypatch):
    """The time, in a list, which goes on as a test says."""
    now = [100.0]
    monkeypatch.setattr(driver_module.time, "perf_counter", lambda: now[0])
    return now


def of_values(visits, values, legal):
    return statistics(np.array(visits), np.array(legal))._replace(value=np.array(values, np.float32))


@pytest.mark.parametrize(
    ("visits", "values", "legal", "is_open"),
    [
        ([60, 40, 20], [0.3, 0.2, 0.1], [1, 1, 1], False),
        ([60, 40, 20], [0.3, 0.4, 0.1], [1, 1, 1], True),  # another one has the higher value
        ([60, 40, 5], [0.3, 0.2, 0.9], [1, 1, 1], False),  # of a move that was hardly tried
        ([60, 48, 20], [0.3, 0.2, 0.1], [1, 1, 1], True),  # nearly as many visits
        ([60, 47, 20], [0.3, 0.2, 0.1], [1, 1, 1], False),
        ([60, 40, 20], [0.3, 0.4, 0.1], [1, 0, 1], False),  # that may not be played
        ([0, 60, 0], [0.9, 0.1, 0.9], [1, 1, 1], False),  # of moves that were never tried
        ([7, 0, 0], [0.0, 0.0, 0.0], [1, 0, 0], False),
        ([0, 0, 0], [0.0, 0.0, 0.0], [1, 1, 1], False),  # nothing to choose by: the prior decides
        ([60, 40, 20], [-0.3, -0.4, -0.1], [1, 1, 1], True),
    ],
)
def test_when_it_is_open_what_to_play(visits, values, legal, is_open):
    found = of_values(visits, values, np.array(legal, bool))
    batch = RootStatistics(*(np.asarray(x)[None] for x in found))
    assert undecided(batch).tolist() == [is_open]


@pytest.mark.full
@pytest.mark.parametrize("is_open", [False, True])
def test_an_open_search_goes_on_after_its_time(is_open, watch, monkeypatch):
    """A watch that goes a second a step: the first lane may take longer, the second has no more time, and of the third
    chance decides in the end."""
    state = after(UCT.game, "")
    legal = np.asarray(rules(UCT.game).view(state).legal)
    driver = Driver(UCT, 3)
    monkeypatch.setattr(driver_module, "undecided", lambda found: is_open & (found.visits.sum(axis=1) < 60))
    limits = [(200.0, True), (120.0, True), (200.0, False)]
    orders = [
        SearchRequest(i, legal, SearchParams(90, 0.5), 1, 120.0, latest, settles=settles)
        for i, (latest, settles) in enumerate(limits)
    ]
    driver.begin(orders, stacked([state] * driver.trees))
    ended = {}
    while driver.busy.any():
        driver.start(0.0)
        watch[0] += 1
        for lane in driver.advance(0.0).ready.tolist():
            ended[lane] = watch[0]
    driver.close()
    assert ended[1] == ended[2] == 120
    assert 120 < ended[0] < 200 if is_open else ended[0] == 120


@pytest.mark.full
def test_time_that_is_shared_with_fewer_games_ends_earlier(watch, monkeypatch):
    """After ten of twenty seconds a second is half as long for two of three lanes, one of which may take longer."""
    state = after(UCT.game, "")
    legal = np.asarray(rules(UCT.game).view(state).legal)
    driver = Driver(UCT, 3)
    monkeypatch.setattr(driver_module, "undecided", lambda found: np.ones(len(found.visits), bool))
    latest = [120.0, 130.0, 120.0]
    orders = [SearchRequest(i, legal, SearchParams(90, 0.5), 1, 120.0, latest[i], settles=True) for i in range(3)]
    driver.begin(orders, stacked([state] * driver.trees))
    ended = {}
    while driver.busy.any():
        driver.start(0.0)
        watch[0] += 1
        if watch[0] == 110:
            driver.rescale([0, 1], 0.5)
        for lane in driver.advance(0.0).ready.tolist():
            ended[lane] = watch[0]
    driver.close()
    assert ended == {0: 115, 1: 120, 2: 120}
