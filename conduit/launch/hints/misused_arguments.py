"""What to do where calls of this project are given what they do not take, or what is a call already."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from types import CodeType

import numpy as np
import trio

from conduit.core import written
from conduit.core.results import usual_kind
from conduit.core.steps import steps_of
from conduit.launch.program.folders import is_own
from conduit.launch.program.program_node import ProgramNode, as_called, name_of, program_node
from conduit.launch.program.public import layer_classes
from conduit.words import like

STARTED = "Trio was expecting an async function, but instead it got a coroutine"
"""How Trio refuses a call that has been made already."""
_SWAPPED = re.compile(
    r"^[\w.]+: (dest=.* is (a function|an? (ndarray|bytes|bytearray|memoryview|str|list|tuple));|"
    r"(data|payload) is an int,|"
    r"\w+=.* is (a function|an? (ndarray|str|bytes|bytearray|list|tuple)); it must be an integer|"
    r"\w+=[^\d-].* is no integer|"
    r"\w+=.* is an? \w+; give a shared array)",
    re.DOTALL,
)
_NO_HANDLER = re.compile(r"^[\w.]+: handler=.* (pass the function itself|is no function;|is a coroutine;)", re.DOTALL)
_PASSED = re.compile(r"rank (\d+) passed \[([^\]]*)\]")
_FUNCTIONS = {"main", "handler", "handlers", "predicate", "function"}
"""What parameters that take functions of programs are called."""
_OF_LAYERS = ("called", "alike")
"""The parameters by which a layer above says in whose name it makes a call, and what of that is to be the same on all
ranks; programs leave them out."""
_PLAIN = (type(None), bool, int, float, str)
_TIMEOUT = "; for a limit of time write `with trio.fail_after(seconds):` around the call"


def wrong_count(failed: ProgramNode, name: str) -> str:
    """Say what a call takes that was given too many arguments, or too few."""
    called = [failed.tree.func, *failed.tree.args[:1]] if isinstance(failed.tree, ast.Call) else []
    for each in called:  # the first argument is what a nursery starts
        function = failed.function(each)
        if function is not None and getattr(function, "__name__", "") == name:
            takes = ", ".join(_taken(function))
            return f"{ast.unparse(each)} takes {f'({takes})' if takes else 'no arguments'}{_besides(failed, each)}"
    return _given_made(failed) or (run_by_itself(failed) if name == "main" else "")


def wrong_keyword(failed: ProgramNode, name: str) -> str:
    """Say what a call of this project takes that was given an argument of a name that it has not; "" for others."""
    if text := _to_nursery(failed, name):
        return text
    if not isinstance(failed.tree, ast.Call) or (function := failed.function(failed.tree)) is None:
        return ""
    known, all_taken = [], []
    for each in _parameters(function):
        if each.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            known.append(each.name)
            all_taken.append(each.name)
        elif each.kind is inspect.Parameter.VAR_POSITIONAL:
            all_taken.append(f"*{each.name}")
    takes = ", ".join(all_taken) or "none"
    called = ast.unparse(failed.tree.func)
    return f"{called} has no argument {name}={like(name, known)}; it takes {takes}" + (
        _TIMEOUT * (name == "timeout") or _view(failed.tree, function, name)
    )


def _view(call: ast.Call, function: Callable[..., object], name: str) -> str:
    """Say how bytes that a call gets become elements, where it was given their type; "" for others."""
    given = [each for each in call.keywords if each.arg == name]
    if name != "dtype" or not given or "nbytes" not in inspect.signature(function).parameters:
        return ""
    if usual_kind(function) is not np.ndarray:
        return ""
    rest = ast.Call(call.func, call.args, [each for each in call.keywords if each not in given])
    return f"; it gives bytes: write `(await {ast.unparse(rest)}).view({ast.unparse(given[0].value)})`"


def _to_nursery(failed: ProgramNode, name: str) -> str:
    """Say how a function is given to a nursery of Trio that hands on no argument of a name; "" for other calls."""
    match failed.tree.value if isinstance(failed.tree, ast.Await) else failed.tree:
        case ast.Call(func=ast.Attribute(value=nursery) as start, args=[called, *rest], keywords=named):
            if not isinstance(failed.value(nursery), trio.Nursery):
                return ""
            if name in [each.arg for each in named]:
                own = [each for each in named if each.arg == "name"]
                words = [apart(ast.Call(called, rest, [each for each in named if each not in own]))]
                words += map(ast.unparse, own)
                return f"Trio hands on no arguments by name: write `{ast.unparse(start)}({', '.join(words)})`"
            if name == "task_status":
                words = [ast.unparse(each) for each in (called, *rest, *named)]
                return (
                    f"{ast.unparse(start)} is for functions that take `task_status`: write "
                    f"`{ast.unparse(nursery)}.start_soon({', '.join(words)})`"
                )
    return ""


def swapped(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say what a call takes where it was given something in the place of something else; "" for other errors.

    Args:
        error: that an argument is refused.
        ours: says of a class, or a function, whether it is one of this project.
    """
    failed = program_node(error, ours) if _SWAPPED.search(str(error)) else None
    call = failed.tree.value if failed and isinstance(failed.tree, ast.Await) else failed and failed.tree
    if not isinstance(call, ast.Call) or failed is None or (function := failed.function(call)) is None:
        return ""
    return f"{ast.unparse(call.func)} takes ({', '.join(_taken(function))})"


