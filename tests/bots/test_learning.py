"""Self-play, replay and learning, each by itself."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import random_weights

from jubango.bots.evaluators.evaluator import Uniform
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.learning import learner, self_play
from jubango.bots.learning.learner import Recipe
from jubango.bots.learning.position_files import PositionFiles, blank_samples
from jubango.bots.learning.replay import Collector, Games, Moves, Replay, Samples
from jubango.bots.learning.self_play import SelfPlay, divergence, starts_of
from jubango.bots.learning.self_player import variations
from jubango.bots.learning.trainer import Trainer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape
from jubango.bots.search.rules.gumbel import Gumbel
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import machine
from jubango.sgf_games.library.folder import Folder
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules

pytestmark = pytest.mark.full

TTT = make_game("tic_tac_toe")


def played(game, plan, turns=6, lanes=32, moves=4, weights=(), resign=-2.0, seed=1):
    """The moves [T, B] of some turns of a compiled program on two devices."""
    begin, play = self_play.program(plan, lanes, 2, moves)
    starts = starts_of(variations(game))
    state, out = begin(starts, jax.random.key(seed)), []
    for turn in range(turns):
        state, found = play(weights, state, starts, jax.random.fold_in(jax.random.key(seed), turn), jnp.float32(resign))
        out.append(jax.tree.map(np.asarray, found))
    return out


def joined(pieces):
    return jax.tree.map(lambda *x: np.concatenate(x), *pieces)


@pytest.mark.parametrize("spec", ["connect_four:4x4", "go:3,komi=0.5"])
def test_self_play_is_by_the_rules(spec):
    """Every position follows from the one before by one legal move or begins a game; ends, results, margins and owners
    are those of the game's own rules; policies are over legal moves."""
    game = make_game(spec)
    shape = Shape.of(game, 8, 1)
    plan = SelfPlay(Search(game.compiled_as, Gumbel(), NetworkEvaluator(shape), 8), 8, 4, 0.5, opening=2)
    moves = joined(played(game, plan, 30 if spec.startswith("go") else 6, weights=random_weights(shape)))
    step, view = rules(game).step, rules(game).view
    ended = 0
    for lane in range(0, 32, 5):
        rows = [jax.tree.map(lambda x, row=row, lane=lane: x[row, lane], moves) for row in range(len(moves.over))]
        for now, after in itertools.pairwise(rows):
            seen = view(now.state)
            assert int(seen.player) == now.player
            assert not seen.terminal
            assert not now.policy[~np.asarray(seen.legal)].any()
            assert abs(now.policy.astype(np.float32).sum() - 1) < 0.01
            following = [step(now.state, action) for action in np.flatnonzero(seen.legal)]
            if not now.over:
                assert any(same(state, after.state) for state in following)
                continue
            ended += 1
            ends = [state for state in following if bool(view(state).terminal)]
            assert now.counted
            assert any(
                now.result == np.asarray(view(state).returns)[0]
                and (
                    not game.counts_points
                    or (now.margin == game.margin(state) and (now.owners == game.owners(state)).all())
                )
                for state in ends
            )
    assert ended > 3


def same(one, other) -> bool:
    return all(
        np.array_equal(np.asarray(a), b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def test_self_play_by_rollouts_is_better_than_chance():
    """The first player of tic-tac-toe wins less the better both play: by chance 58 of 100, and 13 are drawn."""
    plan = SelfPlay(Search(TTT, Ucb1(), Rollout(), 64), 64, 32, 0.5, c=0.7, played_out=1.0)
    moves = joined(played(TTT, plan, 10, 64, 4))
    results = moves.result[moves.over]
    assert len(results) > 100
    assert (results == 0).mean() > 0.35
    assert set(np.unique(results)) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(("temperature", "elsewhere"), [(0.01, (0, 0)), (1000.0, (0.3, 0.5))])
def test_the_temperature_of_the_opening_says_how_far_it_follows_the_prior(temperature, elsewhere):
    """The prior knows the centre alone; half of the games have 0 to 8 moves drawn, in eight ninths of them the first."""

    def centre(params, game, state, legal, seed):
        prior = jnp.where(legal, jnp.where(jnp.arange(9) == 4, 0.968, 0.004), 0.0)
        return prior / jnp.sum(prior), jnp.float32(0)

    search = Search(TTT, Puct(base=19652.0, fpu="parent"), centre, 2)
    plan = SelfPlay(search, 2, 2, 1.0, opening=8, opening_temperature=temperature)
    after = played(TTT, plan, 1, 512, 2)[0].state  # after the first moves stand the states of row 1
    free = jax.vmap(TTT.legal_action_mask)(jax.tree.map(lambda x: x[1], after))
    least, most = elsewhere
    assert least <= np.mean(free[:, 4]) <= most


def test_who_resigns_has_lost_unless_the_game_is_played_out():
    game = make_game("connect_four:4x4")
    plan = SelfPlay(Search(game, Ucb1(), Rollout(), 16), 16, 8, 0.5, played_out=0.5)
    moves = joined(played(game, plan, 12, 64, 4, resign=1.1))  # everybody is always ready to
    over = moves.over
    gone, stayed = over & ~moves.counted, over & moves.counted
    assert gone.sum() > 20
    assert stayed.sum() > 5
    assert (moves.result[gone] == np.where(moves.lost[gone] == 0, -1, 1)).all()
    assert (moves.lost[gone] >= 0).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 30), lanes=st.integers(1, 5))
