"""What a search must find when it is given time, and the yardstick that is exact."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from schedules import round_robin
from test_search import after, exact_values

import jubango as jb
from jubango.analysis.positions.position import analyze
from jubango.arena.games.pool import GamePool
from jubango.bots.config import bot_from_spec
from jubango.bots.evaluators.rollout import Rollout
from jubango.bots.players.batch_player import BatchPlayer, MoveAnswer, MoveRequest
from jubango.bots.players.minimax import MinimaxPlayer
from jubango.bots.search.host.run import run_many
from jubango.bots.search.rules.ucb1 import Ucb1
from jubango.bots.search.search import Search
from jubango.sgf_games.rules.catalogue import make_game
from jubango.sgf_games.rules.compiled import initial_state, rules, stacked
from jubango.sgf_games.sgf.positions import Position

pytestmark = pytest.mark.full

TTT = make_game("tic_tac_toe")
CONNECT_FOUR = {
    "D C D C D": "D",  # must block the column
    "D C D C D C": "D",  # wins at once
    "": "D",  # the centre opening
    "D D C": "BE",  # or two open ends win
    "D D C D": "BE",  # makes them: won in five plies
}


def at(spec, moves):
    game = make_game(spec)
    return Position(game, after(game, moves), len(moves.split()), None, None, None)


@pytest.mark.parametrize(
    ("bot", "spec", "simulations", "cases"),
    [
        ("uct", "tic_tac_toe", 200, {"A1 B2 A2 C3": "A3", "A1 B2 A2": "A3"}),  # wins at once; must block
        ("uct", "connect_four", 3200, CONNECT_FOUR),
        ("uct-solver", "connect_four", 3200, CONNECT_FOUR),
        ("uct-solver", "go:3,komi=0", 3000, {"": "B2"}),  # the centre wins all of 3x3
        ("uct", "gomoku:7", 800, {"D4 D5 E4 E5 F4 F5 G4 G5": "C4"}),  # the fifth stone
    ],
)
def test_finds_the_move(bot, spec, simulations, cases):
    found = analyze([at(spec, moves) for moves in cases], bot_from_spec(f"{bot}:simulations={simulations}"))
    for one, best in zip(found, cases.values(), strict=True):
        assert one.best is not None
        assert one.best.move in best
        assert sum(m.visits for m in one.moves) == one.simulations <= simulations
        assert bot == "uct-solver" or one.simulations == simulations
        assert one.best.variation[0] == one.best.move


class Columns:
    """Connect four in plain Python, quick enough for looking seven plies ahead: a tuple of columns."""

    def __init__(self, width, height):
        self.width, self.height, self.known = width, height, {}

    def play(self, moves):
        columns = ((),) * self.width
        for i, move in enumerate(moves):
            columns = self.drop(columns, move, i % 2)
        return columns

    def drop(self, columns, move, player):
        return (*columns[:move], (*columns[move], player), *columns[move + 1 :])

    def legal(self, columns):
        return [c for c in range(self.width) if len(columns[c]) < self.height]

    def made_line(self, columns, move):
        """Did the last stone, on top of column ``move``, complete four?"""
        row = len(columns[move]) - 1
        player = columns[move][row]

        def stone(c, r):
            return columns[c][r] if 0 <= c < self.width and 0 <= r < len(columns[c]) else None

        for dc, dr in ((1, 0), (0, 1), (1, 1), (1, -1)):
            count = 1
            for sign in (1, -1):
                c, r = move + sign * dc, row + sign * dr
                while stone(c, r) == player:
                    count, c, r = count + 1, c + sign * dc, r + sign * dr
            if count >= 4:
                return True
        return False

    def wins(self, columns, player, plies):
        """The moves of ``player`` that win within ``plies`` plies whatever the answer."""
        key = columns, player, plies
        if key not in self.known:
            self.known[key] = [m for m in self.legal(columns) if self._wins_with(columns, m, player, plies)]
        return self.known[key]

    def _wins_with(self, columns, move, player, plies):
        if plies < 1:
            return False
        below = self.drop(columns, move, player)
        if self.made_line(below, move):
            return True
        replies = [(self.drop(below, m, 1 - player), m) for m in self.legal(below)]
        return bool(replies) and all(
            not self.made_line(after, m) and bool(self.wins(after, player, plies - 2)) for after, m in replies
        )


def forced_wins(plies, wanted, seed):
    """Positions of connect four on 5x4 that are won within ``plies`` and not within two less, and not by every
    move: (moves so far, winning moves)."""
    board, rng = Columns(5, 4), np.random.default_rng(seed)
    found = []
    while len(found) < wanted:
        moves, columns = [], ((),) * 5
        for i in range(int(rng.integers(4, 10))):
            move = int(rng.choice(board.legal(columns)))
            columns = board.drop(columns, move, i % 2)
            moves.append(move)
            if board.made_line(columns, move):
                break
        else:
            player = len(moves) % 2
            winning = board.wins(columns, player, plies)
            if winning and not board.wins(columns, player, plies - 2) and len(winning) < len(board.legal(columns)):
                found.append((moves, winning))
    return found


@pytest.mark.parametrize("plies", [3, 7])
def test_finds_forced_wins(plies):
    cases = forced_wins(plies, 6, seed=plies)
    places = [at("connect_four:5x4", " ".join("ABCDE"[m] for m in moves)) for moves, _ in cases]
    found = analyze(places, bot_from_spec("uct:simulations=12000,c=1.0"))
    board = Columns(5, 4)
    for one, (moves, winning) in zip(found, cases, strict=True):
        assert one.best is not None
        if one.best.action not in winning:  # a longer win is a win too
            winning = board.wins(board.play(moves), len(moves) % 2, 20 - len(moves))
        assert one.best.action in winning, (moves, winning)
        assert one.best.win_rate.mover > 0.8


@pytest.mark.parametrize(("spec", "stones"), [("4x4", 8), ("5x5", 13)])
def test_the_solver_is_right_about_connect_four(spec, stones):
    """Random positions against plain minimax: no bound is false, and the move keeps what a proved root is worth."""
    game = make_game(f"connect_four:{spec}")
    board, rng, known = Columns(game.width, game.height), np.random.default_rng(stones), {}

    def worth(columns, player):
        """The value for ``player``, who is to move."""
        if (columns, player) not in known:
            replies = [(m, board.drop(columns, m, player)) for m in board.legal(columns)]
            values = (1 if board.made_line(after, m) else -worth(after, 1 - player) for m, after in replies)
            known[columns, player] = max(values, default=0)
        return known[columns, player]

    cases = []
    while len(cases) < 12:
        columns, moves = board.play([]), []
        while len(moves) < stones:
            moves.append(int(rng.choice(board.legal(columns))))
            columns = board.drop(columns, moves[-1], (len(moves) - 1) % 2)
            if board.made_line(columns, moves[-1]):
                break
        else:
            cases.append((columns, after(game, " ".join("ABCDE"[m] for m in moves))))
    search, mover = Search(game, Ucb1(), Rollout(), 4000, solver=True), stones % 2
    results = run_many(search, [state for _, state in cases], simulations=4000, c=1.0)
    assert sum(result.simulations < 4000 for result in results) >= 6, "proved"
    for result, (columns, _) in zip(results, cases, strict=True):
        tree, exact = result.tree, worth(columns, mover)
        reached = [(columns, mover, None)]
        for node in range(1, len(tree)):
            above, player, _ = reached[tree.parent[node]]
            move = int(tree.action[node])
            below = board.drop(above, move, player)
            reached.append((below, 1 - player, move))
            value = -1 if board.made_line(below, move) else worth(below, 1 - player)
            assert tree.lower[node] <= value <= tree.upper[node]
        if tree.ended[0]:
            below = board.drop(columns, result.action, mover)
            kept = 1 if board.made_line(below, result.action) else -worth(below, 1 - mover)
            assert result.value == kept == exact


def test_three_by_three_go_is_nine_points():
    """With komi 8.5 Black wins by half a point if he owns the whole board, and only then."""
    black, white = bot_from_spec("uct:simulations=4000,c=0.6"), bot_from_spec("uct:simulations=2000,c=0.5")
    table = GamePool(make_game("go:3,komi=8.5"), [black, white], 4)
    tasks = [t for t in round_robin([black.name, white.name], 8, 3) if t.black == black.name]
    records = [r for finished in table.play(tasks) for r in finished]
    assert [r.result for r in records] == ["B+0.5"] * 4


class Perfect(BatchPlayer):
    """Plays tic-tac-toe without a fault: any of the best moves."""

    def __init__(self, known):
        self.known, self.asked = known, []

    def begin(self, requests, states):
        self.asked += requests

    def advance(self):
        answers = []
        for request in self.asked:
            key = tuple(request.moves)
            if key not in self.known["moves"]:
                state = initial_state(TTT)
                for action in request.moves:
                    state = rules(TTT).step(state, action)
                worth = {
                    int(a): -exact_values(TTT, rules(TTT).step(state, int(a)), self.known["values"])
                    for a in np.flatnonzero(request.legal)
                }
                self.known["moves"][key] = [a for a, v in worth.items() if v == max(worth.values())]
            best = self.known["moves"][key]
            answers.append(MoveAnswer(request.lane, best[request.seed % len(best)]))
        self.asked = []
        return answers


def test_never_loses_to_the_exact_player():
    """256 games of tic-tac-toe against a player that plays any of the best moves: all drawn."""
    bots = [bot_from_spec("random", "perfect"), bot_from_spec("uct:simulations=2500,c=1.0")]
    table = GamePool(TTT, bots, 256, players={"perfect": Perfect({"moves": {}, "values": {}})})
    tasks = round_robin([b.name for b in bots], 256, 2)
    records = [r for finished in table.play(tasks) for r in finished]
    assert len(records) == 256
    assert {r.result for r in records} == {"0"}


def ask(mover, game, states, seed=1):
    """The answers of a mover to a batch of positions, in their order."""
    views = [jax.device_get(rules(game).view(state)) for state in states]
    requests = [
        MoveRequest(i, f"game {i}", bot_from_spec("minimax"), seed + i, v.legal, [], int(v.player))
        for i, v in enumerate(views)
    ]
    batch = stacked(states)
    mover.begin(requests, batch)
    answers = {}
    while len(answers) < len(states):
        answers |= {answer.lane: answer for answer in mover.advance()}
    mover.close()
    return [answers[i] for i in range(len(states))]


def test_minimax_is_exact_in_tic_tac_toe():
    rng = np.random.default_rng(4)
    states = []
    for _ in range(16):
        state = initial_state(TTT)
        for _ in range(int(rng.integers(2, 6))):
            legal = np.flatnonzero(np.asarray(rules(TTT).view(state).legal))
            state = rules(TTT).step(state, int(rng.choice(legal))) if len(legal) else state
        if not bool(rules(TTT).view(state).terminal):
            states.append(state)
    known: dict = {}
    answers = ask(MinimaxPlayer(TTT, bot_from_spec("minimax"), len(states)), TTT, states)
    for state, answer in zip(states, answers, strict=True):
        exact = exact_values(TTT, state, known)
        assert round(answer.thought.value) == exact
        assert -exact_values(TTT, rules(TTT).step(state, answer.action), known) == exact


@pytest.mark.parametrize("depth", [1, 3])
def test_minimax_cuts_change_nothing(depth):
    """Alpha-beta gives the value of the full tree to the same depth, with the heuristic at its leaves."""
    from jubango.bots.players.minimax import ESTIMATE, SOONER

    game = make_game("connect_four:5x4")
    rng = np.random.default_rng(depth)
    states = []
    for _ in range(6):
        state = initial_state(game)
        for _ in range(int(rng.integers(0, 9))):
            legal = np.flatnonzero(np.asarray(rules(game).view(state).legal))
            state = rules(game).step(state, int(rng.choice(legal))) if len(legal) else state
        if not bool(rules(game).view(state).terminal):
            states.append(state)
    heuristic = jax.jit(game.heuristic)

    def full(state, ply):
        view = jax.device_get(rules(game).view(state))
        if view.terminal:
            return float(view.returns[int(view.player)]) * (1 - SOONER * ply)
        if ply == depth:
            return ESTIMATE * float(heuristic(state))
        return max(-full(rules(game).step(state, int(a)), ply + 1) for a in np.flatnonzero(view.legal))

    answers = ask(MinimaxPlayer(game, bot_from_spec(f"minimax:depth={depth}"), len(states)), game, states)
    for state, answer in zip(states, answers, strict=True):
        assert answer.thought.value == pytest.approx(full(state, 0), abs=1e-6)


def test_an_analysis_proves_tic_tac_toe_a_draw():
    """Long before its simulations are spent."""
    found = jb.analyze(jb.position("tic_tac_toe"), "uct-solver:simulations=20000")
    assert found.simulations < 15_000
    assert found.win_rate.black == found.best.win_rate.black == 0.5
