"""Networks in eight bits: nearly what they say in float32, in any batch, and made once."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from nets import random_network, random_weights

import jubango as jb
from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.learning import self_player
from jubango.bots.learning.self_player import SelfPlayer
from jubango.bots.learning.trainer import Trainer
from jubango.bots.learning.training_config import TrainingConfig
from jubango.bots.networks.int8 import graph, quantised
from jubango.bots.networks.model import apply
from jubango.bots.networks.shape import Shape
from jubango.sgf_games.base.errors import SetupWarning, UserError
from jubango.sgf_games.compute import host_call, machine
from jubango.sgf_games.rules.catalogue import make_game

onnxruntime = pytest.importorskip("onnxruntime", reason="networks in eight bits: pip install 'jubango[int8]'")
pytest.importorskip("onnx")

SHAPES = {
    "points, a pass, a score": (Shape("go", 10, passes=1, scores=True, channels=8, blocks=2), 4, 5),
    "points": (Shape("mnk,k=5", 3, channels=8, blocks=1), 6, 6),
    "columns": (Shape("connect_four,k=4", 3, "columns", channels=8, blocks=1), 6, 7),
    "dense": (Shape("own", 2, "dense", channels=4, blocks=1, height=3, width=4, actions=5), 3, 4),
}


def board_of(shape, height, width):
    """All that is asked of a game."""
    return SimpleNamespace(spec=shape.game, observation_shape=(height, width, shape.planes))


def planes_of(shape, height, width, number):
    return np.random.default_rng(1).integers(0, 2, (number, height, width, shape.planes)).astype(np.float32)


@pytest.mark.parametrize("head", SHAPES)
def test_the_graph_is_the_network(head):
    """As float32, before anything is rounded."""
    shape, height, width = SHAPES[head]
    weights = random_weights(shape)
    planes = planes_of(shape, height, width, 7)
    model, _ = graph.graph(shape, weights, height, width)
    found = quantised._session(model.SerializeToString()).run(None, {graph.INPUT: planes})
    expected = apply(shape, weights, planes)
    assert len(found) == (4 if shape.scores else 2)
    for name, own in zip(graph.OUTPUTS, found, strict=False):
        assert own == pytest.approx(np.asarray(getattr(expected, name)), abs=2e-5), name


@pytest.mark.parametrize("head", ["points, a pass, a score", "columns"])
def test_eight_bits_say_nearly_the_same_in_every_batch(head):
    shape, height, width = SHAPES[head]
    weights = random_weights(shape, seed=3)
    planes = planes_of(shape, height, width, quantised.POSITIONS)
    number = quantised.number_of(shape, weights, board_of(shape, height, width), lambda: planes)
    expected = apply(shape, weights, planes[:64])
    actions = expected.policy.shape[1]
    say = jax.jit(lambda number, planes: quantised.apply(shape, number, planes, actions))
    found = say(number, planes[:64])
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.dtype == np.float32
        spread = np.std(np.asarray(other)) or 1.0
        assert np.abs(np.asarray(one - other)).mean() < 0.1 * spread
    assert not np.array_equal(found.policy, expected.policy)
    for i in (0, 17):
        alone = say(number, planes[i : i + 1])
        for one, other in zip(alone, found, strict=True):
            assert np.array_equal(one[0], other[i]), "to the last bit"


def test_only_positions_that_are_asked_for_are_evaluated():
    shape, height, width = SHAPES["points, a pass, a score"]
    weights, planes = random_weights(shape, seed=3), planes_of(shape, height, width, quantised.POSITIONS)
    number = quantised.number_of(shape, weights, board_of(shape, height, width), lambda: planes)
    actions = height * width + 1
    say = jax.jit(lambda asked: quantised.apply(shape, number, planes[:6], actions, asked))
    found = quantised.apply(shape, number, planes[:6], actions)
    for rows in ([0, 1, 2, 3, 4, 5], [1, 4], []):
        asked = np.isin(np.arange(6), rows)
        for one, other in zip(say(asked), found, strict=True):
            assert np.array_equal(one[asked], other[asked]) and not np.any(one[~asked])
    evaluated = []
    quantised.of_asked(lambda x: evaluated.append(len(x)) or [x], planes[:6], np.float32([0, 1, 0, 0, 1, 0]))
    assert evaluated == [2]


def test_what_was_made_is_kept_and_a_damaged_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path))
    monkeypatch.setattr(quantised, "_numbers", {})
    shape, height, width = SHAPES["points"]
    planes, asked = planes_of(shape, height, width, 128), []

    def made():
        quantised._numbers.clear()
        board = board_of(shape, height, width)
        quantised.number_of(shape, random_weights(shape), board, lambda: asked.append(1) or planes)
        (file,) = (tmp_path / "int8").iterdir()
        return file

    file = made()
    whole = file.read_bytes()
    made()
    assert len(asked) == 1
    file.write_bytes(whole[:-1] + b"x")
    assert made().read_bytes() == whole
    assert len(asked) == 2


@pytest.mark.full
def test_a_bot_plays_with_it(tmp_path):
    path = tmp_path / "own.safetensors"
    random_network(path, make_game("tic_tac_toe"))
    spec = f"alphazero:network={path},precision=int8,simulations=8,name=small"
    run = jb.match(spec, "random", "tic_tac_toe", 8)
    assert len(run.results) == 8
    assert not run.failures
    same = jb.match(spec, "random", "tic_tac_toe", 8)
    assert run.games["moves"].tolist() == same.games["moves"].tolist()


@pytest.mark.full
@pytest.mark.parametrize(
    "bot", ["policy:", "value:", "alphago:simulations=4,", "uct:simulations=4,rollout_moves=policy,"]
)
def test_whoever_has_a_network_can_have_it(tmp_path, bot):
    path = tmp_path / "own.safetensors"
    random_network(path, make_game("go:4"))
    spec = f"{bot}network={path},precision=int8,name=small"
    assert len(jb.match(spec, "random", "go:4", 2).results) == 2
    bot = f"alphazero:network={path},precision=int8"
    assert jb.analyze(jb.position("go:4", "b2 c3"), bot, simulations=8).moves[0].prior


def test_weights_in_the_place_of_what_is_made_of_them_are_refused():
    shape, height, width = SHAPES["points"]
    with pytest.raises(UserError, match="takes what its in_int8"):
        NetworkEvaluator(shape, "int8").outputs(
            random_weights(shape), make_game("gomoku:6"), planes_of(shape, height, width, 2)
        )


def test_what_the_library_cannot_do_is_one_line():
    shape, height, width = SHAPES["points"]
    with pytest.raises(UserError, match="precision=int8: onnxruntime could not make the network: "):
        wrong = planes_of(shape, height, width + 1, 32)
        quantised.number_of(shape, random_weights(shape, seed=9), board_of(shape, height, width), lambda: wrong)


def test_a_library_that_does_not_work_is_one_line(tmp_path, monkeypatch):
    shape, height, width = SHAPES["points"]

    def killed(words, **_):
        return subprocess.CompletedProcess(words, -9, "", "WARNING:root:Please consider to run pre-processing")

    def number():
        return quantised.number_of(shape, random_weights(shape, seed=8), board_of(shape, height, width), lambda: planes)

    planes = planes_of(shape, height, width, 32)
    monkeypatch.setattr(quantised.subprocess, "run", killed)
    with pytest.raises(UserError, match=r"ended by SIGKILL \(perhaps there is too little memory\)$"):
        number()
    monkeypatch.setattr(quantised.tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="a temporary folder is wanted: No such file"):
        number()

    def broken(name):
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(quantised.importlib, "import_module", broken)
    with pytest.raises(UserError, match="onnx cannot be imported: numpy"):
        number()


def test_who_cannot_have_it_reads_why(monkeypatch):
    game = make_game("go:9")
    with pytest.raises(UserError, match="precision=int8: is for networks of jubango's own"):
        evaluator_for(game, bot_from_spec("uct:precision=int8"))
    evaluator = NetworkEvaluator(Shape.of(game, 8, 1), "int8")
    with pytest.raises(UserError, match="was made for go, not for gomoku:9"):
        evaluator.in_int8(make_game("gomoku:9"), {})
    with pytest.raises(UserError, match='precision="int8", not with "float32"'):
        NetworkEvaluator(Shape.of(game, 8, 1)).in_int8(game, {})
    with machine.made_for("gpu"), pytest.raises(UserError, match="precision=int8: is for CPUs"):
        evaluator.in_int8(game, {})
    monkeypatch.setattr("jubango.bots.networks.int8.quantised.need", no_onnx)
    with pytest.raises(UserError, match="no onnx"):
        evaluator.in_int8(game, {})


def no_onnx(package):
    raise UserError(f"no {package}")


def in_training(spec):
    return TrainingConfig.model_validate(
        {"games": (spec,), "precision": "int8", "channels": 8, "blocks": 1, "lanes": 16}
    ).chosen()


def test_self_play_is_by_the_weights_of_a_little_while_ago(monkeypatch):
    game, now, made, fails = make_game("tic_tac_toe"), [0.0], [], ""
    player = SelfPlayer(in_training(game.spec))
    weights = [random_weights(player.shape, seed) for seed in range(3)]

    def in_int8(self, board, its, passing):
        assert passing
        assert board == game
        if fails:
            raise UserError(fails)
        now[0] += 1.0 if made else 20.0  # seconds of work
        made.append((host_call.add(list), its))
        return made[-1][0]

    monkeypatch.setattr(self_player.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(NetworkEvaluator, "in_int8", in_int8)
    first = player._params(0, weights[0])
    now[0] += 1.0
    assert player._params(0, weights[0]) is first  # these are not others
    second = player._params(0, weights[1])
    assert [its for _, its in made] == weights[:2]
    now[0] += 0.9 / self_player.RENEWING
    assert player._params(0, weights[2]) is second
    assert int(first[0]) not in host_call._functions
    assert int(second[0]) in host_call._functions
    fails = "no room"
    now[0] += 0.2 / self_player.RENEWING
    with pytest.warns(SetupWarning, match="no room; self-play goes on by the weights of before"):
        assert player._params(0, weights[2]) is second
    fails = ""
    assert player._params(0, weights[2]) is second  # not tried at once
    now[0] += 1.1 / self_player.RENEWING
    third = player._params(0, weights[2])
    assert [its for _, its in made] == weights
    assert int(third[0]) in host_call._functions


def test_weights_that_pass_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path))
    monkeypatch.setattr(quantised, "_numbers", {})
    game = make_game("tic_tac_toe")
    shape = Shape.of(game, 8, 1)
    evaluator, weights = NetworkEvaluator(shape, "int8"), random_weights(shape)
    number = evaluator.in_int8(game, weights, passing=True)
    assert not list(tmp_path.rglob("int8/*"))
    planes = planes_of(shape, 3, 3, 40)
    said = jax.jit(lambda number, planes: evaluator.outputs(number, game, planes).policy)
    kept = evaluator.in_int8(game, weights)
    assert list(tmp_path.rglob("int8/*"))
    np.testing.assert_array_equal(said(number, planes), said(kept, planes))
    host_call.remove(number)
    with pytest.raises(Exception, match="its function has been removed"):
        jax.block_until_ready(said(number, planes))


@pytest.mark.full
def test_a_network_learns_from_games_in_int8(tmp_path):
    trainer = Trainer(in_training("tic_tac_toe"), tmp_path)
    assert trainer.recipe.precision == "float32"
    assert list(trainer.compile())
    before = jax.tree.map(np.asarray, trainer.weights)
    while trainer.counts["positions"] < 4 * trainer.recipe.batch or trainer.steps < 10:
        trainer.step()
    assert any((np.asarray(trainer.weights[name]) != before[name]).any() for name in before)


def test_who_cannot_train_with_it_reads_why_before_the_games(monkeypatch):
    with machine.made_for("gpu"), pytest.raises(UserError, match="precision=int8: is for CPUs"):
        in_training("tic_tac_toe")
    monkeypatch.setattr("jubango.bots.networks.int8.quantised.need", no_onnx)
    with pytest.raises(UserError, match="no onnx"):
        in_training("tic_tac_toe")
