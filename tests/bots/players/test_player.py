"""Players in plain Python: one position in, one move out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from gtp_talk import Talk

import jubango as jb
from jubango.arena.commands import run as run_command
from jubango.arena.runs.play import Interrupted, play_plan
from jubango.bots.config import Bot
from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.rules.compiled import initial_state, rules, view_of

ROOT = Path(__file__).parents[3]


def register() -> type[jb.Player]:
    @jb.player("dice")
    class Dice(jb.Player):
        """Any move, from the left where it is told to."""

        lefty: bool = False

        def play(self, position: jb.PositionToPlay) -> str:
            return position.legal_moves[0] if self.lefty else position.random.choice(position.legal_moves)

    return Dice


class Does(jb.Player):
    """What it is told to, at its second move."""

    def __init__(self, act):
        self.act = act
        self.ends = []

    def start_game(self, game, player):
        self.player, self.played = player, 0

    def play(self, position):
        assert position.player == self.player
        assert self.played == len(position.moves) // 2, "every game has its own"
        self.played += 1
        return position.legal_actions[0] if self.played != 2 else self.act(position)

    def end_game(self, result, moves):
        self.ends.append((self.player, result, len(moves)))


def frame(run):
    return run.games.sort_values("game_id")[["game_id", "moves", "result", "reason"]].reset_index(drop=True)


def test_a_player_is_a_bot_however_it_is_named():
    cls = register()
    runs = [jb.match(bot, "uct:simulations=4", "tic_tac_toe", games=4) for bot in (cls(), cls, "dice", Bot("dice"))]
    assert all(frame(run).equals(frame(runs[0])) for run in runs)
    assert set(runs[0].games["reason"]) <= {"line", "full"}
    lefty = [jb.match(bot, "random", "tic_tac_toe", games=2) for bot in (cls(lefty=True), "dice:lefty=true")]
    assert frame(lefty[0]).equals(frame(lefty[1]))
    assert lefty[0].plan.bots[0].name == "dice:lefty=true"
    assert not frame(lefty[0]).equals(frame(jb.match("dice", "random", "tic_tac_toe", games=2)))


@pytest.mark.parametrize(
    "keys",
    [{"format": "round-robin"}, {"format": "gauntlet"}, {"format": "swiss", "rounds": 1}, {"format": "knockout"}, {"format": "best", "indifference": 200}],
    ids=lambda keys: keys["format"],
)  # fmt: skip
def test_every_format_has_players_in_it(keys):
    cls = register()
    games = {} if keys["format"] == "best" else {"games": 2}
    run = jb.tournament("tic_tac_toe", [cls(), cls(lefty=True), "random"], **games, **keys)
    assert run.missing == 0
    assert not run.failures
    assert len(run.games) >= 2
    assert {"dice", "dice:lefty=true", "random"} >= {*run.games["black"], *run.games["white"]}


def test_a_test_of_players_ends_where_it_decides():
    register()
    run = jb.match("minimax:depth=2", "dice", "tic_tac_toe", sprt="0,400")
    assert run.sprt is not None
    assert run.decided


def test_a_run_goes_on_where_it_stopped(tmp_path):
    cls = register()
    whole = jb.tournament("connect_four", [cls(), "random"], games=20, out=tmp_path / "whole")

    def stop(run):
        if len(run.results) >= 3:
            raise KeyboardInterrupt

    plan = whole.plan
    with pytest.raises(Interrupted):
        play_plan(plan, tmp_path / "half", on_progress=stop)
    half = jb.tournament("connect_four", [cls(), "random"], games=20, out=tmp_path / "half")
    assert half.missing == 0
    assert frame(half).equals(frame(whole))
    with pytest.raises(UserError, match=r'bot "dice" = dice, not dice:lefty=true'):
        lefty = cls(lefty=True)
        lefty.name = "dice"
        jb.tournament("connect_four", [lefty, "random"], games=20, out=tmp_path / "half")
    assert len(jb.open_run(tmp_path / "half").games) == 20


def raises(position):
    raise ValueError("no\nidea")


@pytest.mark.parametrize(
    ("act", "reason", "detail"),
    [
        (raises, "crash", "raised ValueError: no idea (test_player.py:"), (lambda position: sys.exit(3), "crash", "raised SystemExit: 3"),
        (lambda position: None, "illegal", "played None, which is no move of"), (lambda position: "Z9", "illegal", "played 'Z9', which is no move"),
        (lambda position: position.actions[0], "illegal", "which is illegal"), (lambda position: True, "illegal", "played True"),
        (lambda position: "x" * 9999, "illegal", "xxx..."), (lambda position: 99, "illegal", "played 99"), (lambda position: "resign", "resign", ""),
    ],
)  # fmt: skip
def test_a_failure_costs_the_game_and_has_its_name(act, reason, detail):
    player = Does(act)
    run = jb.match(player, "random", "tic_tac_toe", games=2)
    assert set(run.games["reason"]) == {reason}
    assert all(detail in said for said in run.games["detail"])
    assert not any("\n" in said for said in run.games["detail"])
    letter = "R" if reason == "resign" else "F"
    assert sorted(run.games["result"]) == [f"B+{letter}", f"W+{letter}"]
    assert run.failures == ({"Does": {reason: 2}} if reason != "resign" else {})
    assert sorted(player.ends) == [(0, f"W+{letter}", 2), (1, f"B+{letter}", 3)]


def test_every_move_may_be_a_text_or_a_number_of_any_kind():
    player = Does(lambda position: np.int64(position.legal_actions[-1]))
    run = jb.match(player, "random", "gomoku:4,k=3", games=6)
    assert not run.failures
    assert len(player.ends) == 6


def test_what_is_seen_of_a_position():
    seen: list[jb.PositionToPlay] = []
    player = Does(lambda position: seen.append(position) or position.legal_moves[0])
    jb.match(player, "random", "connect_four:4x3,k=3", games=2)
    for position in seen:
        assert position.game.spec == "connect_four:4x3,k=3"
        assert position.seconds is None
        assert position.clock is None
        state = initial_state(position.game)
        for move in position.moves:
            state = rules(position.game).step(state, position.game.parse_action(move))
        assert np.array_equal(position.game.stones(state), position.stones)
        assert np.array_equal(view_of(position.game, [state]).legal[0].nonzero()[0], position.legal_actions)
        assert position.board.count("X") == (len(position.moves) + 1) // 2
        assert len(position.board.splitlines()) == 3
        assert str(position).endswith(f"{'XO'[position.player]} to move")
        assert position.legal_moves == tuple("ABCD"[action] for action in position.legal_actions)
    assert {position.player for position in seen} == {0, 1}


def test_the_clock_is_the_players_own():
    class Sleeps(jb.Player):
        def play(self, position):
            assert 0 < position.seconds < position.clock <= 5
            time.sleep(0.05)
            return position.legal_moves[0]

    run = jb.tournament("tic_tac_toe", [Sleeps(), "random"], games=10, clock="5", games_at_once=10)
    assert not run.failures, "ten games at once, of 0.25 s each"
    slow = jb.match(Sleeps(), "random", "tic_tac_toe", games=2, clock="0.04")
    assert slow.failures == {"Sleeps": {"time": 2}}


@pytest.mark.full
def test_ctrl_c_leaves_a_player_that_hangs(tmp_path):
    code = (
        "import time, sys\nimport jubango as jb\nclass Hangs(jb.Player):\n    def play(self, position):\n"
        "        print('now', flush=True)\n        time.sleep(3600)\n"
        "try:\n    jb.match(Hangs(), 'random', 'tic_tac_toe', games=2, progress=False)\nexcept KeyboardInterrupt as why:\n    print(why)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    process.send_signal(2)
    said, _ = process.communicate(timeout=120)
    assert "0 of 2 games are finished" in said


def test_names_that_are_taken_and_players_that_cannot_be_made():
    class Needs(jb.Player):
        def __init__(self, depth: int, model: object = None):
            if depth > 5:
                raise ValueError("too deep")

        def play(self, position):
            return 0

    for name in ("uct", "human", "9", "a b"):
        with pytest.raises(UserError, match="choose another name"):
            jb.player(name)(Needs)
    with pytest.raises(UserError, match="give an object of it"):
        jb.match(Needs, "random", "tic_tac_toe")
    jb.player("needs")(Needs)
    with pytest.raises(UserError, match='the key "depth" is missing'):
        jb.match("needs", "random", "tic_tac_toe")
    with pytest.raises(UserError, match="Needs cannot be made: ValueError"):
        jb.match("needs:depth=9", "random", "tic_tac_toe")
    with pytest.raises(UserError, match=r'needs has no key "model"'):
        jb.match("needs:model=9", "random", "tic_tac_toe")
    with pytest.raises(UserError, match='two bots are called "needs:depth=3"'):
        jb.tournament("tic_tac_toe", [Bot("needs", depth=3), Bot("needs", depth=3)])
    with pytest.raises(UserError, match="bots are spec strings"):
        jb.match(3, "random", "tic_tac_toe")

    class Clashes(jb.Player):
        def __init__(self, use: str = ""):
            pass

        def play(self, position):
            return 0

    with pytest.raises(UserError, match='another name for its argument "use"'):
        jb.player("clashes")(Clashes)


@pytest.mark.full
def test_a_plug_in_plays_by_the_command(tmp_path):
    """A user's player from an empty folder, in under 40 lines."""
    (tmp_path / "mine.py").write_text(
        "import jubango as jb\n\n@jb.player('greedy')\nclass Greedy(jb.Player):\n    '''The middle first.'''\n\n    width: int = 7\n\n"
        "    def play(self, position):\n        return min(position.legal_actions, key=lambda a: abs(a - self.width // 2))\n"
    )
    (tmp_path / "t.toml").write_text(
        'name = "t"\ngame = "connect_four"\ngames_per_pairing = 2\n[[bots]]\nname = "mine"\nuse = "greedy"\nwidth = [7, 5]\n'
        '[[bots]]\nname = "random"\nuse = "random"\n'
    )

    done = subprocess.run(
        [sys.executable, "-m", "jubango.arena.commands", "tournament", "t.toml", "--out", "run", "--format", "csv"],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JUBANGO_PLUGINS": "mine"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"mine/width=7", "mine/width=5"} <= {word for line in done.stdout.splitlines() for word in line.split(",")}


def test_the_command_says_what_a_player_takes(capsys):
    register()
    assert run_command(["bots", "dice", "--format", "csv"]) == 0
    assert "lefty,false,true | false" in capsys.readouterr().out
    assert run_command(["bots", "--format", "csv"]) == 0
    assert 'dice,dice,,"Any move' in capsys.readouterr().out


def test_a_player_answers_over_gtp():
    @jb.player("fails")
    class Fails(jb.Player):
        def start_game(self, game, player):
            self.player = player

        def play(self, position):
            if len(position.moves) == 2:
                raise ValueError("no idea")
            return "resign" if len(position.moves) == 3 else position.legal_moves[0]

    talk = Talk(bot="fails")
    assert talk.ask("genmove b") == "= A5"
    assert talk.ask("genmove w") != "= A5"
    assert "raised ValueError: no idea" in talk.ask("genmove b")
    talk.ask("play b C3")
    assert talk.ask("genmove w") == "= resign"
    talk.ask("clear_board")
    assert talk.ask("genmove b") == "= A5"
    talk.end()
