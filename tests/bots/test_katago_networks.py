"""Networks in KataGo's format: read, computed and played with; KataGo itself agrees where it and a network are there."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from katago_file import KataGoWriter

from jubango.bots.composition import evaluator_for, network_file
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.evaluator import LoadedEvaluator
from jubango.bots.evaluators.katago import KataGoEvaluator
from jubango.bots.evaluators.territory import leads, opinions, ownership
from jubango.bots.networks.katago.file import load_katago
from jubango.bots.networks.katago.model import apply
from jubango.bots.run_bot import run_bot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import rules, view_of


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file of version 15."""
    return KataGoWriter(15).save(tmp_path_factory.mktemp("katago") / "small.bin.gz")


@pytest.mark.parametrize(
    ("version", "text"), [(8, False), (11, True), (13, False), (15, False), (17, True)], ids=lambda x: str(x)
)
def test_a_network_computes_what_its_file_says(version, text, tmp_path):
    """Every kind of layer, on a board that is no square."""
    writer = KataGoWriter(version, text, seed=version)
    weights, architecture, name = load_katago(writer.save(tmp_path / "net.gz"))
    assert (name, architecture.version) == ("small", version)
    rng = np.random.default_rng(1)
    planes, numbers = rng.integers(0, 2, (2, 4, 3, 22)), rng.standard_normal((2, 19))
    numbers[:, 6] = 0, 1  # the second has a superko rule
    found = jax.jit(lambda *x: apply(architecture, *x))(weights, jnp.float32(planes), jnp.float32(numbers))
    for i in range(2):
        wanted = writer.forward(planes[i].astype(float), numbers[i])
        none = -np.inf if i else wanted.outcome[2]
        chances = np.exp([wanted.outcome[1], none, wanted.outcome[0]])
        chances /= chances.sum()
        np.testing.assert_allclose(found.policy[i], wanted.policy, atol=1e-4)
        np.testing.assert_allclose(jax.nn.softmax(found.outcome[i]), chances, atol=1e-5)
        np.testing.assert_allclose(found.ownership[i], wanted.ownership, atol=1e-5)
        np.testing.assert_allclose(found.score[i] * 12, wanted.lead * (1 - chances[1]), atol=1e-3)


def test_a_file_is_read_whatever_its_name_and_packing(small, tmp_path):
    plain = tmp_path / "weights.safetensors"
    plain.write_bytes(gzip.decompress(small.read_bytes()))
    one, other = load_katago(small), load_katago(plain)
    assert one.architecture == other.architecture
    jax.tree.map(np.testing.assert_array_equal, one.weights, other.weights)


def test_damaged_files_are_one_line(small, tmp_path):
    """Cut off anywhere, packed or not, and with odd words in it."""
    plain, packed = gzip.decompress(small.read_bytes()), small.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [packed[:n] for n in rng.integers(1, len(packed), 10)] + [
        plain[:n] for n in rng.integers(1, len(plain), 20)
    ]
    damaged += [b"", b"\0" * 5000, b"x" * 5000, b"{}", packed[:200] + b"\0" * 50 + packed[250:]]
    for old, new in {
        b"22 19": b"22 18", b"small 15": b"small 7", b"small 15 ": b"small 99 ", b"trunk\x20": b"trunk 9",
        b"3 3 22 6": b"3 3 22 7", b"3 3 22 6 ": b"3 3 22 99999999 ", b"ordinary_block": b"odd_block",
        b"ACTIVATION_MISH": b"ACTIVATION_GELU", b"@BIN@": b"@BUN@", b"0.25": b"nan", b"4 2 6 3 1 1": b"4 3 6 3 1 1",
        b"150\n0 0": b"150\n1 0",
    }.items():  # fmt: skip
        assert old in plain, old
        damaged.append(plain.replace(old, new, 1))
    bad = np.frombuffer(b"\xff\xff\xff\x7f", np.uint8).tobytes()  # no number
    damaged.append(plain.replace(b"@BIN@", b"@BIN@" + bad, 1)[: len(plain)])
    for i, data in enumerate(damaged):
        path = tmp_path / f"{i}.bin.gz"
        path.write_bytes(data)
        with pytest.raises(UserError) as caught:
            load_katago(path)
        assert "\n" not in str(caught.value) and str(path) in str(caught.value), i
    with pytest.raises(UserError, match=r"missing\.bin\.gz"):
        load_katago(tmp_path / "missing.bin.gz")


