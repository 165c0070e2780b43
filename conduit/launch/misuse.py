"""What to do where Python refuses how a program uses an object of this project: calls, awaits, enters, adds it.

Python names the type alone: "object int can't be used in 'await' expression".  The program's own line says more.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from conduit.core import written
from conduit.core.results import result_kind
from conduit.core.steps import steps_of
from conduit.launch.reports.folders import is_own
from conduit.launch.result import Result
from conduit.words import is_a, like

_UNKNOWN = object()
_METHODS = re.compile(r"'(builtin_function_or_)?(method|function)'")
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_COUNT = re.compile(
    r"(?P<name>\w+)\(\) (missing \d+ required |takes (from )?\d+ (to \d+ )?positional arguments? but |"
    r"got multiple values for argument )"
)
_LACKS = re.compile(r"\(\) missing \d+ required positional argument")
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
_NO_CONTEXT = re.compile(r"'(?:[\w.]+\.)?(\w+)' object does not support the (?:asynchronous )?context manager protocol")
_INDEXED = ("object is not subscriptable", "object does not support item assignment")
_REQUESTS = ("request_short", "request_medium", "request_long", "request_long_async")
_FUNCTIONS = {"main", "handler", "handlers", "predicate", "function"}
"""What parameters that take functions of programs are called."""
_OF_LAYERS = ("called", "alike")
"""The parameters by which a layer above says in whose name it makes a call, and what of that is to be the same on all
ranks; programs leave them out."""
_PLAIN = (type(None), bool, int, float, str)
_TIMEOUT = "; for a limit of time write `with trio.fail_after(seconds):` around the call"


class ProgramNode(NamedTuple):
    """What a program's line that failed is made of.

    Attributes:
        tree: the expression or statement.
        frame: whose line it is.
        ours: says of a class, or a function, whether it is one of this project.
    """

    tree: ast.AST
    frame: FrameType
    ours: Callable[[object], bool]

    def value(self, node: ast.AST) -> object:
        """Return what a name stands for, or an attribute; no property of an object of the program's is called."""
        match node:
            case ast.Name(id=name):
                for names in (self.frame.f_locals, self.frame.f_globals):
                    if name in names:
                        return names[name]
            case ast.Attribute(value=owner, attr=name):
                there = self.value(owner)
                if not self.is_ours(there):
                    return getattr(there, "__dict__", {}).get(name, _UNKNOWN)
                try:
                    return getattr(there, name)
                except Exception:  # out of a property, while the report of another error is made
                    return _UNKNOWN
        return _UNKNOWN

    def is_ours(self, there: object) -> bool:
        """Say whether an object is one of this project, or a module."""
        return self.ours(there if isinstance(there, type) else type(there)) or isinstance(there, ModuleType)

    def is_method(self, node: ast.AST) -> bool:
        """Say whether an expression is a method or function of this project that is not called."""
        return isinstance(node, ast.Attribute) and inspect.isroutine(self.value(node))

    def function(self, node: ast.AST) -> Callable[..., object] | None:
        """Return the method or function of this project that an expression stands for, or calls; None for another."""
        found = self.value(node.func if isinstance(node, ast.Call) else node)
        return found if inspect.isroutine(found) and self.ours(found) else None

    def calls_ours(self, node: ast.AST) -> bool:
        """Say whether an expression is a call of such a one."""
        return isinstance(node, ast.Call) and self.is_method(node.func)


