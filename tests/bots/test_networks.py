"""What networks say, and those that come along."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nets import random_network, random_weights

import jubango as jb
from jubango.bots.composition import evaluator_for, network_file, note_on, strongest
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.networks.checkpoint import load_weights
from jubango.bots.networks.grown import grown
from jubango.bots.networks.model import apply, new_weights
from jubango.bots.networks.shape import Shape
from jubango.bots.networks.shipped import SHIPPED_NETWORKS, WEIGHTS_FOLDER, shipped
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute.machine import suited
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules


def test_shapes_are_checked():
    with pytest.raises(UserError, match="channels = 0: should be a whole number from 1"):
        Shape.of(make_game("tic_tac_toe"), channels=0)


@pytest.mark.parametrize(("head", "more"), [("points", {"passes": 1, "scores": True}), ("points", {}), ("columns", {}), ("dense", {"height": 4, "width": 3, "actions": 20})])  # fmt: skip
def test_the_sizes_of_the_weights_are_those_of_the_network(head, more):
    shape = Shape("game", planes=3, head=head, channels=5, blocks=2, **more)
    weights, read = jax.eval_shape(lambda: new_weights(shape)), set()
    assert shape.sizes == {name: x.shape for name, x in weights.items()}
    assert {x.dtype for x in weights.values()} == {np.dtype(np.float32)}

    class Watched(dict):
        def __getitem__(self, name):
            read.add(name)
            return super().__getitem__(name)

    found = jax.eval_shape(
        lambda weights, planes: apply(shape, Watched(weights), planes), weights, np.zeros((2, 4, 3, 3), np.float32)
    )
    assert read == set(shape.sizes)
    assert (found.policy.shape, found.outcome.shape, found.ownership.shape) == (
        (2, shape.actions or {"points": 12 + shape.passes}.get(head, 3)),
        (2, 3),
        (2, 4, 3),
    )


@pytest.mark.parametrize(("head", "channels", "blocks"), [("points", 12, 3), ("columns", 10, 2), ("columns", 5, 2)])
def test_a_network_grows_and_says_the_same(head, channels, blocks):
    more = {"passes": 1, "scores": True} if head == "points" else {}
    shape = Shape("game", planes=3, head=head, channels=5, blocks=2, **more)
    weights, larger = random_weights(shape, seed=2), replace(shape, channels=channels, blocks=blocks)
    found = grown(weights, shape, larger, seed=3)
    assert {name: x.shape for name, x in found.items()} == larger.sizes
    planes = np.random.default_rng(1).random((4, 6, 7, 3), np.float32)
    said, says = (jit(lambda own=own, x=x: apply(own, x, planes))() for own, x in ((shape, weights), (larger, found)))
    for one, other in zip(said, says, strict=True):
        assert other == pytest.approx(np.asarray(one), rel=1e-4, abs=1e-4)
    inner = np.asarray(found["blocks.0.second.kernel"])
    assert channels == 5 or not np.allclose(inner[..., 0, :], inner[..., 5, :]), "copies learn unlike things"


def test_a_network_does_not_shrink():
    shape = Shape("game", planes=3, channels=5, blocks=2)
    for other in ({"channels": 4}, {"blocks": 1}, {"planes": 4}):
        with pytest.raises(UserError, match="of another shape"):
            grown(random_weights(shape), shape, replace(shape, **other))


AS_EVER = {
    "points": ({"passes": 1, "scores": True, "channels": 5, "blocks": 2}, [-0.299448699758],
        [[-5.09504, -4.44727, -6.08669], [5.70083, -4.35269, 6.85889], [0.982511, 0.722404, 0.668392], [1.37038, 0.868459]]),
    "columns": ({"channels": 4, "blocks": 1}, [0.2434030920267], [[0.848322, 0.519217, 0.16534], [-1.55528, 0.702516, 1.26018], [0, 0, 0], [0, 0]]),
    "dense": ({"channels": 4, "blocks": 1, "height": 4, "width": 3, "actions": 20}, [0.2434030920267],
        [[-2.14092, -0.22394, -0.271021], [-1.55528, 0.702516, 1.26018], [0, 0, 0], [0, 0]]),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("head", AS_EVER)
def test_networks_begin_and_compute_as_ever(head):
    """The numbers of flax's modules, which these were once made of: the weights of a seed, and what others say."""
    more, hidden, said = AS_EVER[head]
    shape = Shape("g", 3, head, **more)
    weights = new_weights(shape, seed=7)
    assert np.allclose(weights["stem.kernel"].ravel()[:3], [0.321554005, 0.041815806, -0.153643921], atol=1e-6)
    assert np.allclose(weights["value_hidden.kernel"].ravel()[1], hidden, atol=1e-6)
    keys = enumerate(sorted(shape.sizes.items()))
    weights = {name: 0.3 * jax.random.normal(jax.random.key(i), size) for i, (name, size) in keys}
    planes = (np.arange(2 * 4 * 3 * 3).reshape(2, 4, 3, 3) % 7 / 7).astype(np.float32)
    for value, expected in zip(apply(shape, weights, planes), said, strict=True):
        assert np.allclose(np.asarray(value).ravel()[:3], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.full
def test_an_untrained_network_knows_nothing():
    """Every move alike, every position even: whatever it learns, it begins with no opinion."""
    for spec in ("go:5", "connect_four:5x4", "tic_tac_toe"):
        game = make_game(spec)
        shape = Shape.of(game, 8, 2)
        planes = np.random.default_rng(1).random(
            (3, *jax.eval_shape(lambda game=game: game.observe(game.init())).shape), np.float32
        )
        found = apply(shape, new_weights(shape), planes)
        assert not np.asarray(found.policy).any()
        assert not np.asarray(found.value).any()


@pytest.mark.full
@pytest.mark.parametrize(
    ("small", "large"), [("go:3", "go:4x5"), ("gomoku:6", "gomoku:9"), ("connect_four:5x4", "connect_four")]
)
def test_one_network_plays_every_size_of_its_game(small, large, tmp_path):
    """The same weights, and what they say of a board does not depend on the batch around it."""
    first, second = make_game(small), make_game(large)
    shape = random_network(tmp_path / "net", first)
    assert Shape.of(second, 8, 1) == shape
    weights, _, _ = load_weights(tmp_path / "net")
    for game in (first, second):
        planes = np.random.default_rng(1).random(
            (4, *jax.eval_shape(lambda game=game: game.observe(game.init())).shape), np.float32
        )
        found = apply(shape, weights, planes)
        assert found.policy.shape == (4, game.num_actions)
        alone = apply(shape, weights, planes[2:3])
        assert np.allclose(found.policy[2], alone.policy[0], atol=1e-5)
        assert np.allclose(found.value[2], alone.value[0], atol=1e-5)


@pytest.mark.parametrize("spec", ["go:5", "go:4x3", "gomoku:5", "tic_tac_toe", "connect_four:5x4"])
def test_symmetries_are_those_of_the_rules(spec):
    """A game that is mirrored or turned from its first move on is mirrored or turned in all that is seen of it."""
    game = make_game(spec)
    points, actions = game.symmetries
    assert (points[0] == np.arange(game.height * game.width)).all()
    assert len(set(map(tuple, points))) == len(points)
    look = jit(
        lambda state: (game.observe(state), game.legal_action_mask(state), game.is_terminal(state), game.returns(state))
    )
    step, rng = jit(game.step), np.random.default_rng(5)
    for turned, moved in zip(points[1:], actions[1:], strict=True):
        one = other = game.init()
        for _ in range(3 * game.height * game.width):
            seen, legal, over, returns = map(np.asarray, look(one))
            seen2, legal2, over2, returns2 = map(np.asarray, look(other))
            assert np.array_equal(seen.reshape(-1, seen.shape[-1])[turned], seen2.reshape(-1, seen.shape[-1]))
            assert np.array_equal(legal[moved], legal2)
            assert over == over2
            assert (returns == returns2).all()
            if over:
                break
            there = rng.choice(np.flatnonzero(legal2))
            other, one = step(other, there), step(one, moved[there])


@pytest.mark.parametrize("spec", [pytest.param("go:3", marks=pytest.mark.full), "connect_four:5x4"])
def test_symmetries_in_which_a_network_sees_the_board(spec, tmp_path):
    """What it says of a board seen in a symmetry is what it says of the board that lies so."""
    game = make_game(spec)
    points, actions = game.symmetries
    number = len(points)
    random_network(tmp_path / "net.safetensors", game)
    evaluator, params = NetworkEvaluator.load(tmp_path / "net.safetensors", game)

    def judged(symmetry, states, seeds):
        own = replace(evaluator, symmetry=symmetry)
        legal = jit(jax.vmap(game.legal_action_mask, in_axes=-1))(states)
        found = jit(lambda states, seeds: own(params, game, states, legal, seeds))(states, np.asarray(seeds, np.uint32))
        return np.asarray(found.prior / found.prior.sum(axis=-1, keepdims=True)), np.asarray(found.value)

    lying = []
    for moved in actions:
        state = game.init()
        for action in (0, 1, 3):
            state = rules(game).step(state, int(np.argsort(moved)[action]))
        lying.append(state)
    priors, values = judged("none", jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *lying), np.zeros(number))
    priors = np.stack([prior[np.argsort(moved)] for prior, moved in zip(priors, actions, strict=True)])
    assert len(np.unique(values.round(6))) == number, "an untrained network is none that does not notice"

    many = jax.tree.map(lambda x: jnp.repeat(x[..., None], 64, axis=-1), lying[0])
    prior, value = judged("mean", many, np.arange(64))
    np.testing.assert_allclose(prior, np.repeat(priors.mean(axis=0)[None], 64, axis=0), atol=1e-5)
    np.testing.assert_allclose(value, np.repeat(values.mean(), 64), atol=1e-5)

    prior, value = judged("random", many, np.arange(64))
    seen = np.abs(value[:, None] - values).argmin(axis=1)
    assert set(seen) == set(range(number))
    np.testing.assert_allclose(prior, priors[seen], atol=1e-5)
    np.testing.assert_allclose(value, values[seen], atol=1e-5)
    assert np.array_equal(judged("random", many, np.arange(64)[::-1])[1], value[::-1]), "by the seed alone"


