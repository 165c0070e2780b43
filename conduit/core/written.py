"""What the author of a program wrote, by the instruction that runs: for errors alone, since it reads the source."""

from __future__ import annotations

import ast
import dis
import linecache
import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from conduit.errors import ConduitError

SHOWN = 60
"""Characters of a call that a message has room for; a longer one is shown without its arguments."""

_NO_NAMES = ("PUSH_NULL", "PRECALL", "KW_NAMES", "CACHE", "NOP", "RESUME")
"""Instructions of a call that load nothing."""
_CELL = re.compile(r"<ipython-input-(\d+)-\w+>")
_NAMED_CELL = re.compile(r"Cell In\[\d+\]")
_OF_NOTEBOOK = "ipykernel_"
"""In the names of files that notebooks give their cells; there are no such files."""
_LINE_OF_CELL = re.compile(rf"(<ipython-input-\d+-\w+>|\S*{_OF_NOTEBOOK}\d+[/\\]\d+\.py):(\d+)")


def place(code: CodeType, lasti: int) -> str:
    """Return file and line of an instruction, the file as Python was given it: ``prog.py:4``."""
    return at(*line(code, lasti))


def at(file: str, number: int) -> str:
    """Return how a line is named: ``prog.py:4``; one of IPython's as its tracebacks do, ``Cell In[9], line 2``."""
    name = cell(file)
    return f"{name}, line {number}" if name else f"{file}:{number}"


def cell(file: str) -> str:
    """Return how IPython names a cell in its tracebacks, by its file or by that name; "" for what is none of them."""
    found = _CELL.fullmatch(file)
    if found or _NAMED_CELL.fullmatch(file):
        return f"Cell In[{found[1]}]" if found else file
    return _of_notebook(file) if _OF_NOTEBOOK in file else ""


def of_cells(text: str) -> str:
    """Return a text in which lines of IPython's cells, FILE:LINE, are named as `at` names them."""
    return _LINE_OF_CELL.sub(lambda found: at(found[1], int(found[2])), text)


def name_cells(error: BaseException) -> None:
    """Name lines of IPython's cells as `at` does, in the notes of an error and in the text of one of this package."""
    if isinstance(error, ConduitError) and error.args and isinstance(error.args[0], str):
        error.args = (of_cells(error.args[0]), *error.args[1:])
    if notes := getattr(error, "__notes__", None):
        notes[:] = map(of_cells, notes)


def _of_notebook(file: str) -> str:
    """Return how a notebook names a cell in its own tracebacks, "" for what is none of its cells."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    found = None if shell is None else shell.compile.format_code_name(file)
    return " ".join(found) if found else ""


def nodes(code: CodeType) -> Sequence[ast.AST]:
    """Return what the file of a function is made of, nothing where its source cannot be found.

    They are the same ones each time, so nobody may change them.
    """
    return _nodes(source(code))


def source(code: CodeType) -> str:
    """Return the text of a function's file, "" where it cannot be found."""
    return "".join(linecache.getlines(code.co_filename))


@lru_cache(maxsize=2)  # a program that forgets a call in a loop is told of each, and they are in one file or two
def _nodes(text: str) -> tuple[ast.AST, ...]:
    try:
        whole = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(ast.walk(whole))


def line(code: CodeType, lasti: int) -> tuple[str, int]:
    """Return file and number of the line of an instruction, the file as Python was given it; 0 for one unknown."""
    return code.co_filename, _position(code, lasti)[0] or 0


def call(code: CodeType, lasti: int, name: str) -> str:
    """Return the call that an instruction makes, as it is written: ``x.put(1, 0, data)``, a long one ``x.put(...)``.

    Args:
        code: its function.
        lasti: index of the instruction in bytes, `f_lasti` of its frame.
        name: what the call is known as; with ``(...)`` it is returned where neither source nor instructions tell.
    """
    known = name if name.endswith("]") else f"{_loaded(code, lasti) or name}(...)"
    text = _source(code, lasti)
    try:
        made = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return known
    if isinstance(made, ast.Call | ast.Subscript) and len(text) <= SHOWN:
        return text
    function = ast.get_source_segment(text, made.func) if isinstance(made, ast.Call) else None
    return f"{function}(...)" if function and len(function) <= SHOWN else known


def _loaded(code: CodeType, lasti: int) -> str:
    """Return what an instruction calls, `x.barrier`, by those before it, as at a prompt; "" for all but names."""
    wanted = _position(code, lasti)
    names: list[str] = []
    for step in dis.get_instructions(code):
        place = step.positions
        if place is None or (place.lineno, place.col_offset) != wanted[::2] or step.opname in _NO_NAMES:
            continue
        if step.opname.startswith("CALL") and (place.end_lineno, place.end_col_offset) == wanted[1::2]:
            return ".".join(names)
        if not isinstance(step.argval, str) or not step.opname.startswith("LOAD_") or step.opname == "LOAD_CONST":
            return ""
        names.append(step.argval)
    return ""


def node(code: CodeType, lasti: int) -> ast.AST | None:
    """Return the expression or statement that an instruction belongs to, None where its source cannot be found."""
    wanted = _position(code, lasti)
    for each in nodes(code):
        if (
            isinstance(each, ast.expr | ast.stmt)
            and not isinstance(each, ast.Expr)
            and (each.lineno, each.end_lineno, each.col_offset, each.end_col_offset) == wanted
        ):
            return each
    return None


def around(code: CodeType, lasti: int) -> list[ast.AST]:
    """Return what an instruction's expression stands in, the outermost first and itself last; empty if not known."""
    first, last, begin, end = _position(code, lasti)
    if first is None or last is None or begin is None or end is None:
        return []
    found = enclosing(nodes(code), (first, begin), (last, end))
    return (
        found if found and isinstance(found[-1], ast.expr) and _ends(found[-1]) == ((first, begin), (last, end)) else []
    )


def enclosing(tree: Iterable[ast.AST], begin: tuple[int, int], end: tuple[int, int]) -> list[ast.AST]:
    """Return those nodes of a file that a part of it is in, the outermost first.

    Args:
        tree: all nodes, from `ast.walk`.
        begin: line, and column in bytes, where the part begins.
        end: where it ends.
    """
    placed = [each for each in tree if isinstance(each, ast.expr | ast.stmt) and not isinstance(each, ast.Expr)]
    return [each for each in placed if _ends(each)[0] <= begin and end <= _ends(each)[1]]


def _ends(node: ast.expr | ast.stmt) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)


def same(one: ast.AST, other: ast.AST) -> bool:
    """Say whether two nodes of one file, read twice, are the same text at the same place."""
    return ast.dump(one, include_attributes=True) == ast.dump(other, include_attributes=True)


def _position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    return list(code.co_positions())[lasti // 2]


def _source(code: CodeType, lasti: int) -> str:
    """Return the source of the expression that an instruction ends, on one line; "" where it is not known."""
    first, last, begin, end = _position(code, lasti)
    if first is None or last is None or begin is None or end is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if len(lines) != last - first + 1:
        return ""
    lines[-1] = lines[-1][:end]  # in bytes, as positions are
    lines[0] = lines[0][begin:]
    return " ".join(b" ".join(lines).decode(errors="replace").split())