@pytest.mark.full
def test_a_bot_plays_and_judges_with_it(small):
    """The prior of its search is the network's, at the root with the moves that led there."""
    game = make_game("go:5,komi=6.5,ko=positional")
    bot = f"policy:network=katago:{small},temperature=0"
    assert network_file(game, bot_from_spec(bot)) == str(small)
    state = game.init()
    for action in (12, 7, 25, 13):
        state = rules(game).step(state, action)
    evaluator, weights = KataGoEvaluator.load(small, game)
    said = opinions(game, [state], evaluator, weights)
    legal = view_of(game, [state]).legal[0]
    prior = np.where(legal, np.exp(said.policy[0]), 0)
    (found,) = run_bot(game, bot_from_spec(bot), [state], [0])
    np.testing.assert_allclose(found.priors, prior / prior.sum(), atol=1e-5)
    assert found.action == int(np.argmax(prior))
    lying = []
    for moved in game.symmetries[1]:
        turned = game.init()
        for action in (12, 7, 25, 13):
            turned = rules(game).step(turned, int(np.argsort(moved)[action]))
        lying.append(turned)
    seen = []
    for turned, policy, moved in zip(
        lying, opinions(game, lying, evaluator, weights).policy, game.symmetries[1], strict=True
    ):
        policy = np.where(view_of(game, [turned]).legal[0], np.exp(policy), 0)
        seen.append(policy[np.argsort(moved)] / policy.sum())
    assert np.ptp(seen, axis=0).max() > 1e-4
    (mean,) = run_bot(game, bot_from_spec(f"policy:network=katago:{small},symmetry=mean"), [state], [0])
    np.testing.assert_allclose(mean.priors, np.mean(seen, axis=0), atol=1e-5)
    bot = f"alphazero:network=katago:{small},simulations=16,reuse=false"
    (searched,) = run_bot(game, bot_from_spec(bot), [state], [0])
    assert searched.visits.sum() == 16
    np.testing.assert_allclose(searched.priors, prior / prior.sum(), atol=1e-5)
    judge = LoadedEvaluator(evaluator, weights)
    owners = ownership(game, [state], judge)
    np.testing.assert_allclose(owners[0], said.ownership[0].ravel(), atol=1e-6)  # Black is to move
    assert leads(game, [state], [found.action], [0], judge) is not None


@pytest.mark.full
def test_history_and_ko_rules_are_told(small):
    """The same stones judged differently after other moves; a search's nodes have the last five."""
    game = make_game("go:5")
    evaluator, weights = KataGoEvaluator.load(small, game)

    def after(*actions):
        state = game.init()
        for action in actions:
            state = rules(game).step(state, action)
        return state

    one, other = after(0, 1, 5, 6, 12), after(12, 6, 5, 1, 0)
    said = opinions(game, [one, other], evaluator, weights)
    assert np.abs(said.policy[0] - said.policy[1]).max() > 1e-3
    lean = game.remembering.without_history(one)
    assert lean.trail.moves.tolist() == [12, 6, 5, 1, 0] and game.without_history(one).trail.moves.size == 0


@pytest.mark.parametrize("spec", ["connect_four", "go:20", "gomoku:9"])
def test_other_games_are_refused(spec, small):
    with pytest.raises(UserError, match="KataGo's networks play Go, up to 19x19"):
        evaluator_for(make_game(spec), bot_from_spec(f"policy:network=katago:{small}"))


