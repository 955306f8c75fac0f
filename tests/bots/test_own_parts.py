"""Slips of who writes a part of his own: each is said in one line, where the part is made."""

from __future__ import annotations

import dataclasses
import re

import jax.numpy as jnp
import pytest
from influence import Influence

import jubango as jb
from jubango.arena.commands import run as command
from jubango.bots.config import KINDS, PRESETS
from jubango.bots.evaluators.registry import EVALUATORS
from jubango.bots.search.rules.registry import RULES
from jubango.sgf_games.rules.catalogue import CATALOGUE


@pytest.fixture(autouse=True)
def _registries():
    """As they were before."""
    before = [(registry, dict(registry)) for registry in (RULES, PRESETS, KINDS, EVALUATORS, CATALOGUE)]
    yield
    for registry, own in before:
        registry.clear()
        registry.update(own)


def rule(**own):
    return type("Mine", (jb.Rule,), {"__call__": lambda self, edges, params: edges.q, **own})


def player(**own):
    return type("Mine", (jb.Player,), {"play": lambda self, position: position.legal_moves[0], **own})


def typed(make, **kinds):
    """A class with annotated fields."""
    return lambda **own: make(__annotations__=kinds, **own)


def game(**own):
    return type("Mine", (Influence,), own)


def function(*args):
    return args


class Unhashable(jb.Evaluator):
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, params, game, states, legal, seeds):
        return jb.Evaluation(legal, jnp.zeros(len(legal)))


class Weighty(Unhashable):
    __hash__ = object.__hash__

    def __init__(self, weight):
        self.weight = weight


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: jb.Param(3, 1), "its name comes first and is text"),
        (lambda: jb.Param("x", "one"), "jb.Param(\"x\"): default='one': should be a number"),
        (lambda: jb.Param("x", True), "default=True: should be a number"),
        (lambda: jb.Param("x", float("nan")), "default=nan"),
        (lambda: jb.Param("x", 1.0, 0, 1e300), "most=1e+300: should be a number that float32 holds"),
        (lambda: jb.Param("x", 1.0, 0, float("inf")), "most=inf"),
        (lambda: jb.Param("x", 1.0, "a", 2), "least='a'"),
        (lambda: jb.Param("x", 1.0, 2, 0), "least=2, most=0: the first should be below the second"),
        (lambda: jb.Param("x", 1.0, needs="fpu"), "needs='fpu': should be keys with their values"),
        (lambda: jb.rule("mine")(rule(params=jb.Param("x", 1))), "params should be a tuple of jb.Param"),
        (lambda: jb.rule("mine")(rule(params=("x",))), "params should be a tuple of jb.Param"),
        (lambda: jb.rule("mine")(rule(params=(jb.Param("_x", 1),))), "should be a word"),
        (lambda: jb.rule("mine")(rule(params=(jb.Param("spec", 1),))), 'parameter "spec": searches have a key'),
        (lambda: jb.rule("mine")(rule(params=(jb.Param("model_config", 1),))), "searches have a key"),
        (lambda: jb.rule("mine")(rule(params=(jb.Param("x", 1, needs={"no": 1}),))), 'needs "no", which is no key'),
        (lambda: jb.rule("mine")(typed(rule, x=list)(x=[])), 'rule "mine": mutable default'),
        (lambda: jb.rule("mine")(function), 'rule "mine": should be a class derived from jb.Rule'),
        (lambda: jb.rule(rule()), 'write @jb.rule("my_rule")'),
        (lambda: jb.player(player()), 'write @jb.player("my_player")'),
        (lambda: jb.player("mine")(function), "should be a class derived from jb.Player"),
        (lambda: jb.player("mine")(player()()), "should be a class derived from jb.Player"),
        (lambda: jb.player("mine")(type("Mine", (jb.Player,), {})), 'player "mine": define play'),
        (lambda: jb.player("mine")(typed(player, x=list)(x=[])), 'player "mine": mutable default'),
        (lambda: jb.player("mine")(typed(player, a=int, b=int)(a=1)), "non-default argument 'b'"),
        (lambda: jb.player("mine")(typed(player, a=int)(a="no")), "a: int = 'no': another type than it says"),
        (lambda: jb.player("mine")(player(__init__=lambda: None)), "__init__ cannot be called"),
        (lambda: jb.game(game()), 'write @jb.game("my_game")'),
        (lambda: jb.game("mine")(function), "should be a class derived from jb.Game"),
        (lambda: jb.game("go")(game()), 'game "go": choose another name; jubango has a game of this one'),
        (lambda: jb.game("mine", "what it is about")(game()), 'size "what it is about" must be like 9 or 9x13'),
        (lambda: jb.game("mine", size="5")(type("Mine", (jb.Game,), {})), 'game "mine": define current_player, init'),
        (lambda: jb.game("mine")(dataclasses.make_dataclass("Mine", [], bases=(Plain,))), "cannot be hashed"),
        (lambda: jb.game("mine", size="5")(Plain), "is for games with the fields width and height"),
        (lambda: jb.evaluator(function), 'write @jb.evaluator("my_evaluator")'),
        (lambda: jb.evaluator("uniform")(function), "jubango has an evaluator of this one"),
        (lambda: jb.evaluator("mine")(int), "is neither a function"),
        (lambda: jb.evaluator("mine")(lambda state: 0), "should take (game, state, legal, seed)"),
        (lambda: jb.evaluator("mine")(type("Mine", (jb.Evaluator,), {})), "evaluator Mine: define __call__"),
        (lambda: jb.evaluator("mine")(Weighty), "should be made without arguments"),
        (lambda: jb.evaluator("mine")(Unhashable), 'evaluator "Unhashable": cannot be hashed'),
    ],
)  # fmt: skip
def test_slips_are_said_in_one_line(slip, said):
    with pytest.raises(jb.UserError, match=re.escape(said)) as error:
        slip()
    assert "\n" not in str(error.value)
    assert not {"mine"} & {*RULES, *PRESETS, *KINDS, *EVALUATORS, *CATALOGUE}


