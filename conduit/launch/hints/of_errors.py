"""What to do about errors of Python's own that stand for a mistake in the use of this package."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import trio

from conduit.core import written
from conduit.core.handlers import WAITS
from conduit.core.steps import steps_of
from conduit.errors import BadRequest, ConduitError
from conduit.launch.hints.another_loop import in_another_run, in_asyncio, made_in_thread, of_asyncio
from conduit.launch.hints.gathered import begun_before, gathered
from conduit.launch.hints.hidden import hiding
from conduit.launch.hints.misuse import misuse
from conduit.launch.hints.misused_arguments import (
    STARTED,
    apart,
    begins_job,
    begins_program,
    made_handler,
    of_attaches,
    of_generator,
    run_by_itself,
    swapped,
)
from conduit.launch.hints.misused_arrays import into_bytes, of_elements, of_freed, of_memory, of_numbers, of_part
from conduit.launch.hints.predicates import many_truths
from conduit.launch.hints.timeouts import too_slow
from conduit.launch.hints.until_complete import completed
from conduit.launch.hints.wrong_names import of_attribute, of_bare_name, of_import, of_no_module
from conduit.launch.program.folders import is_own
from conduit.launch.program.own_variables import enclosing
from conduit.launch.program.polls import polls_of
from conduit.launch.program.program_node import ProgramNode, program_node
from conduit.launch.program.public import is_ours, public_modules
from conduit.words import ANOTHER_RUN, FOREIGN, UNSAID, text_of

_ASYNCIO = "programs run on Trio, where nothing of asyncio works: write "
_WAITING = (
    "`await ep.compute(seconds)` for work that takes time, `await ep.block_until(predicate)` to wait for messages, "
    "`await trio.sleep(seconds)` for time alone"
)
_AT_ONCE = (
    "`async with trio.open_nursery() as nursery:` and in it `nursery.start_soon({})` for each call that is to be "
    "made at the same time, the function and its arguments without parentheses"
)
_OTHERWISE = {
    **dict.fromkeys(("gather", "create_task", "ensure_future", "TaskGroup", "wait", "as_completed"), _AT_ONCE),
    **dict.fromkeys(("wait_for", "timeout"), "`with trio.fail_after(seconds):` around what may not take longer"),
    **dict.fromkeys(
        ("Event", "Condition"),
        "`await ep.block_until(lambda: come)` for what a handler sets, `come`: only such a wait runs handlers",
    ),
    **dict.fromkeys(("Lock", "Semaphore"), "the same of Trio, such as `trio.Lock()`"),
    "run": "`await` before the call, and nothing else: main runs already",
    "Queue": "`await ep.block_until(lambda: come)` for a list that a handler appends to, `come`, and `come.pop(0)`: "
    "only such a wait runs handlers",
}
"""What to write for names of asyncio."""
_RELEASED = "the payload of a medium message is the handler's until it returns; keep a copy of it: bytes(payload)"
_NO_BYTES = "the payload that a handler is given is a memoryview: write `bytes(payload)` where bytes are asked for"
_ONE_OF_MANY = (
    "take one element of the array, as `a[0]`; where it is the bytes of a number, as `await x.get(...)` returns them, "
    "write `a.view('i8')[0]`, with the number's dtype, or get it by `await x.get_value(rank, offset)`"
)
_ONE_INPUT = (
    "standard input is at its end: all ranks read one, and each of its lines goes to one of them; read on rank 0, and "
    "let it send the others what it has read"
)
_OF_ANOTHER = re.compile(r"^Argument '(\w+)' has incorrect type \(expected (\w+)\.[\w.]+, got \w+\)$")
"""How a class of a compiled package refuses an argument."""


def hint(error: BaseException) -> str:
    """Return what to do about an error, "" where this package knows nothing of it."""
    if text_of(error) == UNSAID:
        return ""  # all that is known of errors goes by what they say
    if text := hiding(error):
        return text
    if ANOTHER_RUN not in str(error) and in_another_run(error):
        return ANOTHER_RUN
    if str(error).startswith(FOREIGN) or _raised_in_asyncio(error) or in_asyncio(error):
        return _asyncio(error)
    match error:
        case AttributeError(name=str() as name, obj=there):
            return of_attribute(there, name, error)
        case UnboundLocalError() if found := re.search(r"local variable '(\w+)'", str(error)):
            return _of_its_own(found[1], error)
        case NameError(name=str() as name):
            return of_bare_name(name, error)
        case RuntimeError() if str(error) == "cannot reuse already awaited coroutine":
            return _awaited_again(error)
        case RuntimeError() if str(error) == "Attempted to call run() from inside a run()":
            return run_by_itself(program_node(error, is_ours)) or _in_trio(error)
        case ModuleNotFoundError(name=str() as missing):
            return of_no_module(missing)
        case ImportError() if str(error) == "attempted relative import with no known parent package":
            return _of_no_package(error)
        case ImportError(name=str() as package) if found := re.match(r"cannot import name '(\w+)'", str(error)):
            return of_import(package, found[1])
        case trio.TooSlowError():
            return too_slow(error)
        case BadRequest():
            return (
                swapped(error, is_ours)
                or made_handler(error, is_ours)
                or of_generator(error, is_ours)
                or of_attaches(error)
            )
        case IndexError() if " is out of bounds for axis " in str(error):
            return of_part(error, "[]", is_ours)
        case IndexError() if str(error).startswith("too many indices for array: array is 1-dimensional"):
            return of_part(error, "[,]", is_ours)
        case TypeError() if re.fullmatch(r"only .* arrays can be converted to Python scalars", str(error)):
            return _ONE_OF_MANY
        case TypeError() if str(error).endswith(", not memoryview"):
            return _NO_BYTES
        case TypeError():
            return _of_another(error) or of_memory(error, is_ours) or misuse(error, is_ours)
        case ValueError() if str(error).startswith("memoryview assignment: "):
            return of_memory(error, is_ours)
        case EOFError() if str(error) == "EOF when reading a line":
            failed = program_node(error, is_ours)
            return _ONE_INPUT if failed is not None and "input(" in ast.unparse(failed.tree) else ""
        case ValueError() if str(error) == "operation forbidden on released memoryview object":
            return _RELEASED
        case OverflowError() if str(error).endswith("out of bounds for uint8"):
            return into_bytes(error, is_ours)
        case ValueError() if str(error).startswith("When changing to a larger dtype, its size must be a divisor"):
            return of_elements(error, is_ours)
        case ValueError() if str(error).startswith("could not broadcast input array from shape "):
            return of_numbers(error, is_ours)
        case ValueError() if str(error).endswith(" is read-only"):
            return of_freed(error, is_ours)
        case ValueError() if text := many_truths(error):
            return text
        case ValueError() if str(error).startswith("invalid literal for int() with base 10: "):
            return into_bytes(error, is_ours)
    return ""


def _in_trio(error: BaseException) -> str:
    """Say what to do in the place of `trio.run` in a program: a plain function, as a handler is, cannot await."""
    failed = program_node(error, is_ours)
    if failed is not None and not failed.frame.f_code.co_flags & WAITS:
        name = failed.frame.f_code.co_name
        return f"Trio runs already, and {name} is a plain function, which cannot wait: let main `await` it instead"
    return "main runs in Trio already: `await` the function instead, with its arguments"


def _asyncio(error: BaseException) -> str:
    """Say what to write for what a program has called of asyncio."""
    failed = program_node(error, is_ours, beyond=of_asyncio)
    if failed is not None and (begun := begins_job(failed)):
        return _ASYNCIO + begun
    if failed is not None and (begun := begins_program(failed, error)):
        return begun
    if until := completed(error, is_ours, of_asyncio, _OTHERWISE):
        return _ASYNCIO + until
    if threaded := made_in_thread(error):
        return _ASYNCIO + threaded
    words = []
    for step in steps_of(error):
        if of_asyncio(step.tb_frame.f_code.co_filename):
            words += step.tb_frame.f_code.co_qualname.split(".")
    if failed is not None:
        words += [node.attr for node in ast.walk(failed.tree) if isinstance(node, ast.Attribute)]
        words += [node.id for node in ast.walk(failed.tree) if isinstance(node, ast.Name)]
    if "gather" in words and (results := gathered(failed)):
        return _ASYNCIO + results
    nodes = [] if failed is None else [node for node in ast.walk(failed.tree) if isinstance(node, ast.Call)]
    started = next((apart(node) for node in nodes if failed and failed.function(node)), "ep.poll")
    known = (_OTHERWISE[word].format(started) for word in words if word in _OTHERWISE)
    return _ASYNCIO + next(known, _waiting(error))


def _waiting(error: BaseException) -> str:
    """Return how a program waits, in the words of the front end that it is for."""
    polls = polls_of(step.tb_frame for step in reversed(steps_of(error)))
    if polls == polls_of(()):
        return _WAITING
    return f"`{polls.until}` to wait for what others do, `await trio.sleep(seconds)` for time alone"


def _of_another(error: TypeError) -> str:
    """Say what this project has in the place of another's class that refuses an object of this one; "" for others."""
    found, failed = _OF_ANOTHER.match(str(error)), program_node(error, is_ours)
    names = [node for node in ast.walk(failed.tree) if isinstance(node, ast.Attribute)] if failed and found else []
    for node in names:
        for module in public_modules():
            if found and node.attr in getattr(importlib.import_module(module), "__all__", ()):
                written = f"{ast.unparse(node)} is of {found[2]} itself"
                return f"{written}: write `from {module} import {node.attr}`, and `{node.attr}` in its place"
    return ""


