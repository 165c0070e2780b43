"""What to do where Python refuses how a program uses an object of this project: calls, awaits, enters, adds it.

Python names the type alone: "object int can't be used in 'await' expression".  The program's own line says more.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator

import numpy as np

from conduit.core import written
from conduit.core.results import result_kind
from conduit.launch.hints.misused_arguments import (
    STARTED,
    of_awaited_start,
    of_generator,
    of_started,
    wrong_count,
    wrong_keyword,
)
from conduit.launch.hints.misused_handles import of_handle
from conduit.launch.oversights import mpi4py_world
from conduit.launch.program.program_node import UNKNOWN, ProgramNode, as_called, name_of, program_node, source_of
from conduit.launch.result import Result
from conduit.words import is_a

_METHODS = re.compile(r"'(builtin_function_or_)?(method|function)'")
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_COUNT = re.compile(
    r"(?P<name>\w+)\(\) (missing \d+ required |takes (from )?\d+ (to \d+ )?positional arguments? but |"
    r"got multiple values for argument )"
)
_LACKS = re.compile(r"\(\) missing \d+ required positional argument")
_NO_CONTEXT = re.compile(r"'(?:[\w.]+\.)?(\w+)' object does not support the (?:asynchronous )?context manager protocol")
_INDEXED = ("object is not subscriptable", "object does not support item assignment")
_REQUESTS = ("request_short", "request_medium", "request_long", "request_long_async")


def misuse(error: TypeError, ours: Callable[[object], bool]) -> str:
    """Return what to do about a TypeError of Python's own, "" where it is not of an object of this project.

    Args:
        error: as it was raised.
        ours: says of a class whether it is one of this project.
    """
    failed, text = program_node(error, ours), str(error)
    if failed is None:
        return ""
    if found := _KEYWORD.search(text):
        return wrong_keyword(failed, found[1]) if "Did you mean" not in text else ""
    if _LACKS.search(text) and (waits := _of_predicate(failed.tree)):
        return waits
    if found := _COUNT.search(text):
        return wrong_count(failed, found["name"])
    if handle := of_handle(failed, text):
        return handle
    if text.startswith(STARTED):
        return of_started(failed.tree)
    if found := _NO_CONTEXT.match(text):
        return "; ".join(
            filter(None, (_entered(failed, node, found[1], waits="async" in text) for node in _contexts(failed.tree)))
        )
    if "__aiter__" in text and "got coroutine" not in text:
        node = failed.tree.iter if isinstance(failed.tree, ast.AsyncFor) else failed.tree
        if failed.calls_ours(node):
            return f"{source_of(node)} is an ordinary iterator: write `for`, not `async for`"
        return _of_kind(failed, node, "async for")
    if text.startswith("'int' object ") and text.endswith(_INDEXED) and (made := _index_of_made(failed)):
        return made
    if "not subscriptable" in text and isinstance(failed.tree, ast.Subscript):
        return _taken_by_index(failed, failed.tree) or _reckoned(failed, methods=False) or nothing(error, ours)
    if "async_generator" in text and (brackets := of_generator(error, ours)):
        return brackets
    if text.endswith("object is not iterable") and (listed := _iterated(failed)):
        return listed
    if "await" in text:
        return _awaited(failed, failed.tree.value if isinstance(failed.tree, ast.Await) else failed.tree)
    if "object is not callable" in text and isinstance(failed.tree, ast.Call):
        return of_awaited_start(failed.tree) or _called(failed, failed.tree.func)
    if text == "'int' object is not iterable":
        return _counted(failed, failed.tree.iter if isinstance(failed.tree, ast.For) else failed.tree)
    if "str" in text and (found_ := _word_of_the_command_line(failed)):
        return found_
    return _reckoned(failed, methods=_METHODS.search(text) is not None) or nothing(error, ours)


def nothing(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say which call of this project has given None, where a program has taken that for a value; "" for others.

    Args:
        error: that None has no such attribute, or cannot be used so.
        ours: says of a class, or a function, whether it is one of this project.
    """
    failed = program_node(error, ours)
    if failed is not None and (text := _no_trace(failed)):
        return text
    if failed is not None and "None" in str(error) and (made := _gave_none(failed)):
        return f"`await {source_of(made)}` gave None on this rank{_why_none(failed, made)}"
    names = [node for node in ast.walk(failed.tree) if isinstance(node, ast.Name)] if failed else []
    taken = next((name for name in names if failed and failed.value(name) is None), None)
    if failed is None or taken is None:
        return ""
    found = _maker(failed, taken)
    if found is None:
        return ""
    made, file, line = found
    given = f"{taken.id} is None, which is what {source_of(made)} at {file}:{line} gave on this rank"
    if isinstance(made.func, ast.Attribute) and made.func.attr in _REQUESTS:
        return (
            f"{given}; what a handler returns goes nowhere: let it answer by `token.reply_short(handler, *args)`, and "
            "`await ep.block_until(...)` for what that handler keeps"
        )
    return given + _why_none(failed, made)