def program_node(
    error: BaseException, ours: Callable[[object], bool], *, beyond: Callable[[str], bool] = lambda _: False
) -> ProgramNode | None:
    """Return what the innermost line of a program that an error came through is made of.

    Args:
        error: the error.
        ours: says of a class whether it is one of this project.
        beyond: says of a file whether the line that is meant comes before it.

    Returns:
        None where the error came through no program, or its source cannot be found.
    """
    for step in reversed(steps_of(error)):
        code = step.tb_frame.f_code
        if not is_own(code.co_filename) and not beyond(code.co_filename):
            tree = written.node(code, step.tb_lasti)
            return None if tree is None else ProgramNode(tree, step.tb_frame, ours)
    return None


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
        return _keyword(failed, found[1]) if "Did you mean" not in text else ""
    if _LACKS.search(text) and (waits := _of_predicate(failed.tree)):
        return waits
    if found := _COUNT.search(text):
        return _count(failed, found["name"])
    if text.startswith(STARTED):
        return _started(failed.tree)
    if found := _NO_CONTEXT.match(text):
        return "; ".join(
            filter(None, (_entered(failed, node, found[1], waits="async" in text) for node in _contexts(failed.tree)))
        )
    if "__aiter__" in text and "got coroutine" not in text:
        node = failed.tree.iter if isinstance(failed.tree, ast.AsyncFor) else failed.tree
        if failed.calls_ours(node):
            return f"{_shown(node)} is an ordinary iterator: write `for`, not `async for`"
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
        return _called(failed, failed.tree.func)
    if text == "'int' object is not iterable":
        return _counted(failed, failed.tree.iter if isinstance(failed.tree, ast.For) else failed.tree)
    if "str" in text and (found_ := _word_of_the_command_line(failed)):
        return found_
    return _reckoned(failed, methods=_METHODS.search(text) is not None) or nothing(error, ours)


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


