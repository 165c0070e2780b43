"""Errors of this project in the words of the program that they come of: `x.put`, where a message begins with put."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from conduit.core.written import SHOWN
from conduit.errors import ConduitError
from conduit.launch.errors.raised import leaves
from conduit.launch.program.program_node import program_node

_CALL = re.compile(r"([A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?=: )")


def in_own_words(error: BaseException, ours: Callable[[object], bool]) -> None:
    """Let an error's text begin with the call as the program's line has it, where it begins with that call's name.

    Args:
        error: what is shown of a program that has ended with it; changed.
        ours: says of a class whether it is one of this project.
    """
    if not (isinstance(error, ConduitError) and error.args and isinstance(error.args[0], str)):
        return
    found = _CALL.match(error.args[0])
    failed = program_node(error, ours) if found else None
    if found is None or failed is None:
        return
    call = failed.tree.value if isinstance(failed.tree, ast.Await) else failed.tree
    name = call.func if isinstance(call, ast.Call) else call
    if isinstance(name, ast.Attribute) and name.attr == found[2]:
        written = ast.unparse(name)
        if len(written) <= SHOWN:
            error.args = (written + error.args[0][found.end() :], *error.args[1:])


def chain_in_own_words(error: BaseException, ours: Callable[[object], bool]) -> None:
    """Do so with an error that is shown, and with those that it came of or holds.

    Args:
        error: what ended a program; changed.
        ours: says of a class whether it is one of this project.
    """
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        for each in leaves(link):
            in_own_words(each, ours)
        link = link.__cause__ or link.__context__
