"""A textbook tree search in plain Python, one game at a time, to hold the compiled one to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Node:
    """A position of an explicit game tree and what the search knows of it."""

    position: int
    visits: int = 1
    total: float = 0.0  # of values for the player to move here
    squares: float = 0.0  # of the values that came up the edge that leads here
    lost: int = 0  # virtual losses of the edge that leads here
    children: dict[int, Node] = field(default_factory=dict)
    lower: float = -1.0  # the value for the player to move here is proved to be no less,
    upper: float = 1.0  # and no more
    first: dict[int, tuple[float, float]] = field(default_factory=dict)  # of actions the player here took first in a
    # game from here, now or later: (games, their values)


class TextbookSearch:
    """``game`` is a dict of lists: child, player, value, prior, terminal, indexed by position.

    A value is for the player to move. ``rule(search, node, total, n, q, prior, action)`` scores an action; q is None
    for an unvisited one. With ``solver`` it proves bounds of values (Cazenave & Saffidine 2010). ``games`` are
    functions ``position -> (the player who takes each action first or -1, the result for the player to move)``, or, if
    ``owned``, has its point at the end.
    """

    def __init__(self, game, rule, leaves=1, root=0, solver=False, games=(), owned=False):
        self.game, self.rule, self.leaves, self.solver, self.games = game, rule, leaves, solver, games
        self.owned = owned
        self.root = Node(root, 1, game["value"][root])

    def seen_from(self, node, child):
        """The bounds of an action's value for the player who chooses it."""
        if child is None:
            return -1.0, 1.0
        if self.game["player"][child.position] == self.game["player"][node.position]:
            return child.lower, child.upper
        return -child.upper, -child.lower

    def sign(self, node, child):
        """1 where the same player is to move in both, else -1."""
        return 1 if self.game["player"][child.position] == self.game["player"][node.position] else -1

    def mean(self, node, child):
        """The mean of an action with visits, virtual losses included."""
        return (self.sign(node, child) * child.total - child.lost) / (child.visits + child.lost)

    def in_question(self, node):
        """The actions that are searched."""
        legal = self.legal(node.position)
        if not self.solver:
            return legal
        bounds = {a: self.seen_from(node, node.children.get(a)) for a in legal}
        best = max(low for low, _ in bounds.values())
        better = [a for a, (_, high) in bounds.items() if high > best]
        sure = [a for a, (low, _) in bounds.items() if low == best]
        if not better:
            return sure
        if node is self.root and best > -1:
            return [a for a in legal if a in better or a in sure]
        return better

    def prove(self, path):
        for node, _ in reversed(path):
            bounds = [self.seen_from(node, node.children.get(a)) for a in self.legal(node.position)]
            node.lower, node.upper = (max(side) for side in zip(*bounds, strict=True))

    def solved(self, node):
        return self.game["terminal"][node.position] or node.lower == node.upper

    def legal(self, position):
        return [a for a, child in enumerate(self.game["child"][position]) if child >= 0]

    def choose(self, node):
        """The best action; of equals the first."""
        best, chosen = -math.inf, -1
        total = sum(child.visits + child.lost for child in node.children.values())
        for action in self.in_question(node):
            child = node.children.get(action)
            n, q = 0, None
            if child is not None and child.visits + child.lost:
                n, q = child.visits + child.lost, self.mean(node, child)
            score = self.rule(self, node, 1 + total, n, q, self.game["prior"][node.position][action], action)
            if score > best:
                best, chosen = score, action
        return chosen

    def descend(self):
        """The path [(node, action)] to a leaf, every edge with one more virtual loss."""
        path, node = [], self.root
        while True:
            action = self.choose(node)
            path.append((node, action))
            fresh = action not in node.children
            if fresh:
                node.children[action] = Node(self.game["child"][node.position][action], visits=0)
            child = node.children[action]
            child.lost += 1
            if fresh or child.visits == 0 or self.solved(child):
                return path
            node = child

    def run(self, simulations):
        done = 0
        while done < simulations and not self.solved(self.root):
            paths = [self.descend() for _ in range(min(self.leaves, simulations - done))]
            for node, action in (edge for path in paths for edge in path):
                node.children[action].lost -= 1
            fresh = {
                id(path[-1][0].children[path[-1][1]]) for path in paths if not path[-1][0].children[path[-1][1]].visits
            }
            seen, values = set(), []
            for path in paths:
                node, action = path[-1]
                leaf = node.children[action]
                if id(leaf) in fresh & seen:
                    continue  # another made this node in the same batch
                seen.add(id(leaf))
                value, mover = self.game["value"][leaf.position], self.game["player"][leaf.position]
                if self.solver:
                    if self.game["terminal"][leaf.position]:
                        leaf.lower = leaf.upper = value
                    elif leaf.lower == leaf.upper:
                        value = leaf.lower
                    self.prove(path)
                values.append((path, value, mover))
            for path, value, mover in values:
                leaf = path[-1][0].children[path[-1][1]]
                for first, result in [game(leaf.position) for game in self.games]:
                    self.remember(path, list(first), result, mover)
                for above, act in reversed(path):
                    below, player = above.children[act], self.game["player"][above.position]
                    below.visits += 1
                    below.squares += value**2
                    below.total += value if self.game["player"][below.position] == mover else -value
                    value, mover = value if player == mover else -value, player
                    gain, value = value, max(value, above.lower)  # the player has that for sure
                self.root.total += gain
                self.root.visits += 1
                done += 1
        if self.solved(self.root):  # then its own value is what is proved
            self.root.total += self.root.lower - self.game["value"][self.root.position]
        return self

    def remember(self, path, first, result, mover):
        """All moves as first: from every node of the path on, who was the first to take what?"""
        for above, act in reversed(path):
            player = self.game["player"][above.position]
            if not self.owned:
                first[act] = player
            for action in (a for a, who in enumerate(first) if who == player):
                games, total = above.first.get(action, (0.0, 0.0))
                gain = (result if player == mover else -result) / len(self.games)
                above.first[action] = games + 1 / len(self.games), total + gain


