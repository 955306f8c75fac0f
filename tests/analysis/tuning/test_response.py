"""Responses fitted to games: what was planted is found, and the intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from jubango.analysis.ratings.ratings import ELO
from jubango.analysis.tuning import response as module
from jubango.analysis.tuning.response import FEATURES, Response, Trials, _fit, features, spread
from jubango.analysis.tuning.response_plot import Axis, save_response

START = 0.5  # everywhere, in the cube


def planted(dimensions, rng):
    """(Elo over the settings at START, the best place): steeper below the best place than above."""
    best = rng.uniform(-0.6, 0.4, dimensions)

    def raw(places):
        off = np.asarray(places) - best
        return -200 * (np.where(off < 0, 1.6, 1.0) * off**2).mean(axis=-1)

    start = raw(np.full(dimensions, START))
    return (lambda places: raw(places) - start), best


def play(elo, places, rng, draws=0.2, first=60.0):
    """Points of pairs at places: the first move is worth something, some games are drawn."""
    points = np.zeros(len(places))
    for advantage in (first, -first):
        chance = 1 / (1 + 10 ** (-(elo(places) + advantage) / 400))
        lucky = rng.random(len(places)) < chance
        points += np.where(rng.random(len(places)) < draws, 0.5, lucky)
    return points


def tuned(elo, dimensions, games, rng, batch=64):
    """The response after so many games, ``batch`` pairs at a time."""
    places, points = np.zeros((0, dimensions)), np.zeros(0)
    response = None
    while 2 * len(points) < games:
        more = spread(batch, dimensions, rng.random(dimensions)) if response is None else response.tries(batch, rng)
        places, points = np.concatenate([places, more]), np.append(points, play(elo, more, rng))
        known = [(np.full(dimensions, START), 0)]
        response = Response(Trials(places, np.zeros(len(points), int), points), dimensions, known=known)
    return response


@pytest.mark.full
@pytest.mark.parametrize(
    ("dimensions", "games", "regret"),
    [
        (1, 1024, 8),
        (3, 1536, 15),
    ],
)
def test_a_planted_optimum_is_found(dimensions, games, regret):
    lost = []
    for seed in range(3 if dimensions == 1 else 2):
        rng = np.random.default_rng([seed, dimensions])
        elo, best = planted(dimensions, rng)
        found = tuned(elo, dimensions, games, rng).optimum
        lost.append(elo(best) - elo(found.place))
        assert ((found.low <= found.place) & (found.place <= found.high)).all()
    assert np.mean(lost) < regret, lost


@pytest.mark.full
def test_the_intervals_cover_what_was_planted():
    """The place of the best, and Elo over the settings at START: there, where it is chosen for being high, and at places
    that nothing chose."""
    best_inside, there, elsewhere, seeds = 0, 0, 0, 16
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 7])
        elo, best = planted(1, rng)
        response = tuned(elo, 1, 512, rng)
        found = response.optimum
        best_inside += found.low[0] <= best[0] <= found.high[0]
        for place in (found.place, *np.linspace(-0.8, 0.8, 5)[:, None]):
            estimate = response.gain(place, np.array([START]))
            inside = estimate.low <= elo(place) <= estimate.high
            there, elsewhere = (
                there + (inside and place is found.place),
                elsewhere + (inside and place is not found.place),
            )
    assert best_inside >= 0.85 * seeds, best_inside
    assert there >= 0.85 * seeds, there
    assert elsewhere >= 0.88 * 5 * seeds, elsewhere


@pytest.mark.full
def test_what_is_tried_comes_near_the_optimum_and_depends_on_the_seed_alone():
    rng = np.random.default_rng(3)
    elo, best = planted(2, rng)
    few, many = (tuned(elo, 2, games, np.random.default_rng(4)) for games in (128, 2048))
    away = [np.abs(one.tries(200, np.random.default_rng(5)) - best).mean() for one in (few, many)]
    assert away[1] < 0.7 * away[0]
    again = many.tries(64, np.random.default_rng(6))
    assert (again == many.tries(64, np.random.default_rng(6))).all()
    assert (np.abs(again) <= 1).all()
    assert len(np.unique(again, axis=0)) > 32
    assert (again != many.tries(64, np.random.default_rng(7))).any()


def test_settings_that_are_the_opponents_score_a_half():
    rng = np.random.default_rng(8)
    elo, _ = planted(1, rng)
    response = tuned(elo, 1, 128, rng)
    at_start = response.elo(np.array([START]), 0)
    assert abs(at_start.value) < 5
    assert at_start.high - at_start.low < 60 < np.diff(response.elo(np.array([-1.0]), 0)[1:])[0]


def test_opponents_have_strengths_of_their_own():
    rng = np.random.default_rng(9)
    elo, _ = planted(1, rng)
    places = rng.uniform(-1, 1, (600, 1))
    whom = np.arange(600) % 2
    points = play(lambda at: elo(at) - 200 * whom, places, rng)
    response = Response(Trials(places, whom, points), 1, 2)
    best = response.optimum.place
    easy, hard = (response.elo(best, opponent) for opponent in range(2))
    assert easy.value - hard.value == pytest.approx(200, abs=60)
    assert response.elo(best).value == pytest.approx((easy.value + hard.value) / 2)


def test_a_fit_is_the_mode_of_its_posterior():
    rng = np.random.default_rng(10)
    columns, deviations = rng.standard_normal((50, 4)), np.array([2.0, 1.0, 0.5, 0.1])
    games = np.full(50, 2.0)
    points = rng.integers(0, 5, 50) / 2

    def loss(coefficients):
        log_odds = columns @ coefficients
        return (games * np.logaddexp(0, log_odds) - points * log_odds).sum() + (
            (coefficients / deviations) ** 2
        ).sum() / 2

    fit = _fit(1.0, columns, points, games, deviations)
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert fit.mode == pytest.approx(best.x, abs=1e-5)
    small = 1e-4 * np.eye(4)
    curvature = [
        [
            (loss(fit.mode + a + b) - loss(fit.mode + a - b) - loss(fit.mode - a + b) + loss(fit.mode - a - b)) / 4e-8
            for b in small
        ]
        for a in small
    ]
    assert fit.root @ fit.root.T == pytest.approx(np.array(curvature), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_the_waves_make_a_squared_exponential_kernel(dimensions):
    places = np.random.default_rng(11).uniform(-1, 1, (40, dimensions))
    waves = features(places, 0.7)[:, -FEATURES:]
    gaps = ((places[:, None] - places[None]) ** 2).sum(axis=-1)
    kernel = np.exp(-gaps / (2 * 0.7**2))
    assert np.abs(waves @ waves.T - kernel).mean() < 0.08


def test_pairs_that_scatter_less_make_narrower_intervals():
    rng = np.random.default_rng(12)
    places = rng.uniform(-1, 1, (400, 1))
    none = np.zeros(400, int)
    fair = Response(Trials(places, none, rng.integers(0, 2, 400) + rng.integers(0, 2, 400).astype(float)), 1)
    always_even = Response(Trials(places, none, np.ones(400)), 1)
    assert fair.dispersion == pytest.approx(1, abs=0.2)
    assert always_even.dispersion < 0.1
    widths = [np.diff(one.elo(np.zeros(1))[1:])[0] for one in (fair, always_even)]
    assert widths[1] < widths[0] / 2
    assert always_even.elo(np.zeros(1)).value == pytest.approx(0, abs=1)


def test_a_flat_response_has_an_interval_over_the_whole_range():
    rng = np.random.default_rng(13)
    response = tuned(lambda places: np.zeros(len(places)), 1, 512, rng)
    assert response.optimum.high[0] - response.optimum.low[0] > 1.5


def test_points_fill_the_cube():
    line = np.sort(spread(64, 1, 0.0)[:, 0])
    assert line == pytest.approx(np.sort(2 * (np.arange(1, 65) * 2 / (1 + 5**0.5) % 1) - 1)), "the golden ratio"
    assert np.diff(line).max() < 4 / 64
    counts, *_ = np.histogram2d(*spread(400, 2, 0.3).T, bins=10, range=[[-1, 1]] * 2)
    assert counts.min() >= 2
    assert counts.max() <= 6


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_the_picture(dimensions, tmp_path):
    rng = np.random.default_rng(14)
    elo, _ = planted(dimensions, rng)
    response = tuned(elo, dimensions, 128, rng)
    axes = [Axis(f"setting {i}", lambda place: 10**place, i == 0) for i in range(dimensions)]
    save_response(tmp_path / "a.png", response, axes, "title", "whom")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    groups = response.scatter(0, 6)
    assert len(groups) == 6
    assert all(one.low < one.value < one.high for _, one in groups)
    curve, low, high = response.slope(0, [place for place, _ in groups])
    assert (low < curve).all() and (curve < high).all()
    assert module.ELO == ELO