def _gave_none(failed: ProgramNode) -> ast.Call | None:
    """Return the call of this project that a line awaits and that may give None, where it awaits one alone."""
    whole = failed.tree
    for each in written.nodes(failed.frame.f_code) if isinstance(whole, ast.Tuple) else ():
        if isinstance(each, ast.Assign) and any(written.same(target, failed.tree) for target in each.targets):
            whole = each  # Python blames what `a, b = await ...` assigns to
    awaited = [node.value for node in ast.walk(whole) if isinstance(node, ast.Await)]
    match awaited:
        case [ast.Call() as made] if function := failed.function(made):
            if _why_none(failed, made) or "None" in str(function.__annotations__.get("return")):
                return made
    return None


def _why_none(failed: ProgramNode, made: ast.Call) -> str:
    """Say why a call has given None where the class of its object knows, "" for others."""
    method = made.func
    kind = type(failed.value(method.value)) if isinstance(method, ast.Attribute) else object
    text = getattr(kind, "_instead", {}).get(f"{getattr(method, 'attr', '')} None")
    return f"; {text}" if text else ""


def _no_trace(failed: ProgramNode) -> str:
    """Say what gives a result its trace where a program has used one that is not there; "" where it has not."""
    for node in ast.walk(failed.tree):
        match node:
            case ast.Attribute(value=result, attr="trace"):
                there = failed.value(result)
                made = failed.function(result) if isinstance(result, ast.Call) else None
                if (isinstance(there, Result) and there.trace is None) or getattr(made, "__name__", "") == "run":
                    return (
                        f"{ast.unparse(node)} is None, for that job kept none: give its run `trace=True`, as "
                        "`conduit.run(main, ..., trace=True)`"
                    )
    return ""


def _maker(failed: ProgramNode, taken: ast.Name) -> tuple[ast.Call, str, int] | None:
    """Return the awaited call of this project that has given a variable's value, by the file's lines, and where it is.

    Args:
        failed: the line that failed.
        taken: the variable, in that line.
    """
    code, found = failed.frame.f_code, None
    for each in written.nodes(code):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Await(value=ast.Call() as made)):
                before = (each.lineno, each.col_offset) < (taken.lineno, taken.col_offset)
                if name == taken.id and code.co_firstlineno <= each.lineno and before and failed.function(made):
                    found = made, code.co_filename, each.lineno
    return found


def _index_of_made(failed: ProgramNode) -> str:
    """Say what an integer stands for that a program takes for an array, where its call's class says; "" for others."""
    for node in ast.walk(failed.tree):
        match node:
            case ast.Subscript(value=ast.Name() as taken) if type(failed.value(taken)) is int:
                found = _maker(failed, taken)
                if found is None or not isinstance(found[0].func, ast.Attribute):
                    continue
                made, file, line = found
                method = found[0].func
                kind = type(failed.value(method.value))
                if text := getattr(kind, "_instead", {}).get(f"{method.attr}[]"):
                    return f"{taken.id} is what {source_of(made)} at {file}:{line} gave, {text.format(taken.id)}"
    return ""


def _of_predicate(tree: ast.AST) -> str:
    """Say how a predicate is written where one was given that takes arguments, "" for another line."""
    match tree:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr="block_until") as name)):
            return f"{ast.unparse(name)} calls its predicate without arguments: write `lambda: ...`"
    return ""


