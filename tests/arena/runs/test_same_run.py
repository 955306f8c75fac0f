"""What may change when a run, a tuning or a training goes on, and that a key nobody has thought of may not."""

from __future__ import annotations

import dataclasses

import pytest
import tomli_w

from jubango.arena.runs.run_folder import work_folder
from jubango.arena.runs.same_run import check_same_run
from jubango.arena.runs.work_folder import changes
from jubango.arena.schedule.formats import TournamentFormat
from jubango.arena.schedule.plan import Plan, make_plan
from jubango.arena.training import training
from jubango.arena.tuning.plan import TunePlan, make_tune_plan
from jubango.arena.tuning.tuner import check_same_tuning
from jubango.bots.learning.training_config import TrainingConfig
from jubango.sgf_games.base.errors import UserError

BOTS = ["random", "minimax", "uct:simulations=2"]


def with_a_new_field(plan, value):
    """The plan of a later version, whose class has a field more."""
    later = dataclasses.make_dataclass("Later", [("pondering", int, 0)], bases=(type(plan),), frozen=True)
    own = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    return later(**own, pondering=value)


def plan(bots=BOTS, **keys):
    return make_plan("tic_tac_toe", bots, {"games": 4, **keys})


def tuning(bot="uct:simulations=4", settings=None, **keys):
    return make_tune_plan("tic_tac_toe", bot, settings or {"c": (0.1, 4)}, keys)


def refused(tmp_path, old, new):
    """Why the one may not go on as the other, or nothing."""
    check = check_same_tuning if isinstance(old, TunePlan) else check_same_run
    try:
        check(old, new, {}, work_folder(tmp_path))
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("old", [plan(), tuning()], ids=["run", "tuning"])
def test_a_field_that_nobody_has_thought_of_may_not_change(tmp_path, old):
    before, same, other = (with_a_new_field(old, value) for value in (0, 0, 1))
    kind = TunePlan if isinstance(old, TunePlan) else Plan
    assert isinstance(other, kind)
    assert not refused(tmp_path, before, same)
    assert "was begun with pondering = 0, not 1;" in refused(tmp_path, before, other)


def test_nor_one_of_a_format_or_of_a_tunings_games(tmp_path):
    old = plan()
    one, two = (dataclasses.replace(old, format=with_a_new_field(old.format, value)) for value in (0, 1))
    assert isinstance(two.format, TournamentFormat)
    assert "pondering = 0, not 1" in refused(tmp_path, one, two)
    begun = tuning()
    first, second = (dataclasses.replace(begun, playing=with_a_new_field(begun.playing, value)) for value in (0, 1))
    assert "pondering = 0, not 1" in refused(tmp_path, first, second)


@pytest.mark.full
def test_nor_one_of_a_training(tmp_path, monkeypatch):
    class Later(TrainingConfig):
        pondering: int = 0

    monkeypatch.setattr(training, "TrainingConfig", Later)
    (tmp_path / "train.toml").write_text(tomli_w.dumps({"games": ["tic_tac_toe"], "channels": 8, "blocks": 1}))
    given = {"games": ("tic_tac_toe",)}
    assert training.Training({**given, "rate": 5e-4}, tmp_path).settings.rate == 5e-4
    with pytest.raises(UserError, match="was begun with pondering = 0, not 1; use another --out folder"):
        training.Training({**given, "pondering": 1}, tmp_path)


@pytest.mark.parametrize(
    "other, said",
    [
        (plan(games=8), ""),
        (plan(games_at_once=7), ""),
        (plan([*BOTS, "uct:simulations=3"]), ""),
        (plan(seed=2), "seed = 1, not 2"),
        (plan(name="other"), "name = tournament, not other"),
        (plan(clock="60"), "clock = none, not 60"),
        (plan(openings=[{"moves": "A1"}]), "no openings, and these are others"),
        (plan(adjudication={"win_rate": 0.9, "moves": 4}), "another [adjudication]"),
        (plan(games=2), "4 games per pairing, not 2"),
        (plan(format="gauntlet"), "format = round-robin, not gauntlet"),
        (plan(BOTS[:2]), 'a bot "uct:simulations=2" that is missing now'),
        (plan(matchups=[{"bots": BOTS[:2], "clock": "60"}]), "no [[matchups]] table of minimax and random"),
        (plan([*BOTS, "uct"], matchups=[{"bots": ["random", "uct"], "clock": "60"}]), ""),
    ],
)  # fmt: skip
def test_a_run_gains_bots_and_games_alone(tmp_path, other, said):
    found = refused(tmp_path, plan(), other)
    assert said in found if said else not found


@pytest.mark.parametrize(
    "other, said",
    [
        (tuning(games=100, games_at_once=8, confirm="0,10", confirm_games=20), ""),
        (tuning(name="other"), ""),
        (tuning(seed=2), "seed = 1, not 2"),
        (tuning(games_per_round=8), "games_per_round = 128, not 8"),
        (tuning("uct:simulations=5"), "opponents uct:simulations=4, not uct:simulations=5"),
        (tuning(settings={"c": (0.1, 3)}), "settings c from 0.1 to 4, not c from 0.1 to 3"),
        (tuning(opponents=["random"]), "opponents uct:simulations=4, not random"),
        (tuning(openings=[{"moves": "A1"}]), "other openings"),
    ],
)
def test_a_tuning_gains_games_and_a_test(tmp_path, other, said):
    found = refused(tmp_path, tuning(), other)
    assert said in found if said else not found


def test_every_field_that_may_change_is_a_field():
    from jubango.arena.runs import same_run
    from jubango.arena.tuning import tuner

    assert {field.name for field in dataclasses.fields(Plan)} >= same_run.MAY_CHANGE | same_run.MAY_GROW
    assert {field.name for field in dataclasses.fields(TunePlan)} > tuner.MAY_CHANGE
    assert TrainingConfig.model_fields.keys() > training.MAY_CHANGE
    assert not list(changes(plan(), plan(), ()))
