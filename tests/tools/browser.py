"""A headless Chromium, and what a page does in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield chromium
        chromium.close()


@contextmanager
def opened(browser, where: Path | str, phone: bool = False, fragment: str = "") -> Iterator:
    """The page of a file or an address. It must say nothing on the console, ask nothing of anybody else, and pop
    nothing up."""
    url = where.as_uri() if isinstance(where, Path) else where
    size = {"width": 390, "height": 800} if phone else {"width": 1280, "height": 900}
    context = browser.new_context(viewport=size, has_touch=phone)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url.startswith((url, "data:")) or said.append(f"asks for {request.url}"))
    page.on("popup", lambda popup: said.append(f"opens {popup.url}"))
    page.set_default_timeout(20_000)
    page.goto(f"{url}{fragment}")
    try:
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], "nothing hangs over"
    finally:
        context.close()
    assert said == []
