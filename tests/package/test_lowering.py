"""Every main program is lowered for CUDA, on any machine: nothing of it is for a CPU alone, and nothing asks the host.

Nothing is compiled here, and nothing runs. What the kernels compute is looked at in test_pallas_kernels.py.
"""

from __future__ import annotations

import importlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from katago_file import KataGoWriter

import jubango as jb
from jubango.bots.evaluators.evaluator import Uniform
from jubango.bots.evaluators.katago import KataGoEvaluator
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.network import NetworkEvaluator
from jubango.bots.evaluators.patterns import Patterns
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.learning import learner, self_play
from jubango.bots.learning.learner import Recipe
from jubango.bots.learning.position_files import blank_samples
from jubango.bots.learning.self_play import SelfPlay, starts_of
from jubango.bots.networks.model import new_weights
from jubango.bots.networks.shape import Shape
from jubango.bots.search import lifecycle
from jubango.bots.search.host import search_program
from jubango.bots.search.packing import pack
from jubango.bots.search.rules.puct import Puct
from jubango.bots.search.rules.registry import SHIPPED
from jubango.bots.search.search import Search
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.sgf_games.compute import kernels, machine
from jubango.sgf_games.compute.pallas_kernels import TRITON_CALLS
from jubango.sgf_games.compute.programs import Compiled
from jubango.sgf_games.compute.programs import jit as our_jit
from jubango.sgf_games.compute.traced import OWN_CALLS
from jubango.sgf_games.rules import compiled
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.go import playout

LANES = 32
GAMES = "go:3", "connect_four", "tic_tac_toe", "gomoku:6", "othello:4", "hex:4"
HARMLESS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding"}
HARMLESS |= {"xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"}


@pytest.fixture(params=["kernels", pytest.param("plain", marks=pytest.mark.full)])
def gpu(request, monkeypatch):
    """What is traced is for a GPU whose kernels are right, or for one where they were found not to be."""
    right = request.param == "kernels"
    monkeypatch.setattr(kernels, "reduction_holds", lambda _: right)
    caches = playout._one_kernel_is_right, compiled._one_kernel_agrees
    for module in (playout, compiled):
        monkeypatch.setattr(module, "agrees", lambda *_: True)
    for cache in caches:
        cache.cache_clear()
    if jax.__version_info__ >= (0, 11):  # which lowers for the card that there is, or for none
        card = importlib.import_module("jax._src.pallas.triton.gpu_info")
        monkeypatch.setattr(card, "get_gpu_info", lambda: card.get_gpu_info_from_version(card.GpuVersion.H100))
    with machine.made_for("gpu"):
        yield right
    for cache in caches:
        cache.cache_clear()


def lowered(function, *args):
    """The program for CUDA, a text; it holds nothing that a GPU has not."""
    if isinstance(function, Compiled):
        places = {key: value for key, value in function._options.items() if key.endswith(("_shardings", "argnums"))}
        made = jax.jit(lambda *args: function.__wrapped__(*args), **places)
    else:
        made = jax.jit(lambda *args: function(*args))
    off = [export.DisabledSafetyCheck.custom_call(name) for name in TRITON_CALLS]
    text = export.export(made, platforms=["cuda"], disabled_checks=off)(*args).mlir_module()
    called = set(re.findall(r"custom_call @([\w$.]+)", text))
    assert called <= HARMLESS | set(TRITON_CALLS), called
    assert "callback" not in text and "xla_cpu" not in text and "stablehlo.infeed" not in text
    assert "stablehlo.rng_bit_generator" not in text, "random numbers that depend on the device"
    # The trick by which a CPU makes one kernel: a reduction of many arrays at once.
    most = max([found.count(" init:") for found in re.findall(r"stablehlo\.reduce\((.*)", text)], default=0)
    assert most <= 2
    return text


def kernels_in(text):
    return sum(text.count(f"custom_call @{name}(") for name in TRITON_CALLS)


