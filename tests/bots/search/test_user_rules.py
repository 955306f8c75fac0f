"""A rule of one's own: one file, and it plays, is tuned, analyses and speaks GTP; what is wrong with one is said."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gtp_talk import Talk
from tiny import Table, Tiny, random_tree

import jubango as jb
from jubango.arena.commands import run as command
from jubango.arena.tuning.plan import make_tune_plan
from jubango.bots.composition import composition
from jubango.bots.config import PRESETS, bot_from_spec
from jubango.bots.run_bot import run_bot
from jubango.bots.search.packing import (
    DeviceSelfPlay,
    SearchRequest,
    nothing_prepared,
    pack,
    read_script,
    scripts_of,
    unpack,
)
from jubango.bots.search.rules.params import TracedParams
from jubango.bots.search.rules.registry import RULES
from jubango.bots.search.rules.rule import Edges
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state

PAGE = Path(__file__).parents[3] / "docs" / "extend.md"
FILE = re.search(
    r"^import jax.numpy as jnp\n\nimport jubango as jb\n\n\n@jb.rule.*?(?=^search =)", PAGE.read_text(), re.M | re.S
)


@pytest.fixture(autouse=True)
def _registries():
    """As they were before."""
    before = [(registry, dict(registry)) for registry in (RULES, PRESETS)]
    yield
    for registry, own in before:
        registry.clear()
        registry.update(own)


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """The page's rule as a plug-in of the command."""
    assert FILE and FILE[0].count("\n") < 40
    (tmp_path / "my_rules.py").write_text(FILE[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])
    monkeypatch.setenv("JUBANGO_PLUGINS", "my_rules")
    sys.modules.pop("my_rules", None)
    importlib.invalidate_caches()
    yield importlib.import_module("my_rules").UcbV
    sys.modules.pop("my_rules", None)


def traced(**own):
    one = jnp.zeros(1)
    return TracedParams(one, one, one, one, {name: jnp.array([value]) for name, value in own.items()}, ())


def test_the_page_s_rule_by_hand(plugged):
    """Three visits with two wins and one with a loss, N = 5, zeta = 1/2, c = 1/4. 2/3 + sqrt(2 (2/9) e) + 3/4 e with
    e = ln 5 / 6; and 0 + 3/4 e with e = ln 5 / 2; the unvisited one is first."""
    edges = Edges(jnp.array([[3, 1, 0]]), jnp.array([[1.0, -1.0, 0.0]]), jnp.ones((1, 3)) / 3, jnp.zeros(1))
    found = np.asarray(plugged()(edges, traced(zeta=0.5, c=0.25)))[0]
    e = np.log(5) / 6
    assert found[:2] == pytest.approx([2 / 3 + np.sqrt(4 / 9 * e) + 0.75 * e, 0.75 * 3 * e], rel=1e-5)
    assert found[2] > 1e5


@pytest.mark.full
def test_it_plays_in_a_tournament(plugged, capsys):
    bots = ["ucbv:zeta=0.3,simulations=24", "uct:selection=ucbv,simulations=24"]
    assert command(["match", *bots, "--game", "tic_tac_toe", "--games", "4", "--out", "run", "--format", "json"]) == 0
    assert {*jb.open_run("run").games["black"]} == {*bots}
    tuned = jb.tune(
        "tic_tac_toe", "ucbv:simulations=8", {"zeta": (0.1, 2.0, "log")}, games=8, games_per_round=8, confirm=""
    )
    assert 0.1 <= tuned.bot.zeta <= 2.0


