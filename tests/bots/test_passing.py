"""When a bot without a network passes: not while the board is open, unless that is truly better."""

from __future__ import annotations

import numpy as np
import pytest
from gtp_talk import Talk

import jubango as jb
from jubango.bots.config import bot_from_spec
from jubango.bots.players.batch_player import MoveRequest
from jubango.bots.roster import make_players
from jubango.bots.run_bot import run_bot
from jubango.bots.search.passing import instead_of_a_lost_count, instead_of_pass
from jubango.bots.search.tree.state import RootStatistics
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules, stacked

GAME = make_game("go:5,komi=0")
PASS = GAME.pass_action
WALLS = """
    .X.XO
    .X.XO
    .X.XO
    .X.XO
    .X.XO
"""


def board(text: str, player: int = 0):
    return GAME.set_up(np.array([[".XO".index(point) for point in row] for row in text.split()], np.int8), player)


def statistics(**moves: tuple[int, float]) -> RootStatistics[np.ndarray]:
    """Of one root, where these have (visits, value)."""
    visits, value = np.zeros((1, PASS + 1), np.int32), np.zeros((1, PASS + 1), np.float32)
    for name, (seen, mean) in moves.items():
        action = GAME.parse_action(name)
        visits[0, action], value[0, action] = seen, mean
    one, no_actions, number = np.zeros(1, np.float32), np.zeros((1, 0), np.float32), np.zeros(1, np.int32)
    return RootStatistics(
        visits, value, prior=np.ones_like(value), mean=one, raw=one, bounds=no_actions, final=value,
        utility=no_actions, done=number, remaining=number,
    )  # fmt: skip


def chosen(state, **moves: tuple[int, float]) -> str:
    return GAME.action_text(instead_of_pass(GAME, state, statistics(**moves), 0, "visits", PASS))


@pytest.mark.full
def test_a_pass_gives_way_where_it_is_not_truly_better():
    state = initial_state(GAME)
    assert chosen(state, **{"pass": (12, 0.3), "C3": (12, 0.3), "B2": (11, 0.4)}) == "C3", "a tie goes to the board"
    assert chosen(state, **{"pass": (13, 0.5), "C3": (12, 0.3), "B2": (11, 0.4)}) == "C3", "so does what may be noise"
    assert chosen(state, **{"pass": (500, 0.9), "C3": (90, -0.5)}) == "pass", "a move that is surely worse is not made"
    assert chosen(state, **{"pass": (5, 0.1)}) == "pass", "nothing else has been looked at"


@pytest.mark.full
def test_the_end_of_a_game_is_as_it_was():
    done = board(WALLS)
    assert not GAME.open_actions(done).any(), "all points are somebody's: nobody fills his own eyes"
    assert chosen(done, **{"pass": (12, 1.0), "A1": (12, 1.0)}) == "pass"
    after_a_pass = rules(GAME).step(board(".....\n" * 5), PASS)
    assert chosen(after_a_pass, **{"pass": (12, 1.0), "C3": (12, 1.0)}) == "pass", "it ends the game"
    shared = board(WALLS.replace("X.XO", "X..O"))
    assert {GAME.action_text(a) for a in np.flatnonzero(GAME.open_actions(shared))} == {
        f"{column}{row}" for column in "CD" for row in range(1, 6)
    }, "between the walls"


def test_a_lone_stone_owns_no_board():
    """All other points have one colour around them; the opponent does not leave it at that."""
    lone = rules(GAME).step(initial_state(GAME), GAME.parse_action("C3"))
    assert GAME.open_actions(lone).sum() == 24
    assert not GAME.open_actions(rules(GAME).step(lone, PASS)).any()


@pytest.mark.full
def test_no_search_passes_on_an_open_board():
    """Of forty in which every move has two visits some did."""
    found = run_bot(GAME, bot_from_spec("uct:simulations=52"), [initial_state(GAME)] * 40, range(40))
    assert PASS not in [one.action for one in found]


@pytest.mark.full
def test_no_game_begins_with_a_pass_where_the_devices_make_the_moves():
    run = jb.match("uct:simulations=26", "uct:simulations=30", game="go:5,komi=0", games=24, seed=3, progress=False)
    first = [moves.split()[:5] for moves in run.games["moves"]]
    assert len(first) == 24 and not any("pass" in moves for moves in first)


# Black's stone at D3 can be taken. As the board stands Black has 11 points and White 12, and without it 10 and 15.
DEAD = """
    .XO.O
    .XO.O
    .XOXO
    .XOOO
    .XO.O
"""


def played(komi: float, rule: str = "visits", before: int = PASS, **moves: tuple[int, float]) -> str:
    """What Black plays where a pass was chosen, after White's move ``before``."""
    game = make_game(f"go:5,komi={komi:g}")
    state = game.set_up(game.stones(board(DEAD)), 1)
    state = rules(game).step(state, before)
    return game.action_text(instead_of_a_lost_count(game, state, statistics(**moves), 0, rule, PASS))


def test_a_pass_that_would_lose_by_the_count_is_not_made():
    seen = {"pass": (500, 1.0), "D4": (40, 0.1), "A1": (20, 0.3), "A2": (400, -0.95)}
    assert played(-2, **seen) == "D4", "a point ahead as the board stands, three behind by the count"
    assert played(-2, rule="value", **seen) == "A1"
    assert played(-2, rule="gumbel", **seen) == "pass", "it has a schedule of its own"
    assert played(-6, **seen) == "pass", "it wins by the count, too"
    assert played(0, **seen) == "pass", "it loses either way"
    assert played(-2, **{"pass": (500, 1.0), "A2": (400, -0.95)}) == "pass", "there is no hope"
    assert played(-2, before=GAME.parse_action("A5"), **seen) == "pass", "it does not end the game"


@pytest.mark.full
def test_who_plays_by_gtp_reckons_with_the_count():
    """A search goes on where its dead stones will be taken off, and passes where they will not be."""
    talk = Talk("go:5,komi=-2", "uct:simulations=300")
    for colour, stone in (("b", "X"), ("w", "O")):
        for row, line in enumerate(DEAD.split()):
            for column in (c for c in range(5) if line[c] == stone):
                assert talk.ask(f"play {colour} {'ABCDE'[column]}{5 - row}") == "="
    assert talk.ask("play w pass") == "="
    assert talk.ask("kgs-genmove_cleanup b") == "= pass"
    assert talk.ask("undo") == "="
    assert talk.ask("genmove b") != "= pass"
    talk.end()


@pytest.mark.full
def test_a_player_reckons_with_the_count_where_it_is_told_to():
    game = make_game("go:5,komi=-2")
    bot = bot_from_spec("uct:simulations=300")
    state = rules(game).step(game.set_up(game.stones(board(DEAD)), 1), PASS)
    legal = np.asarray(rules(game).view(state).legal)
    player = make_players(game, [bot], 2)[bot.name]

    def moves(judged: list[bool]) -> list[int]:
        player.begin(
            [MoveRequest(lane, f"{judged}", bot, 5, legal, [PASS], 0, judged=own) for lane, own in enumerate(judged)],
            stacked([state] * 2),
        )
        found: dict[int, int] = {}
        while len(found) < 2:
            found |= {answer.lane: answer.action for answer in player.advance()}
        return [found[lane] for lane in range(2)]

    first, second = moves([False, True])
    assert first == PASS != second
    assert moves([True, False]) == [second, PASS]
    player.close()
