"""The site that `make docs` builds: whole, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import pages
import pytest

import jubango as jb

pytestmark = pytest.mark.full

LOADS = {("script", "src"), ("img", "src"), ("source", "src"), ("source", "srcset"), ("iframe", "src"), ("embed", "src"),
         ("object", "data"), ("video", "src"), ("audio", "src"), ("input", "src"), ("image", "href"), ("use", "href")}  # fmt: skip


class Page(HTMLParser):
    """A page's ids, its links, what a browser loads with it, and the text of its styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.styles = ""
        self._in_style = False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        self.styles += found.get("style", "")
        self._in_style = tag == "style"
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") not in ("search", "next", "prev", "author", "index", "canonical"):
            self.loads.append(found["href"])
        self.loads += [value for name, value in found.items() if (tag, name) in LOADS]

    def handle_data(self, data):
        if self._in_style:
            self.styles += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason="pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", "docs", "-d", folder / "trees", ".", folder / "html"],
        cwd=pages.ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(pages.ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip(), done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def built(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def test_every_page_is_in_the_site(built):
    wanted = set(pages.PAGES) - {"docs/package.md", "README.md"}
    assert {f"{Path(page).with_suffix('')}.html" for page in wanted} <= set(built)
    assert {"index.html", "search.html"} <= set(built)


def test_nothing_is_loaded_from_elsewhere(site, built):
    outside = re.compile(r"\s*(?:[a-z]+:)?//")
    for name, page in built.items():
        assert not [one for one in page.loads if outside.match(one)], name
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", page.styles), name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", path.read_text()), path.name
    for path in site.rglob("*.svg"):
        assert not re.search(r"(?:href|src)=['\"](?:https?:)?//", path.read_text()), path.name


def test_links_of_the_site_lead_somewhere(site, built):
    for name, page in built.items():
        for link in [*page.links, *page.loads]:
            there = urllib.parse.urlsplit(link)
            if there.scheme or there.netloc or (link.startswith("#") and len(link) < 2):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(there.path)))
            target = target if there.path else name
            assert (site / target).is_file(), f"{name}: {link}"
            if there.fragment and target in built:
                assert urllib.parse.unquote(there.fragment) in built[target].ids, f"{name}: {link}"


def test_no_markup_is_left_in_the_text(site):
    for path in site.rglob("*.html"):
        text = re.sub(r"<(pre|code|script|style)\b.*?</\1>|<dt .*?</dt>", "", path.read_text(), flags=re.S)
        found = re.search(r".*(\*\*|\]\(|``).*", re.sub(r"<[^>]*>", "", text))
        assert not found, f"{path.relative_to(site)}: {found and found.group()}"


def test_the_reference_has_every_name(built):
    assert {f"jubango.{name}" for name in jb.__all__} <= built["docs/reference.html"].ids
