"""Levels: what a stated strength stands for, that any number of the range works, and that a higher one is stronger."""

from __future__ import annotations

import itertools
import tomllib

import numpy as np
import pytest

import jubango as jb
from jubango.arena.schedule.plan import make_plan, parse_plan
from jubango.bots.composition import player_key
from jubango.bots.config import LevelConfig, SearchConfig, bot_from_spec
from jubango.bots.networks.shipped import SHIPPED_NETWORKS, shipped
from jubango.bots.players.levels import RANDOM_ELO, Curve, Ladder, MeasuredLevel, at_level, ladder_of, ladders
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game

GAMES = [one.game for one in ladders()]


def of(game, elo) -> SearchConfig:
    bot = at_level(game, bot_from_spec(f"level={elo}"))
    assert isinstance(bot, SearchConfig)
    return bot


def test_every_game_with_a_network_has_levels_around_800():
    assert {game.family for game in GAMES} == {one.family for one in SHIPPED_NETWORKS}
    for ladder in ladders():
        assert shipped(ladder.game)
        assert RANDOM_ELO <= ladder.least <= 600 < 800 < ladder.most, ladder.game.spec
        assert all(one.error > 0 for curve in ladder.curves for one in curve.points)


@pytest.mark.parametrize("ladder", ladders(), ids=lambda one: one.game.spec)
def test_between_two_measured_bots_a_higher_level_is_less_random_or_searches_more(ladder):
    levels = np.linspace(ladder.least, ladder.most, 200)
    bots = [of(ladder.game, repr(float(elo))) for elo in levels]
    for low, high in itertools.pairwise(bots):
        assert low.simulations <= high.simulations
        if low.simulations == high.simulations and low.temperature_moves == high.temperature_moves:
            assert low.temperature >= high.temperature
    assert bots[0].use == "policy"
    assert bots[-1].simulations == max(bot.simulations for bot in bots) > 100
    assert len({bot.spec for bot in bots}) > 100


@pytest.mark.parametrize("ladder", ladders(), ids=lambda one: one.game.spec)
def test_a_measured_bot_is_what_its_elo_stands_for(ladder):
    """And no Elo lies between two curves: the next begins where the one before still goes on."""
    for curve, later in itertools.zip_longest(ladder.curves, ladder.curves[1:]):
        mine = [one for one in curve.rising if later is None or one.elo < later.points[0].elo]
        for one in mine:
            assert of(ladder.game, one.elo).spec == bot_from_spec(curve.spec(one.value)).spec
        if later is not None:
            assert later.points[0].elo <= curve.rising[-1].elo + 2 * curve.rising[-1].error


def test_between_two_curves_the_nearest_bot_is_taken():
    weak = Curve("policy", "temperature", (MeasuredLevel(4, 500, 20, 9), MeasuredLevel(1, 900, 20, 9)))
    strong = Curve("alphazero", "simulations", (MeasuredLevel(16, 1000, 20, 9), MeasuredLevel(64, 1200, 20, 9)))
    ladder = Ladder(GAMES[0], "", (weak, strong))
    found = [ladder.spec(elo) for elo in (500, 900, 940, 960, 1000, 1200)]
    policy, search = "policy:temperature=1", "alphazero:simulations=16"
    assert found == ["policy:temperature=4", policy, policy, search, search, "alphazero:simulations=64"]


def test_levels_are_interpolated_by_the_logarithm():
    points = (MeasuredLevel(16, 1000, 20, 9), MeasuredLevel(64, 1200, 20, 9), MeasuredLevel(256, 1100, 20, 9))
    curve = Curve("alphazero:reuse=false", "simulations", points)
    assert [curve.at(elo) for elo in (0, 1000, 1100, 1200, 9999)] == [16, 16, 32, 64, 64]  # 1100 was not above 1200
    assert curve.spec(32) == "alphazero:reuse=false,simulations=32"
    heat = Curve("policy", "temperature", (MeasuredLevel(4, 500, 20, 9), MeasuredLevel(1, 900, 20, 9)))
    assert heat.at(700) == 2
    assert heat.spec(heat.at(600)) == "policy:temperature=2.83"


