"""The site of `make docs`: Sphinx reads the Markdown pages where they lie (MyST) and the docstrings of `jb.`."""

from __future__ import annotations

import inspect
import re
import textwrap

from docutils.nodes import Element, TextElement
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import jubango as jb

project, author, copyright = "jubango", "the jubango authors", "the jubango authors"
version = release = jb.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["docs/**", "README*.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"]
exclude_patterns = ["docs/package.md"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

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
html_extra_path = ["extra"]  # a first page that leads to docs/index.html
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
pygments_style, pygments_dark_style = "tango", "monokai"

NAME = re.compile(r"^\| \[`jb\.(\w+)`\]", re.M)
FIELD = re.compile(r"    ([a-z]\w*): [^#]+?  # (.+)")
QUOTED = re.compile(r"(``.*?``|`[^`]*`)")
ARGUMENT = re.compile(r"((?:[a-z_]\w*(?:\([\w, ]*\))?(?:, |$|(?=:)))+): (.+)")


def reference(app: Sphinx, page: str, text: list[str]) -> None:
    """Puts the docstrings of a table's names below it; on GitHub the tables stand alone."""
    if page == "docs/reference":
        head, *sections = re.split(r"^(?=## )", text[0], flags=re.M)
        text[0] = "\n".join([head, *(part + "\n" + "".join(map(directive, NAME.findall(part))) for part in sections)])


def directive(name: str) -> str:
    """What tells Sphinx to read the docstring of `jb.NAME`."""
    value = getattr(jb, name)
    if isinstance(value, type):
        what, option = "autoclass", ":members:"
    elif hasattr(value, "__code__"):
        what, option = "autofunction", ""
    else:
        what, option = "autodata", ":no-value:"
    return f"```{{eval-rst}}\n.. {what}:: jubango.{name}\n   {option}\n```\n\n"


def fields(value: type) -> list[str]:
    """A list of a class's fields with the comments that stand beside them: `visits: jax.Array  # [B, A]`."""
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        return []
    found = [line for line in map(FIELD.match, source.splitlines()) if line]
    return ["", *(f"- **{one.group(1)}**: {escaped(one.group(2))}" for one in found), ""] if found else []


def escaped(comment: str) -> str:
    """A comment as text, in which nothing is markup but names in ``quotes``."""
    return "".join(
        part if part.startswith("`") else re.sub(r"([*|_\\])", r"\\\1", part) for part in QUOTED.split(comment)
    )


def arguments(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Lines of a docstring that describe arguments ("bot: a spec string") as a list, an argument each; a class's fields
    after them."""
    done: list[str] = []
    within = False
    for line in lines:
        match = ARGUMENT.match(line)
        if match:
            done += [""] * (not within) + [f"- **{match.group(1)}**: {match.group(2)}"]
        elif within and line.startswith("    "):
            done.append("  " + line.strip())
        else:
            done += [""] * (within and bool(line.strip())) + [line]
        within = bool(match) or (within and line.startswith("    "))
    lines[:] = [*done, *fields(value)] if isinstance(value, type) else done


def alias(app: Sphinx, what: str, name: str, value: object, skip: bool, options: object) -> bool | None:
    """Leaves out the fields of named tuples, which are listed with their comments."""
    return True if "Alias for field number" in (inspect.getdoc(value) or "") else None


def door(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement) -> Element | None:
    """Names in docstrings by where they live (`jubango.bots.config.Bot`) lead to the door's (`jubango.Bot`)."""
    name = node.get("reftarget", "").split(".")[-1]
    if node.get("refdomain") != "py" or name not in jb.__all__:
        return None
    return env.get_domain("py").resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], f"jubango.{name}", node, content
    )


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", door)
    app.connect("source-read", reference)
    app.connect("autodoc-process-docstring", arguments)
    app.connect("autodoc-skip-member", alias)