def rave(c, k=1000.0, bias=0.0):
    def rule(search, node, total, n, q, prior, action):
        games, gains = node.first.get(action, (0.0, 0.0))
        later = (0.5 + 0.5 * gains / games) if games else 1.0
        beta = games / (n + games + 4 * n * games * bias**2) if bias and games else math.sqrt(k / (3 * total + k))
        if n == 0:
            beta = 1.0
        elif not games:
            beta = 0.0
        now = 0.0 if q is None else 0.5 + 0.5 * q
        return (1 - beta) * now + beta * later + c * math.sqrt(math.log(total) / max(n, 1))

    return rule


def ucb1(c):
    def rule(search, node, total, n, q, prior, action):
        return 1e6 if n == 0 else (0.5 + 0.5 * q) + c * math.sqrt(math.log(total) / n)

    return rule


def puct(c, fpu="zero", reduction=0.0, base=0.0):
    def rule(search, node, total, n, q, prior, action):
        weight = c + (math.log((1 + total + base) / base) if base else 0.0)
        if q is None:
            seen = sum(search.game["prior"][node.position][a] for a, k in node.children.items() if k.visits + k.lost)
            known = [k for k in node.children.values() if k.visits + k.lost]
            gains = [search.mean(node, k) * (k.visits + k.lost) for k in known]
            mean = (search.game["value"][node.position] + sum(gains)) / total
            q = {"zero": 0.0, "loss": -1.0, "win": 1.0, "parent": mean - reduction * math.sqrt(seen)}[fpu]
        return q + weight * prior * math.sqrt(total) / (1 + n)

    return rule


def dynamic_puct(c, stdev=0.4, scale=0.85, **options):
    """c grows and falls with the standard deviation at the node, in which the expected one counts as two visits."""

    def rule(search, node, total, n, q, prior, action):
        children, own = node.children.values(), search.game["value"][node.position]
        mean = (own + sum(search.mean(node, k) * (k.visits + k.lost) for k in children if k.visits + k.lost)) / total
        squares = max((own**2 + sum(k.squares for k in children)) / total, mean**2)
        variance = (2 * (mean**2 + stdev**2) + total * squares) / (total + 1) - mean**2
        spread = math.sqrt(max(variance, 0.0)) if total > 1 else stdev
        plain = puct(c, **options)(search, node, total, n, q, 0.0, action)
        explored = puct(c, **options)(search, node, total, n, q, prior, action) - plain
        return plain + explored * (1 + scale * (spread / stdev - 1))

    return rule


def critical_puct(c, weight=12.0, half=50.0):
    """The prior grows with the covariance of having an action's point at the end and winning, in games that have been
    played: virtual losses are none."""

    def rule(search, node, total, n, q, prior, action):
        known = [k for k in node.children.values() if k.visits]
        games = sum(k.visits for k in known)
        mean = sum(search.sign(node, k) * k.total for k in known) / max(games, 1)

        def grown(a):
            owned, gains = node.first.get(a, (0.0, 0.0))
            covariance = (gains - owned * mean) / max(games, 1)
            return search.game["prior"][node.position][a] * math.exp(weight * games / (games + half) * covariance)

        whole = sum(grown(a) for a in search.legal(node.position))
        return puct(c)(search, node, total, n, q, grown(action) / whole, action)

    return rule


def alphago(eta):
    def rule(search, node, total, n, q, prior, action):
        return (q or 0.0) + eta / (1 + n) * prior

    return rule