def nothing(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say which call of this project has given None, where a program has taken that for a value; "" for others.

    Args:
        error: that None has no such attribute, or cannot be used so.
        ours: says of a class, or a function, whether it is one of this project.
    """
    failed = program_node(error, ours)
    if failed is not None and (text := _no_trace(failed)):
        return text
    names = [node for node in ast.walk(failed.tree) if isinstance(node, ast.Name)] if failed else []
    taken = next((name for name in names if failed and failed.value(name) is None), None)
    if failed is None or taken is None:
        return ""
    found = _maker(failed, taken)
    if found is None:
        return ""
    made, file, line = found
    given = f"{taken.id} is None, which is what {_shown(made)} at {file}:{line} gave on this rank"
    if isinstance(made.func, ast.Attribute) and made.func.attr in _REQUESTS:
        return (
            f"{given}; what a handler returns goes nowhere: let it answer by `token.reply_short(handler, *args)`, and "
            "`await ep.block_until(...)` for what that handler keeps"
        )
    return given


def _no_trace(failed: ProgramNode) -> str:
    """Say what gives a result its trace where a program has used one that is not there; "" where it has not."""
    for node in ast.walk(failed.tree):
        match node:
            case ast.Attribute(value=result, attr="trace"):
                there = failed.value(result)
                if isinstance(there, Result) and there.trace is None:
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
                    return f"{taken.id} is what {_shown(made)} at {file}:{line} gave, {text.format(taken.id)}"
    return ""


def _of_predicate(tree: ast.AST) -> str:
    """Say how a predicate is written where one was given that takes arguments, "" for another line."""
    match tree:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr="block_until") as name)):
            return f"{ast.unparse(name)} calls its predicate without arguments: write `lambda: ...`"
    return ""


def of_freed(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Return what to say where a program writes to an array that was freed, which is read-only; "" for others."""
    failed = program_node(error, ours)
    if failed is None:
        return ""
    for node in ast.walk(failed.tree):
        array = failed.value(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            owner = _owner(array)
            if owner.flags.writeable and owner.dtype == np.uint8 and owner.ndim == 1:  # as a segment
                return (
                    f"the memory of {_shown(node)} was freed, or the program has made it read-only: use arrays before "
                    "they are freed"
                )
    return ""


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory another one is a part of."""
    found: np.ndarray[Any, Any] = array
    there: Any = array.base
    while there is not None:
        if isinstance(there, np.ndarray):
            found = there
        there = there.obj if isinstance(there, memoryview) else getattr(there, "base", None)
    return found


def into_bytes(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say how text or bytes are stored in an array of bytes, as a segment is; "" for other errors."""
    failed = program_node(error, ours)
    match None if failed is None else failed.tree:
        case ast.Assign(targets=[ast.Subscript() as place]) | (ast.Subscript() as place):
            pass
        case _:
            return ""
    array = failed.value(place.value) if failed is not None else None
    if failed is None or not isinstance(array, np.ndarray) or array.dtype != np.uint8:
        return ""
    if isinstance(error, OverflowError) and not _stores_text(failed, place):
        return ""
    given = _stored(failed, place)
    text = ".encode()" if re.search(r": '", str(error)) or _stores_text(failed, place) is str else ""
    data = "data" if given is None or len(ast.unparse(given)) > written.SHOWN else ast.unparse(given)
    match place:
        case ast.Subscript(value=ast.Attribute(value=ast.Attribute() as port, attr="segment")) if port.attr == "port":
            stored = f"{ast.unparse(port)}.memory.write(offset, {data})"
            return f"a transport stores by the memory of its port: write `{stored}`"
    return (
        f"{ast.unparse(place.value)} is an array of numbers: write `{ast.unparse(place)} = "
        f"numpy.frombuffer({data}{text}, 'u1')`"
    )


def of_elements(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say that slices of a segment count bytes, where too few were taken for an element; "" for other errors."""
    failed = program_node(error, ours)
    nodes = ast.walk(failed.tree) if failed is not None else ()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="segment") as segment))):
                return (
                    f"{ast.unparse(segment)} is bytes, and so are the bounds of its slices: for n elements of 8 bytes "
                    f"write `{ast.unparse(segment)}[:8 * n]`"
                )
    return ""


def _stores_text(failed: ProgramNode, place: ast.Subscript) -> type | None:
    """Return whether a line stores a str or bytes, of digits say, in a part of an array; None: something else."""
    given = _stored(failed, place)
    if given is None:
        return None
    value = given.value if isinstance(given, ast.Constant) else failed.value(given)
    return next((kind for kind in (str, bytes) if isinstance(value, kind)), None)


def _stored(failed: ProgramNode, place: ast.Subscript) -> ast.expr | None:
    """Return what a line stores in a part of an array, None where that is not known."""
    for each in written.nodes(failed.frame.f_code):
        match each:
            case ast.Assign(targets=[ast.Subscript() as target], value=given) if target.lineno == place.lineno:
                return given
    return None


def _count(failed: ProgramNode, name: str) -> str:
    """Say what a call takes that was given too many arguments, or too few."""
    called = [failed.tree.func, *failed.tree.args[:1]] if isinstance(failed.tree, ast.Call) else []
    for each in called:  # the first argument is what a nursery starts
        function = failed.function(each)
        if function is not None and getattr(function, "__name__", "") == name:
            takes = ", ".join(_taken(function))
            return f"{ast.unparse(each)} takes {f'({takes})' if takes else 'no arguments'}{_besides(failed, each)}"
    return _given_made(failed) or (run_by_itself(failed) if name == "main" else "")


def _besides(failed: ProgramNode, called: ast.expr) -> str:
    """Say which other call may have been meant, where the class of the object knows one."""
    method = called.func if isinstance(called, ast.Call) else called
    if not isinstance(method, ast.Attribute):
        return ""
    there = failed.value(method.value)
    kind = there if isinstance(there, type) else type(there)
    text = getattr(kind, "_instead", {}).get(f"{method.attr}()")
    return f"; {as_called(text, kind, _name(method.value))}" if text else ""


def _given_made(failed: ProgramNode) -> str:
    """Say how a function is given to what calls it, where a program gives a call of it: `conduit.run(main())`."""
    made = failed.tree
    for call, awaited in _calls_in(failed.frame.f_code) if isinstance(made, ast.Call) else ():
        if isinstance(made, ast.Call) and (function := failed.function(call)):
            for at, given in enumerate(call.args):
                if written.same(given, made) and _takes_function(function, at):
                    return _with_function(call, at, made, function, awaited=awaited)
    return ""


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


def _keyword(failed: ProgramNode, name: str) -> str:
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
    return f"{called} has no argument {name}={like(name, known)}; it takes {takes}" + _TIMEOUT * (name == "timeout")


def _started(tree: ast.AST) -> str:
    match tree:
        case ast.Call(func=function, args=[ast.Call() as made, *rest]):
            words = ", ".join([apart(made), *map(ast.unparse, rest)])
            return f"give the function and its arguments apart, without calling it: `{ast.unparse(function)}({words})`"
    return ""


def apart(made: ast.Call) -> str:
    """Return a call's function and its arguments as Trio wants them, which calls the function itself."""
    words = ", ".join(map(ast.unparse, [made.func, *made.args, *made.keywords]))
    return f"functools.partial({words})" if made.keywords else words


def _awaited(failed: ProgramNode, node: ast.AST) -> str:
    if failed.calls_ours(node):
        return _to_enter(failed, node) or (
            f"{_shown(node)} is a plain call, which never waits: write it without `await`"
        )
    if failed.is_method(node):
        return f"{_shown(node)} is a method: call it, `await {_called_as(failed, node)}`"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Await):
        return f"{_shown(node)} is there at once, its `await` is inside: write it without the outer `await`"
    if isinstance(node, ast.Subscript) and isinstance(failed.value(node.value), np.ndarray):
        return f"{_shown(node)} is an element of an array, which is there at once: write it without `await`"
    if isinstance(node, ast.Await) and failed.calls_ours(node.value):
        return f"`{_shown(node)}` gives its result, which is no call: write one `await`"
    if isinstance(node, ast.List | ast.Tuple):
        return "a list cannot be awaited: await its calls one by one, or start each in a nursery of Trio"
    value = failed.value(node)
    if value is _UNKNOWN:
        return ""
    if text := getattr(type(value), "_instead", {}).get("await"):
        return f"{_shown(node)} {is_a(value)}, which is no call: {as_called(text, type(value), _name(node))}"
    if isinstance(value, list | tuple) and value:
        if text := getattr(type(value[0]), "_instead", {}).get("await []"):
            return f"{_shown(node)} {is_a(value)}, which cannot be awaited itself: {text}"
        if inspect.isawaitable(value[0]):
            return f"{_shown(node)} {is_a(value)}, which cannot be awaited itself: await what is in it, one by one"
    if value is None and isinstance(node, ast.Name):
        return f"{node.id} is None, and there is nothing to wait for: leave this `await` out"
    if isinstance(node, ast.Attribute | ast.Name):
        return f"{_shown(node)} {is_a(value)}, which is there at once: write it without `await`"
    return ""


def _kind_given(failed: ProgramNode, node: ast.AST) -> type | None:
    """Return the class of what a call of this project gives, as its head says; None where that is not known."""
    function = failed.function(node) if isinstance(node, ast.Call) else None
    given: object = getattr(function, "__annotations__", {}).get("return")
    if isinstance(given, str) and function is not None:
        given = getattr(inspect.unwrap(function), "__globals__", {}).get(given)
    return given if isinstance(given, type) else None


def as_called(text: str, kind: type, name: str) -> str:
    """Return an advice with the program's name for an object, where it has one of its own.

    Args:
        text: with the name that the docs have, which the object's class says: `_called`.
        kind: that class.
        name: as the program's line has it, "" where that is not known.
    """
    word = getattr(kind, "_called", "")
    return re.sub(rf"(?<=[ `]){word}(?=[.[])", lambda _: name, text) if word and name else text


def is_name(node: ast.AST) -> bool:
    """Say whether an expression is a name, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_name(node.value))


def _name(node: ast.AST) -> str:
    return ast.unparse(node) if is_name(node) else ""


def _taken_by_index(failed: ProgramNode, node: ast.Subscript) -> str:
    """Say what to write where a program takes a part of an object of this project that is none of its own."""
    there = node.value
    if failed.is_method(there):
        given = "..." if isinstance(node.slice, ast.Slice | ast.Tuple) else ast.unparse(node.slice)
        return f"{_shown(there)} is a method: call it, `{_shown(there)}({given})`"
    if isinstance(there, ast.Subscript):
        kind = type(failed.value(there.value))
        if "[][]" in getattr(kind, "_instead", {}):
            array = ast.unparse(there.value)
            if isinstance(there.slice, ast.Slice):
                return f"write `(await {ast.unparse(there)})[{ast.unparse(node.slice)}]`"
            return f"write `await {array}[{ast.unparse(there.slice)}, {ast.unparse(node.slice)}]`"
    return _of_kind(failed, there, "[]")


def beyond_part(error: IndexError, ours: Callable[[object], bool]) -> str:
    """Say what a part of an object of this project has, where an index is beyond it: `a.local[i]`; "" for others.

    Args:
        error: as numpy has raised it.
        ours: says of a class whether it is one of this project.
    """
    failed = program_node(error, ours)
    match None if failed is None else failed.tree:
        case ast.Subscript(value=ast.Attribute(value=owner, attr=name)):
            assert failed is not None
            there = failed.value(owner)
            instead = getattr(type(there), "_instead", {}) if failed.is_ours(there) else {}
            text = instead.get(f"{name}[]", "")
            return as_called(text, type(there), ast.unparse(owner)) if text and is_name(owner) else ""
    return ""


def _iterated(failed: ProgramNode) -> str:
    """Say what to iterate over in the place of an object of this project; "" for others."""
    tree = failed.tree
    for node in (tree.iter,) if isinstance(tree, ast.For) else (tree, *ast.iter_child_nodes(tree)):
        if text := _of_kind(failed, node, "for"):
            return text
    return ""


def _of_kind(failed: ProgramNode, node: ast.AST, use: str) -> str:
    """Say what to write where an object of this project cannot be used so, "" where its class does not say."""
    kind = _kind_given(failed, node) or type(failed.value(node))
    text = getattr(kind, "_instead", {}).get(use)
    return f"{_shown(node)} is a {kind.__name__}: {as_called(text, kind, _name(node))}" if text else ""


def _to_enter(failed: ProgramNode, node: ast.AST) -> str:
    """Say how that is entered which a call gives at once, "" where it gives something else."""
    kind = _kind_given(failed, node)
    if kind is None or not hasattr(kind, "__aenter__"):
        return ""
    text = _shown(node)
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
        return f"{_shown(node)} is a method: call it, `async with {_called_as(failed, node)}:`"
    value = failed.value(node)
    made = node.value if isinstance(node, ast.Await) else node
    if not (failed.calls_ours(made) or (value is not _UNKNOWN and failed.ours(type(value)))):
        return ""
    function = failed.function(made)
    kind = type(value) if function is None else result_kind(function) or _class_of(function, refused)
    entered = kind is not None and hasattr(kind, "__aenter__")
    instead = _in_place_of_entering(failed, made, kind)
    if refused == "coroutine":
        call = f"await {_shown(made)}"
        if entered:
            return f"what it gives is entered: write `async with {call}:`"
        if kind is None and not instead:
            return f"it is awaited first: write `made = {call}`, and `async with made:` where that can be entered"
        return instead or f"write `{call}`, without `with`"
    if entered or (kind is None and not waits):
        return f"to enter it may take time: write `async with {_shown(node)}:`"
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
    return as_called(text, owner, _name(method.value)) if text else ""


def _class_of(function: Callable[..., object], name: str) -> type | None:
    """Return the class of that name which a function makes objects of, None where it is no class method of it."""
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, type) and owner.__name__ == name else None


def _called(failed: ProgramNode, node: ast.expr) -> str:
    value = failed.value(node)
    if isinstance(node, ast.Attribute) and value is not _UNKNOWN:
        if inspect.isroutine(getattr(type(failed.value(node.value)), node.attr, None)):
            put = "that the program has put in the place of the method; keep it in a variable"
            return f"{_shown(node)} {is_a(value)} {put}"
        return f"{_shown(node)} {is_a(value)} and no method: write it without parentheses"
    return ""


def _counted(failed: ProgramNode, node: ast.AST) -> str:
    value = failed.value(node)
    if isinstance(node, ast.Attribute) and isinstance(value, int):
        return f"{_shown(node)} {is_a(value)}: write `range({_shown(node)})`"
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
            return f"{_shown(node)} is a method: call it, `{_called_as(failed, node)}`"
        value = failed.value(node)
        awaited = value is not _UNKNOWN and failed.ours(type(value)) and hasattr(value, "__await__")
        if awaited and not isinstance(value, Result):
            return f"{_shown(node)} {is_a(value)}: write `await {_shown(node)}` for its result"
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
        return f"{_shown(node)}(...)"
    return f"{_shown(node)}()"


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    if len(text) <= written.SHOWN or not isinstance(node, ast.Call):
        return text
    return f"{ast.unparse(node.func)}(...)"
