"""What variables have that a predicate reads, and whether anything can change them: no code of the program's is run."""

from __future__ import annotations

import builtins
import dis
from collections import deque
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType, FunctionType

import numpy as np

from conduit.core import written
from conduit.launch.program.folders import is_own
from conduit.launch.program.own_variables import all_inside, inside

_MOST = 4  # variables that are shown
_LONGEST = 24  # characters of a text that is shown
_KEYS = 64  # of a dict that is looked into
_PLAIN = (int, bool, float, type(None))
_SIZED = (list, dict, set, tuple, deque, bytearray, bytes, str)
_LOADS = ("LOAD_DEREF", "LOAD_GLOBAL")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_UNKNOWN = object()


def values_read(predicate: object) -> str:
    """Return what the variables have that a program's predicate reads, as `n is 4, len(got) is 0`; "" for none."""
    found = dict[str, None]()
    for name, value, key in _reads(predicate):
        if key is not _UNKNOWN and (inside := _element(value, key)) is not _UNKNOWN and _shown(inside):
            found[f"{name}[{key!r}] is {inside!r}"] = None
        elif _shown(value):
            found[f"{name} is {value!r}"] = None
        elif type(value) in _SIZED:
            found[f"len({name}) is {len(value)}"] = None  # type: ignore[arg-type]
    return ", ".join(list(found)[:_MOST])


def never_assigned(frame: FrameType, predicate: object, but: set[str]) -> list[str]:
    """Return what to do about a predicate that nothing can make true, as nothing assigns what it reads.

    Args:
        frame: of the function of a program that waits for it.
        predicate: what is waited for.
        but: variables of which something else is said.
    """
    function = _of_program(predicate)
    if function is None or inside(function.__code__):
        return []
    own: dict[str, None] = {}
    for name, value, _ in _reads(function):
        of_frame = name in function.__code__.co_freevars
        if of_frame and name in frame.f_code.co_cellvars and name not in but and type(value) in (*_PLAIN, str):
            if any(_assigns(each, name) for each in inside(frame.f_code)):
                return []
            own[name] = None
        elif of_frame or not _is_constant(frame, name, value):
            return []
    if not own:
        return []
    at = written.at(function.__code__.co_filename, function.__code__.co_firstlineno)
    names = " or ".join(f"`{name}`" for name in own)
    return [
        f"nothing in the program assigns {names} while {frame.f_code.co_name} waits: let the predicate at {at} read "
        f"what a handler changes, or let a handler assign {'it' if len(own) == 1 else 'one'}, with `nonlocal`"
    ]


def _of_program(predicate: object) -> FunctionType | None:
    if type(predicate) is not FunctionType or is_own(predicate.__code__.co_filename):
        return None
    return predicate


def _reads(predicate: object) -> Iterator[tuple[str, object, object]]:
    """Yield the variables of others that a function reads with what they have, and the constant that it takes of each.

    That is `_UNKNOWN` where it takes none; builtins are left out, and what has not been assigned.
    """
    function = _of_program(predicate)
    if function is None:
        return
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    steps = list(dis.get_instructions(code))
    for number, step in enumerate(steps):
        name = step.argval
        if step.opname not in _LOADS or not isinstance(name, str):
            continue
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:
                value = _UNKNOWN
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            value = _UNKNOWN
            if hasattr(builtins, name):
                continue
        yield name, value, _key(steps[number + 1 : number + 3])


def _key(steps: Sequence[dis.Instruction]) -> object:
    """Return the constant that the next two steps take as the key of what is loaded, `_UNKNOWN` for other steps."""
    if len(steps) < 2 or steps[0].opname not in _CONSTANTS:
        return _UNKNOWN
    return steps[0].argval if steps[1].opname == "BINARY_SUBSCR" or steps[1].argrepr == "[]" else _UNKNOWN


def _shown(value: object) -> bool:
    """Say whether a value is shown itself."""
    return type(value) in _PLAIN or (type(value) is str and len(value) <= _LONGEST)


def _element(value: object, key: object) -> object:
    """Return an element of a container of Python's own, or a number of an array; `_UNKNOWN` for all others."""
    if type(value) is dict and type(key) in (int, str) and len(value) <= _KEYS:
        plain = all(type(each) in (int, str) for each in value)  # the comparison of others may be the program's
        return value.get(key, _UNKNOWN) if plain else _UNKNOWN
    if type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value):  # type: ignore[arg-type]
        return value[key]  # type: ignore[index]
    if type(value) is np.ndarray and value.dtype.kind in "biuf" and value.ndim == 1 and type(key) is int:
        return value[key].item() if -len(value) <= key < len(value) else _UNKNOWN  # as a flag in a segment
    return _UNKNOWN


def _is_constant(frame: FrameType, name: str, value: object) -> bool:
    """Say whether a variable of the module is a plain one that no function of it assigns."""
    if type(value) not in (*_PLAIN, str):
        return False
    functions = [each.__code__ for each in frame.f_globals.values() if isinstance(each, FunctionType)]
    return not any(_stores(deep, name, "STORE_GLOBAL") for each in functions for deep in (each, *all_inside(each)))


def _assigns(code: CodeType, name: str) -> bool:
    """Say whether a function, or one in it, assigns a variable of a function around it."""
    return name in code.co_freevars and (
        _stores(code, name, "STORE_DEREF") or any(_assigns(each, name) for each in inside(code))
    )


def _stores(code: CodeType, name: str, step: str) -> bool:
    return any(each.opname == step and each.argval == name for each in dis.get_instructions(code))