def test_all_that_search_share_a_player_and_the_policy_plays_there_too():
    game = GAMES[0]
    ladder = ladder_of(game)
    assert len({player_key(game, of(game, elo)) for elo in np.linspace(ladder.least, ladder.most, 20)}) == 1


def test_komi_has_the_same_levels_and_another_board_none():
    assert ladder_of(make_game("go:9,komi=5.5,ko=simple")) is ladder_of(make_game("go:9"))
    with pytest.raises(UserError) as caught:
        at_level(make_game("go:13"), bot_from_spec("level=800"))
    assert str(caught.value).startswith('bot "level=800": there are no levels for go:13')
    assert all(game.spec in str(caught.value) for game in GAMES)


def test_a_level_that_is_out_of_range_is_told_the_range():
    ladder = ladder_of(make_game("tic_tac_toe"))
    for elo in (0, ladder.least - 1, ladder.most + 1, 9000):
        with pytest.raises(UserError, match=f"has levels from {ladder.least:.0f} to {ladder.most:.0f} "):
            at_level(ladder.game, bot_from_spec(f"level={elo}"))
    assert at_level(ladder.game, bot_from_spec("random")) == bot_from_spec("random")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("level=x", 'bot "level=x": level=x: should be a valid number'),
        ("level=", 'bot "level=": level=: should be a valid number'),
        ("level=-5", 'bot "level=-5": level=-5: should be greater than or equal to 0'),
        ("level=nan", 'bot "level=nan": level=nan: should be a finite number'),
        ("level", 'bot "level": the key "level" is missing'),
        ("level:800", 'bot "level:800": "800" is not key=value'),
        ("level=800,simulations=4", 'bot "level=800,simulations=4": level has no key "simulations"'),
        ("alphazero:level=800", 'bot "alphazero:level=800": alphazero has no key "level"'),
    ],
)
def test_slips(spec, message):
    with pytest.raises(UserError) as caught:
        bot_from_spec(spec)
    assert str(caught.value).startswith(message)


def test_names_and_specs():
    assert bot_from_spec("level=800").name == bot_from_spec("level=800").spec == "level=800"
    assert bot_from_spec("level=800,name=Anna").name == "Anna"
    assert bot_from_spec("level:level=800").level == 800
    assert jb.Bot("level", level=800) == bot_from_spec("level=800")


def test_a_tournament_has_the_bots_that_levels_stand_for_and_keeps_them():
    """A run goes on with the same bots when levels have been measured again."""
    text = 'name = "x"\ngame = "tic_tac_toe"\n[[bots]]\nlevel = [600, 700]\n[[bots]]\nname = "A"\nuse = "level"\nlevel = 800\n'
    plan = parse_plan(text, "x.toml")
    assert [bot.name for bot in plan.bots] == ["level=600", "level=700", "A"]
    assert [bot.spec for bot in plan.bots] == [of(plan.game, elo).spec for elo in (600, 700, 800)]
    kept = tomllib.loads(plan.text)["bots"]
    assert all("level" not in bot for bot in kept)
    assert parse_plan(plan.text, "run").bots == plan.bots
    made = make_plan("tic_tac_toe", ["level=600", jb.Bot("level", level=700)], {})
    assert made.bots == plan.bots[:2]
    assert not any(isinstance(bot, LevelConfig) for bot in made.bots)
    with pytest.raises(UserError, match=r'^x.toml: bot "level=9999": tic_tac_toe has levels from'):
        parse_plan(text.replace("600", "9999"), "x.toml")


@pytest.mark.full
@pytest.mark.parametrize("game", [one.spec for one in GAMES])
def test_a_higher_level_wins(game):
    ladder = ladder_of(make_game(game))
    low = ladder.least + 0.2 * (ladder.most - ladder.least)
    run = jb.match(f"level={low + 250:.0f}", f"level={low:.0f}", game, 40, openings="random", opening_plies=2)
    score = run.rating_list.ratings[0]
    assert score.name == f"level={low + 250:.0f}"
    assert 0.6 < score.score < 0.98  # 0.81 is what 250 Elo are worth


def test_levels_were_measured_with_the_networks_that_come_along():
    """After a new network: python benchmarks/levels.py GAME."""
    assert not [ladder.game.spec for ladder in ladders() if ladder.outdated]