class Plain(jb.Game):
    """No dataclass yet."""

    num_actions, max_plies, height, width = 2, 2, 1, 2
    init = step = legal_action_mask = current_player = is_terminal = returns = observe = stones = function  # type: ignore[assignment]


def test_a_game_that_cannot_be_made_from_its_spec():
    def check(self):
        if self.width > 6:
            raise ValueError("too wide")

    jb.game("mine", size="5")(typed(game, start=tuple)(start=(1, 2), __post_init__=check))
    with pytest.raises(jb.UserError, match='game "mine:7": cannot be made: ValueError: too wide'):
        jb.make_game("mine:7")
    with pytest.raises(jb.UserError, match="start: is a tuple, which cannot be written here"):
        jb.make_game("mine,start=3")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["match", "mine", "uct"], 'no bot is called "mine"'), (["bots", "mine"], 'no bot is called "mine"'),
        (["match", "uct:selection=mine", "uct"], "should be a selection rule"),
        (["match", "uct:evaluator=of_mine_own", "random", "--game", "tic_tac_toe", "--games", "2"], 'no evaluator is called "of_mine_own"'),
        (["match", "uct", "uct", "--game", "mine"], 'no game is called "mine"'),
    ],
)  # fmt: skip
def test_where_a_part_that_nobody_knows_may_be(tmp_path, monkeypatch, capsys, arguments, what):
    """One of a user's own: how a plug-in is loaded, and which were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "jubango_other_parts.py").touch()
    for plugins, loaded in ("", ""), ("jubango_other_parts", "; plug-ins loaded: jubango_other_parts"):
        monkeypatch.setenv("JUBANGO_PLUGINS", plugins)
        assert command(arguments) == 2
        error = capsys.readouterr().err
        assert what in error and f"{loaded}; one of your own is found by JUBANGO_PLUGINS=MODULE" in error
        assert error.count("\n") == 1


FAULTY = """import jubango as jb

@jb.evaluator("faulty")
def faulty(game, state, legal, seed):
    raise KeyError("nothing of the kind")
"""


@pytest.mark.full
def test_what_is_raised_in_a_plug_in_is_no_error_of_this_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "jubango_faulty.py").write_text(FAULTY)
    monkeypatch.setenv("JUBANGO_PLUGINS", "jubango_faulty")
    assert command(["match", "uct:evaluator=faulty", "random", "--game", "tic_tac_toe", "--games", "2"]) == 2
    assert "jubango_faulty.py:5: KeyError: 'nothing of the kind' (JUBANGO_TRACEBACK=1" in capsys.readouterr().err
