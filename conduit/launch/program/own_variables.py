"""Variables that a predicate looks at and that are not what was meant: nothing else says why it waits for ever.

Where `nonlocal` is missing a function assigns a variable of its own.  A variable of the module is one for all ranks
that run in it.
"""

from __future__ import annotations

import dis
import inspect
from collections import deque
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType

_CONTAINERS = (list, dict, set, bytearray, deque)


def own_variables(frame: FrameType, predicate: object) -> tuple[set[str], list[str]]:
    """Return which variables functions of a program have for themselves in the place of those that a predicate reads.

    Args:
        frame: of the function that waits.
        predicate: what it waits for.

    Returns:
        their names, and for each function a line about what to write in it.
    """
    if type(predicate) is not FunctionType:
        return set(), []
    code, inner, read = frame.f_code, inside(frame.f_code), predicate.__code__
    enclosed = {*read.co_freevars} & {*code.co_cellvars}
    names = {name for each in (read, *all_inside(read)) for name in each.co_names}
    of_module = (names & frame.f_globals.keys()) - enclosed
    found = [
        *_assigned(inner, enclosed, "nonlocal"),
        *_assigned([*inner, *_of_module(frame)], of_module, "global"),
    ]
    return {name for name, _ in found}, [text for _, text in found]


def shared_variables(frame: FrameType) -> list[str]:
    """Return, for the function of a program that waits for a predicate, what to say of variables that change in all.

    Args:
        frame: of the function, whose module other ranks run in too.
    """
    functions = [deep for each in _of_module(frame) for deep in (each, *all_inside(each))]
    stored = {step.argval for each in functions for step in dis.get_instructions(each) if step.opname == "STORE_GLOBAL"}
    return [
        f"{name} is a variable of the module, one for all ranks that run in it: give each rank its own, in "
        f"{frame.f_code.co_name}"
        for name in sorted(_read(frame))
        if name in stored or isinstance(frame.f_globals[name], _CONTAINERS)
    ]


def inside(code: CodeType) -> list[CodeType]:
    """Return the functions that stand in another one."""
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def all_inside(code: CodeType) -> Iterator[CodeType]:
    """Yield them and those that stand in them in turn."""
    for each in inside(code):
        yield each
        yield from all_inside(each)


def _of_module(frame: FrameType) -> list[CodeType]:
    """Return the functions of a frame's module that its file defines."""
    functions = [value for value in frame.f_globals.values() if isinstance(value, FunctionType)]
    return [each.__code__ for each in functions if each.__code__.co_filename == frame.f_code.co_filename]


def _read(frame: FrameType) -> set[str]:
    """Return the variables of the module that the lambdas of a function read."""
    predicates = [each for each in inside(frame.f_code) if each.co_name == "<lambda>"]
    return {name for each in predicates for name in each.co_names} & frame.f_globals.keys()


def _assigned(functions: list[CodeType], names: set[str], word: str) -> Iterator[tuple[str, str]]:
    for each in functions:
        if each.co_name.startswith("<"):
            continue  # a comprehension has its variables to itself, and a lambda assigns none
        taken = each.co_argcount + each.co_kwonlyargcount
        for name in each.co_varnames[taken:]:
            if name in names:
                at = f"{each.co_name} ({each.co_filename}:{each.co_firstlineno})"
                what = f"assigns a variable `{name}` of its own, not the one that is waited for"
                yield name, f"{at} {what}: write `{word} {name}` in it"


def enclosing(frame: FrameType) -> Iterator[CodeType]:
    """Yield the functions around that of a frame, outermost first, as far as they can be found by its name."""
    first, *names = frame.f_code.co_qualname.split(".<locals>.")
    owner: object = frame.f_globals.get(first.split(".")[0])
    for part in first.split(".")[1:]:
        owner = getattr(owner, part, None)
    code = getattr(inspect.unwrap(owner), "__code__", None) if callable(owner) else None
    for name in names:
        if code is None:
            return
        yield code
        inner = (each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)
        code = next(inner, None)
