"""Programs that are made beforehand are those that are used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading

import jax
import pytest

from jubango.arena.games.pool import GamePool
from jubango.arena.games.warming import warming
from jubango.bots.config import bot_from_spec
from jubango.bots.interactive.interactive_search import InteractiveSearch
from jubango.bots.roster import make_players
from jubango.bots.run_bot import compile_for_one, run_bot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.compute import programs
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, prepare

SMALL = make_game("tic_tac_toe")
COUNTED = """
import sys
import jax
from jubango.arena.commands import run
from jubango.arena.text.preparing import programs
from jubango.sgf_games.compute.machine import claim
claim()
jax.config.update("jax_persistent_cache_min_compile_time_secs", float(sys.argv[1]))
programs()
try:
    run(sys.argv[2:])
finally:
    print("programs:", dict(programs()), file=sys.stderr)
"""
BOT = "uct:simulations=8"


def test_what_is_made():
    steps = warming([SMALL, make_game("go:5")], [BOT, "random", BOT], [20, 128, 20])
    assert [(step.game.name, step.bot.name, step.used_by) for step in steps] == [
        (game, bot, used_by)
        for game in ("mnk", "go")
        for bot, uses in (
            (BOT, ("20 games at once", "128 games at once", "gtp, play", "analyze")),
            ("random", ("20 games at once", "128 games at once")),
        )
        for used_by in uses
    ]


def test_by_default_the_strongest_and_uct():
    assert {step.bot.use for step in warming([make_game("hex:7")], [], [1])} == {"rave", "uct"}


def test_a_bot_of_which_nothing_is_compiled():
    with pytest.raises(UserError, match='bot "gnugo": is a program of its own'):
        warming([SMALL], ["gtp:command=gnugo,name=gnugo"], [1])


@pytest.mark.full
def test_afterwards_nothing_is_compiled(tmp_path):
    """A match, an engine and an analysis in processes of their own find all they need."""

    def run(arguments, typed="", seconds=0.6):
        """What is kept, and counted, are programs that take so many ``seconds`` to make, however busy the machine is."""
        found = subprocess.run(
            [sys.executable, "-c", COUNTED, str(seconds), *arguments.split()], input=typed, capture_output=True, text=True,
            cwd=tmp_path, timeout=600, env={**os.environ, "JUBANGO_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
        return found.stdout, re.search(r"programs: .*", found.stderr)[0], found.stderr

    out, made, said = run(f"warm tic_tac_toe --bot {BOT} --at-once 20 --format csv", seconds=0)
    assert out.splitlines()[0] == "game,bot,for,compiled,loaded,seconds"
    assert "compiled" in made
    assert re.search(r"cache: \d+ files, [0-9.]+ MB of 2,048", said)

    (tmp_path / "game.sgf").write_text("(;GM[4]FF[4]JG[tic_tac_toe]SZ[3];B[bb];W[aa])")
    for arguments, typed in (
        (f"match {BOT} random --game tic_tac_toe --games 20", ""),
        (f"analyze game.sgf --bot {BOT} --move 2", ""),
        (f"gtp --bot {BOT} --game tic_tac_toe", "genmove b\nquit\n"),
        (f"warm tic_tac_toe --bot {BOT} --at-once 20", ""),
    ):
        _, made, _ = run(arguments, typed)
        assert "loaded" in made
        assert "compiled" not in made, (arguments, made)


@pytest.fixture(scope="module")
def compiled():
    """(name, whether by the main thread) of every program that is compiled."""
    programs = []

    def note(event: str, _: float, **what: str) -> None:
        if event.endswith("backend_compile_duration"):
            programs.append((what.get("fun_name", ""), threading.current_thread() is threading.main_thread()))

    jax.monitoring.register_event_duration_secs_listener(note)  # for good: JAX 0.6.1 has no way back
    return programs


def test_programs_are_compiled_side_by_side_and_once(compiled):
    compiled.clear()
    GamePool(make_game("mnk:3x4,k=3"), [bot_from_spec(f"{BOT},reuse=true")], 40).close()
    for name in ("run_chunk", "keep", "step"):
        assert [in_main for program, in_main in compiled if name in program] == [False], name


def test_the_search_of_one_position_is_compiled_beside_the_rules_and_once(compiled):
    game, bot = make_game("mnk:3x5,k=3"), bot_from_spec(BOT)
    compiled.clear()
    with programs.compiling_aside() as aside:
        compile_for_one(game, bot, aside)
        prepare(game)
    run_bot(game, bot, [initial_state(game)], [1])
    InteractiveSearch(game, bot).close()
    assert [in_main for program, in_main in compiled if "run_chunk" in program] == [False, False]  # with room for more
    assert [in_main for program, in_main in compiled if "step" in program] == [True]


def test_what_is_wrong_with_a_bot_waits_for_nobody(monkeypatch):
    """What was to be compiled for others is not any more, but for what is being compiled."""
    waiting, compiled, may_go_on = [], [], threading.Event()

    def ahead(self, aside, *args):
        waiting.append(aside.submit(lambda: compiled.append(may_go_on.wait(60))))

    def cannot(aside):
        raise UserError("cannot be")

    monkeypatch.setattr(programs.Compiled, "ahead", ahead)
    bots = [bot_from_spec(f"{BOT},name={name},solver={solver}") for name, solver in (("a", "true"), ("b", "false"))]
    with pytest.raises(UserError, match="cannot be"):
        make_players(make_game("mnk:2x4,k=2"), bots, 40, beside=cannot)
    assert len(waiting) > 2
    assert sum(own.cancelled() for own in waiting) == len(waiting) - 2, "two were being compiled"
    may_go_on.set()


def test_where_nothing_can_be_kept_nothing_is_made(tmp_path):
    (tmp_path / "xla").write_text("no folder")
    found = subprocess.run(
        [sys.executable, "-m", "jubango", "warm", "tic_tac_toe", "--bot", BOT], capture_output=True, text=True,
        env={**os.environ, "JUBANGO_CACHE": str(tmp_path)},
    )  # fmt: skip
    assert found.returncode == 2
    *_, last = found.stderr.splitlines()
    assert last.startswith("jubango: warm: there is no folder to keep programs in"), found.stderr
    assert not found.stdout
