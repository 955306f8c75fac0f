"""From a bot's configuration to the search it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jubango.bots.config import NO_NETWORK, BotConfig, SearchConfig
from jubango.bots.evaluators.evaluator import Evaluator, LoadedEvaluator, Params
from jubango.bots.evaluators.katago import KataGoEvaluator
from jubango.bots.evaluators.mixed import Mixed
from jubango.bots.evaluators.network import NetworkEvaluator, Symmetry
from jubango.bots.evaluators.patterns import Patterns
from jubango.bots.evaluators.registry import EVALUATORS
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.evaluators.territory import scorer_of
from jubango.bots.networks.model import Precision
from jubango.bots.networks.named import is_katago, weights_path
from jubango.bots.networks.shipped import shipped, shipped_for
from jubango.bots.search.rules.params import SearchParams
from jubango.bots.search.rules.rule import Rule, numbers_of
from jubango.bots.search.spec import SearchSpec
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.base.own_parts import nearest_part
from jubango.sgf_games.rules.game import Game


def search_for(game: Game, bots: Sequence[SearchConfig], evaluator: Evaluator) -> SearchSpec:
    """The composition that ``bots`` share, with the evaluator that :func:`evaluator_for` finds for them; its capacity
    is that of the largest."""
    bot = bots[0]
    return SearchSpec(
        game,
        rule_for(bot),
        evaluator,
        capacity=max(room_for(simulations_for(game, one)) for one in bots),
        width=bot.width,
        cutoff=bot.cutoff,
        opponent=bot.opponent,
        draws=bot.draws,
        solver=bot.solver,
        transpositions=bot.transpositions,
        leaves=bot.leaves,
        ties=bot.ties,
        score_utility=bot.score_utility,
        devices=bot.devices,
    )


def composition(game: Game, bot: SearchConfig) -> SearchSpec:
    """What of a bot makes a program: bots that are equal in this can share one."""
    one = bot.model_copy(update={"simulations": 1, "ensemble": 1})
    return search_for(game, [one], evaluator_for(game, one).evaluator)


def player_key(game: Game, bot: SearchConfig) -> tuple:
    """What bots have in common that share a player, and its trees: all but numbers, and their names if they keep their
    trees."""
    return composition(game, bot), bot.ensemble, weights_key(game, bot), bot.name if bot.reuse else ""


def simulations_for(game: Game, bot: SearchConfig) -> int:
    """Simulations a tree has to hold."""
    if bot.simulations == 0:
        return game.num_actions if bot.move == "value" else 1
    return -(-bot.simulations // bot.ensemble)


def room_for(simulations: int) -> int:
    """Simulations that the trees of a bot that makes so many have room for: of few sizes, so that other numbers need no
    other program. Powers of two, and multiples of the last of them above 65,536."""
    if simulations <= 2**16:
        return 1 << max(0, simulations - 1).bit_length()
    return -(-simulations // 2**16) * 2**16


def rule_for(bot: SearchConfig) -> Rule:
    """The selection rule of a bot."""
    kind = bot.rule
    fields = {own.name for own in kind.params} - {own.name for own in numbers_of(kind)}
    return kind(**{name: getattr(bot, name) for name in fields})


def params_of(game: Game, bot: SearchConfig, legal: np.ndarray) -> SearchParams:
    """What one tree of the bot is told at a root with these ``legal`` actions, bool [A]."""
    simulations = simulations_for(game, bot)
    if bot.simulations == 0:  # each move once, or none at all
        simulations = int(legal.sum()) if bot.move == "value" else 0
    own = {one.name: getattr(bot, one.name) for one in numbers_of(bot.rule)}
    return SearchParams(simulations, depth=bot.depth, noise=bot.noise, alpha=bot.alpha, **own)


def calm(bot: SearchConfig) -> dict[str, float]:
    """Keys that leave out the random numbers at the root, which are for games."""
    return {"noise": 0.0, **{own.name: 0.0 for own in bot.rule.params if own.random}}


def temperature_for(bot: SearchConfig, ply: int) -> float:
    """The temperature of a game's move number ``ply`` (from 0)."""
    return 0.0 if bot.temperature_moves and ply >= bot.temperature_moves else bot.temperature


def most_visits_decide(bot: SearchConfig, ply: int) -> bool:
    """Does the most visited move get played, with nothing random?"""
    return bot.move == "visits" and not temperature_for(bot, ply)


LEAD_SHARE = 0.1  # in what the strongest bot compares


def strongest(game: Game, keys: Collection[str] = ()) -> str:
    """The spec of the strongest searching bot there is for a game, when nobody says who is to search.

    keys: those that will be changed in it. With another evaluator, network or rule there need be no lead.
    """
    network = shipped_for(game)
    if not network:
        return game.strongest_bot
    told = game.counts_points and not {"evaluator", "network", "selection"}.intersection(keys)
    lead = f",score_utility={LEAD_SHARE}" if told else ""
    return f"alphazero:simulations={network.simulations}{lead}"


def note_on(game: Game, bot: BotConfig) -> str:
    """What a person should know of a bot before the games begin, or nothing."""
    if not isinstance(bot, SearchConfig) or not bot.wants_network or bot.network or network_file(game, bot):
        return ""
    return (
        f'"{bot.name}" has no network=FILE, and none comes with jubango for {game.spec}: a uniform prior and the value '
        f"of rollouts stand in ({shell.command('train', '--game', game.spec)} makes one)"
    )


LARGE = 81  # points: on larger boards of territory random games are far from good play


