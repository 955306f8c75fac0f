"""The prose of the code: docstrings and comments as sentences. `python tests/tools/prose.py` lists the longest."""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pages

FOLDERS = ("jubango", "benchmarks", "examples")
ITEM = re.compile(r"(?:\w+(?:, \w+)*|- .*?): ")


class Sentence(NamedTuple):
    file: str
    line: int
    words: int
    text: str


def files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((pages.ROOT / folder).rglob("*.py"))


def docstrings(code: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every docstring of a file."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def comments(code: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment of a file; comments on lines of their own, one below another, are one."""
    last, text, first = -1, "", 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("# fmt", "# noqa", "#!", "# type:")):
            continue
        alone = not token.line[: token.start[1]].strip()
        if alone and token.start[0] == last + 1:
            text += " " + token.string[1:].strip()
        else:
            if text:
                yield first, text
            first, text = token.start[0], token.string[1:].strip()
        last = token.start[0] if alone else -1
    if text:
        yield first, text


def sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring or comment. Examples are left out; an argument's line is a sentence of its own."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\S)(?=\w+(?:, \w+)*: |- )", text):
        if paragraph.lstrip().startswith((">>>", "|")) or re.match(r"\s{4,}", paragraph):
            continue
        plain = re.sub(
            r"``[^`]*``|:\w+:`[^`]*`|`[^`]*`|\[[^\]]*\]|\([^()]*\d{4}[^()]*\)", "Code", " ".join(paragraph.split())
        )
        yield from (one for one in re.split(r"(?<=[.!?:;])\s+(?=[^a-z])", plain) if one)


def all_sentences() -> Iterator[Sentence]:
    for path in files():
        code = path.read_text()
        for line, text in [*docstrings(code), *comments(code)]:
            for one in sentences(text):
                yield Sentence(path.relative_to(pages.ROOT).as_posix(), line, pages.words(one), one)


if __name__ == "__main__":
    found = sorted(all_sentences(), key=lambda one: -one.words)
    print(f"{len(found)} sentences, median {statistics.median(one.words for one in found)} words")
    print(f"{sum(one.words > 40 for one in found)} of more than 40")
    for one in found[:100]:
        print(f"{one.words:3} {one.file}:{one.line}: {one.text}")