def many(game, lanes=LANES):
    return jax.eval_shape(lambda: jax.vmap(lambda _: game.init(), out_axes=-1)(jnp.arange(lanes)))


def seeds(lanes=LANES):
    return jax.ShapeDtypeStruct((lanes,), jnp.uint32)


@pytest.mark.parametrize("spec", GAMES)
def test_the_rules(gpu, spec):
    game = make_game(spec)
    text = lowered(
        jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1), many(game), jax.ShapeDtypeStruct((LANES,), jnp.int32)
    )
    if gpu:  # floods are inside of kernels: the host waits for nothing
        assert 1 <= kernels_in(text) <= 3 and "stablehlo.while" not in text
    lowered(jax.vmap(game.legal_action_mask, in_axes=-1), many(game))
    lowered(jax.vmap(game.observe, in_axes=-1), many(game))


@pytest.mark.parametrize("spec", GAMES)
def test_random_games(gpu, spec):
    game = make_game(spec)
    texts = [lowered(game.random_playout, many(game), seeds()), lowered(game.tactical_playout, many(game), seeds())]
    if gpu:
        assert all("stablehlo.while" not in text and 1 <= kernels_in(text) <= 7 for text in texts)
    lowered(game.random_playout_with_amaf, many(game), seeds())


def chunk(search, trees=32, params=()):
    """(the program of a chunk of simulations, its arguments; that which keeps trees, its arguments)."""
    program = search_program._compile(search, 1, trees)
    state = jax.eval_shape(lambda: lifecycle.idle(search, trees))
    told = program.no_script, program.nothing, program.none, np.int32(4)
    states = many(search.game, trees)
    line = np.zeros((trees, LONGEST_KEPT_LINE), np.int32)
    return (
        (program.run_chunk, state, params, states, pack(search, [], np.zeros(0, int), trees, 1), *told),
        (program.keep, state, np.zeros(trees, bool), line),
    )


