"""The gauge of a sequential test: where its ratio stands between the bounds, in a picture and in words."""

from __future__ import annotations

import pytest

from jubango.analysis.ratings.sprt import Sprt, SprtState
from jubango.analysis.report.gauge import gauge
from jubango.analysis.report.run_page import RunPage
from jubango.sgf_games.rules.catalogue import make_game

TEST = Sprt(0, 20)
LOWER, UPPER = TEST.bounds


def of(llr, accepted=""):
    return gauge(SprtState(TEST, llr, accepted, (0, 1, 2, 1, 0)))


def test_places_keep_the_order_of_what_they_stand_for():
    low, zero, some, high = of(LOWER, "H0"), of(-0.0), of(1.5), of(UPPER, "H1")
    assert 0 < low["at"] == some["lower"] < zero["at"] == some["zero"] < some["at"] < high["at"] == some["upper"] < 100
    assert (some["from"], some["width"]) == (some["zero"], pytest.approx(some["at"] - some["zero"]))
    assert (low["from"], low["width"]) == (low["at"], pytest.approx(low["zero"] - low["at"]))
    assert zero["text"] == "LLR 0.00", "no zero below zero"
    assert [one["side"] for one in (low, zero, high)] == ["h0", "h1", "h1"]


def test_what_lies_far_beyond_a_bound_stays_on_the_gauge():
    assert (of(40.0, "H1")["at"], of(-40.0, "H0")["at"]) == (100, 0)
    assert (of(40.0, "H1")["anchor"], of(-40.0, "H0")["anchor"]) == ("end", "start")


@pytest.mark.parametrize(("llr", "accepted", "verdict"), [(1.234, "", "undecided"), (3.0, "H1", "H1 accepted")])
def test_a_page_says_it_to_who_does_not_see_it(llr, accepted, verdict):
    page = RunPage("a match", make_game("tic_tac_toe"), {"a": "random", "b": "random"})
    text = page.summary(test=SprtState(TEST, llr, accepted, (0, 1, 2, 1, 0)))
    said = f"The test: {verdict}. Its log-likelihood ratio is {llr:.2f}; H0 is accepted at -2.94, H1 at 2.94."
    assert f'role="img" aria-label="{said}"' in text
    assert f">{verdict}</b>" in text
    assert "gauge" not in page.summary()