def test_a_symmetry_is_for_networks():
    game = make_game("go:9")
    assert evaluator_for(game, bot_from_spec("policy:symmetry=mean")).evaluator.symmetry == "mean"
    mixed = evaluator_for(game, bot_from_spec("alphago:symmetry=random")).evaluator
    assert mixed.first.symmetry == "random"
    with pytest.raises(UserError, match="symmetry=mean needs evaluator=network or mixed"):
        bot_from_spec("uct:symmetry=mean")
    with pytest.raises(UserError, match="symmetry=mean: is for networks, and there is none for go:5"):
        evaluator_for(make_game("go:5"), bot_from_spec("alphazero:symmetry=mean"))
    found = evaluator_for(game, bot_from_spec("alphago:rollout_moves=policy,symmetry=mean")).evaluator
    assert (found.first.symmetry, found.second.policy.symmetry) == ("mean", "none")


@pytest.mark.full
@pytest.mark.parametrize("found", SHIPPED_NETWORKS, ids=lambda one: one.file)
def test_networks_that_come_along(found):
    """Each is whole, says how it was made, fits all the boards it is for, and is what the presets take there."""
    _, shape, how = load_weights(WEIGHTS_FOLDER / found.file)
    assert shape.game == found.family
    assert how["hours"] > 0
    assert how["settings"]["seed"] >= 0
    boards = [make_game(spec) for spec in how["boards"]]
    for game in boards:
        assert game.family == found.family
        assert shipped(game) == WEIGHTS_FOLDER / found.file
        assert shape == Shape.of(game, shape.channels, shape.blocks)
        bot = bot_from_spec("alphazero")
        assert network_file(game, bot) == str(WEIGHTS_FOLDER / found.file)
        assert not note_on(game, bot)
        assert strongest(game).startswith("alphazero")


