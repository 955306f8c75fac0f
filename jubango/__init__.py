"""Plays thousands of board games at once in one compiled program and says which bot is stronger, and how surely.

    import jubango as jb

The front door: what is named here is imported when it is first used, so that importing jubango is quick and does not
start JAX. What plays and searches by itself takes every core and a cache of compiled programs when it is first used;
:func:`configure` chooses others. Games, environments and searches in programs of your own leave JAX as it is.
"""

from __future__ import annotations

import importlib

from jubango.sgf_games import VERSION

TYPE_CHECKING = False  # typing's own takes time to import
if TYPE_CHECKING:
    from typing import Any

    from jubango.analysis.positions.position import analyze as analyze
    from jubango.analysis.positions.win_rate import WinRate as WinRate
    from jubango.analysis.ratings.ratings import rate as rate
    from jubango.analysis.reviews.review import Review as Review
    from jubango.analysis.reviews.review_moves import Thresholds as Thresholds
    from jubango.arena.runs.comparing import compare_runs as compare_runs
    from jubango.arena.runs.run import Run as Run
    from jubango.arena.runs.run_folder import open_run as open_run
    from jubango.arena.tournament import match as match
    from jubango.arena.tournament import merge as merge
    from jubango.arena.tournament import review as review
    from jubango.arena.tournament import tournament as tournament
    from jubango.arena.training.training import train as train
    from jubango.arena.tuning.tuner import tune as tune
    from jubango.arena.tuning.tuning import Tuning as Tuning
    from jubango.bots.bot_keys import BotKeys as BotKeys
    from jubango.bots.config import Bot as Bot
    from jubango.bots.config import BotConfig as BotConfig
    from jubango.bots.evaluators.evaluator import Amaf as Amaf
    from jubango.bots.evaluators.evaluator import Evaluation as Evaluation
    from jubango.bots.evaluators.evaluator import Evaluator as Evaluator
    from jubango.bots.evaluators.evaluator import Heuristic as Heuristic
    from jubango.bots.evaluators.evaluator import Owners as Owners
    from jubango.bots.evaluators.evaluator import Params as Params
    from jubango.bots.evaluators.evaluator import Uniform as Uniform
    from jubango.bots.evaluators.mixed import Mixed as Mixed
    from jubango.bots.evaluators.network import NetworkEvaluator as NetworkEvaluator
    from jubango.bots.evaluators.policy_value import PolicyValue as PolicyValue
    from jubango.bots.evaluators.registry import evaluator as evaluator
    from jubango.bots.evaluators.rollout import Rollout as Rollout
    from jubango.bots.learning.learner import Recipe as Recipe
    from jubango.bots.learning.replay import Collector as Collector
    from jubango.bots.learning.replay import Replay as Replay
    from jubango.bots.learning.replay import Samples as Samples
    from jubango.bots.learning.self_play import Moves as Moves
    from jubango.bots.learning.self_play import SelfPlay as SelfPlay
    from jubango.bots.players.engines.analysts.analysis_engine import AnalysisEngine as AnalysisEngine
    from jubango.bots.players.player import Player as Player
    from jubango.bots.players.player import player as player
    from jubango.bots.players.position import PositionToPlay as PositionToPlay
    from jubango.bots.players.user_rules import rule as rule
    from jubango.bots.search.host.run import run as run
    from jubango.bots.search.host.run import run_many as run_many
    from jubango.bots.search.results.output import SearchOutput as SearchOutput
    from jubango.bots.search.results.result import SearchResult as SearchResult
    from jubango.bots.search.results.result import SearchTree as SearchTree
    from jubango.bots.search.rules.alphago import AlphaGo as AlphaGo
    from jubango.bots.search.rules.critical_puct import CriticalPuct as CriticalPuct
    from jubango.bots.search.rules.dynamic_puct import DynamicPuct as DynamicPuct
    from jubango.bots.search.rules.gumbel import Gumbel as Gumbel
    from jubango.bots.search.rules.params import Param as Param
    from jubango.bots.search.rules.params import SearchParams as SearchParams
    from jubango.bots.search.rules.params import TracedParams as TracedParams
    from jubango.bots.search.rules.puct import Puct as Puct
    from jubango.bots.search.rules.rave import Rave as Rave
    from jubango.bots.search.rules.root_noise import RootNoise as RootNoise
    from jubango.bots.search.rules.rule import Edges as Edges
    from jubango.bots.search.rules.rule import Rule as Rule
    from jubango.bots.search.rules.ucb1 import Ucb1 as Ucb1
    from jubango.bots.search.search import Search as Search
    from jubango.sgf_games.base.errors import SetupWarning as SetupWarning
    from jubango.sgf_games.base.errors import UserError as UserError
    from jubango.sgf_games.compute.machine import configure as configure
    from jubango.sgf_games.compute.programs import jit as jit
    from jubango.sgf_games.environments.env import Env as Env
    from jubango.sgf_games.environments.env import EnvState as EnvState
    from jubango.sgf_games.environments.env import auto_reset as auto_reset
    from jubango.sgf_games.environments.env import env as env
    from jubango.sgf_games.rules.catalogue import game as game
    from jubango.sgf_games.rules.catalogue import make_game as make_game
    from jubango.sgf_games.rules.conformance.check_game import check_game as check_game
    from jubango.sgf_games.rules.game import Game as Game
    from jubango.sgf_games.rules.game import State as State
    from jubango.sgf_games.sgf.positions import Position as Position
    from jubango.sgf_games.sgf.positions import Record as Record
    from jubango.sgf_games.sgf.positions import position as position
    from jubango.sgf_games.sgf.positions import read_sgf as read_sgf