SEARCHES = {
    **{name: {"rule": rule} for name, rule in SHIPPED.items()},
    "several leaves": {"leaves": 4},
    "a solver": {"solver": True, "leaves": 2},
    "transpositions": {"transpositions": True},
    "rollouts": {"evaluator": Rollout()},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_chunk_of_a_search(gpu, name):
    parts = {"rule": Puct, "evaluator": Uniform(), **SEARCHES[name]}
    game = make_game("tic_tac_toe")
    if parts["rule"].amaf:
        parts["evaluator"] = Rollout(amaf=True)
    elif parts["rule"].owners:
        game, parts["evaluator"] = make_game("go:3"), Rollout(owners=True)
    rule, evaluator = parts.pop("rule")(), parts.pop("evaluator")
    for program in chunk(Search(game, rule, evaluator, 8, **parts)):
        lowered(*program)


@pytest.mark.full
def test_a_search_with_a_network(gpu):
    game = make_game("go:3")
    shape = Shape.of(game, 8, 1)
    weights = jax.eval_shape(lambda: new_weights(shape))
    program, _ = chunk(Search(game, Puct(), NetworkEvaluator(shape), 8), params=weights)
    text = lowered(*program)
    assert "stablehlo.convolution" in text and "bf16" not in text
    program, _ = chunk(Search(game, Puct(), NetworkEvaluator(shape, "bfloat16"), 8), params=weights)
    text = lowered(*program)
    assert all("bf16" in line for line in text.splitlines() if "stablehlo.convolution" in line)
    program, _ = chunk(
        Search(game, SHIPPED["dynamic-puct"](), NetworkEvaluator(shape), 8, score_utility=0.1), params=weights
    )
    lowered(*program)


def test_a_search_by_patterns(gpu):
    game = make_game("go:3")
    patterns, weights = Patterns.load(game)
    evaluator = Mixed(patterns, Rollout(moves="tactical"), weight=1.0)
    program, _ = chunk(Search(game, Puct(), evaluator, 4), params=(weights, ()))
    lowered(*program)


def test_a_search_with_a_network_of_katago_s(gpu, tmp_path):
    game = make_game("go:3,komi=6.5")
    evaluator, weights = KataGoEvaluator.load(KataGoWriter(15).save(tmp_path / "small.bin.gz"), game)
    program, _ = chunk(Search(evaluator.game_for(game), Puct(), evaluator, 4), params=weights)
    lowered(*program)


@pytest.mark.full
def test_self_play(gpu):
    game = make_game("go:3")
    shape = Shape.of(game, 8, 1)
    search = Search(game.compiled_as, SHIPPED["gumbel"](), NetworkEvaluator(shape), 8)
    begin, play = self_play.program.__wrapped__(SelfPlay(search, 8, 4), LANES, 1, 2)
    starts, key = starts_of([game]), jax.random.key(0)
    lowered(begin, starts, key)
    lanes = jax.eval_shape(lambda: self_play.begin(play_plan(search), starts, LANES, key))
    lowered(play, jax.eval_shape(lambda: new_weights(shape)), lanes, starts, key, np.float32(-1))


def play_plan(search):
    return SelfPlay(search, 8, 4)


def test_a_step_of_learning(gpu, monkeypatch):
    game, made = make_game("go:3"), []
    shape, recipe = Shape.of(game, 8, 1), Recipe(batch=8)
    monkeypatch.setattr(learner, "jit", lambda *args, **options: made.append(our_jit(*args, **options)) or made[-1])
    learner.program.__wrapped__(game, shape, recipe, 1)
    (step,) = made  # one program: the gradients do not meet on the host
    learning = jax.eval_shape(lambda: learner.begin(new_weights(shape), recipe))
    text = lowered(step, learning, blank_samples(game, 8), np.zeros(8, np.int32), np.float32(1))
    assert "jax.buffer_donor" in text or "tf.aliasing_output" in text


@pytest.mark.parametrize("spec", ["go:3", "connect_four"])
def test_an_environment(gpu, spec):
    env = jb.env(spec)
    state = jax.eval_shape(lambda: jax.vmap(env.init)(jax.random.split(jax.random.key(0), LANES)))
    lowered(lambda state, action: jax.vmap(env.step)(state, action), state, jax.ShapeDtypeStruct((LANES,), jnp.int32))


def test_a_table_of_games(gpu):
    game = make_game("go:3")
    _, step = compiled._table_program.__wrapped__(game, 32, 1)
    start, told = jax.eval_shape(game.init), np.zeros((compiled.MOVES_A_STEP, 32), np.int32)
    states = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, 32), x.dtype), start)
    lowered(step, states, told, np.bool_(True), start)


def test_no_option_is_for_a_cpu(gpu, monkeypatch):
    seen = []
    monkeypatch.setattr(jax, "jit", lambda function, **options: seen.append(options) or function)
    assert our_jit(lambda x: x + 1, everywhere=True)(1) == 2
    assert seen == [{}]
    with machine.made_for("cpu"):
        our_jit(lambda x: x, everywhere=True)(1)
    assert "xla_cpu_prefer_vector_width" in seen[1]["compiler_options"]


def test_what_is_kept_of_kernels_can_be_read_again(gpu):
    """Programs are kept between processes as JAX exports them, kernels too."""
    game = make_game("tic_tac_toe")
    leaves, tree = jax.tree.flatten(many(game))

    def ends(seeds, *leaves):
        return game.random_playout(jax.tree.unflatten(tree, leaves), seeds)

    kept = export.export(jax.jit(ends), platforms=["cuda"], disabled_checks=OWN_CALLS)(seeds(), *leaves)
    again = export.deserialize(kept.serialize())
    assert again.platforms == ("cuda",) and kernels_in(again.mlir_module()) == kernels_in(kept.mlir_module()) == gpu


def test_a_game_of_pgx(gpu):
    pytest.importorskip("pgx")
    game = make_game("pgx:tic_tac_toe")
    action = jax.ShapeDtypeStruct((LANES,), jnp.int32)
    lowered(jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1), many(game), action)
    lowered(game.random_playout, many(game), seeds())