def _awaited(failed: ProgramNode, node: ast.AST) -> str:
    if failed.calls_ours(node):
        return _to_enter(failed, node) or (
            f"{source_of(node)} is a plain call, which never waits: write it without `await`"
        )
    if failed.is_method(node):
        return f"{source_of(node)} is a method: call it, `await {_called_as(failed, node)}`"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Await):
        return f"{source_of(node)} is there at once, its `await` is inside: write it without the outer `await`"
    if isinstance(node, ast.Subscript) and isinstance(failed.value(node.value), np.ndarray):
        return f"{source_of(node)} is an element of an array, which is there at once: write it without `await`"
    if isinstance(node, ast.Await) and failed.calls_ours(node.value):
        return f"`{source_of(node)}` gives its result, which is no call: write one `await`"
    if isinstance(node, ast.List | ast.Tuple):
        return "a list cannot be awaited: await its calls one by one, or start each in a nursery of Trio"
    if of_mpi4py := _of_mpi4py(failed, node):
        return of_mpi4py
    value = failed.value(node)
    if value is UNKNOWN:
        return ""
    if text := getattr(type(value), "_instead", {}).get("await"):
        return f"{source_of(node)} {is_a(value)}, which is no call: {as_called(text, type(value), name_of(node))}"
    if isinstance(value, list | tuple) and value:
        if text := getattr(type(value[0]), "_instead", {}).get("await []"):
            return f"{source_of(node)} {is_a(value)}, which cannot be awaited itself: {text}"
        if inspect.isawaitable(value[0]):
            return f"{source_of(node)} {is_a(value)}, which cannot be awaited itself: await what is in it, one by one"
    if value is None and isinstance(node, ast.Name):
        return f"{node.id} is None, and there is nothing to wait for: leave this `await` out"
    if isinstance(node, ast.Attribute | ast.Name):
        return f"{source_of(node)} {is_a(value)}, which is there at once: write it without `await`"
    return ""


def _of_mpi4py(failed: ProgramNode, node: ast.AST) -> str:
    """Say what to write where a program awaits a call of mpi4py itself, "" where it does not."""
    match node:
        case ast.Call(func=ast.Attribute(value=there)) if mpi4py_world.is_communicator(failed.value(there)):
            instead = mpi4py_world.in_its_place(failed.frame.f_globals.get("api", ""))
            return f"{source_of(there)} is mpi4py's own, whose calls are not awaited; write {instead}"
    return ""


def _taken_by_index(failed: ProgramNode, node: ast.Subscript) -> str:
    """Say what to write where a program takes a part of an object of this project that is none of its own."""
    there = node.value
    if failed.is_method(there):
        given = "..." if isinstance(node.slice, ast.Slice | ast.Tuple) else ast.unparse(node.slice)
        return f"{source_of(there)} is a method: call it, `{source_of(there)}({given})`"
    if isinstance(there, ast.Subscript):
        kind = type(failed.value(there.value))
        if "[][]" in getattr(kind, "_instead", {}):
            array = ast.unparse(there.value)
            if isinstance(there.slice, ast.Slice):
                return f"write `(await {ast.unparse(there)})[{ast.unparse(node.slice)}]`"
            return f"write `await {array}[{ast.unparse(there.slice)}, {ast.unparse(node.slice)}]`"
    return _of_kind(failed, there, "[]")


def _iterated(failed: ProgramNode) -> str:
    """Say what to iterate over in the place of an object of this project; "" for others."""
    tree = failed.tree
    for node in (tree.iter,) if isinstance(tree, ast.For) else (tree, *ast.iter_child_nodes(tree)):
        if text := _of_kind(failed, node, "for"):
            return text
    return ""


def _of_kind(failed: ProgramNode, node: ast.AST, use: str) -> str:
    """Say what to write where an object of this project cannot be used so, "" where its class does not say."""
    kind = failed.kind_given(node) or type(failed.value(node))
    text = getattr(kind, "_instead", {}).get(use)
    return f"{source_of(node)} is a {kind.__name__}: {as_called(text, kind, name_of(node))}" if text else ""


def _to_enter(failed: ProgramNode, node: ast.AST) -> str:
    """Say how that is entered which a call gives at once, "" where it gives something else."""
    kind = failed.kind_given(node)
    if kind is None or not hasattr(kind, "__aenter__"):
        return ""
    text = source_of(node)
    if instead := getattr(kind, "_instead", {}).get("await"):
        return f"{text} is entered, not awaited: {instead}"
    if not hasattr(kind, "acquire"):
        return ""
    return (
        f"{text} makes a {kind.__name__} and does not take it: write `async with {text}:`, or `await "
        f"{text}.acquire()` and `await {text}.release()`"
    )


def _contexts(tree: ast.AST) -> list[ast.expr]:
    """Return what a `with` enters."""
    if isinstance(tree, ast.With | ast.AsyncWith):
        return [item.context_expr for item in tree.items]
    return [tree] if isinstance(tree, ast.expr) else []