def handed_on(error: BaseException) -> set[int] | None:
    """Return the lines of a program that make a call and give it to what cannot await it; None for every other error.

    That call has been made, and is not awaited there; to await it is not what is to be done about that.
    """
    taken_apart = "not subscriptable" in text_of(error) and hint(error) != ""
    if not (text_of(error).startswith((STARTED, *FOREIGN)) or _raised_in_asyncio(error) or taken_apart):
        return None
    failed = program_node(error, is_ours, beyond=of_asyncio)
    if failed is None:
        return None
    first = getattr(failed.tree, "lineno", 0)
    return {*range(first, (getattr(failed.tree, "end_lineno", None) or first) + 1), *begun_before(failed)}


def _raised_in_asyncio(error: BaseException) -> bool:
    steps = [] if isinstance(error, ConduitError) else steps_of(error)
    return bool(steps) and of_asyncio(steps[-1].tb_frame.f_code.co_filename)


def _awaited_again(error: BaseException) -> str:
    """Say what to keep of a call that was awaited before."""
    failed = program_node(error, is_ours)
    match None if failed is None else failed.tree:
        case ast.Await(value=ast.Name(id=name)) if failed is not None:
            made = _made(name, failed) or "x.get_nb(...)"
            return (
                f"{name} is a call that was awaited before, and a call is awaited once: keep what that gave, `value = "
                f"await {name}`; a call whose name ends in _nb gives a handle, `{name} = await {made}`, and "
                f"then `await {name}` gives the value"
            )
    return "this call was awaited before, and a call is awaited once: keep what that gave, `value = await ...`"


