"""Functions that assign a variable of their own where a predicate looks at another of that name: `nonlocal` is missing.

The predicate then waits for ever, and nothing else says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType


def own_variables(frame: FrameType) -> list[str]:
    """Return, for the function of a program that waits for a predicate, what to write in others, for each a line."""
    code = frame.f_code
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    globals_ = [
        value.__code__
        for value in frame.f_globals.values()
        if isinstance(value, FunctionType) and value.__code__.co_filename == code.co_filename
    ]
    predicates = [each for each in inner if each.co_name == "<lambda>"]
    enclosed = {name for each in predicates for name in each.co_freevars} & {*code.co_cellvars}
    shared = {name for each in predicates for name in each.co_names} & frame.f_globals.keys()
    return [
        *_assigned(inner, enclosed, "nonlocal"),
        *_assigned([*inner, *globals_], shared - enclosed, "global"),
    ]


def _assigned(functions: list[CodeType], names: set[str], word: str) -> Iterator[str]:
    for each in functions:
        if each.co_name.startswith("<"):
            continue  # a comprehension has its variables to itself, and a lambda assigns none
        taken = each.co_argcount + each.co_kwonlyargcount
        for name in each.co_varnames[taken:]:
            if name in names:
                yield (
                    f"{each.co_name} ({each.co_filename}:{each.co_firstlineno}) assigns a {name} of its own, not the "
                    f"one that is waited for: write `{word} {name}` in it"
                )
