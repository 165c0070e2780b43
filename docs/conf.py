"""Settings of Sphinx: `sphinx-build -W -n -c docs . build/html` makes the documentation as web pages.

The pages are plain Markdown, to be read on a code host as they are.  What Sphinx needs beside is added while it reads
them: the table of contents is made of the links of docs/index.md, and under a comment `<!-- reference: MODULE -->` goes
the reference of that module's public names, from their docstrings.
"""

import inspect
import re
from typing import Any

project = "conduit"
root_doc = "docs/index"
include_patterns = ["README.md", "docs/**.md", "conduits/*/README.md"]
exclude_patterns = [".*", "build", "dist", "tests"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "conduit"

myst_heading_anchors = 4

default_role = "code"  # one backtick, as docstrings have them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_ivar = True
python_use_unqualified_type_names = True

# `Lock` in a signature is that of its own package; Sphinx finds those of others too.
suppress_warnings = ["ref.python"]

nitpick_ignore_regex = [
    # Of other packages, whose inventories are not fetched.
    (r"py:.*", r"(collections|numpy|np|npt|trio|random)\..*"),
    # Aliases of types and type variables.
    (
        r"py:class",
        r"Array|Atomics|Bounds|Description|DTypeLike|Events|Handlers|Indices|Main|Model|Number|Offsets|Op|P|Parts|Pieces|Runtime"
        r"|Completion|SharedParts"
        r"|Source|Strides|T|T_co|Target|Task|Values",
    ),
    (r"py:class", r"Timeline"),  # is imported where a job is recorded, and not by whose signature it is in
    # Of modules that are not public: some appear in signatures.
    (r"py:class", r"conduit\.\w+\.\w+(\.\w+)+|conduit\.core\..*|extended\.(?!upc\.|shmem\.|windows\.)\w+\.\w+"),
    (r"py:class", r"extended\.(upc|shmem|windows)\.\w+\.\w+"),
]

_HEADING = re.compile(r"^(To .*):$", re.M)
_LINK = re.compile(r"\]\(([^)#\s]+\.md)[)#]")
_REFERENCE = re.compile(r"<!-- reference: ([\w.]+)(?: without (\w+))? -->")

_FOLDER = re.compile(r"\[([^\]]+)\]\(examples\)")  # a code host shows a folder, Sphinx does not
_BUILT_IN = "BaseException, Exception, int, dict, tuple"


def _contents(index: str) -> str:
    """Return the tables of contents that the links of the index make, one for each heading."""
    parts = _HEADING.split(index)
    made: list[str] = []
    listed: set[str] = set()
    for heading, part in zip(["Begin here", *parts[1::2]], parts[::2], strict=True):
        pages = [page for page in dict.fromkeys(_LINK.findall(part)) if page not in listed]
        listed.update(pages)
        lines = "\n".join(f"/docs/{page}" for page in pages)
        made.append(f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{lines}\n```\n")
    return "\n".join(made)


def _reference(found: re.Match[str]) -> str:
    """Return the directive that documents a module."""
    without = f"\n   :exclude-members: {found[2]}" if found[2] else ""
    options = f"   :members:\n   :inherited-members: {_BUILT_IN}{without}"
    return f"```{{eval-rst}}\n.. automodule:: {found[1]}\n{options}\n```"


def _complete(app: Any, name: str, source: list[str]) -> None:
    source[0] = _FOLDER.sub(r"\1", _REFERENCE.sub(_reference, source[0]))
    if name == root_doc:
        source[0] += "\n" + _contents(source[0])


def _first_line(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Say which calls are awaited, and keep a colon in an attribute's first line from ending the name of a type."""
    if what in ("attribute", "property"):
        lines[:0] = ["..", ""]  # an empty comment
    elif what in ("function", "method") and lines and _awaited(obj):
        lines[0] = f"*Awaited.* {lines[0]}"


def _awaited(call: Any) -> bool:
    # Most calls are plain functions that check their arguments and return a coroutine.
    gives = getattr(call, "__annotations__", {}).get("return", "")
    return inspect.iscoroutinefunction(inspect.unwrap(call)) or str(gives).startswith(("Coroutine", "Awaitable"))


def _is_alias(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out a class that another class only has a name for: it stands on the page by itself."""
    return True if what == "class" and inspect.isclass(obj) and "." not in obj.__qualname__ else None


def setup(app: Any) -> None:
    """Complete pages and docstrings while they are read."""
    app.connect("autodoc-skip-member", _is_alias)
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _first_line, priority=400)  # before napoleon's
