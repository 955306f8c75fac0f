"""The pages: links lead somewhere, `jb.` is in the reference, Chinese pages say what the English ones say."""

from __future__ import annotations

import inspect
import re
import statistics

import pages
import prose
import pytest

import jubango as jb

TRANSLATIONS = {
    "README.md": "README.zh-CN.md",
    "docs/first-tournament.md": "docs/zh/first-tournament.md",
    "docs/first-review.md": "docs/zh/first-review.md",
}
LISTS = ("CHANGELOG.md",)  # of facts
DENSE = ("docs/design-notes.md", "benchmarks/README.md")  # reasons and numbers, for those who change the code
TYPES = {"Params", "State"}  # aliases of Any: what they are stands in the reference's table


@pytest.mark.parametrize("page", pages.PAGES)
def test_links_lead_to_a_file_and_a_heading(page):
    for target, anchor in pages.links(page):
        there = (pages.ROOT / page).parent / target if target else pages.ROOT / page
        assert there.exists(), f"{page}: {target}"
        if anchor and there.suffix == ".md" and not anchor.startswith("jubango."):
            assert anchor in pages.anchors(there.resolve().relative_to(pages.ROOT).as_posix()), f"{page}: #{anchor}"


def test_every_name_of_the_door_is_in_the_reference():
    rows = re.findall(r"^\| \[`jb\.(\w+)`\]\(#jubango\.(\w+)\) \| (.+) \|$", pages.read("docs/reference.md"), re.M)
    assert sorted(name for name, _, _ in rows) == sorted(jb.__all__)
    assert all(name == anchor and said.strip() for name, anchor, said in rows)


def test_the_pages_name_what_there_is():
    pages_of_today = [page for page in pages.PAGES if page != "CHANGELOG.md"]
    named = {name for page in pages_of_today for name in re.findall(r"\bjb\.([A-Za-z]\w*)", pages.read(page))}
    assert named <= set(jb.__all__)


@pytest.mark.parametrize("name", sorted(set(jb.__all__) - TYPES))
def test_every_name_of_the_door_has_a_docstring(name):
    value = getattr(jb, name)
    said = value.__dict__.get("__doc__") if isinstance(value, type) else inspect.getdoc(value)
    assert said and not said.startswith(f"{name}("), f"jb.{name} has no docstring of its own"


ARGUMENT = re.compile(r"((?:\w+(?: and others|, )?)+): ")


def sections(said: str) -> list[str]:
    """What a docstring's paragraphs are, in their order: text, arguments, errors, source."""
    kinds = {"Raises": "errors", "Source": "source"}
    paragraphs = [one for one in re.split(r"\n\s*\n", said) if one]
    return [kinds.get(one[:6], "arguments" if ARGUMENT.match(one) else "text") for one in paragraphs]


def public(value: type) -> dict[str, object]:
    """The methods and properties that a class of the door defines itself, without those that stand for old names."""
    kinds = (staticmethod, classmethod, property)
    found = {
        name: thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
        for name, thing in vars(value).items()
        if (name[0] != "_" or name == "__call__") and (isinstance(thing, kinds) or inspect.isfunction(thing))
    }
    return {name: thing for name, thing in found.items() if inspect.getsourcefile(thing) and "firsts" not in name}


@pytest.mark.parametrize("name", sorted(set(jb.__all__) - TYPES))
def test_docstrings_have_one_order(name):
    """What it returns; arguments; errors; source (CONTRIBUTING.md). A function names every argument."""
    value = getattr(jb, name)
    said = {name: value.__doc__}
    if isinstance(value, type):
        said |= {f"{name}.{key}": inspect.getdoc(getattr(value, key)) for key in public(value)}
    order = ["arguments", "errors", "source"]
    for where, text in said.items():
        assert text, f"jb.{where} has no docstring"
        text = inspect.cleandoc(text)
        found = [kind for kind in sections(text) if kind != "text"]
        assert found == sorted(found, key=order.index), f"jb.{where}: {found}"
        assert "Raises" not in re.sub(r"(^|\n\n)Raises", "", text), f"jb.{where}: errors have a paragraph of their own"
    if inspect.isfunction(value):
        named = re.findall(r"^((?:\w+(?:, )?)+):", inspect.cleandoc(value.__doc__), re.M)
        assert set(inspect.signature(value).parameters) <= {one for line in named for one in line.split(", ")}


@pytest.mark.parametrize("page", pages.PAGES)
def test_code_imports_the_door_alone(page):
    text = "".join(text for kind, text in pages.code(page) if kind == "python")
    assert not re.search(r"^\s*(from jubango|import jubango(?! as jb$))", text, re.M)


@pytest.mark.parametrize("english", TRANSLATIONS)
def test_a_translation_has_the_same_code(english):
    chinese = TRANSLATIONS[english]
    ours, theirs = ([(kind, pages.uncommented(kind, text)) for kind, text in pages.code(p)] for p in (english, chinese))
    assert ours and ours == theirs
    assert pages.read(english).count("\n## ") == pages.read(chinese).count("\n## ")
    for page, other in ((english, chinese), (chinese, english)):
        there = {((pages.ROOT / page).parent / target).resolve() for target, _ in pages.links(page) if target}
        assert (pages.ROOT / other).resolve() in there, f"{page} does not lead to {other}"


@pytest.mark.parametrize("page", [page for page in pages.PAGES if page not in LISTS])
def test_sentences_are_short(page):
    lengths = {sentence: pages.words(sentence) for sentence in pages.sentences(page)}
    longest = max(lengths, key=lengths.__getitem__)
    assert lengths[longest] <= 40, f"{page}: {lengths[longest]} words: {longest}"
    assert statistics.median(lengths.values()) < 16 or page in DENSE


def test_sentences_of_the_code_are_short():
    """Those of docstrings and comments; `python tests/tools/prose.py` lists the longest."""
    found = list(prose.all_sentences())
    longest = max(found, key=lambda one: one.words)
    assert len(found) > 3000
    assert longest.words <= 40, longest
    assert statistics.median(one.words for one in found) < 16


def test_the_glossary_has_the_words_of_tables_and_screens():
    words = {
        row.split("|")[1].strip().lower() for row in pages.read("docs/glossary.md").splitlines() if row[:2] == "| "
    }
    known = {word for entry in words for word in re.split(r", | \(|\)", entry)}
    shown = "Elo, ±95%, ±pairs, games, W-D-L, score, LOS, LLR, visits, share, prior, principal variation, win rate, lead, loss"
    said = """accuracy, inaccuracy, mistake, blunder, byoyomi, clock, komi, handicap, opening, pair, pentanomial, SPRT, nElo,
        AMAF, RAVE, PUCT, UCB1, UCT, FPU, LCB, Gumbel, temperature, virtual loss, parallel leaves, ensemble, lane, batch,
        ownership, simulation, evaluator, network, policy, value, anchor, crosstable, adjudication, void, seed, GTP, SGF"""
    assert {word.strip().lower() for word in f"{shown}, {said}".split(",")} - {"games"} <= known