__version__ = VERSION

# Where the names live.
_HOMES = {
    "analysis.positions.position": ("analyze",),
    "analysis.ratings.ratings": ("rate",),
    "analysis.reviews.review": ("Review",),
    "analysis.reviews.review_moves": ("Thresholds",),
    "analysis.positions.win_rate": ("WinRate",),
    "arena.runs.comparing": ("compare_runs",),
    "arena.runs.run": ("Run",),
    "arena.runs.run_folder": ("open_run",),
    "arena.tournament": ("match", "merge", "review", "tournament"),
    "arena.training.training": ("train",),
    "arena.tuning.tuner": ("tune",),
    "arena.tuning.tuning": ("Tuning",),
    "bots.bot_keys": ("BotKeys",),
    "bots.config": ("Bot", "BotConfig"),
    "bots.evaluators.evaluator": ("Evaluation", "Evaluator", "Amaf", "Heuristic", "Owners", "Params", "Uniform"),
    "bots.evaluators.mixed": ("Mixed",),
    "bots.evaluators.network": ("NetworkEvaluator",),
    "bots.evaluators.policy_value": ("PolicyValue",),
    "bots.evaluators.registry": ("evaluator",),
    "bots.evaluators.rollout": ("Rollout",),
    "bots.learning.learner": ("Recipe",),
    "bots.learning.replay": ("Collector", "Replay", "Samples"),
    "bots.learning.self_play": ("Moves", "SelfPlay"),
    "bots.players.engines.analysts.analysis_engine": ("AnalysisEngine",),
    "bots.players.player": ("Player", "player"),
    "bots.players.position": ("PositionToPlay",),
    "bots.search.results.output": ("SearchOutput",),
    "bots.search.results.result": ("SearchResult", "SearchTree"),
    "bots.search.rules.alphago": ("AlphaGo",),
    "bots.search.rules.gumbel": ("Gumbel",),
    "bots.search.rules.critical_puct": ("CriticalPuct",),
    "bots.search.rules.dynamic_puct": ("DynamicPuct",),
    "bots.search.rules.puct": ("Puct",),
    "bots.search.rules.rave": ("Rave",),
    "bots.search.rules.rule": ("Edges", "Rule"),
    "bots.search.rules.params": ("Param", "SearchParams", "TracedParams"),
    "bots.search.rules.root_noise": ("RootNoise",),
    "bots.search.rules.ucb1": ("Ucb1",),
    "bots.search.host.run": ("run", "run_many"),
    "bots.search.search": ("Search",),
    "bots.players.user_rules": ("rule",),
    "sgf_games.rules.catalogue": ("game", "make_game"),
    "sgf_games.environments.env": ("Env", "EnvState", "auto_reset", "env"),
    "sgf_games.base.errors": ("SetupWarning", "UserError"),
    "sgf_games.rules.conformance.check_game": ("check_game",),
    "sgf_games.rules.game": ("Game", "State"),
    "sgf_games.compute.machine": ("configure",),
    "sgf_games.compute.programs": ("jit",),
    "sgf_games.sgf.positions": ("Position", "Record", "position", "read_sgf"),
}
_HOME_OF = {name: f"jubango.{home}" for home, names in _HOMES.items() for name in names}

# Names of before: where they live, and what they are called now.
_OLD = {
    "Firsts": ("jubango.bots.evaluators.evaluator", "Amaf"),
    "Numbers": ("jubango.bots.search.rules.params", "SearchParams"),
    "RootDice": ("jubango.bots.search.rules.root_noise", "RootNoise"),
    "Settings": ("jubango.bots.search.rules.params", "TracedParams"),
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _OLD:
        return _old(name)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'jubango' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def _old(name: str) -> Any:
    import warnings

    home, now = _OLD[name]
    warnings.warn(f"jb.{name} is now called jb.{now}", DeprecationWarning, stacklevel=3)
    globals()[name] = value = getattr(importlib.import_module(home), now)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