def test_a_collector_gives_every_kept_position_once_with_its_end(seed, rows, lanes):
    """However the moves come in pieces; a plain loop over the games says what is right."""
    rng = np.random.default_rng(seed)
    over = rng.random((rows, lanes)) < 0.2
    number = np.arange(rows * lanes).reshape(rows, lanes)
    moves = Moves(
        state=number, player=rng.integers(0, 2, (rows, lanes)), policy=np.zeros((rows, lanes, 2), np.float16),
        value=rng.random((rows, lanes)).astype(np.float32), kept=rng.random((rows, lanes)) < 0.6, over=over,
        result=rng.choice([-1.0, 0.0, 1.0], (rows, lanes)), counted=rng.random((rows, lanes)) < 0.5,
        margin=rng.random((rows, lanes)), owners=rng.integers(-1, 2, (rows, lanes, 3)).astype(np.int8),
        lost=np.full((rows, lanes), -1), surprise=rng.random((rows, lanes)),
    )  # fmt: skip
    right = {}
    for lane in range(lanes):
        begun = 0
        for row in range(rows):
            if over[row, lane]:
                for at in range(begun, row + 1):
                    if moves.kept[at, lane]:
                        sign = 1 if moves.player[at, lane] == 0 else -1
                        right[number[at, lane]] = (
                            sign * moves.result[row, lane],
                            moves.counted[row, lane],
                            *(sign * moves.owners[row, lane]),
                        )
                begun = row + 1
    collector, found, at, games = Collector(), {}, 0, 0
    while at < rows:
        step = int(rng.integers(1, 8))
        samples, ended = collector.add(jax.tree.map(lambda x, at=at, step=step: x[at : at + step], moves))
        games += ended.number
        for i, key in enumerate(samples.state):
            assert key not in found
            found[key] = (samples.result[i], samples.counted[i], *samples.owners[i])
        at += step
    assert found == right
    assert games == over.sum()


def some_samples(game, number, seed=0):
    rng = np.random.default_rng(seed)
    actions, points = game.num_actions, blank_samples(game, 0).owners.shape[1]
    state = jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], number, 0), game.without_history(game.init()))
    policy = rng.dirichlet(np.ones(actions), number).astype(np.float16)
    return Samples(
        state, policy, rng.uniform(-1, 1, number).astype(np.float32), rng.choice([-1.0, 0.0, 1.0], number).astype(np.float32),
        rng.random(number) < 0.5, rng.normal(size=number).astype(np.float32), rng.integers(-1, 2, (number, points)).astype(np.int8),
        rng.exponential(size=number).astype(np.float32),
    )  # fmt: skip


def test_a_replay_remembers_the_newest():
    replay, rng = Replay(50), np.random.default_rng(1)
    for i in range(9):
        samples = some_samples(TTT, 12, i)
        replay.add(samples._replace(value=np.arange(12 * i, 12 * i + 12).astype(np.float32)))
    assert len(replay) == 50
    drawn = replay.draw(5000, rng).value
    assert set(drawn) == set(range(108 - 50, 108))


def test_half_of_what_is_drawn_is_drawn_by_surprise():
    """Among the newest alone, also where the window has gone round; without any surprise as without the share."""
    replay, rng = Replay(50), np.random.default_rng(1)
    for i in range(9):
        samples = some_samples(TTT, 12, i)
        number = np.arange(12 * i, 12 * i + 12)
        surprise = np.where(number == 100, 9.0, np.where(number % 2, 1.0, 0.0)).astype(np.float32)
        replay.add(samples._replace(value=number.astype(np.float32), surprise=surprise))
    drawn = replay.draw(40_000, rng, newest=20, surprise=0.5).value
    found = {number: np.mean(drawn == number) for number in range(88, 108)}
    assert sum(found.values()) == pytest.approx(1), "the newest 20"
    sure = {number: 0.5 / 20 + 0.5 * (9 if number == 100 else number % 2) / 19 for number in found}
    assert found == pytest.approx(sure, abs=0.01)
    replay.add(some_samples(TTT, 50)._replace(surprise=np.zeros(50, np.float32), value=np.arange(50, dtype=np.float32)))
    shares = np.bincount(replay.draw(40_000, rng, surprise=0.5).value.astype(int), minlength=50) / 40_000
    assert shares == pytest.approx(np.full(50, 0.02), abs=0.004)