def test_no_other_weights_come_along():
    assert {path.name for path in WEIGHTS_FOLDER.glob("*.safetensors")} == {one.file for one in SHIPPED_NETWORKS}


def test_without_a_network_rollouts_stand_in():
    game = make_game("mnk:4x5,k=4")
    assert "stand in" in note_on(game, bot_from_spec("alphazero"))
    assert strongest(game).startswith("uct")
    assert strongest(make_game("go:25")).startswith("patterns:")
    for spec in ("alphazero:network=none", "uct", "minimax", "random"):
        assert not note_on(game, bot_from_spec(spec))
    assert network_file(make_game("tic_tac_toe"), bot_from_spec("alphazero:network=none")) == ""
    assert network_file(game, bot_from_spec("alphazero:network=/some/file")) == "/some/file"


@pytest.mark.full
def test_the_shipped_network_never_loses_tic_tac_toe():
    """Its policy alone, and a search with it, against perfect play from either side."""
    run = jb.match("policy:temperature=0", "minimax", "tic_tac_toe", 40)
    assert {result.score for result in run.results} == {0.5}
    run = jb.match("alphazero:temperature=0,simulations=50", "minimax", "tic_tac_toe", 40)
    assert {result.score for result in run.results} == {0.5}


@pytest.mark.full
def test_a_position_is_judged_alike_in_every_batch(tmp_path):
    """To the last bit, in batches of 24 or more, wherever it stands in them; who is not asked is left out."""
    game = make_game("go:5")
    random_network(tmp_path / "net.safetensors", game)
    evaluator, params = NetworkEvaluator.load(tmp_path / "net.safetensors", game)
    rng = np.random.default_rng(1)
    boards = rng.integers(0, 3, (40, 5, 5)) * rng.integers(0, 2, (40, 5, 5))
    states = [
        game.set_up(board, player=int(player)) for board, player in zip(boards, rng.integers(0, 2, 40), strict=True)
    ]
    together = jax.tree.map(lambda *x: np.stack(x, axis=-1), *states)
    legal = np.ones((40, game.num_actions), bool)
    judge = jit(lambda states, legal: evaluator(params, game, states, legal, np.zeros(legal.shape[0], np.uint32)))

    def judged(rows, asked=slice(None)):
        some = np.zeros_like(legal[rows])
        some[asked] = True
        return [np.asarray(x) for x in judge(jax.tree.map(lambda x: x[..., rows], together), some)[:2]]

    all_of_them = judged(np.arange(40))
    assert len(np.unique(all_of_them[1])) > 30
    for rows in (np.arange(24), rng.permutation(40), rng.permutation(40)[:25], np.arange(31, -1, -1)):
        for whole, part in zip(all_of_them, judged(rows), strict=True):
            assert np.array_equal(whole[rows], part)
    asked = np.array([3, 17, 39])
    prior, value = judged(np.arange(40), asked)
    assert np.array_equal(prior[asked], all_of_them[0][asked])
    assert np.array_equal(value[asked], all_of_them[1][asked])
    assert np.count_nonzero(value) <= suited().together, "one lot"