@pytest.mark.full
def test_the_command_says_in_one_line_what_is_wrong(tmp_path):
    wrong = tmp_path / "wrong.bin.gz"
    wrong.write_bytes(b"wrong")
    done = subprocess.run(
        [sys.executable, "-m", "jubango.arena.commands", "match", f"policy:network=katago:{wrong}", "random", "--game",
         "go:5", "--games", "2"], capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1 and str(wrong) in done.stderr


KATAGO, MODEL = (os.environ.get(name, "") for name in ("JUBANGO_KATAGO", "JUBANGO_KATAGO_MODEL"))
LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


@pytest.mark.full
@pytest.mark.skipif(not (KATAGO and MODEL), reason="JUBANGO_KATAGO and JUBANGO_KATAGO_MODEL name KataGo and a network")
@pytest.mark.parametrize(
    ("spec", "number"),
    [("go:9,komi=5.5,ko=positional,suicide=true", 30), ("go:13,komi=7,ko=situational", 10), ("go:19,komi=7.5", 5)],
)
def test_katago_agrees(spec, number, tmp_path):
    """Its own outputs (``kata-raw-nn``, unturned, without optimism) for positions of random games."""
    game, rng = make_game(spec), np.random.default_rng(5)
    games = [random_moves(game, rng) for _ in range(number)]
    rule_set = {
        "ko": game.ko.upper(), "score": "AREA", "tax": "NONE", "suicide": game.suicide, "hasButton": False,
        "whiteHandicapBonus": "0", "friendlyPassOk": False,
    }  # fmt: skip
    lines = [f"boardsize {game.width}", f"kata-set-rules {json.dumps(rule_set)}", f"komi {game.komi:g}"]
    for moves, _ in games:
        lines += ["clear_board", *(f"play {'bw'[i % 2]} {game.action_text(move)}" for i, move in enumerate(moves))]
        lines += ["kata-raw-nn 0 0"]
    config = tmp_path / "gtp.cfg"
    settings = "rules=tromp-taylor numSearchThreads=1 nnRandomize=false resignThreshold=-1 resignConsecTurns=9"
    config.write_text("\n".join(settings.split()) + f"\nlogDir={tmp_path}\nallowResignation=false\nmaxVisits=2\n")
    done = subprocess.run(
        [KATAGO, "gtp", "-model", MODEL, "-config", str(config)], input="\n".join([*lines, "quit", ""]),
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    answers = [block.split() for block in done.stdout.split("\n\n") if "policyPass" in block]
    assert len(answers) == number
    evaluator, weights = KataGoEvaluator.load(MODEL, game)
    states = [state for _, state in games]
    said, legal = opinions(game, states, evaluator, weights), view_of(game, states).legal
    points = game.width * game.height
    for i, words in enumerate(answers):
        white = len(games[i][0]) % 2 == 1

        def after(name, count=1, words=words):
            at = words.index(name) + 1
            return np.array([np.nan if word == "NAN" else float(word) for word in words[at : at + count]])

        wanted = np.append(after("policy", points), after("policyPass"))
        prior = np.where(legal[i], np.exp(said.policy[i] - said.policy[i][legal[i]].max()), np.nan)
        np.testing.assert_allclose(prior / np.nansum(prior), wanted, atol=1e-3)
        loss, _, win = np.exp(said.outcome[i]) / np.exp(said.outcome[i]).sum()
        assert abs((win if white else loss) - after("whiteWin")[0]) < 1e-3
        sign = 1 if white else -1
        assert abs(sign * said.score[i] * points - after("whiteLead")[0]) < 0.02
        np.testing.assert_allclose(sign * said.ownership[i].ravel(), after("whiteOwnership", points), atol=1e-3)


def random_moves(game, rng):
    """(moves of a random game that is not over, the position), most of them beside the move before."""
    state, moves = game.init(), []
    for _ in range(rng.integers(5, game.width * game.height)):
        legal = np.flatnonzero(view_of(game, [state]).legal[0])[:-1]
        if not len(legal):
            break
        near = [
            a
            for a in legal
            if moves and sum(abs(np.subtract(divmod(a, game.width), divmod(moves[-1], game.width)))) < 3
        ]
        moves.append(int(rng.choice(near if near and rng.random() < 0.7 else legal)))
        state = rules(game).step(state, moves[-1])
    return moves, state