def test_a_search_that_changes_much_is_a_surprise():
    """Of what has come together the mean is 1, whatever the divergences; they are those of a plain sum."""
    policy, prior = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]]), np.array([[0.5, 0.5, 0.0], [0.7, 0.2, 0.1]])
    found = np.asarray(divergence(jnp.asarray(policy), jnp.asarray(prior)))
    assert found == pytest.approx([0, 0.2 * np.log(0.2 / 0.7) + 0.8 * np.log(4)], abs=1e-6)
    game = SelfPlay(Search(TTT, Gumbel(), Uniform(), 16), 16, 4, share=1.0)
    begin, play = game.compiled(32, 9)
    lanes = begin(game.starts(), jax.random.key(0))
    samples, _ = Collector().add(play((), lanes, game.starts(), jax.random.key(1), -2.0)[1])
    assert samples.number > 100
    assert samples.surprise.mean() == pytest.approx(1, abs=1e-5)
    assert samples.surprise.max() > 1.5


def test_positions_of_an_older_version_are_as_surprising_as_any(tmp_path):
    files, samples = PositionFiles(Folder(tmp_path), "samples/ttt", TTT), some_samples(TTT, 7)
    files.add(samples, window=14)
    (path,) = (tmp_path / "samples" / "ttt").glob("*.npz")
    with np.load(path) as file:
        older = {key: file[key] for key in file.files if key != "surprise"}
    np.savez(path, **older)
    notes = []
    (again,) = files.load(14, notes)
    assert not notes
    assert np.array_equal(again.policy, samples.policy)
    assert np.array_equal(again.surprise, np.ones(7))


def test_positions_are_kept_in_files(tmp_path):
    for spec in ("go:4", "connect_four"):
        game, notes = make_game(spec), []
        files = PositionFiles(Folder(tmp_path), f"samples/{game.name}", game)
        pieces = [some_samples(game, 7, seed) for seed in range(4)]
        for piece in pieces:
            files.add(piece, window=14)
        assert [*files.names().values()] == [7, 7], "what is beyond the window is gone"
        again = files.load(14, notes)
        assert jax.tree.structure(again) == jax.tree.structure(pieces[2:])
        assert all(
            np.array_equal(a, b) for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(pieces[2:]), strict=True)
        )
        assert not notes


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_network_learns_what_it_is_shown(precision):
    """From a few positions by heart: the losses go down to nearly what the targets leave."""
    game = make_game("go:3,komi=0.5")
    shape, recipe = Shape.of(game, 8, 1), Recipe(batch=64, rate=3e-3, warm_up=10, average=0.9, precision=precision)
    begin, play = self_play.program(SelfPlay(Search(game.compiled_as, Ucb1(), Rollout(), 16), 16, 8, 1.0), 32, 2, 4)
    starts = starts_of([game])
    lanes, collector, pieces = begin(starts, jax.random.key(1)), Collector(), []
    while sum(one.number for one in pieces) < 64:
        lanes, moves = play((), lanes, starts, jax.random.key(len(pieces)), jnp.float32(-2))
        pieces.append(collector.add(moves)[0])
    batch = jax.tree.map(lambda x: x[:64], joined(pieces))
    step, learning = learner.program(game, shape, recipe, 2), learner.begin(new_weights(shape), recipe)
    turn = np.zeros(64, np.int32)
    _, first = step(jax.tree.map(jnp.copy, learning), batch, turn)  # which writes over what it is given
    for _ in range(150):
        learning, losses = step(learning, batch, turn)
    assert int(learning.steps) == 150
    assert all(x.dtype == np.float32 for x in learning.weights.values()), "half the bits are for the tower's numbers"
    assert losses.policy - losses.target < 0.6 * (first.policy - first.target)
    assert losses.outcome < 0.6 * first.outcome
    assert losses.ownership < 0.8 * first.ownership


def test_a_step_goes_as_far_as_it_is_told_to():
    game = make_game("tic_tac_toe")
    shape, recipe = Shape.of(game, 8, 1), Recipe(batch=32, warm_up=1)
    batch, turn = some_samples(game, 32), learner.random_symmetries(game, 32, np.random.default_rng(3))
    step, learning = learner.program(game, shape, recipe, 2), learner.begin(random_weights(shape), recipe)
    for _ in range(2):  # the first is at the rate 0
        learning, _ = step(learning, batch, turn)
    full, half, none = (
        step(jax.tree.map(jnp.copy, learning), batch, turn, pace)[0].weights for pace in (1.0, 0.5, 0.0)
    )
    for before, one, two, three in zip(*map(jax.tree.leaves, (learning.weights, full, half, none)), strict=True):
        assert np.array_equal(three, before)
        assert np.allclose(two - before, (one - before) / 2, atol=1e-7)
    assert not np.array_equal(*(weights["stem.kernel"] for weights in (full, none)))