def _made(name: str, failed: ProgramNode) -> str:
    """Return the call of a handle that a variable has been given, as `x.put_nb(...)`; "" for other calls."""
    for node in written.nodes(failed.frame.f_code):
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=ast.Call(func=called)):
                text = ast.unparse(called)
                if given == name and text.endswith("_nb"):
                    return f"{text}(...)"
    return ""


def _of_its_own(name: str, error: BaseException) -> str:
    """Say what to write in a function that changes a variable of the program's around it, "" where there is none."""
    for step in reversed(steps_of(error)):
        code = step.tb_frame.f_code
        if not is_own(code.co_filename):
            around = any(name in (*each.co_varnames, *each.co_cellvars) for each in enclosing(step.tb_frame))
            if around or name in step.tb_frame.f_globals:
                word = "nonlocal" if around else "global"
                return f"a variable that is assigned in a function is its own: write `{word} {name}` in {code.co_name}"
            return ""
    return ""


def _of_no_package(error: BaseException) -> str:
    """Say how a program runs that imports from a package which its file is in."""
    file = Path(steps_of(error)[-1].tb_frame.f_code.co_filename).absolute()
    names = [file.stem]
    while file.name and (file.parent / "__init__.py").is_file():
        file = file.parent
        names.insert(0, file.name)
    if len(names) == 1:
        return "a program is a file of no package: write `from module import name`, without the dot"
    return (
        f"a program is a file of no package: write one beside the folder {names[0]} with "
        f"`from {'.'.join(names)} import main`, and run that"
    )
