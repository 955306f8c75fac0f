"""Programs that were traced before are read from the disk, and nothing else is."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from damage import damaged_caches

import jubango as jb
from jubango.bots.composition import search_for
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.evaluator import Uniform
from jubango.bots.evaluators.registry import as_evaluator
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.search.host.search_program import program
from jubango.bots.search.tree.tree import LONGEST_KEPT_LINE
from jubango.sgf_games.base.errors import SetupWarning
from jubango.sgf_games.compute import traced
from jubango.sgf_games.compute.machine import devices
from jubango.sgf_games.compute.programs import jit
from jubango.sgf_games.compute.traced import identity
from jubango.sgf_games.rules import compiled
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import View, rules

pytestmark = pytest.mark.full


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path))
    return tmp_path / "traced"


class Counted:
    """A function and how often it has been traced."""

    def __init__(self):
        self.times = 0

    def __call__(self, words, x):
        self.times += 1
        view = View(x > 0, x.astype(jnp.int32), x + 1, x * words["two"])
        return {"view": view, "others": [None, (x - 1,)]}

    def program(self, *parts):
        return jit(self, parts=("counted", *parts), donate_argnums=(1,))


def call(program, number=3):
    return jax.device_get(program({"two": jnp.float32(2)}, jnp.arange(number, dtype=jnp.float32)))


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_was_traced_is_not_traced_again(folder):
    first, second = Counted(), Counted()
    found = call(first.program(make_game("go:9")))
    assert first.times == 1
    assert len(files(folder)) == 1
    again = call(second.program(make_game("go:9")))
    assert second.times == 0
    assert isinstance(again["view"], View)
    assert jax.tree.structure(again) == jax.tree.structure(found)
    assert jax.tree.all(jax.tree.map(np.array_equal, again, found))
    assert again["view"].returns.tolist() == [0, 2, 4]


def test_others_are_traced(folder, monkeypatch):
    """Of other parts, of other shapes, by other code, under other settings."""
    call(Counted().program(make_game("go:9")))

    def anew(number, *parts):
        function = Counted()
        call(function.program(*parts), number)
        return function.times

    assert anew(3, make_game("go:9")) == 0
    assert anew(4, make_game("go:9")) == 1
    assert anew(3, make_game("go:9,ko=positional")) == 1
    assert anew(3, "another", make_game("go:9")) == 1
    with monkeypatch.context() as changed:
        changed.setattr(traced, "_code", lambda floors: "other")
        assert anew(3, make_game("go:9")) == 1
    with jax.numpy_dtype_promotion("strict"):
        assert anew(3, make_game("go:9")) == 1
    monkeypatch.setenv("XLA_FLAGS", "--other")
    assert anew(3, make_game("go:9")) == 1


def test_a_damaged_file_is_made_again(folder):
    call(Counted().program())
    (path,) = files(folder)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        path.write_bytes(damaged)
        function = Counted()
        assert call(function.program())["view"].returns.tolist() == [0, 2, 4]
        assert function.times == 1
        assert path.read_bytes() == whole


def test_files_that_are_damaged_are_not_believed(tmp_path):
    """`python tests/tools/damage.py caches 10000` tries more of them."""
    ends = damaged_caches(40, 3, tmp_path, 20)
    assert ends["traced: refused"] > 9 and ends["compiled: refused"] > 9


@pytest.mark.parametrize("make", [lambda path: os.chown(path, 12345, -1), lambda path: path.chmod(0o666)])
def test_what_somebody_else_may_have_put_there_is_not_run(folder, make):
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    call(Counted().program())
    (path,) = files(folder)
    make(path)
    function = Counted()
    call(function.program())
    assert function.times == 1
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (0, 0o600), "it has been made again"


def test_without_a_folder_it_is_traced_every_time(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUBANGO_CACHE", str(tmp_path / "file"))
    with pytest.warns(SetupWarning, match=r"file: cannot be made \(File exists\); name a folder of your own"):
        call(Counted().program())
    for _ in range(2):  # which is said once
        function = Counted()
        call(function.program())
        assert function.times == 1


def test_what_cannot_be_exported_runs_all_the_same(folder):
    def function(x):
        return jax.pure_callback(lambda x: np.asarray(x) + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    found = [jit(function, parts=("calls back",))(jnp.arange(3)).tolist() for _ in range(2)]
    assert found == [[1, 2, 3]] * 2
    assert not files(folder)
    with pytest.raises(ZeroDivisionError):
        jit(lambda x: x + 1 // 0, parts=("wrong",))(jnp.arange(3))


def test_code_that_has_changed_since_the_start_is_nobody_s(folder, tmp_path, monkeypatch):
    new = tmp_path / "edited.py"
    new.touch()
    for sources in ((new,), (tmp_path / "gone.py",), ()):
        with monkeypatch.context() as changed:
            changed.setattr(traced, "_sources", lambda floors, sources=sources: sources)
            changed.setattr(traced, "_code", lambda floors, known=bool(sources): "code" if known else None)
            function = Counted()
            assert call(function.program())["view"].returns.tolist() == [0, 2, 4]
            assert not folder.exists()
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        call(Counted().program())
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert not folder.exists()


def test_old_code_s_programs_are_thrown_away_and_nothing_else(folder):
    """Whatever lies in the folder: only files that are named and begin as those of the cache, and their folders."""
    call(Counted().program())
    (own,) = folder.iterdir()
    (program,) = own.iterdir()

    def made(name, *files):
        for file, content in files:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / file).write_bytes(content)
        return folder / name

    ours = program.name, program.read_bytes()
    half = f"{program.name}.abc_1.new", traced.MARK + b"half"
    begun = f"{program.name}.abc_2.new", b""
    theirs = "thesis.txt", b"years of work"
    old = made("0123456789abcdef", ours, half, begun)
    new = made("0123456789abcde0", ours)
    kept = [
        made("my-photos", ours, theirs),
        made("0123456789abcde1", theirs),
        made("0123456789abcde2", (program.name, b"named as ours")),
        made("0123456789abcde3", (f"{program.name}.txt", program.read_bytes())),
    ]
    empty = folder / "0123456789abcde8"
    empty.mkdir()
    mixed = made("0123456789abcde4", ours, theirs)
    elsewhere = made("elsewhere", ours)
    link = folder / "0123456789abcde5"
    link.symlink_to(elsewhere, target_is_directory=True)
    file = folder / "0123456789abcde6"
    file.write_bytes(program.read_bytes())
    linked = folder / "0123456789abcde7"
    linked.mkdir()
    (linked / program.name).symlink_to(program)
    before = {path: sorted(path.iterdir()) for path in kept}
    ages = folder.stat().st_mtime - 40 * 86_400
    for path in (old, empty, *kept, mixed, elsewhere, file, linked):
        os.utime(path, (ages, ages))
    os.utime(link, (ages, ages), follow_symlinks=False)
    call(Counted().program("another"))
    assert not old.exists()
    assert new.exists()
    assert {path: sorted(path.iterdir()) for path in kept} == before
    assert [path.name for path in mixed.iterdir()] == ["thesis.txt"]
    assert empty.exists(), "nobody knows whose it is"
    assert link.is_symlink() and file.exists() and (linked / program.name).is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == [program.name]


def test_who_somebody_is():
    @dataclasses.dataclass(frozen=True)
    class Foreign:
        number: int = 1

    class Own(tuple):
        __slots__ = ()

    class Number(int):
        pass

    game = make_game("go:9")
    assert identity(("a", 1, True, None, game)) == identity(("a", 1, True, None, make_game("go:9")))
    different = [1, 1.0, True, "1", (1,), [1], None, game, make_game("go:7"), Uniform(), (game, Uniform())]
    assert len({identity(one) for one in different}) == len(different)
    for foreign in (
        make_game("pgx:connect_four"),
        Own((1,)),
        Number(1),
        Foreign(),
        (1, Foreign()),
        np.zeros(2),
        len,
        as_evaluator(lambda game, state, legal, seed: 0),
    ):
        assert identity(foreign) is None
    search = search_for(make_game("tic_tac_toe"), [bot_from_spec("uct:simulations=10")], Rollout())
    assert identity(search) is not None
    assert identity(dataclasses.replace(search, capacity=11)) != identity(search)
    own = dataclasses.replace(search, evaluator=as_evaluator(lambda game, state, legal, seed: 0))
    assert identity(own) is None


SEARCH = """
import sys
import jubango as jb
from jubango.bots.search import simulate
if {again}:
    def never(*args):
        raise AssertionError("traced again")
    simulate.simulate = never
