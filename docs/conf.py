"""The site of `make docs`: Sphinx reads the Markdown pages where they lie (MyST) and the docstrings of `jb.`."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

import jubango as jb

project, author, copyright = "jubango", "the jubango authors", "the jubango authors"
version = release = jb.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = [
    "docs/**",
    "README.md",
    "README.zh-CN.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
]
exclude_patterns = ["docs/package.md"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # jb.Bot's `...` in code is no Python to Pygments

myst_heading_anchors = 4  # as GitHub names them
myst_enable_extensions = ["html_image"]
myst_links_external_new_tab = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
add_module_names = False

html_theme = "furo"
html_title = "jubango"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["static/index.html"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
pygments_style, pygments_dark_style = "tango", "monokai"

NAME = re.compile(r"^\| \[`jb\.(\w+)`\]", re.M)


def docstrings(app: Sphinx, page: str, text: list[str]) -> None:
    """Puts the docstrings of a table's names below it; on GitHub the tables stand alone."""
    if page != "docs/reference":
        return
    head, *sections = re.split(r"^(?=## )", text[0], flags=re.M)
    text[0] = head + "".join(
        section.rstrip() + "\n\n" + "".join(map(directive, NAME.findall(section))) for section in sections
    )


def directive(name: str) -> str:
    """What tells Sphinx to read the docstring of `jb.NAME`."""
    value = getattr(jb, name)
    if isinstance(value, type):
        kind, options = "autoclass", ":members:\n"
    elif callable(value) and hasattr(value, "__code__"):
        kind, options = "autofunction", ""
    else:
        kind, options = "autodata", ":no-value:\n"
    return (
        f"```{{eval-rst}}\n.. {kind}:: jubango.{name}\n"
        + "".join(f"   {line}\n" for line in options.split())
        + "```\n\n"
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", docstrings)
