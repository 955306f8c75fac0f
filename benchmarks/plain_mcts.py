"""Monte-Carlo tree search as a textbook writes it, in plain Python, for five in a row on 8x8: the peer
that people have who write their own.

Browne et al. 2012, algorithm 2 (UCT), with one random game a simulation.
"""

from __future__ import annotations

import math
import random
import time

SIZE, LINE = 8, 5


class Position:
    """As texts write it: a position does not change, a move makes a new one."""

    def __init__(self, cells, player, last=None):
        self.cells, self.player, self.last = cells, player, last

    def legal_moves(self):
        return [i for i, cell in enumerate(self.cells) if cell == 0]

    def move(self, action):
        cells = self.cells[:]
        cells[action] = self.player
        return Position(cells, -self.player, action)

    def winner(self):
        return makes_line(self.cells, self.last, -self.player) if self.last is not None else 0

    def is_over(self):
        return self.winner() != 0 or 0 not in self.cells


class QuickPosition:
    """The same, tuned: changed in place, with a list of the empty points and a result that is kept."""

    def __init__(self, cells, player, empty=None, result=0):
        self.cells, self.player, self.result = cells, player, result
        self.empty = [i for i, cell in enumerate(cells) if cell == 0] if empty is None else empty

    def legal_moves(self):
        return self.empty

    def move(self, action):
        after = QuickPosition(self.cells[:], self.player, self.empty[:], self.result)
        after.play(action)
        return after

    def play(self, action):
        self.cells[action] = self.player
        self.empty.remove(action)
        self.result = makes_line(self.cells, action, self.player)
        self.player = -self.player

    def winner(self):
        return self.result

    def is_over(self):
        return self.result != 0 or not self.empty


def makes_line(cells, action, player):
    """``player`` if the stone on ``action`` completes five in a row, else 0."""
    row, column = divmod(action, SIZE)
    for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
        count = 1
        for sign in (1, -1):
            r, c = row + sign * down, column + sign * across
            while 0 <= r < SIZE and 0 <= c < SIZE and cells[r * SIZE + c] == player:
                count += 1
                r, c = r + sign * down, c + sign * across
        if count >= LINE:
            return player
    return 0


def random_game(position):
    """The winner of a random game from here."""
    if isinstance(position, QuickPosition):
        position = QuickPosition(position.cells[:], position.player, position.empty[:], position.result)
        while not position.is_over():
            position.play(random.choice(position.empty))
    while not position.is_over():
        position = position.move(random.choice(position.legal_moves()))
    return position.winner()


class Node:
    def __init__(self, position, parent=None, action=None):
        self.position, self.parent, self.action = position, parent, action
        self.children = []
        self.untried = [] if position.is_over() else list(position.legal_moves())
        self.visits, self.wins = 0, 0.0

    def best_child(self, c):
        total = math.log(self.visits)
        return max(self.children, key=lambda k: k.wins / k.visits + c * math.sqrt(total / k.visits))


def search(position, simulations, c=1.414):
    root = Node(position)
    for _ in range(simulations):
        node = root
        while not node.untried and node.children:
            node = node.best_child(c)
        if node.untried:
            action = node.untried.pop(random.randrange(len(node.untried)))
            child = Node(node.position.move(action), node, action)
            node.children.append(child)
            node = child
        winner = random_game(node.position)
        while node is not None:
            node.visits += 1
            if winner == 0:
                node.wins += 0.5
            else:
                node.wins += winner == -node.position.player  # for who moved here
            node = node.parent
    return max(root.children, key=lambda k: k.visits).action


def speed(kind=Position, simulations=500):
    """Simulations a second from the empty board."""
    began = time.perf_counter()
    search(kind([0] * (SIZE * SIZE), 1), simulations)
    return simulations / (time.perf_counter() - began)


if __name__ == "__main__":
    for kind in (Position, QuickPosition):
        print(f"{kind.__name__}: {speed(kind):,.0f} simulations a second")
