"""Bots as people configure them: presets, keys, networks, and games of pgx."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from nets import random_network, random_weights
from schedules import play, points
from tiers import full_but

from jubango.arena.commands import run as command
from jubango.arena.games.pool import GamePool
from jubango.arena.schedule.plan import match_plan
from jubango.bots.composition import evaluator_for, note_on, room_for, search_for
from jubango.bots.config import PRESETS, bot_from_spec
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.networks.checkpoint import load_weights, packed_weights
from jubango.bots.networks.model import apply
from jubango.bots.networks.shape import Shape
from jubango.bots.roster import make_players
from jubango.bots.run_bot import run_bot
from jubango.bots.search.host import search_program
from jubango.bots.sizing import affordable_lanes, idle_note, with_parallel_leaves
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import device_layout, full_lanes
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, initial_states, rules

TTT, C4 = make_game("tic_tac_toe"), make_game("connect_four")


def table_name(spec):
    return bot_from_spec(spec).name


@pytest.mark.parametrize(
    "spec",
    full_but(["uct:simulations=60", "minimax"], [
        "uct:simulations=60", "mcts-400:simulations=60", "minimax", "alphago:simulations=60", "gumbel",
        "value:rollouts=8", "uct:simulations=60,leaves=6,rollout_moves=uniform",
        "uct:simulations=60,transpositions=true,draws=random", "uct:simulations=60,width=5,depth=4,cutoff=draw",
        "alphazero:simulations=60,reuse=true,ensemble=2,noise=0.25,fpu=parent,fpu_reduction=0.2",
        "uct-solver:simulations=60,reuse=true,ensemble=2",
    ]),
)  # fmt: skip
def test_every_kind_of_bot_beats_random_play(spec):
    records = play(TTT, [spec, "random"], 20)
    assert len(records) == 20
    assert points(records, table_name(spec)) >= 13
    assert not any(r.reason in ("illegal", "error", "crash") for r in records)


def test_all_presets_play():
    """Those that take a network play without one, and say so."""
    names = [name for name in PRESETS if name not in ("gtp", "level", "process")]
    assert {"random", "uct", "uct-solver", "minimax", "alphago", "alphazero", "gumbel", "policy", "value"} <= set(names)
    assert {f"mcts-{n}" for n in (400, 800, 1600, 3200, 6400)} <= set(names)
    for name in names:
        bot = bot_from_spec(name)
        assert bot.spec == name
        stands_in = name in ("alphago", "alphazero", "gumbel", "policy", "value")
        assert ("stand in" in note_on(make_game("mnk:4,k=4"), bot)) == stands_in
    assert len(play(TTT, ["policy", "random"], 2)) == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uct:simulations=0", "simulations=0 needs move=prior or value"),
        ("uct:solver=true,draws=random", "solver=true needs draws=half"),
        ("uct:solver=true,opponent=sampled", "solver=true needs opponent=searched"),
        ("rave:equivalence=300", "equivalence is of the other schedule, it needs bias=0"),
        ("uct:reuse=true,depth=4", "reuse=true needs depth=0"),
        ("uct:move=gumbel", "move=gumbel needs selection=gumbel"),
        ("uct:move=lcb", "move=lcb needs selection=dynamic-puct"),
        ("alphazero:selection=dynamic-puct,move=lcb,ensemble=2,reuse=false", "move=lcb needs ensemble=1"),
        ("patterns:rollout_moves=uniform", "selection=critical-puct needs rollout_moves=game or tactical"),
        ("alphazero:selection=critical-puct", "selection=critical-puct needs evaluator=rollout"),
        ("patterns:depth=4,cutoff=draw", "selection=critical-puct needs cutoff=value"),
        ("patterns:draws=random", "selection=critical-puct needs draws=half"),
        ("patterns:transpositions=true", "selection=critical-puct needs transpositions=false"),
        ("patterns:solver=true", "selection=critical-puct needs solver=false"),
        ("gumbel:seconds=2", "not seconds"),
        ("gumbel:leaves=4", "needs leaves=1"),
        ("uct:network=x", "network=FILE needs evaluator=network or mixed"),
        ("uct:fpu=half", "fpu=half"),
        ("uct:c=nan", "c=nan"),
        ("uct:ensemble=0", "ensemble=0"),
        ("uct:simulation=3", "did you mean simulations"),
        ("minimax:depth=65", "depth=65"),
        ("alphazer", "did you mean alphazero"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(spec, message):
    with pytest.raises(UserError) as error:
        bot_from_spec(spec)
    assert message in str(error.value).replace('"', "")
    assert "\n" not in str(error.value)


def test_unknown_evaluators_and_networks(tmp_path):
    with pytest.raises(UserError, match="no evaluator is called"):
        make_players(TTT, [bot_from_spec("uct:evaluator=rolout")], 1)
    with pytest.raises(UserError, match="cannot be read"):
        make_players(TTT, [bot_from_spec(f"policy:network={tmp_path}/none")], 1)
    (tmp_path / "text").write_text("no weights")
    with pytest.raises(UserError, match="is no file of this program's weights"):
        make_players(TTT, [bot_from_spec(f"policy:network={tmp_path}/text")], 1)


def test_a_match_keeps_what_a_preset_changes():
    """A key that is set back to its plain default stays so in the file of the run."""
    plan = match_plan(
        "alphazero:temperature=0,simulations=50,reuse=false", "uct-solver:solver=false", "tic_tac_toe", 2, 1
    )
    first, second = plan.bots
    assert (first.temperature, first.simulations, first.reuse, first.base) == (0.0, 50, False, 19652.0)
    assert second.solver is False
    assert first.spec == "alphazero:simulations=50,temperature=0,reuse=false"


@pytest.mark.full
def test_bots_share_programs_unless_they_keep_trees():
    bots = [bot_from_spec(s, n) for n, s in {
        "a": "uct:simulations=30", "b": "uct:simulations=90,c=0.5", "c": "uct:simulations=30,reuse=true",
        "d": "uct:simulations=60,reuse=true", "e": "uct:simulations=30,leaves=2",
    }.items()]  # fmt: skip
    movers = make_players(TTT, bots, 2)
    assert movers["a"] is movers["b"]
    assert len({id(m) for m in movers.values()}) == 4
    assert affordable_lanes(make_game("go:9"), [bot_from_spec("uct:seconds=1")]) >= 2
    with pytest.raises(UserError, match="lower simulations"):
        affordable_lanes(make_game("go:25"), [bot_from_spec("uct:simulations=1000000,ensemble=2")])


@pytest.mark.full
def test_other_numbers_need_no_other_program():
    five, six, more = (search_for(C4, [bot_from_spec(f"uct:simulations={n}")], Rollout()) for n in (513, 600, 1025))
    assert five == six != more
    for n in (1, 2, 3, 400, 65_536, 65_537, 1_000_000):
        assert n <= room_for(n) < 2 * n + 65_536 * (n > 65_536)
    run_bot(C4, bot_from_spec("uct:simulations=33,leaves=1"), [initial_state(C4)], [1])
    made = len(search_program._programs)
    (result,) = run_bot(C4, bot_from_spec("uct:simulations=50,leaves=1"), [initial_state(C4)], [1])
    assert (len(search_program._programs), result.simulations) == (made, 50)


def parallel(game, bot, lanes):
    return with_parallel_leaves(bot, evaluator_for(game, bot).evaluator, lanes)


@pytest.mark.parametrize("spec", ["uct:", "alphazero:", "alphago:", "alphazero:network=none,"])
@pytest.mark.parametrize("game", ["connect_four", "go:13"])
def test_trees_of_a_position_lie_on_a_device_each(game, spec):
    """None is there only to fill up a device, and none shares a device with another while others have none."""
    game = make_game(game)
    for simulations in (1, 63, 64, 128, 191, 192, 400, 1600, 2111, 2112, 3200, 4095, 4096, 12_800, 100_000):
        bot = parallel(game, bot_from_spec(f"{spec}simulations={simulations}"), 1)
        batch = evaluator_for(game, bot).evaluator.saturating_batch
        assert bot.ensemble in (1, len(jax.devices()))
        assert device_layout(bot.ensemble, bot.leaves, batch) == (bot.ensemble, bot.ensemble), simulations
        assert bot.ensemble * bot.leaves * 64 <= max(64, simulations)


@pytest.mark.full
def test_a_position_alone_is_searched_in_many_leaves_where_the_machine_may_be_felt():
    timed, small = bot_from_spec("uct:seconds=1"), bot_from_spec("uct:simulations=100")
    one = parallel(C4, timed, 1)
    assert (one.leaves, one.ensemble) == (32, len(jax.devices()))
    assert parallel(C4, timed, full_lanes()) == timed
    assert parallel(C4, timed, full_lanes() // 4).leaves == 4
    assert parallel(C4, small, 1).leaves * parallel(C4, small, 1).ensemble == 1, "so few would not help each other"
    for spec in ("uct:seconds=1,leaves=2", "uct:seconds=1,ensemble=1", "gumbel"):
        assert parallel(C4, bot_from_spec(spec), 1) == bot_from_spec(spec)
    bots = [bot_from_spec("uct:simulations=500"), bot_from_spec("random")]
    assert GamePool(TTT, bots, 1).bots[bots[0].name] == bots[0], "games by number alone are the same everywhere"
    assert GamePool(TTT, bots, 1, timed=True).bots[bots[0].name] == bots[0].model_copy(
        update={"leaves": 7, "ensemble": 1}
    ), "a device of its own for a second tree would be idle for the most part"


def test_more_programs_than_a_process_can_hold_are_refused():
    bots = [bot_from_spec(f"uct:rollouts={n}") for n in range(1, 42)]
    with pytest.raises(UserError, match="need 41 programs of their own"):
        make_players(TTT, bots, 1)


@pytest.mark.full
def test_the_value_bot_looks_at_every_move_once():
    (result,) = run_bot(C4, bot_from_spec("value:rollouts=4,network=none"), [initial_state(C4)], [1])
    assert result.visits.tolist() == [1] * 7
    assert result.values[result.action] == result.values.max()
    assert result.tree.depth.max() == 1


@pytest.mark.full
def test_a_policy_bot_follows_its_prior(tmp_path):
    path = tmp_path / "net.safetensors"
    random_network(path, C4, seed=3)
    (result,) = run_bot(C4, bot_from_spec(f"policy:temperature=0,network={path}"), [initial_state(C4)], [1])
    assert result.action == result.priors.argmax()
    assert result.simulations == 0
    assert result.priors.std() > 0.001, "not uniform"


@pytest.mark.full
def test_networks_come_back_as_they_were_saved(tmp_path):
    shape, path = Shape.of(C4, channels=8, blocks=1), tmp_path / "net.safetensors"
    weights = random_weights(shape, seed=7)
    path.write_bytes(packed_weights(weights, shape, {"hours": 1}))
    again, found, how = load_weights(path)
    assert (found, how) == (shape, {"hours": 1})
    states = initial_states(C4, 4)
    planes = jax.vmap(C4.observe, in_axes=-1)(states)
    for a, b in zip(apply(shape, weights, planes), apply(shape, again, planes), strict=True):
        assert np.array_equal(np.asarray(a), np.asarray(b))
    legal = rules(C4).view_lanes(states).legal
    evaluator, weights = NetworkEvaluator.load(str(path), C4)
    evaluation = evaluator(weights, C4, states, legal, np.zeros(4, np.uint32))
    assert np.abs(np.asarray(evaluation.value)).max() <= 1
    with pytest.raises(UserError, match="was made for connect_four,k=4, not for tic_tac_toe"):
        NetworkEvaluator.load(str(path), TTT)
    specs = [f"{name},network={path}" for name in ("alphago:simulations=8", "gumbel:simulations=8")]
    assert len(play(C4, [*specs, "random"], 2)) == 6


# -- games ---------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(("name", "own"), [("connect_four", C4), ("tic_tac_toe", TTT)])
def test_pgx_games_follow_the_same_rules(name, own):
    pytest.importorskip("pgx")
    game = make_game(f"pgx:{name}")
    assert make_game(game.spec) == game
    rng = np.random.default_rng(1)
    for _ in range(6):
        ours, theirs = initial_state(own), initial_state(game)
        while True:
            a, b = jax.device_get(rules(own).view(ours)), jax.device_get(rules(game).view(theirs))
            assert bool(a.terminal) == bool(b.terminal)
            assert np.array_equal(a.returns, b.returns)
            assert np.array_equal(own.stones(ours), game.stones(theirs))
            if a.terminal:
                break
            assert np.array_equal(a.legal, b.legal)
            assert int(a.player) == int(b.player)
            action = int(rng.choice(np.flatnonzero(a.legal)))
            assert game.parse_action(game.action_text(action)) == action
            assert game.action_point(theirs, action) == own.action_point(ours, action)
            ours, theirs = rules(own).step(ours, action), rules(game).step(theirs, action)
        over = rules(game).step(theirs, 0)
        assert all(np.array_equal(x, y) for x, y in zip(*map(jax.tree.leaves, (theirs, over)), strict=True))


@pytest.mark.full
def test_pgx_games_are_searched_and_recorded(tmp_path):
    pytest.importorskip("pgx")
    game = "pgx:hex"
    status = command(["match", "uct:simulations=20", "random", "--game", game, "--games", "2", "--out", str(tmp_path)])
    assert status == 0
    sgf = sorted((tmp_path / "games").glob("*.sgf"))
    assert len(sgf) == 2
    assert command(["analyze", str(sgf[0]), "--simulations", "40", "--bot", "uct", "--format", "csv"]) == 0


@pytest.mark.full
def test_games_that_cannot_be_played_here(capsys):
    pytest.importorskip("pgx")
    for spec, message in {
        "pgx:backgammon": "no game that can be played here",
        "pgx:otello": "did you mean othello",
    }.items():
        assert command(["match", "uct", "random", "--game", spec]) == 2
        error = capsys.readouterr().err
        assert message in error.replace('"', "")
        assert error.count("\n") == 1


@pytest.mark.full
def test_commands_say_what_stands_in(capsys):
    assert command(["match", "policy", "random", "--game", "mnk:4,k=4", "--games", "2"]) == 0
    assert "stand in" in capsys.readouterr().err
    assert command(["bots", "alphazero", "--format", "csv"]) == 0
    assert "simulations,1600" in capsys.readouterr().out
    assert command(["bots", "alphazeri"]) == 2
    assert command(["match", "uct", "random", "--clock", "soon"]) == 2
    assert 'clock "soon": write seconds like' in capsys.readouterr().err


@pytest.mark.full
def test_bench_search_prints_a_line_a_case(capsys):
    assert command(["bench", "search", "--game", "tic_tac_toe", "--repeats", "1", "--format", "csv"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0] == "case,cores,simulations_per_second,best"
    assert len(lines) == 3
    assert command(["bench", "search", "--game", "chess"]) == 2


def test_what_a_run_leaves_idle_is_said():
    few, wide = bot_from_spec("uct:simulations=400"), bot_from_spec("uct:simulations=400,leaves=32")
    full = full_lanes()
    assert not idle_note(C4, [few], full)
    assert not idle_note(C4, [bot_from_spec("random"), bot_from_spec("policy")], 1)
    note = idle_note(C4, [few, wide], full // 4)
    assert few.name in note and wide.name not in note
    assert f"use {full // 4} of the {full} lanes" in note.replace("uses", "use")
    assert "leaves=4 or ensemble=4" in note and f"games_at_once={full}" in note