match = jb.match("uct:simulations=30", "{bot}:simulations=10", "{game}", 4, seed=3)
print(match.games[["game_id", "moves", "result"]].to_csv())
"""


@pytest.mark.parametrize(("game", "bot"), [("tic_tac_toe", "alphazero"), ("go:3", "uct")])
def test_another_process_plays_the_same_games_without_tracing(tmp_path, game, bot):
    environment = os.environ | {"JUBANGO_CACHE": str(tmp_path)}

    def played(again):
        return subprocess.run(
            [sys.executable, "-c", SEARCH.format(again=again, game=game, bot=bot)], env=environment, capture_output=True,
            text=True, check=True,
        ).stdout  # fmt: skip

    assert len(played(False).splitlines()) >= 5
    assert played(False) == played(True)


def test_states_are_free_to_go_to_any_device(folder):
    """Whether a step was traced here or is read from the disk: what runs once with one kind and once with the other
    would be compiled twice, the second time inside a move."""
    game = make_game("go:4x3")
    for _ in range(2):
        compiled._rules.cache_clear()
        state = rules(game).step(game.init(), 3)
        assert not any(x.committed for x in jax.tree.leaves(state))
        assert abs(game.stones(state)).sum() == 1
    assert files(folder)


def test_trees_are_written_over(folder):
    """The arrays that a program is given to write over are gone afterwards, whether it was traced here or not."""
    search = search_for(make_game("tic_tac_toe"), [bot_from_spec("uct:simulations=23")], Rollout())
    compiled = program(search, 64)
    trees = compiled.idle()
    assert len(trees.done.addressable_shards) == min(2, len(devices()))
    mask, lines = np.zeros(compiled.trees, bool), np.full((compiled.trees, LONGEST_KEPT_LINE), -1, np.int32)
    after, _ = compiled.keep(trees, mask, lines)
    assert trees.tree.edges.is_deleted()
    assert after.done.sharding == compiled.sharding


@pytest.mark.parametrize("spec", ["go:9", "go:5x7", "gomoku:9", "connect_four", "tic_tac_toe"])
def test_the_shape_of_an_observation(spec):
    game = make_game(spec)
    assert game.observe(game.init()).shape == game.observation_shape
    assert rules(game).view(game.init()).legal.shape == (game.num_actions,)


def test_code_of_the_floors_above_decides_nothing(folder, monkeypatch):
    """What is edited there leaves the programs of searches as they are."""
    asked, path_of = [], traced._path
    monkeypatch.setattr(traced, "_path", lambda program, floors: asked.append(floors) or path_of(program, floors))
    search = jb.Search(make_game("mnk:4,k=3"), jb.Ucb1(), jb.Rollout(), capacity=8)
    jb.run(search, search.game.init(), simulations=4)
    below = {"jubango.sgf_games", "jubango.bots"}
    assert asked
    assert all(floors <= below for floors in asked)
    assert any("jubango.bots" in floors for floors in asked)
    assert traced._needed(frozenset(["jubango.bots"])) == below
    assert traced._needed(frozenset(["jubango.sgf_games"])) == {"jubango.sgf_games"}
    assert traced._deciding(Counted(), "'counted'") == {"jubango"}, "of others nobody knows what they call"


def test_what_is_kept_names_no_lines_of_code_and_the_setting_comes_back(folder):
    before = jax.config.jax_traceback_in_locations_limit
    circumstances = traced._circumstances()
    with traced.tracing(), traced.tracing():
        assert jax.config.jax_traceback_in_locations_limit == 0
        assert traced._circumstances() == circumstances  # another thread finds its programs all the same
    assert jax.config.jax_traceback_in_locations_limit == before
    call(Counted().program(1))
    assert jax.config.jax_traceback_in_locations_limit == before
    (kept,) = traced_files(folder)
    assert b"test_traced" not in kept


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_rests_meanwhile(collecting):
    if not collecting:
        gc.disable()
    try:
        with pytest.raises(KeyError), traced.tracing():
            with traced.tracing():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == collecting
    finally:
        gc.enable()


def traced_files(folder):
    """The programs in it, as they are handed to the compiler."""
    found = [traced._read(path) for path in folder.rglob("*") if path.is_file()]
    return [exported.mlir_module_serialized for exported, _ in found]
