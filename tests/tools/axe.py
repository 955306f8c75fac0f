"""What axe-core finds of a page that people who cannot see it, or use no mouse, would stumble on."""

from __future__ import annotations

from importlib import resources


def violations(page) -> list[str]:
    """A line for each rule that the page breaks, with the first element that does."""
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    said = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in said["violations"]]