@pytest.mark.full
def test_games_with_networks_do_not_depend_on_the_batch():
    """From 48 games at once on, on two devices."""
    bots = ["alphazero:simulations=12,name=a", "policy:name=b"]
    runs = [jb.tournament("tic_tac_toe", bots, 100, games_at_once=n, seed=4).games for n in (48, 100)]
    assert runs[0].set_index("game_id").moves.equals(runs[1].set_index("game_id").moves)
    assert runs[0].moves.nunique() > 20


@pytest.mark.full
@pytest.mark.parametrize("game", ["gomoku:9", "go:9"])
def test_the_policies_that_come_along_know_their_games(game):
    """Without any search they beat random play from either side."""
    run = jb.match("policy:temperature=0.5,name=net", "random", game, 12)
    assert [r.score if r.black == "net" else 1 - r.score for r in run.results] == [1.0] * 12


def test_half_the_bits_say_nearly_the_same(tmp_path):
    game = make_game("go:3")
    shape, weights = Shape.of(game, 8, 1), random_weights(Shape.of(game, 8, 1))
    planes = np.random.default_rng(1).integers(0, 2, (4, *game.observation_shape)).astype(np.float32)
    full, half = (apply(shape, weights, planes, precision) for precision in ("float32", "bfloat16"))
    for one, other in zip(full, half, strict=True):
        assert other.dtype == np.float32 and np.allclose(one, other, atol=0.1 * (1 + np.abs(one).max()))
    assert not np.array_equal(full.policy, half.policy)
    flat = {name: value * (not name.startswith(("stem", "blocks"))) for name, value in weights.items()}
    flat["stem.bias"] += 1  # the tower says 1 of every point, in either precision
    full, half = (apply(shape, flat, planes, precision) for precision in ("float32", "bfloat16"))
    assert all(map(np.array_equal, full, half)) and full.policy.any(), "the heads are float32"
    path = tmp_path / "own.safetensors"
    random_network(path, game)
    found = evaluator_for(game, bot_from_spec(f"policy:network={path},precision=bfloat16")).evaluator
    assert found == NetworkEvaluator(shape, "bfloat16") != NetworkEvaluator(shape)
    with pytest.raises(UserError, match="precision=bfloat16: is for networks of jubango's own"):
        evaluator_for(game, bot_from_spec("uct:precision=bfloat16"))
    with pytest.raises(UserError, match="precision"):
        NetworkEvaluator(shape, "float16")
