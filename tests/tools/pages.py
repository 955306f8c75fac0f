"""The Markdown pages as tests read them: code, commands, headings, links, sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]
)
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[(?:`[^`]*`|[^\[\]`]|\[[^\]]*\])*\]\(([^()\s]+)\)|<img[^>]* src=\"([^\"]+)\"")


def read(page: str) -> str:
    return (ROOT / page).read_text()


def code(page: str) -> list[tuple[str, str]]:
    """The blocks of a page in their order: (language, text); an indented block's language is "sh"."""
    text, blocks = read(page), []
    for match in re.finditer(r"^```(\S*)\n(.*?)^```$|^\n((?:    \S[^\n]*\n(?:\n(?=    \S))?)+)", text, re.M | re.S):
        if match.group(3):
            blocks.append(("sh", re.sub(r"^    ", "", match.group(3), flags=re.M)))
        else:
            blocks.append((match.group(1), match.group(2)))
    return blocks


def uncommented(language: str, text: str) -> str:
    """The same without comments and the spaces before them."""
    if language in ("sh", "python", "toml"):
        text = re.sub(r"(^|\s+)# .*$", "", text, flags=re.M)
    return text


def commands(page: str) -> list[list[str]]:
    """The words of every command line of a page."""
    lines = "".join(text for language, text in code(page) if language == "sh").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def prose(page: str) -> str:
    """A page without code, tables and pictures."""
    text = FENCE.sub("", read(page))
    text = re.sub(r"^(    |\||<img|!\[).*$", "", text, flags=re.M)
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(page: str) -> Iterator[str]:
    """The sentences of a page; an item of a list and a heading are some of their own."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*>#]|\d+\.) )", prose(page)):
        plain = re.sub(r"`[^`]*`", "Code", " ".join(paragraph.split()))
        yield from (one for one in re.split(r"(?<=[.!?:;])\s+(?=[^a-z])", plain) if one)


def words(sentence: str) -> int:
    return len(re.findall(r"[\w±][\w.,'’%×-]*", sentence))


def anchors(page: str) -> set[str]:
    """Those of a page's headings, as GitHub names them."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} (.*)$", FENCE.sub("", read(page)), re.M):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names


def links(page: str) -> Iterator[tuple[str, str]]:
    """Where a page's links and pictures lead within the repository: (file, anchor)."""
    for match in LINK.finditer(FENCE.sub("", read(page))):
        target = match.group(1) or match.group(2)
        if not re.match(r"[a-z]+:", target):
            yield tuple(f"{target}#".split("#")[:2])