def made_handler(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say how a handler is given to a call, where a program calls it there and gives what it returns; "" for others.

    Args:
        error: that what was given is no handler.
        ours: says of a class, or a function, whether it is one of this project.
    """
    failed = program_node(error, ours) if _NO_HANDLER.match(str(error)) else None
    call = failed.tree.value if failed and isinstance(failed.tree, ast.Await) else failed and failed.tree
    if not isinstance(call, ast.Call) or failed is None or (function := failed.function(call)) is None:
        return ""
    for at, given in enumerate(call.args):
        if (
            isinstance(given, ast.Call)
            and _takes_function(function, at)
            and inspect.isroutine(failed.value(given.func))
        ):
            awaited = any(each and written.same(made, call) for made, each in _calls_in(failed.frame.f_code))
            return _with_function(call, at, given, function, awaited=awaited)
    return ""


def of_attaches(error: BaseException) -> str:
    """Say which ranks have attached which layer, where their handlers differ by that; "" for other errors."""
    said = [(rank, names.split(", ")[0]) for rank, names in _PASSED.findall(str(error))]
    calls = [(rank, _layer_of(first)) for rank, first in said]
    if not any(layer for _, layer in calls) or len({layer for _, layer in calls}) == 1:
        return ""
    made = ", ".join(f"rank {rank} has called `{layer or 'ep'}.attach`" for rank, layer in calls)
    return f"{made}: let every rank make the same calls in the same order"


def _layer_of(handler: str) -> str:
    """Return the name of the layer whose first handler has a name, "" where none has it."""
    return next((each.__name__ for each in layer_classes() if getattr(each, "_first_handler", "") == handler), "")


def of_started(tree: ast.AST) -> str:
    """Say how a call is given to a nursery that was given the call made already; "" for other expressions."""
    match tree:
        case ast.Call(func=function, args=[ast.Call() as made, *rest]):
            words = ", ".join([apart(made), *map(ast.unparse, rest)])
            return f"give the function and its arguments apart, without calling it: `{ast.unparse(function)}({words})`"
    return ""


def of_awaited_start(tree: ast.AST) -> str:
    """Say how a call is given to a nursery that was given what the call gives; "" for other expressions."""
    match tree:
        case ast.Call(
            func=ast.Attribute(attr="start_soon") as function, args=[ast.Await(value=ast.Call() as made), *rest]
        ):
            return of_started(ast.Call(function, [made, *rest], [])).replace("calling", "awaiting", 1)
    return ""


def apart(made: ast.Call) -> str:
    """Return a call's function and its arguments as Trio wants them, which calls the function itself."""
    words = ", ".join(map(ast.unparse, [made.func, *made.args, *made.keywords]))
    return f"functools.partial({words})" if made.keywords else words


def run_by_itself(failed: ProgramNode | None) -> str:
    """Say what to do about a line outside of all functions that runs main, "" where the line that failed is in one."""
    if failed is None or failed.frame.f_code.co_name != "<module>":
        return ""
    return (
        f"`conduit run` calls main by itself: take line {getattr(failed.tree, 'lineno', 0)} away, or for a script put "
        '`if __name__ == "__main__":` before it, and `conduit.run(main)` there'
    )


def begins_job(failed: ProgramNode) -> str:
    """Say how a script begins a job, where it gives `conduit.run(main)` to what runs coroutines; "" for other lines."""
    match failed.tree:
        case ast.Call(args=[ast.Call() as made, *_]) if failed.frame.f_code.co_name == "<module>":
            function = failed.function(made)
            if function is not None and function.__name__ == "run":
                return f"`{ast.unparse(made)}` by itself: it begins the job, and returns when that is over"
    return ""


def begins_program(failed: ProgramNode, error: BaseException) -> str:
    """Say how a script begins a job, where it gives its program to what runs coroutines of others; "" for other lines.

    Args:
        failed: the line.
        error: that it has failed; what came through this project before has come out of a job.
    """
    before = list(takewhile(lambda step: step.tb_frame is not failed.frame, steps_of(error)))
    files = [step.tb_frame.f_code.co_filename for step in before]
    modules = [step.tb_frame.f_code.co_name for step in before if not is_own(step.tb_frame.f_code.co_filename)]
    match failed.tree:
        case ast.Call(args=[ast.Name() as main]) | ast.Call(args=[ast.Call(func=ast.Name() as main)]):
            if not inspect.iscoroutinefunction(failed.value(main)):
                return ""
            started = modules[:1] == ["<module>"] and not any(map(is_own, files))
            if started or (main.id != "main" and failed.frame.f_code.co_name == "<module>"):
                return (
                    f"`conduit.run({main.id})` begins the job: write that in the place of `{ast.unparse(failed.tree)}`"
                )
            return run_by_itself(failed)
    return ""


def of_generator(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say that a list is to be given where a program gives `f(await g(i) for i in a)`; "" for other errors.

    Args:
        error: that something is an async generator.
        ours: says of a class, or a function, whether it is one of this project.
    """
    failed = program_node(error, ours) if "async_generator" in str(error) else None
    for node in ast.walk(failed.tree) if failed else ():
        match node:
            case ast.Call(func=function, args=[*_, ast.GeneratorExp() as given]) if _waits(given):
                listed = ast.unparse(ast.ListComp(given.elt, given.generators))
                words = ", ".join([*map(ast.unparse, node.args[:-1]), listed, *map(ast.unparse, node.keywords)])
                text = f"with `await` in it this is no list: put it into brackets, `{ast.unparse(function)}({words})`"
                match given.elt:
                    case ast.Await(value=ast.Subscript(value=taken)) if failed and failed.is_ours(failed.value(taken)):
                        text += f"; `await {ast.unparse(taken)}[:]` reads all at once"
                return text
    return ""


def _waits(generator: ast.GeneratorExp) -> bool:
    return any(isinstance(each, ast.Await) for each in ast.walk(generator))


def _besides(failed: ProgramNode, called: ast.expr) -> str:
    """Say which other call may have been meant, where the class of the object knows one."""
    method = called.func if isinstance(called, ast.Call) else called
    if not isinstance(method, ast.Attribute):
        return ""
    there = failed.value(method.value)
    kind = there if isinstance(there, type) else type(there)
    text = getattr(kind, "_instead", {}).get(f"{method.attr}()")
    return f"; {as_called(text, kind, name_of(method.value))}" if text else ""


def _given_made(failed: ProgramNode) -> str:
    """Say how a function is given to what calls it, where a program gives a call of it: `conduit.run(main())`."""
    made = failed.tree
    for call, awaited in _calls_in(failed.frame.f_code) if isinstance(made, ast.Call) else ():
        if isinstance(made, ast.Call) and (function := failed.function(call)):
            for at, given in enumerate(call.args):
                if written.same(given, made) and _takes_function(function, at):
                    return _with_function(call, at, made, function, awaited=awaited)
    return ""


def _takes_function(function: Callable[..., object], at: int) -> bool:
    """Say whether what stands at an index among a call's arguments is to be a function."""
    names = list(inspect.signature(function).parameters)
    return names[min(at, len(names) - 1)] in _FUNCTIONS


def _calls_in(code: CodeType) -> Iterator[tuple[ast.Call, bool]]:
    """Yield the calls in the file of a function, and whether each is awaited at once."""
    for each in written.nodes(code):
        match each:
            case ast.Await(value=ast.Call() as made):
                yield made, True
            case ast.Call():
                yield each, False


def _with_function(call: ast.Call, at: int, made: ast.Call, function: Callable[..., object], *, awaited: bool) -> str:
    """Say how a call is written whose argument at an index is a call of what it calls by itself.

    What that one was given is for `call` to give, which says so itself or takes it last.
    """
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    alone = kinds[min(at, len(kinds) - 1)] is inspect.Parameter.VAR_POSITIONAL
    last = at + 1 < len(kinds) and kinds[at + 1] is inspect.Parameter.VAR_POSITIONAL
    theirs = [] if alone or (call.args[at + 1 :] and not last) else made.args
    words = [*call.args[:at], made.func, *theirs, *call.args[at + 1 :], *call.keywords]
    called = ast.unparse(call.func)
    return (
        f"{called} calls {ast.unparse(made.func)} by itself: write `{'await ' * awaited}{called}("
        f"{', '.join(map(ast.unparse, words))})`"
    )


def _taken(function: Callable[..., object]) -> Iterator[str]:
    """Yield what a function takes, as it is written in its head, without types."""
    before = None
    check = getattr(function, "check", None)  # which may ask for more than the head of the call says
    asked = inspect.signature(check).parameters if inspect.isfunction(check) else {}
    for each in _parameters(function):
        if each.kind is inspect.Parameter.KEYWORD_ONLY and before not in (each.kind, inspect.Parameter.VAR_POSITIONAL):
            yield "*"
        before = each.kind
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            yield f"*{each.name}"
        elif inspect.Parameter.empty in (each.default, getattr(asked.get(each.name), "default", None)):
            yield each.name
        else:
            yield f"{each.name}={_default(function, each)}"


def _default(function: Callable[..., object], parameter: inspect.Parameter) -> str:
    """Return what stands for an argument that is not given: its value, or the name of one that says nothing."""
    value = parameter.default
    if isinstance(value, int) and value < 0:
        code = inspect.unwrap(function).__code__
        for each in written.nodes(code):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == code.co_name:
                taken = dict(zip(each.args.args[::-1], each.args.defaults[::-1], strict=False))
                begins = min([each.lineno, *(line.lineno for line in each.decorator_list)])
                if begins == code.co_firstlineno:
                    return next(
                        (ast.unparse(default) for name, default in taken.items() if name.arg == parameter.name),
                        repr(value),
                    )
    return repr(value) if isinstance(value, _PLAIN) else "..."


def _parameters(function: Callable[..., object]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a call that are for programs."""
    for each in inspect.signature(function).parameters.values():
        if each.name not in _OF_LAYERS:
            yield each
