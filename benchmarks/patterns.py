"""Learn the weights of Go's patterns from what networks play, and see how well they foretell it.

python benchmarks/patterns.py --write jubango/bots/evaluators/weights/go-patterns.safetensors

Games are drawn from the policies that come along. What is learnt is each position's whole policy, not the move alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jubango as jb
from jubango.bots.composition import evaluator_for
from jubango.bots.config import SearchConfig, bot_from_spec
from jubango.bots.networks.arrays import packed
from jubango.sgf_games.library.folder import replace_file
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_states
from jubango.sgf_games.rules.game import Game

BOARDS = {"go:9,komi=7.5": 512, "go:13,komi=7.5": 64, "go:19,komi=7.5": 32}  # and how many games
HELD_OUT = 8  # one position in so many
PASSES, BATCH, RATE, DECAY = 12, 1024, 0.03, 1e-5


def games(game: Game, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(patterns int32 [N, A, F], policies float32 [N, A]) of all positions of so many games of the policy."""
    bot = bot_from_spec("policy")
    assert isinstance(bot, SearchConfig)
    evaluator, params = evaluator_for(game, bot)
    step = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)

    @jax.jit
    def turn(states: object, key: jax.Array) -> tuple:
        legal = jax.vmap(game.legal_action_mask, in_axes=-1)(states)
        live = ~jax.vmap(game.is_terminal, in_axes=-1)(states)
        plain = jax.vmap(game.without_history, in_axes=-1, out_axes=-1)(states)
        prior = evaluator(params, game, plain, legal, jnp.zeros(number, jnp.uint32)).prior
        prior = prior / jnp.sum(prior, axis=-1, keepdims=True)
        action = jax.random.categorical(key, jnp.log(prior))
        return step(states, action), jax.vmap(game.patterns, in_axes=-1)(states), prior, live

    states, kept, key = initial_states(game, number), [], jax.random.key(seed)
    for ply in range(game.height * game.width):
        states, found, policy, live = turn(states, jax.random.fold_in(key, ply))
        kept.append((np.asarray(found)[live], np.asarray(policy)[live]))
        if not live.any():
            break
    patterns, policies = (np.concatenate(one) for one in zip(*kept, strict=True))
    return patterns, policies


def loss(weights: jax.Array, patterns: jax.Array, policies: jax.Array) -> jax.Array:
    """The cross entropy, over the moves that the policy has."""
    scores = jnp.where(policies > 0, jnp.sum(weights[patterns], axis=-1), -jnp.inf)
    return -jnp.mean(jnp.sum(jnp.where(policies > 0, policies * jax.nn.log_softmax(scores), 0.0), axis=-1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="the file of weights")
    given = parser.parse_args()
    jb.configure()
    lessons, tests, rng = [], {}, np.random.default_rng(given.seed)
    for spec, number in BOARDS.items():
        began, game = time.perf_counter(), make_game(spec)
        patterns, policies = games(game, number, given.seed)
        classes = game.pattern_classes
        order = rng.permutation(len(patterns))
        held, rest = np.split(order, [len(order) // HELD_OUT])
        lessons.append((classes[patterns[rest]], policies[rest]))
        tests[spec] = classes[patterns[held]], policies[held]
        print(f"{spec}: {len(patterns)} positions in {time.perf_counter() - began:.0f} s", flush=True)

    weights = jnp.zeros(len(classes))
    batches = [(i, one) for i, (own, _) in enumerate(lessons) for one in range(len(own) // BATCH)]
    rule = optax.adam(optax.cosine_decay_schedule(RATE, PASSES * len(batches)))
    state = rule.init(weights)

    @jax.jit
    def learn(weights: jax.Array, state: optax.OptState, patterns: jax.Array, policies: jax.Array) -> tuple:
        slope = jax.grad(lambda w: loss(w, patterns, policies) + DECAY * jnp.sum(w**2))(weights)
        change, state = rule.update(slope, state)
        return optax.apply_updates(weights, change), state

    for _ in range(PASSES):
        orders = [rng.permutation(len(own)) for own, _ in lessons]
        for which in rng.permutation(len(batches)):
            i, part = batches[which]
            rows = orders[i][part * BATCH : (part + 1) * BATCH]
            weights, state = learn(weights, state, lessons[i][0][rows], lessons[i][1][rows])
    for spec, (patterns, policies) in tests.items():
        scores = np.where(policies > 0, np.asarray(weights)[patterns].sum(-1), -np.inf)
        found = np.argsort(-scores, axis=-1)[:, :3] == policies.argmax(-1)[:, None]
        print(
            f"{spec}, {len(found)} positions held out: the policy's first choice is that of the patterns in "
            f"{found[:, 0].mean():.1%}, among their first three in {found.any(-1).mean():.1%}"
        )
    if given.write:
        header = {"positions": {spec: len(own) for spec, (own, _) in zip(BOARDS, lessons, strict=True)}}
        whole = np.asarray(weights)[classes].astype(np.float16)
        replace_file(given.write, packed({"weights": whole}, header))


if __name__ == "__main__":
    main()