def test_its_keys_are_listed_and_checked(plugged, capsys):
    assert command(["bots", "--format", "csv"]) == 0
    assert "ucbv,search,selection=ucbv,UCB-V: explores less" in capsys.readouterr().out.replace('"', "")
    assert command(["bots", "ucbv", "--format", "csv"]) == 0
    listed = capsys.readouterr().out
    assert "zeta,1.2,a number,exploration" in listed and "equivalence" not in listed
    for spec, message in {
        "ucbv:zeta=-1": "zeta=-1: should be greater than or equal to 0", "ucbv:zeta=x": "zeta=x: should be a valid number",
        "ucbv:zeat=1": 'did you mean "zeta"?', "uct:selection=ucbw": 'did you mean "ucbv"?',
        "uct:zeta=1": 'no key "zeta"; it is one of selection=ucbv',
    }.items():  # fmt: skip
        assert command(["match", spec, "uct", "--game", "tic_tac_toe"]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_defaults_of_its_own_and_one_program(plugged):
    """Its numbers are no reason for another program; the other bot's keys stay, but its rule's."""
    game = make_game("tic_tac_toe")
    bots = [bot_from_spec(spec) for spec in ("ucbv", "ucbv:zeta=0.3,c=2", "uct:selection=ucbv")]
    assert [(bot.zeta, bot.c) for bot in bots] == [(1.2, 1.0), (0.3, 2.0), (1.2, 1.0)]
    assert len({composition(game, bot) for bot in bots}) == 1
    zero = bot_from_spec("alphazero:selection=ucbv")
    assert (zero.c, zero.evaluator, zero.spec) == (1.0, "network", "alphazero:selection=ucbv")
    assert bot_from_spec(bots[1].spec.replace("ucbv:", "ucbv:simulations=9,")).spec == "ucbv:simulations=9,c=2,zeta=0.3"


def test_it_is_a_setting_of_tunings(plugged):
    plan = make_tune_plan("tic_tac_toe", "ucbv", {"zeta": (0.1, 2.0, "log")}, {})
    assert plan.bot([0.7]).zeta == 0.7
    against = make_tune_plan("tic_tac_toe", "ucbv", {"zeta": (0.1, 2.0)}, {"opponents": ["uct", "ucbv:zeta=1"]})
    assert [number for _, number in against.known()] == [1], "UCT has no zeta"
    with pytest.raises(UserError, match='setting "zeta": changes nothing without selection=ucbv'):
        make_tune_plan("tic_tac_toe", "uct", {"zeta": (0.1, 2.0)}, {})
    with pytest.raises(UserError, match=r"zeta=-1\.0: should be greater than or equal to 0"):
        make_tune_plan("tic_tac_toe", "ucbv", {"zeta": (-1.0, 2.0)}, {})
    with pytest.raises(UserError, match="changes nothing in gumbel"):
        make_tune_plan("tic_tac_toe", "gumbel", {"c": (0.1, 2.0)}, {})


@pytest.mark.full
def test_it_speaks_gtp(plugged):
    talk = Talk("go:3", "ucbv:simulations=16,zeta=0.4,leaves=1,ensemble=1")
    assert re.fullmatch(r"= (pass|[A-C][1-3])", talk.ask("genmove b"))
    talk.end()


FIVE = "e1", "e2", "e3", "e4", "e5"


@dataclass(frozen=True)
class Five(jb.Rule):
    """The action with the largest of five numbers, visited until another has fewer visits."""

    params = tuple(jb.Param(name, 0.5 * k, -10, 10, "of an action") for k, name in enumerate(FIVE))

    def __call__(self, edges, params):
        liked = jnp.stack([getattr(params, name) for name in FIVE[: edges.visits.shape[1]]], axis=-1)
        return liked - edges.visits


def test_five_numbers_arrive_as_they_were_given():
    """The fifth was written over the noise, and the noise over the first legal actions."""
    game = Tiny()
    search = jb.Search(game, Five(), Table(), 8)
    given = [jb.SearchParams(7, depth=3, noise=0.25, e1=1.5, e2=-2.0, e5=9.0), jb.SearchParams(5, e4=0.125)]
    legal = np.array([[True, False, True, True], [False, True, True, False]])
    orders = [SearchRequest(i, legal[i], own, 11 + i) for i, own in enumerate(given)]
    told = unpack(search, jnp.asarray(pack(search, orders, np.zeros(0, int), 2, 1)), nothing_prepared(search, 2))
    wanted = {"e1": [1.5, 0.0], "e2": [-2.0, 0.5], "e3": [1.0, 1.0], "e4": [1.5, 0.125], "e5": [9.0, 2.0]}
    assert {name: np.asarray(x).tolist() for name, x in told.params.own.items()} == wanted
    assert np.asarray(told.params.noise).tolist() == [0.25, 0.0]
    assert np.asarray(told.params.depth).tolist() == [3, 2**30]
    assert (np.asarray(told.legal) == legal).all()
    row = scripts_of(search, [DeviceSelfPlay((given[0], given[1]), lambda k: k)])
    script = read_script(search, jnp.asarray(row))
    assert np.asarray(script.real)[0].tolist() == list(wanted.values())
    assert np.asarray(script.seeds)[0, :3].tolist() == [0, 1, 2]


def test_five_numbers_decide_a_search():
    """Each action as often as its number is larger; from the host, and inside of a program."""
    state, _ = random_tree(np.random.default_rng(1))
    search = jb.Search(Tiny(), Five(), Table(), 32)
    first = jb.run(search, state, simulations=12, e1=9, e2=-9, e3=-9, e4=-9)
    assert first.visits.argmax() == np.flatnonzero(first.priors)[0]
    numbers = {"e1": 0.0, "e2": 2.0, "e3": jnp.array([4.0]), "e4": 1.0}
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    inside = jax.jit(lambda: search((), states, jax.random.key(0), simulations=12, **numbers))()
    outside = jb.run(search, state, simulations=12, e1=0, e2=2, e3=4, e4=1)
    assert np.asarray(inside.visits)[0].tolist() == outside.visits.tolist()
    with pytest.raises(UserError, match="e6: Five has no number of this name; known: e1, e2"):
        search((), states, jax.random.key(0), e6=1.0)
    with pytest.raises(UserError, match="e6: Five has no number of this name"):
        jb.run(search, state, simulations=12, e6=1.0)


class Lots(NamedTuple):
    draw: jax.Array


@pytest.mark.full
def test_a_rule_draws_its_own_numbers_at_the_root():
    """By the tree's seed, as large as it is asked for; an analysis leaves them out."""

    @jb.rule("lots")
    class Lot(jb.Rule):
        """A draw decides."""

        order: Literal["up", "down"] = "up"
        params = (jb.Param("size", 5.0, 0, 100, "of the draw", random=True), jb.Param("order", about="of the draw"))

        def __call__(self, edges, params):
            return -edges.visits.astype(jnp.float32)

        def root(self, edges, params):
            sign = 1 if self.order == "up" else -1
            return self(edges, params) + sign * params.prepared.draw

        def prepare_root(self, dice, params, capacity):
            return Lots(params.size[..., None] * dice.gumbel())

    game = make_game("tic_tac_toe")
    search = jb.Search(game, Lot(), jb.Uniform(), 64)
    state = initial_state(game)
    wanted = 5 * np.random.default_rng([7, 2]).gumbel(size=9)
    found = jb.run_many(search, [state] * 3, seed=[7, 7, 8])
    assert found[0].visits.tolist() == found[1].visits.tolist() != found[2].visits.tolist()
    assert found[0].visits.argmax() == wanted.argmax()
    assert np.ptp(jb.run(search, state, simulations=63, size=0.0, seed=7).visits) == 0
    down = jb.run(jb.Search(game, Lot("down"), jb.Uniform(), 64), state, seed=7)
    assert down.visits.argmax() == wanted.argmin()
    bot = bot_from_spec("lots:order=down,simulations=63,leaves=1,ensemble=1")
    (calm,) = run_bot(game, bot, [state], seeds=[7])
    assert np.ptp(calm.visits) == 0
    out = search((), jax.tree.map(lambda x: jnp.stack([x] * 2), state), jax.random.key(3), size=jnp.array([0.0, 9.0]))
    assert np.ptp(np.asarray(out.visits)[0]) <= 1 < np.ptp(np.asarray(out.visits)[1])


@pytest.mark.parametrize(
    ("name", "param", "message"),
    [
        ("uct", None, "jubango has a bot or a rule of this name"), ("gumbel", None, "of this name"), ("a b", None, "choose another name"),
        ("mine", jb.Param("x", 5.0, 0, 1), 'rule Mine: parameter "x": default=5.0: should be a number from 0 to 1'),
        ("mine", jb.Param("x"), "default=None"), ("mine", jb.Param("x y", 1.0), "should be a word"),
        ("mine", jb.Param("simulations", 1.0), "every search has something of this name"), ("mine", jb.Param("index", 1.0), "every search"),
        ("mine", jb.Param("width", 1.0), "searches have a key of this name"), ("mine", jb.Param("seeds", 1.0), "searches have a key"),
        ("mine", jb.Param("x", 1, 0, 2**30, whole=True), "whole numbers up to 16,777,216"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_rule_is_said(name, param, message):
    class Mine(jb.Rule):
        params = (param,) if param else ()

        def __call__(self, edges, params):
            return edges.prior

    with pytest.raises(UserError, match=re.escape(message)) as error:
        jb.rule(name)(Mine)
    assert "\n" not in str(error.value)
    assert name in ("uct", "gumbel") or name not in RULES


def test_a_rule_may_change_the_prior():
    """In a search as in its own scores, and it says what it gives."""

    @jb.rule("mine")
    class Mine(jb.Puct):
        def prior(self, edges, params):
            return jnp.where(jnp.arange(9) == 4, 50.0, edges.prior)

    state = jb.position("tic_tac_toe").state
    assert jb.run(jb.Search("tic_tac_toe", Mine(), jb.Uniform(), 64), state, c=50.0).visits.argmax() == 4

    @jb.rule("mine")
    class Short(jb.Puct):
        def prior(self, edges, params):
            return edges.prior[:, 1:]

    with pytest.raises(UserError, match=r'rule "mine": prior gives an array of shape \(1, 8\), not \(1, 9\)'):
        jb.run(jb.Search("tic_tac_toe", Short(), jb.Uniform(), 8), state)

    @dataclass(frozen=True)
    class Field(jb.Puct):
        prior: bool = False  # type: ignore[assignment]

    with pytest.raises(UserError, match="Field: prior is a method of rules, no field"):
        jb.Search("tic_tac_toe", Field(), jb.Uniform(), 8)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"c": -1}, "c=-1: should be from 0 to 1000"), ({"c": 1e9}, "c=1000000000.0"), ({"noise": 5}, "noise=5: should be from 0 to 1"),
        ({"alpha": -1}, "alpha=-1"), ({"temperature": -0.5}, "temperature=-0.5: should be from 0 to 1000"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_said(own, message):
    state, search = jb.position("tic_tac_toe").state, jb.Search("tic_tac_toe", jb.Puct(), jb.Uniform(), 8)
    for call in (lambda: jb.run(search, state, **own), lambda: jb.run_many(search, [state], **own)):
        with pytest.raises(UserError, match=re.escape(message)):
            call()
    stacked = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    with pytest.raises(UserError, match=re.escape(message)):
        search((), stacked, jax.random.key(0), **own)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda edges, params: edges.q + params["x"], r'rule "mine": raised TypeError: .*\(test_user_rules\.py:\d+\)'),
        (lambda edges, params: edges.visits.sum(axis=-1), r'rule "mine": __call__ gives an array of shape \(1,\), not \(1, 9\)'),
    ],
)  # fmt: skip
def test_a_rule_that_fails_is_named(score, message):
    @jb.rule("mine")
    class Mine(jb.Rule):
        params = (jb.Param("x", 1.0, 0, 10),)

        def __call__(self, edges, params):
            return score(edges, params)

    edges = Edges(*[jnp.ones((1, 9))] * 3, jnp.zeros(1))
    with pytest.raises(UserError, match=message) as error:
        Mine()(edges, traced(x=1.0))
    assert "\n" not in str(error.value)


