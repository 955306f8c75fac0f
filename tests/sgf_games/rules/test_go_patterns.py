"""The patterns of Go's moves, point by point, and what their weights have learnt."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import full_but

import jubango as jb
from jubango.bots.composition import evaluator_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.judgement import judged
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import bitboard as bb
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.go.patterns import FIRST, classes, patterns

CIRCLE = [(-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1)]


def boards(height, width, number):
    rng = np.random.default_rng(height * width)
    stones = rng.choice(3, p=[0.4, 0.3, 0.3], size=(number, height, width))
    return stones, rng.integers(-1, height * width, number)


def found_in(stones, last):
    width = stones.shape[2]
    bits = 1 << np.arange(width)
    own, opp = (((stones == side) * bits).sum(-1).astype(bb.row_type(width)) for side in (1, 2))
    return np.asarray(jax.jit(jax.vmap(lambda *board: patterns(*board, width)))(own, opp, jnp.asarray(last, jnp.int32)))


def liberties(board, point):
    chain, height, width = {point}, *board.shape
    while True:
        beside = {(r + i, c + j) for r, c in chain for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        beside = {(r, c) for r, c in beside if 0 <= r < height and 0 <= c < width}
        more = {p for p in beside if board[p] == board[point]} | chain
        if more == chain:
            return sum(board[p] == 0 for p in beside)
        chain = more


def by_hand(board, last, r, c):
    """The numbers of the four patterns of a move."""
    height, width = board.shape
    inside = [0 <= r + i < height and 0 <= c + j < width for i, j in CIRCLE]
    signs = [board[r + i, c + j] if there else 3 for there, (i, j) in zip(inside, CIRCLE, strict=True)]
    beside = []
    for sign, (i, j) in list(zip(signs, CIRCLE, strict=True))[1::2]:
        free = min(3, liberties(board, (r + i, c + j))) if sign in (1, 2) else 0
        beside.append({0: 0, 1: free, 2: 3 + free, 3: 7}[int(sign)])
    down, right = abs(r - last // width), abs(c - last % width)
    far = 0 if last < 0 else min(15, down + right + max(down, right))
    line = min(7, r, c, height - 1 - r, width - 1 - c)
    numbers = [sum(int(s) * 4**i for i, s in enumerate(signs)), sum(s * 8**i for i, s in enumerate(beside)), far, line]
    return [first + number for first, number in zip(FIRST, numbers, strict=False)]


@pytest.mark.parametrize("size", full_but([(5, 5), (3, 7)], [(5, 5), (3, 7), (9, 9), (1, 6), (4, 13), (12, 12)]))
def test_patterns_are_those_found_by_hand(size):
    height, width = size
    stones, last = boards(height, width, 40)
    found = found_in(stones, last)
    assert found.shape == (40, height * width + 1, 4)
    assert (found[:, -1] == FIRST[-1]).all(), "a pass"
    for one, board, point in zip(found, stones, last, strict=True):
        for action in range(height * width):
            assert one[action].tolist() == by_hand(board, int(point), *divmod(action, width))
    assert found.max() < len(classes())


def test_what_is_turned_or_mirrored_is_of_one_class():
    game = make_game("go:5")
    stones, last = boards(5, 5, 30)
    here = classes()[found_in(stones, last)]
    for points, actions in zip(*game.symmetries, strict=True):
        turned = stones.reshape(30, 25)[:, points].reshape(30, 5, 5)
        place = np.where(last < 0, -1, np.argsort(points)[last])
        assert (classes()[found_in(turned, place)] == here[:, actions]).all()
    # By Burnside's lemma, of eight places with four signs and four places with eight.
    around, beside = classes()[: FIRST[1]], classes()[FIRST[1] : FIRST[2]]
    assert len(np.unique(around)) == 8740 and len(np.unique(beside)) == 666
    assert (classes()[classes()] == classes()).all()


def prior_in(position):
    evaluator, params = evaluator_for(position.game, bot_from_spec("patterns"))
    game = position.game
    state = jax.tree.map(lambda x: jnp.asarray(x)[..., None], game.without_history(position.state))
    legal = jax.vmap(game.legal_action_mask, in_axes=-1)(state)
    weights = np.asarray(judged(evaluator, params, game, state, legal, jnp.zeros(1, jnp.uint32)).weights[0])
    return weights / weights.sum(), np.asarray(legal[0])


@pytest.mark.full
def test_what_the_weights_have_learnt():
    escape = jb.position("go:9", ["E5", "D5", "C3", "E6", "G3", "F5"])  # E5 has one liberty
    prior, legal = prior_in(escape)
    assert (prior[~legal] == 0).all()
    assert escape.game.action_text(int(prior.argmax())) == "E4"
    taken = jb.position("go:9", ["E5", "D5", "C3", "E6", "G3", "F5", "G7"])
    prior, _ = prior_in(taken)
    assert taken.game.action_text(int(prior.argmax())) == "E4"
    first, _ = prior_in(jb.position("go:9", []))
    assert first[escape.game.parse_action("A1")] < 0.2 * first[escape.game.parse_action("E5")]
    assert first[escape.game.pass_action] < 0.1
    for side in ("go:7x5", "go:19"):  # of any size
        prior, legal = prior_in(jb.position(side, ["C3"]))
        assert prior.sum() == pytest.approx(1) and (prior[legal] > 0).all()


def test_a_search_by_patterns_passes_as_one_by_random_games_does():
    """Its prior tells moves apart, but of when to pass it knows nothing."""
    evaluator, _ = evaluator_for(make_game("go:5"), bot_from_spec("patterns"))
    assert evaluator.has_prior
    assert not evaluator.knows_when_to_pass
    network, _ = evaluator_for(make_game("go:9"), bot_from_spec("alphazero"))
    assert network.knows_when_to_pass


def test_criticality_is_asked_of_games_that_say_who_has_what():
    with pytest.raises(UserError, match=r"^connect_four:7x6 does not say who has its points at the end"):
        jb.analyze(jb.position("connect_four"), "uct:selection=critical-puct,simulations=8")


def test_criticality_wants_the_values_of_the_games_it_counts():
    def refused(error, evaluator, **named):
        with pytest.raises(UserError, match=error):
            jb.run(jb.Search("go:3", jb.CriticalPuct(), evaluator, 8, **named), make_game("go:3").init())

    rollouts = jb.Rollout(owners=True)
    silent = "does not say who has which point at the end of games"
    refused(silent, jb.Rollout())
    refused(silent, jb.Mixed(jb.Uniform(), rollouts, 0.5))
    refused(silent, jb.Mixed(rollouts, jb.Uniform(), 0.5))
    refused("needs cutoff='value'", rollouts, cutoff="draw")
    refused("needs draws='half'", rollouts, draws="random")
    refused("needs transpositions=False", rollouts, transpositions=True)
    refused("needs solver=False", rollouts, solver=True)


def test_patterns_are_asked_of_what_has_them():
    with pytest.raises(UserError, match=r"^prior=patterns: there are none for connect_four"):
        evaluator_for(make_game("connect_four"), bot_from_spec("patterns"))
    with pytest.raises(UserError, match=r"prior=patterns needs evaluator=rollout"):
        bot_from_spec("alphazero:prior=patterns")
