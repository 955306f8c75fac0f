"""SGF as a tree of nodes with all of their properties, known or not: read, changed, and written again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jubango.sgf_games.base.errors import UserError
from jubango.sgf_games.sgf.encodings import decoded
from jubango.sgf_games.sgf.grammar import sgf_grammar

# Where an encoding is declared, and where a game begins.
_DECLARED = re.compile(rb"(?<![A-Za-z])CA\s*\[([^\]\\]{0,40})\]")
_BEGIN = re.compile(rb"\(\s*;")


@dataclass(eq=False)
class Node:
    """A node: its properties' values as they stand in the file, in UTF-8, escapes and all; and the nodes after it."""

    properties: dict[str, list[bytes]] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def text(self, key: str) -> str:
        """The text of a property, ``""`` where there is none."""
        values = self.properties.get(key)
        return sgf_grammar.text_value(values[0]).decode("utf-8") if values else ""

    def add(self, key: str, *texts: str) -> None:
        """Put values after those that are there."""
        self.properties.setdefault(key, []).extend(sgf_grammar.escape_text(text.encode()) for text in texts)

    @property
    def main_line(self) -> Iterator[Node]:
        """This node, its first child, and so on."""
        node = self
        while True:
            yield node
            if not node.children:
                return
            node = node.children[0]


def read_trees(data: bytes, source: str) -> tuple[list[Node], str]:
    """The first nodes of the games in ``data``, and in words what was guessed to read its text. Raises UserError, which
    begins with ``source``."""
    content, guess = decoded(data, _DECLARED, _BEGIN)
    data = content.encode("utf-8", "replace")  # where no byte of a character looks like a sign of the grammar
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise UserError(f"{source}: line {_error_line(data)}: not SGF: {error}") from None
    return [_nodes(tree) for tree in trees], guess


def write_trees(roots: Sequence[Node]) -> bytes:
    """The SGF of games, in UTF-8, which it declares. What is read of it is the same trees."""
    written = []
    for root in roots:
        tree = sgf_grammar.make_coarse_game_tree(root, _children, _properties)
        tree.sequence[0] = {**root.properties, "CA": [b"UTF-8"]}
        written.append(sgf_grammar.serialise_game_tree(tree))
    return b"".join(written)


def _children(node: Node) -> list[Node]:
    return node.children


def _properties(node: Node) -> dict[str, list[bytes]]:
    return node.properties


def _nodes(tree: sgf_grammar.Coarse_game_tree) -> Node:
    """Node by node what sgfmill has as sequences."""
    root = Node()
    below = [(root, tree)]
    while below:
        parent, tree = below.pop()
        for properties in tree.sequence:
            node = Node(properties)
            parent.children.append(node)
            parent = node
        # Its variations are made in their order, before any that are still waiting get theirs.
        below += [(parent, child) for child in reversed(tree.children)]
    return root.children[0]


def _error_line(data: bytes) -> int:
    """The line where the grammar stops making sense."""
    start = data.find(b"(;")
    if start < 0:
        return 1
    try:
        _, end = sgf_grammar.tokenise(data, start)
    except ValueError:
        return data.count(b"\n") + 1
    return data[:end].count(b"\n") + 1