def _entered(failed: ProgramNode, node: ast.expr, refused: str, *, waits: bool) -> str:
    """Say how an expression is entered, or that what it gives is not.

    Args:
        failed: the line that failed.
        node: what it enters.
        refused: the name of the class of which Python says so.
        waits: whether the program enters it by `async with`.
    """
    if failed.is_method(node):
        return f"{source_of(node)} is a method: call it, `async with {_called_as(failed, node)}:`"
    value = failed.value(node)
    made = node.value if isinstance(node, ast.Await) else node
    if not (failed.calls_ours(made) or (value is not UNKNOWN and failed.ours(type(value)))):
        return ""
    function = failed.function(made)
    kind = type(value) if function is None else result_kind(function) or _class_of(function, refused)
    entered = kind is not None and hasattr(kind, "__aenter__")
    instead = _in_place_of_entering(failed, made, kind)
    if refused == "coroutine":
        call = f"await {source_of(made)}"
        if entered:
            return f"what it gives is entered: write `async with {call}:`"
        if kind is None and not instead:
            return f"it is awaited first: write `made = {call}`, and `async with made:` where that can be entered"
        return instead or f"write `{call}`, without `with`"
    if entered or (kind is None and not waits):
        return f"to enter it may take time: write `async with {source_of(node)}:`"
    return f"a {refused} is not entered: {instead or 'use it without `with`'}"


def _in_place_of_entering(failed: ProgramNode, made: ast.expr, kind: type | None) -> str:
    """Return what to write in the place of entering what a call gives, "" where neither its class says nor the call's.

    Args:
        failed: the line that failed.
        made: the call.
        kind: of what it gives.
    """
    if text := getattr(kind, "_instead", {}).get("async with"):
        return str(text)
    method = made.func if isinstance(made, ast.Call) else None
    if not isinstance(method, ast.Attribute):
        return ""
    owner = type(failed.value(method.value))
    text = getattr(owner, "_instead", {}).get(f"async with {method.attr}")
    return as_called(text, owner, name_of(method.value)) if text else ""


def _class_of(function: Callable[..., object], name: str) -> type | None:
    """Return the class of that name which a function makes objects of, None where it is no class method of it."""
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, type) and owner.__name__ == name else None


def _called(failed: ProgramNode, node: ast.expr) -> str:
    value = failed.value(node)
    if text := _of_kind(failed, node, "()"):
        return text
    if isinstance(node, ast.Attribute) and value is not UNKNOWN:
        if inspect.isroutine(getattr(type(failed.value(node.value)), node.attr, None)):
            put = "that the program has put in the place of the method; keep it in a variable"
            return f"{source_of(node)} {is_a(value)} {put}"
        return f"{source_of(node)} {is_a(value)} and no method: write it without parentheses"
    return ""


def _counted(failed: ProgramNode, node: ast.AST) -> str:
    value = failed.value(node)
    if isinstance(node, ast.Attribute) and isinstance(value, int):
        return f"{source_of(node)} {is_a(value)}: write `range({source_of(node)})`"
    return ""


def _word_of_the_command_line(failed: ProgramNode) -> str:
    """Say what main was given, where an expression takes a word of the command line for a number; "" for others."""
    code = failed.frame.f_code
    if code.co_name != "main":
        return ""
    given = code.co_varnames[1 : code.co_argcount]
    for node in ast.walk(failed.tree):
        if isinstance(node, ast.Name) and node.id in given and isinstance(failed.value(node), str):
            return f"{node.id} is a str, as all words of the command line are: write `int({node.id})`"
    return ""


def _reckoned(failed: ProgramNode, *, methods: bool) -> str:
    """Say what of an expression is not what it was taken for: a method not called, a handle not awaited."""
    for node in _not_called(failed.tree):
        if methods and failed.is_method(node):
            return f"{source_of(node)} is a method: call it, `{_called_as(failed, node)}`"
        value = failed.value(node)
        awaited = value is not UNKNOWN and failed.ours(type(value)) and hasattr(value, "__await__")
        if awaited and not isinstance(value, Result):
            return f"{source_of(node)} {is_a(value)}: write `await {source_of(node)}` for its result"
    return ""


def _not_called(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in one that are not what a call calls."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Call) and child is tree.func) and isinstance(child, ast.expr):
            yield child
        yield from _not_called(child)


def _called_as(failed: ProgramNode, node: ast.AST) -> str:
    """Return how a method is called: with parentheses that are empty where it needs no argument."""
    try:
        inspect.signature(failed.value(node)).bind()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"{source_of(node)}(...)"
    return f"{source_of(node)}()"