def test_no_rule_at_all():
    with pytest.raises(UserError, match=r"should be a class derived from jb\.Rule"):
        jb.rule("mine")(int)
    with pytest.raises(UserError, match="define __call__"):
        jb.rule("mine")(type("Mine", (jb.Rule,), {}))


def test_what_was_written_before():
    """jb.Numbers by position, and a rule with nothing but a constant."""
    with pytest.warns(DeprecationWarning, match=r"write fpu_reduction=0\.2, depth=3"):
        old = jb.SearchParams(48, 1.3, 0.2, 3)
    assert old == jb.SearchParams(48, 1.3, fpu_reduction=0.2, depth=3) == old._replace(depth=3)
    with pytest.warns(DeprecationWarning, match="usual_c is deprecated"):

        @dataclass(frozen=True)
        class Old(jb.Rule):
            usual_c = 3.0

            def __call__(self, edges, settings):
                return edges.q + settings.c[:, None] * edges.prior / (1 + edges.visits)

    state, _ = random_tree(np.random.default_rng(2))
    first, second = (
        jb.run(jb.Search(Tiny(), kind, Table(), 40), state, c=c) for kind, c in ((Old(), None), (jb.AlphaGo(), 3.0))
    )
    assert first.visits.tolist() == second.visits.tolist()