def judging_note(game: Game, bot: BotConfig) -> str:
    """What a person should know of a bot's judgement of positions, or nothing: that on a large board of territory a
    modest network judges, or none does, and random games do. How strong these are there nobody has measured."""
    if not game.counts_points or game.height * game.width <= LARGE or not isinstance(bot, SearchConfig):
        return ""
    if bot.evaluator not in ("rollout", "network", "mixed"):
        return ""
    size = f"{game.width}" if game.width == game.height else f"{game.width}x{game.height}"
    own, board = shipped_for(game), f"{game.name}:{size}"
    doubt = "strong players see more, and what it says of their moves may be noise"
    if network_file(game, bot):
        modest = not bot.network and own is not None and own.modest
        return f"the network for {board} is a modest player: {doubt}" if modest else ""
    games = "tactical random games" if bot.rollout_moves == "tactical" else "random games"
    why = f"{bot.name} asks no network" if own else f"no network for {board}"
    return f"{why}: {games} judge, how well on this board nobody has measured; {doubt}"


# -- the evaluator that a bot names, with its weights --------------------------------------------------


class _Asked(NamedTuple):
    """What of a bot an evaluator depends on."""

    network: tuple[str | int, ...]  # the file of weights and its version
    precision: Precision
    symmetry: Symmetry
    evaluator: str
    registered: Callable[[], Evaluator] | None  # what the name stands for now
    weight: float
    rollouts: int
    moves: str
    prior: str
    draws: str
    amaf: bool
    owners: bool


def evaluator_for(game: Game, bot: SearchConfig) -> LoadedEvaluator:
    """The evaluator a bot names and its weights; made once and kept while its file does not change. Raises UserError
    for an unknown name or a file that is no network."""
    registered = EVALUATORS.get(bot.evaluator)
    if bot.evaluator not in ("rollout", "network", "mixed") and registered is None:
        named_evaluator(bot.evaluator, bot.name)
    asked = _Asked(
        weights_key(game, bot), bot.precision, bot.symmetry, bot.evaluator, registered, bot.weight, bot.rollouts,
        bot.rollout_moves, bot.prior, bot.draws, amaf=bot.rule.amaf, owners=bot.rule.owners,
    )  # fmt: skip
    found = _loaded(game, asked)
    if bot.score_utility and bot.evaluator in ("network", "mixed") and scorer_of(found) is None:
        raise UserError(
            f'bot "{bot.name}": score_utility={bot.score_utility:g} needs a network that tells the lead in points, and '
            f"there is none for {game.spec}; network=FILE"
        )
    own = found.evaluator.weights(found.params)
    return found if own is found.params else found._replace(params=own)


@functools.lru_cache(maxsize=32)
def _loaded(game: Game, asked: _Asked) -> LoadedEvaluator:
    network, weights = _network(game, asked.network) if asked.network else (None, ())
    if asked.symmetry != "none" and network is None:
        raise UserError(f"symmetry={asked.symmetry}: is for networks, and there is none for {game.spec}; network=FILE")
    if asked.precision != "float32":
        if not isinstance(network, NetworkEvaluator):
            raise UserError(f"precision={asked.precision}: is for networks of jubango's own, network=FILE")
        network = replace(network, precision=asked.precision)
        if asked.precision == "int8" and (asked.moves == "policy" or asked.evaluator in ("network", "mixed")):
            weights = network.in_int8(game, weights)
    leaf = network and replace(network, symmetry=asked.symmetry)
    moves = asked.moves if network or asked.moves != "policy" else "game"
    policy = network if moves == "policy" else None
    rollout = Rollout(
        asked.rollouts, moves, policy, asked.draws, amaf=asked.amaf, owners=asked.owners,  # type: ignore[arg-type]
    )  # fmt: skip
    for_rollout: Params = weights if policy else ()
    if asked.registered is not None:
        return LoadedEvaluator(asked.registered(), ())
    if asked.prior == "patterns":
        patterns, of_patterns = Patterns.load(game)
        return LoadedEvaluator(Mixed(patterns, rollout, weight=1.0), (of_patterns, for_rollout))
    if asked.evaluator == "rollout" or leaf is None:
        return LoadedEvaluator(rollout, for_rollout)
    if asked.evaluator == "network":
        return LoadedEvaluator(leaf, weights)
    return LoadedEvaluator(Mixed(leaf, rollout, asked.weight), (weights, for_rollout))


@functools.lru_cache(maxsize=16)
def _network(game: Game, version: tuple[str | int, ...]) -> tuple[NetworkEvaluator | KataGoEvaluator, Params]:
    """By the file and its version, as the file may change."""
    named = str(version[0])
    kind = KataGoEvaluator if is_katago(named) else NetworkEvaluator
    return kind.load(weights_path(named), game)


def named_evaluator(name: str, bot: str) -> Evaluator:
    """Raises UserError for a name that nothing is registered by."""
    if name not in EVALUATORS:
        known = ["rollout", "network", "mixed", *EVALUATORS]
        raise UserError(f'bot "{bot}": no evaluator is called "{name}"{nearest_part(name, known)}')
    return EVALUATORS[name]()


def network_file(game: Game, bot: SearchConfig) -> str:
    """The file of a bot's weights: its own, or the one that the package has for the game; empty where a uniform prior
    and rollouts stand in."""
    return weights_path(_named_network(game, bot))


def _named_network(game: Game, bot: SearchConfig) -> str:
    """The same with the kind of file before it, as bots name it."""
    if not bot.wants_network or bot.network == NO_NETWORK:
        return ""
    return bot.network or str(shipped(game) or "")


def weights_key(game: Game, bot: SearchConfig) -> tuple[str | int, ...]:
    """What tells a bot's weights from another's: a key of caches."""
    named = _named_network(game, bot)
    if not named:
        return ()
    try:
        stat = Path(weights_path(named)).stat()
    except OSError:
        return (named,)
    return named, stat.st_mtime_ns, stat.st_size