def test_two_devices_learn_as_one_does_and_accelerators_without_the_host(monkeypatch):
    monkeypatch.setenv("JUBANGO_KERNELS", "plain")  # kernels of a GPU do not run here
    game = make_game("go:4")
    shape, recipe = Shape.of(game, 8, 1), Recipe(batch=32, warm_up=1)
    batch, turn = some_samples(game, 32), learner.random_symmetries(game, 32, np.random.default_rng(3))
    found = []
    for kind, number in (("cpu", 1), ("cpu", 2), ("gpu", 2)):
        with machine.made_for(kind):
            learning, step = learner.begin(random_weights(shape), recipe), learner.program.__wrapped__
            step = step(game, shape, recipe, number)
            for _ in range(3):
                learning, losses = step(learning, batch, turn)
        found.append(jax.tree.map(np.asarray, (learning, losses)))
    for one, *others in zip(*map(jax.tree.leaves, found), strict=True):
        for other in others:
            assert np.allclose(one, other, atol=2e-4)


def test_a_symmetry_turns_all_that_is_learnt_alike():
    """A position that is shown turned, with targets turned with it, is the same lesson for a network of the turned
    weights: here for one whose convolutions are symmetrical."""
    game = make_game("go:4")
    shape = Shape.of(game, 4, 1)
    weights = random_weights(shape)
    for name, value in weights.items():
        if value.ndim == 4:  # the same whichever way it is turned
            mean = sum(np.rot90(x, k, (0, 1)) for x in (value, value[::-1]) for k in range(4)) / 8
            weights[name] = mean.astype(np.float32)
    plan = SelfPlay(Search(game.compiled_as, Ucb1(), Rollout(), 8), 8, 4, 1.0, opening=5)
    moves = played(game, plan, 8, 32, 8)
    collector = Collector()
    batch = jax.tree.map(lambda x: x[:48], joined([collector.add(piece)[0] for piece in moves]))
    loss = jax.jit(lambda weights, batch, turns: learner.loss(game, shape, Recipe(), weights, batch, turns)[1])
    losses = [loss(weights, batch, np.full(batch.number, turn, np.int32)) for turn in range(8)]
    for other in losses[1:]:
        for a, b in zip(losses[0], other, strict=True):
            assert np.allclose(a, b, rtol=1e-4)
    assert losses[0].ownership > 0


@pytest.mark.parametrize(
    ("specs", "message"), [(("go:9", "gomoku:9"), "no boards of one game"), (("go:x",), "go:x"), (("chess",), "chess")]
)
def test_settings_that_cannot_be(specs, message):
    with pytest.raises(UserError, match=message):
        TrainingConfig(games=specs).chosen()


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (16, 4)), ({"simulations": 64}, (64, 16)), ({"search": "alphazero"}, (64, 16)),
        ({"games": ("tic_tac_toe",), "search": "alphazero"}, (32, 8)), ({"simulations": 4}, (4, 2)), ({"fast": 7}, (16, 7)),
    ],
)  # fmt: skip
def test_how_many_simulations_there_are_unless_said(keys, expected):
    settings = TrainingConfig.model_validate({"games": ("go:9",), **keys}).chosen()
    assert (settings.simulations, settings.fast) == expected


def test_games_are_counted():
    moves = Moves(*(np.zeros((3, 2)),) * 12)._replace(
        over=np.array([[0, 0], [1, 0], [0, 1]], bool), counted=np.array([[0, 0], [1, 0], [0, 0]], bool),
        result=np.array([[0, 0], [1.0, 0], [0, -1.0]]), lost=np.array([[-1, -1], [0, -1], [-1, 0]]),
        kept=np.ones((3, 2), bool), owners=np.zeros((3, 2, 1), np.int8), player=np.zeros((3, 2), int),
    )  # fmt: skip
    _, games = Collector().add(moves)
    assert games == Games(number=2, plies=5, first_won=0.5, resigned=1, checked=1, wrong=1)


def test_training_is_in_the_precision_that_is_asked_for(tmp_path):
    keys = {"games": ("tic_tac_toe",), "precision": "bfloat16"}
    trainer = Trainer(TrainingConfig.model_validate(keys).chosen(), tmp_path)
    assert trainer.recipe.precision == "bfloat16"
    assert trainer.player.plan(TTT, rollouts=False).search.evaluator == NetworkEvaluator(trainer.shape, "bfloat16")
