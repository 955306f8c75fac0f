"""Tables and text as Markdown and LaTeX, in which nothing that users have named is taken for an instruction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from jubango.sgf_games.base.printable import printable

# The characters that mean something within a line, in GitHub's Markdown; its specification, sections 2.4 and 6.
_IN_MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>~|&$#"})
_RULES = {"l": ":--", "r": "--:", "c": ":-:"}

# What LaTeX would not print as it is: its own signs, those that an optional argument or a ligature may begin with, and
# beyond ASCII those that this package says itself.
_IN_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "'": "{'}", "`": "{`}", "[": "{[}", "*": "{*}",
    **dict.fromkeys(map(chr, range(0x2400, 0x2421)), "?"), "\ufffd": "?",  # what printable makes of control characters
    "±": r"$\pm$", "·": r"$\cdot$", "—": r"\textemdash{}", "–": r"\textendash{}", "…": r"\dots{}",
})  # fmt: skip


def markdown(text: str) -> str:
    """Text in one line of Markdown, as it stands in a table."""
    return printable(text).translate(_IN_MARKDOWN)


def markdown_paragraph(text: str) -> str:
    """Text as a paragraph, which begins no list, heading or code, in as many lines."""
    lines = (markdown(line.strip()) for line in text.split("\n"))
    return "\n".join(re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", line) for line in lines)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """A table as GitHub has them; ``align`` is l, r or c for each column."""
    lines = [map(markdown, headings), (_RULES[letter] for letter in align), *(map(markdown, row) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def latex(text: str) -> str:
    """Text that LaTeX prints as it is. It needs no package; letters beyond Latin ones need LuaLaTeX or XeLaTeX, and a
    font that has them."""
    return re.sub(r"([-,])(?=\1)", r"\1{}", printable(text).translate(_IN_LATEX))


def latex_comment(text: str) -> str:
    """Text that LaTeX does not print."""
    return "".join(f"% {printable(line)}\n" for line in text.split("\n"))


def latex_table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """A ``tabular`` with the rules of the package booktabs; ``align`` is l, r or c for each column. Columns that are
    not l hold numbers, with minus signs, and counts such as 3-0-1."""

    def cells(row: Sequence[str]) -> str:
        made = (latex(cell) if letter == "l" else _latex_number(cell) for cell, letter in zip(row, align, strict=True))
        return f"{' & '.join(made)} \\\\\n"

    body = "".join(map(cells, rows))
    return (
        f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{' & '.join(map(latex, headings))} \\\\\n\\midrule\n"
        f"{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _latex_number(text: str) -> str:
    if re.fullmatch(r"\d+(-\d+)+", text):
        return text.replace("-", "--")
    return f"$-${latex(text[1:])}" if re.match(r"-[\di]", text) else latex(text)
