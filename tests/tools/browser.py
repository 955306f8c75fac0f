"""A headless Chromium, and what a page does in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="pages are tested with playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("pages are tested in Chromium, which is not installed: apt install chromium")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=240_000)
        yield chromium
        chromium.close()


@contextmanager
def opened(
    browser, where: Path | str, phone: bool = False, fragment: str = "", dark: bool = False, patience: int = 120_000,
    popups: bool = False, said: str = "(?!)",
) -> Iterator:  # fmt: skip
    """The page of a file or an address. It must ask nothing of anybody else, pop nothing up unless it may, have nothing
    that hangs over, and say nothing on the console but what ``said`` fits. patience: milliseconds."""
    url = where.as_uri() if isinstance(where, Path) else where
    own = url if isinstance(where, Path) else f"http://{urlsplit(url).netloc}/"
    size = {"width": 360, "height": 740} if phone else {"width": 1280, "height": 900}
    look = "dark" if dark else "light"
    context = browser.new_context(viewport=size, has_touch=phone, color_scheme=look, reduced_motion="reduce")
    page, heard = context.new_page(), []
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text} {message.location.get('url')}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url.startswith((own, "data:")) or heard.append(f"asks {request.url}"))
    page.on("popup", lambda popup: popups or heard.append(f"opens {popup.url}"))
    page.set_default_timeout(patience)
    page.goto(f"{url}{fragment}")
    try:
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], "nothing hangs over"
    finally:
        context.close()
    assert [line for line in heard if not re.search(said, line)] == []
