"""What to do about errors of Python's own that stand for a mistake in the use of this package."""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import attrs
import numpy as np
import trio

from conduit.core import written
from conduit.core.endpoint import Endpoint
from conduit.core.steps import steps_of
from conduit.errors import BadRequest, ConduitError
from conduit.launch import registry
from conduit.launch.hidden import hiding
from conduit.launch.misuse import (
    STARTED,
    ProgramNode,
    apart,
    as_called,
    begins_job,
    beyond_part,
    into_bytes,
    is_name,
    made_handler,
    misuse,
    nothing,
    of_elements,
    of_freed,
    of_generator,
    program_node,
    run_by_itself,
    swapped,
)
from conduit.launch.predicates import many_truths
from conduit.launch.reports.folders import is_of_project, is_own
from conduit.launch.reports.own_variables import enclosing
from conduit.launch.timeouts import too_slow
from conduit.launch.uses import use
from conduit.launch.written_for import imports, modules_of
from conduit.words import ANOTHER_RUN, FOREIGN, closest, is_a, like, slip

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
_WAITS = ("wait", "result", "value", "get", "done", "test")
"""What others call it to wait for what is awaited here."""
_RELEASED = "the payload of a medium message is the handler's until it returns; keep a copy of it: bytes(payload)"

_ONE_OF_MANY = (
    "take one element of the array, as `a[0]`; where it is the bytes of a number, as `await x.get(...)` returns them, "
    "write `a.view('i8')[0]`, with the number's dtype, or get it by `await x.get_value(rank, offset)`"
)

_PREFIX = re.compile(
    r"^(gasnet[te]?|gex|mpix?|shmemx?|upcx{0,2}|all|am|atomic|comm|ctx|team|tm|win|"
    r"u?int(8|16|32|64)?|u?long|u?longlong|float|double)_",
    re.IGNORECASE,
)
"""What libraries of C put before names, and behind that for their parts and for types."""
_OF_A_LIBRARY = re.compile(r"(gasnett?|gex|mpi|shmemx?|upc|upcxx)_|(MYTHREAD|THREADS|my_pe|n_pes)$", re.IGNORECASE)
"""Names as C has them in the libraries that programs come from."""

_OF_ANOTHER = re.compile(r"^Argument '(\w+)' has incorrect type \(expected (\w+)\.[\w.]+, got \w+\)$")
"""How a class of a compiled package refuses an argument."""


def hint(error: BaseException) -> str:
    """Return what to do about an error, "" where this package knows nothing of it."""
    if text := hiding(error):
        return text
    if ANOTHER_RUN not in str(error) and _in_another_run(error):
        return ANOTHER_RUN
    if str(error).startswith(FOREIGN) or _raised_in_asyncio(error):
        return _asyncio(error)
    match error:
        case AttributeError(name=str() as name, obj=there):
            return _attribute(there, name, error)
        case UnboundLocalError() if found := re.search(r"local variable '(\w+)'", str(error)):
            return _of_its_own(found[1], error)
        case NameError(name=str() as name):
            return _bare(name, error)
        case RuntimeError() if str(error) == "cannot reuse already awaited coroutine":
            return _awaited_again(error)
        case RuntimeError() if str(error) == "Attempted to call run() from inside a run()":
            return run_by_itself(program_node(error, is_ours)) or (
                "main runs in Trio already: `await` the function instead, with its arguments"
            )
        case ModuleNotFoundError(name=str() as missing):
            return _no_module(missing)
        case ImportError() if str(error) == "attempted relative import with no known parent package":
            return _of_no_package(error)
        case ImportError(name=str() as package) if found := re.match(r"cannot import name '(\w+)'", str(error)):
            return elsewhere(package, found[1])
        case trio.TooSlowError():
            return too_slow(error)
        case BadRequest():
            return swapped(error, is_ours) or made_handler(error, is_ours) or of_generator(error, is_ours)
        case IndexError() if " is out of bounds for axis " in str(error):
            return beyond_part(error, is_ours)
        case TypeError() if re.fullmatch(r"only .* arrays can be converted to Python scalars", str(error)):
            return _ONE_OF_MANY
        case TypeError():
            return _of_another(error) or misuse(error, is_ours)
        case ValueError() if str(error) == "operation forbidden on released memoryview object":
            return _RELEASED
        case OverflowError() if str(error).endswith("out of bounds for uint8"):
            return into_bytes(error, is_ours)
        case ValueError() if str(error).startswith("When changing to a larger dtype, its size must be a divisor"):
            return of_elements(error, is_ours)
        case ValueError() if str(error).endswith(" is read-only"):
            return of_freed(error, is_ours)
        case ValueError() if text := many_truths(error):
            return text
        case ValueError() if str(error).startswith("invalid literal for int() with base 10: "):
            return into_bytes(error, is_ours)
    return ""


def _asyncio(error: BaseException) -> str:
    """Say what to write for what a program has called of asyncio."""
    failed = program_node(error, is_ours, beyond=_of_asyncio)
    if failed is not None and (begun := begins_job(failed)):
        return _ASYNCIO + begun
    words = []
    for step in steps_of(error):
        if _of_asyncio(step.tb_frame.f_code.co_filename):
            words += step.tb_frame.f_code.co_qualname.split(".")
    if failed is not None:
        words += [node.attr for node in ast.walk(failed.tree) if isinstance(node, ast.Attribute)]
        words += [node.id for node in ast.walk(failed.tree) if isinstance(node, ast.Name)]
    nodes = [] if failed is None else [node for node in ast.walk(failed.tree) if isinstance(node, ast.Call)]
    started = next((apart(node) for node in nodes if failed and failed.function(node)), "ep.poll")
    return _ASYNCIO + next((_OTHERWISE[word].format(started) for word in words if word in _OTHERWISE), _WAITING)


def _in_another_run(error: BaseException) -> bool:
    """Say whether a call of this project has failed in a run of Trio that a program has begun in a job."""
    steps = [step.tb_frame for step in steps_of(error)]
    programs = [at for at, frame in enumerate(steps) if not is_own(frame.f_code.co_filename)]
    begun = [at for at in programs if steps[at + 1 : at + 2] and steps[at + 1].f_code is trio.run.__code__]
    if begun:
        return is_of_project(steps[-1].f_code.co_filename)
    # Or that one's calls have woken the task that waits for its thread.
    woken = any(frame.f_code.co_name == "to_thread_run_sync" for frame in steps)
    return woken and str(error) == "'NoneType' object has no attribute 'unwrap'"


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


def handed_on(error: BaseException) -> range | None:
    """Return the lines of a program where it gives a call to what cannot await it; None for every other error.

    That call has been made, and is not awaited there; to await it is not what is to be done about that.
    """
    taken_apart = "not subscriptable" in str(error) and hint(error) != ""
    if not (str(error).startswith((STARTED, *FOREIGN)) or _raised_in_asyncio(error) or taken_apart):
        return None
    failed = program_node(error, is_ours, beyond=_of_asyncio)
    if failed is None:
        return None
    first = getattr(failed.tree, "lineno", 0)
    return range(first, (getattr(failed.tree, "end_lineno", None) or first) + 1)


def _raised_in_asyncio(error: BaseException) -> bool:
    steps = [] if isinstance(error, ConduitError) else steps_of(error)
    return bool(steps) and _of_asyncio(steps[-1].tb_frame.f_code.co_filename)


def _of_asyncio(file: str) -> bool:
    return os.path.basename(os.path.dirname(file)) == "asyncio"


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


def elsewhere(package: str, name: str) -> str:
    """Return where a public name is that a package or module of this project has not, "" where none is like it."""
    if package.partition(".")[0] not in _packages() or name.startswith("_"):
        return ""
    module = importlib.import_module(package)
    if text := getattr(module, "_instead", {}).get(name):
        return f"{package} has no {name}; {text}"
    word, kind = getattr(module, "_given", ("", object))
    if word and _has(kind, name):
        called = f"`async def main({word})`, then `{use(word, kind, name)}`"
        return f"{package} has no {name}, but what main is called with has: {called}"
    for other in public_modules():
        there = importlib.import_module(other)
        if other != package and name in getattr(there, "__all__", ()):
            needs = getattr(there, "_needs", {}).get(name)
            return f"{name} is in {other}: write `from {other} import {name}`" + (f"; {needs}" if needs else "")
    for other in public_modules():
        above, _, last = other.rpartition(".")
        if above and last.casefold() == name.casefold():
            return f"{package} has no {name}: write `from {above} import {last}`"
    own = [each for each in dir(module) if not each.startswith("_")]
    return f"{package} has no {name}{close}" if (close := like(name, own)) else ""


def _bare(name: str, error: BaseException) -> str:
    """Say what a name is that was written alone: one of an object at hand, of another library, or not imported."""
    for variable, value in _at_hand(error):
        with suppress(Exception):  # out of a property, while the report of another error is made
            if not name.startswith("_") and hasattr(value, name):
                return f"{name} is of {variable}: write `{use(variable, type(value), name)}`"
    return _of_a_library(name, error) if _OF_A_LIBRARY.match(name) else _not_imported(name)


def _at_hand(error: BaseException) -> list[tuple[str, object]]:
    """Return variables with objects of this project: of the function that failed, or the next around that has any."""
    for step in reversed(steps_of(error)):
        named = {} if is_own(step.tb_frame.f_code.co_filename) else step.tb_frame.f_locals
        if found := [(variable, value) for variable, value in named.items() if is_ours(type(value))]:
            return found
    return []


def _of_a_library(name: str, error: BaseException) -> str:
    """Say what is written here for a name of C, as `gasnet_put` and `MPI_Barrier`; "" where nothing at hand has it."""
    found = _at_hand(error)
    for variable, value in found:
        own = {_folded(each): each for each in dir(value) if not each.startswith("_")}
        if there := next((own[_folded(each)] for each in _without_prefix(name) if _folded(each) in own), ""):
            return f"{name} is {variable}.{there} here: write `{use(variable, type(value), there)}`"
    for variable, value in reversed(found):  # what is attached to an endpoint comes after it
        for each in _without_prefix(name):
            if text := _written_there(value, each, variable, error):
                return text
        text = _attribute(value, name, error)
        if close := re.search(r"did you mean (\w+)", text):
            return f"it may be `{use(variable, type(value), close[1])}`"
        if text:
            return re.sub(rf"^{type(value).__name__} has no {name}(, but|;)? ?", "", text)
    return ""


def _not_imported(name: str) -> str:
    """Say how a public name is imported that one package or module alone has; "" for every other name."""
    public = [each for each in public_modules() if name in getattr(importlib.import_module(each), "__all__", ())]
    modules = [each for each in public_modules() if each.rpartition(".")[2] == name]
    if len(modules) == 1:
        above = modules[0].rpartition(".")[0]
        return f"write `{f'from {above} ' if above else ''}import {name}` at the top"
    return f"write `from {public[0]} import {name}` at the top" if len(public) == 1 else ""


def _of_module(package: str, name: str, error: BaseException) -> str:
    """Say where a name is that a package or module of this project has not: perhaps an object at hand has it."""
    if package.partition(".")[0] not in _packages():
        return ""
    of_front = hasattr(importlib.import_module(package), "_given")
    if not of_front and _OF_A_LIBRARY.match(name) and (text := _of_a_library(name, error)):
        return f"{package} has no {name}; {text}"
    return elsewhere(package, name) or _bare(name, error)


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


def _no_module(name: str) -> str:
    """Say where a module is that is not there: one of this project, or what stands for another one."""
    last = name.rpartition(".")[2]
    for other in public_modules():
        package, _, own = other.rpartition(".")
        ours = (name == last or name.partition(".")[0] in _packages()) and own.casefold() == last.casefold()
        if not package and name.partition(".")[0] in _packages() and own == last:
            classes = ", ".join(each.__name__ for each in _layers() if _public(each) == own)
            return f"there is no {name} here: write `from {own} import {classes or '...'}`"
        if package and (ours or name.partition(".")[0] == getattr(importlib.import_module(other), "_stands_for", "")):
            return f"there is no {name} here: write `from {package} import {own}`"
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


def _attribute(there: object, name: str, error: BaseException) -> str:
    """Say what an object of this project has in the place of an attribute that it has not."""
    if isinstance(there, ModuleType):
        return _of_module(there.__name__, name, error)
    kind = there if isinstance(there, type) else type(there)
    if there is None and _written(error).endswith(".rma"):
        return (
            "ep.rma is None on a network without native operations of its own, or with the option rma=am: write "
            "`await x.put(...)`, of `x = await Extended.attach(ep)`, which takes either"
        )
    if there is None:
        return nothing(error, is_ours)
    if kind.__name__ == "NurseryManager":  # of Trio, not public there
        return "a nursery is entered: write `async with trio.open_nursery() as nursery:`, and use `nursery` in it"
    if isinstance(there, memoryview):
        return _of_memory(name, min(_names_of(there, error), default="payload"))
    if not is_ours(kind):
        return ""
    own = [each for each in dir(there) if not each.startswith("_")]
    fronts = _meant(_fronts_with(name), error) if isinstance(there, Endpoint) else []
    of_front = isinstance(there, Endpoint) and _is_of(fronts, there, error)
    for each in (*_without_prefix(name), *_got(name, there)):
        if not of_front and (text := _written_there(there, each, _written(error), error)):
            return f"{kind.__name__} has no {name}; {text}"
        if each in own:
            if text := _of_another_front(kind, name, error, imported=False):
                return text
            return f"{kind.__name__} has no {name} (did you mean {each}?){_perhaps_of(there, name, error)}"
    if name in dir(Endpoint) and (name == "attach" or "ep" not in own) and (text := _otherwise(kind, name, error)):
        return text
    if meant := next(filter(None, (_own_name(each, own) for each in _without_prefix(name))), ""):
        return f"{kind.__name__} has no {name} (did you mean {meant}?)"
    of_result = hasattr(np.ndarray, name)
    if hasattr(kind, "__await__") and (of_result or name in _WAITS) and (called := _written(error)):
        result = "" if not of_result or "put" in getattr(there, "call", "") else f" for its result, which has {name}"
        return f"{called} {is_a(there)}: write `await {called}`{result}"
    of_one_at_hand = _of_one_at_hand(there, name, error)
    if isinstance(there, Endpoint) and of_one_at_hand:
        return of_one_at_hand
    if isinstance(there, Endpoint) and fronts:
        if started := _started(fronts, there, error):  # the program says itself what it is for
            return f"{kind.__name__} has no {name}; {started}"
        if len(fronts) == 1 and _imports(fronts[0], error):
            return f"{kind.__name__} has no {name}{_perhaps_of(there, name, error)}"
        here = _in_layer(kind, name, exact=True)
        if here and "ep" in _names_of(there, error):  # who calls it so has an endpoint in mind
            return here
        here = here or f"{kind.__name__} has no {name}"
        return f"{here}{_perhaps_of(there, name, error)}"
    if text := (
        _of_another_front(kind, name, error, imported=True)
        or _in_part(there, name, error)
        or _of_main(kind, name, _written(error))
        or of_one_at_hand
        or _of_another_front(kind, name, error, imported=False)
    ):
        return text
    if close := next(filter(None, (like(each, own) for each in _without_prefix(name))), ""):
        return f"{kind.__name__} has no {name}{close}"
    return _in_layer(kind, name)


def _of_memory(name: str, called: str) -> str:
    """Say what to make of a payload for a name that bytes or arrays of numpy have."""
    if hasattr(bytes, name):
        return f"{called} is memory: write `bytes({called}).{name}`"
    if not hasattr(np.ndarray, name):
        return ""
    array = f"numpy.frombuffer({called}, dtype)"
    return (
        f"{called} is memory: write `{array if name == 'view' else f'{array}.{name}'}`, with the dtype of what was sent"
    )


def _own_name(name: str, own: Iterable[str]) -> str:
    """Return the name of an object that is meant beyond doubt, before those of others: a slip, or its last words."""
    if meant := slip(name, own):
        return meant
    ends = [each for each in own if each.endswith(f"_{name}")]
    shortest = [each for each in ends if each.count("_") == min(end.count("_") for end in ends)]
    return shortest[0] if len(shortest) == 1 else ""


def _of_one_at_hand(there: object, name: str, error: BaseException) -> str:
    """Say which variable of a program has a name, to who writes it of another object; "" where none has it."""
    for variable, value in _at_hand(error):
        for each in _without_prefix(name) if value is not there else ():
            if each in dir(value) and not each.startswith("_"):
                write = use(variable, type(value), each)
                kind = there if isinstance(there, type) else type(there)
                return f"{kind.__name__} has no {name}, but {variable} has: write `{write}`"
    return ""


def _without_prefix(name: str) -> tuple[str, ...]:
    """Return a name, and it without what libraries put around it: upc_barrier, gasnet_mynode, AMRequestShort2."""
    found = [name]
    while _PREFIX.match(found[-1]):
        found.append(_PREFIX.sub("", found[-1]))
    return tuple(dict.fromkeys((*found, found[-1].rstrip("M0123456789"))))


def _got(name: str, there: object) -> tuple[str, ...]:
    """Return the value of an object that a function would give which has that name: get_rank gives `rank`."""
    value = name[4:] if name.casefold().startswith("get_") else ""
    found = inspect.getattr_static(there, value, None) if value else None
    return () if found is None or inspect.isroutine(found) else (value,)


def _is_of(fronts: list[str], there: Endpoint, error: BaseException) -> bool:
    """Say whether a program is for one of some front ends: it says so itself, or does not call an endpoint `ep`."""
    if not fronts:
        return False
    imported = len(fronts) == 1 and _imports(fronts[0], error)
    return imported or _started(fronts, there, error) != "" or "ep" not in _names_of(there, error)


def _written_there(there: object, name: str, called: str, error: BaseException) -> str:
    """Return what an object's class says of a name of other libraries, or its endpoint's, or a layer on that.

    Args:
        there: the object, or a class.
        name: the name.
        called: what the program calls the object, "" where that is no name.
        error: that it has not that name; of the program it came out of.
    """
    kind, written = (there, "") if isinstance(there, type) else (type(there), called)
    if text := _of_others(kind, name):
        return as_called(text, kind, written)
    if kind in _layers() and (text := _of_others(Endpoint, name)):
        return as_called(text, Endpoint, f"{written}.ep" if written else "")
    for layer in _layers() if isinstance(there, Endpoint) else ():
        if text := _of_others(layer, name):
            if at_hand := next((variable for variable, value in _at_hand(error) if type(value) is layer), ""):
                return as_called(text, layer, at_hand)
            attached = f"`from {_public(layer)} import {layer.__name__}`, then `x = await {layer.__name__}.attach(ep)`"
            return f"{text}, after {attached}"
    return ""


def _of_others(kind: type, name: str) -> str:
    """Return what a class says of a name of other libraries, in any case; "" where it says nothing."""
    known: dict[str, str] = getattr(kind, "_instead", {})
    if name.isupper() and _fronts_with(name):  # which says what the program is for: MYTHREAD
        return known.get(name, "")
    return known.get(name) or next((text for each, text in known.items() if each.casefold() == name.casefold()), "")


def _written(error: BaseException) -> str:
    """Return how the program's line writes the object that lacks an attribute; "" where it is no name or one's part."""
    failed = program_node(error, is_ours)
    match None if failed is None else failed.tree:
        case ast.Attribute(value=there) | ast.Call(func=ast.Attribute(value=there)):
            return ast.unparse(there) if is_name(there.value if isinstance(there, ast.Subscript) else there) else ""
    return ""


def first_argument(front: str | None) -> str:
    """Return what programs of a front end call the first argument of main; None: of the core."""
    known = front is not None and front in registry.installed(registry.FRONT_ENDS)
    return _given_by(front).word if known and front else "ep"


class _Given(NamedTuple):
    """What a front end gives to main.

    Attributes:
        module: the last part of the public module's name.
        word: what programs call it.
        kind: its class.
    """

    module: str
    word: str
    kind: type


def _given_by(front: str) -> _Given:
    """Return what an installed front end gives to main."""
    for public in modules_of(front):
        if given := getattr(importlib.import_module(public), "_given", None):
            return _Given(public.rpartition(".")[2], *given)
    return _Given(front, "ep", Endpoint)


def _perhaps_of(there: object, name: str, error: BaseException) -> str:
    """Say what makes an endpoint's program one of a front end which has that name; "" for every other object."""
    if not isinstance(there, Endpoint):
        return ""
    fronts, script = _meant(_fronts_with(name), error), _script(error)
    remedies = {
        each: f'put `api = "{each}"` at its top' if script is None else f"write {_run_of(each, there, script)}"
        for each in fronts
    }
    return "".join(f"; if this is a program of {each}, {remedy}" for each, remedy in remedies.items())


def _meant(fronts: list[str], error: BaseException) -> list[str]:
    """Return those of some front ends that a program imports, all where it imports none."""
    return [each for each in fronts if _imports(each, error)] or fronts


def _imports(front: str, error: BaseException) -> bool:
    """Say whether a program has imported the module of a front end."""
    return any(imports(step.tb_frame.f_globals.values(), front) for step in steps_of(error))


def _started(fronts: list[str], endpoint: Endpoint, error: BaseException) -> str:
    """Say how to start a program that says itself which of some front ends it is for, "" for one that does not.

    It says so by `api`, or by importing it in a script, which starts the job itself.
    """
    for step in steps_of(error):
        known = step.tb_frame.f_globals
        front = known.get("api")
        if front is None and known.get("__name__") == "__main__" and len(fronts) == 1 and _imports(fronts[0], error):
            front = fronts[0]
        if isinstance(front, str) and front in fronts and (written := _run_of(front, endpoint, known)):
            return f"conduit.run gives main an endpoint: write {written}"
    return ""


def _run_of(front: str, endpoint: Endpoint, known: Mapping[str, object]) -> str:
    """Return what to write in the place of `conduit.run(main)` for a program of a front end, with what it imports."""
    for public in modules_of(front):
        if text := getattr(importlib.import_module(public), "_started", ""):
            above, _, last = public.rpartition(".")
            first = "" if last in known else f"`from {above} import {last}`, then "
            return f"{first}`{text.format(endpoint.size)}`"
    return ""


def _script(error: BaseException) -> dict[str, object] | None:
    """Return the names of the script that starts the job itself, where an error was raised in one; else None."""
    for step in steps_of(error):
        if step.tb_frame.f_globals.get("__name__") == "__main__":
            return step.tb_frame.f_globals
    return None


def _otherwise(kind: type, name: str, error: BaseException) -> str:
    """Say that main is given an endpoint elsewhere, to who has what a front end gives; "" for others."""
    for module in public_modules():
        _, given = getattr(importlib.import_module(module), "_given", ("", object))
        if given is not kind:
            continue
        said = {step.tb_frame.f_globals.get("api") for step in steps_of(error)}
        fronts = [front for front in _fronts_of(module) if front in said]
        who = f"{module.rpartition('.')[2]}.run gives main a {kind.__name__}, conduit.run an endpoint"
        if fronts:
            who = f'with `api = "{fronts[0]}"` main is given a {kind.__name__}, without that line an endpoint'
        return f"{kind.__name__} has no {name}, but an endpoint has: {who}, `async def main(ep)`"
    return ""


def _of_another_front(kind: type, name: str, error: BaseException, *, imported: bool) -> str:
    """Say which front end gives main what has a name, to who has what another one gives; "" for others.

    Args:
        kind: the class of what has not that name.
        name: it.
        error: that it has not.
        imported: whether only front ends count that the program imports.
    """
    fronts = {front: _given_by(front) for front in sorted(registry.installed(registry.FRONT_ENDS))}
    mine = next((front for front, given in fronts.items() if given.kind is kind), "")
    said = mine in {step.tb_frame.f_globals.get("api") for step in steps_of(error)}
    for front, given in fronts.items() if mine else ():
        if front != mine and _has(given.kind, name) and (_imports(front, error) or not imported):
            one, other = (
                f'with `api = "{each}"`' if said else f"by {fronts[each].module}.run" for each in (mine, front)
            )
            return (
                f"{kind.__name__} has no {name}, but a {given.kind.__name__} has: {one} main is given a "
                f"{kind.__name__}, {other} a {given.kind.__name__}, `async def main({given.word})`"
            )
    return ""


def _of_main(kind: type, name: str, called: str) -> str:
    """Say what to write of what the front end gives to main, where that has a name; "" where it has not.

    Args:
        kind: the class that has it not.
        name: the name.
        called: what the program calls the object; such objects may be what the method takes.
    """
    for module in (
        importlib.import_module(each) for each in public_modules() if kind.__module__.startswith(f"{each}.")
    ):
        word, given = getattr(module, "_given", ("", object))
        if given is kind or name not in dir(given):
            continue
        method, argument = getattr(given, name), kind.__name__.lower()
        write = use(word, given, name)
        if inspect.isroutine(method) and argument in inspect.signature(method).parameters:
            write = f"{word}.{name}(..., {argument}={called or argument})"
        return f"{kind.__name__} has no {name}, but what main is called with has: write `{write}`"
    return ""


def _in_part(there: object, name: str, error: BaseException) -> str:
    """Say which part of an object has a name that it has not itself: its layer, its endpoint, a table.

    A table is a record of values, as the limits of messages are.
    """
    kinds = Endpoint, *_layers()
    for part, value in inspect.getmembers_static(there):
        if part.startswith("_") or inspect.isroutine(value) or isinstance(value, property):
            continue
        has = getattr(there, part)
        found = next((each for each in _without_prefix(name) if each in dir(has)), "")
        if found and (isinstance(has, kinds) or (attrs.has(type(has)) and is_ours(type(has)))):
            called = min(_names_of(there, error), default="")
            write = f"`{use(f'{called}.{part}', type(has), found)}`" if called else f"`{found}` of its `{part}`"
            return f"{type(there).__name__} has no {name}, but its {part} has: write {write}"
    return ""


def _in_layer(kind: type, name: str, *, exact: bool = False) -> str:
    """Say which class that is attached to an endpoint has a name, or one like it, that another has not.

    Programs of a front end are given no endpoint that a layer could be attached to.
    """
    if any(kind.__module__.startswith(f"{package}.") for package in _front_packages()):
        return ""
    for layer in _layers():
        known = [each for each in dir(layer) if not each.startswith("_")]
        folded = {_folded(each): each for each in known}
        names = [folded.get(_folded(each), "") for each in _without_prefix(name)]
        close = [] if exact else [closest(each, known) for each in _without_prefix(name)]
        if layer is not kind and (found := next(filter(None, (*names, *close)), "")):
            return (
                f"{kind.__name__} has no {name}, but {layer.__name__} has {found}: `from {_public(layer)} import "
                f"{layer.__name__}`, then `x = await {layer.__name__}.attach(ep)` and `{use('x', layer, found)}`"
            )
    return ""


def _folded(name: str) -> str:
    """Return a name as it is the same for who writes all_reduce and for who writes Allreduce."""
    return name.replace("_", "").casefold()


def _fronts_with(name: str) -> list[str]:
    """Return the front ends a class of which has that name; what they give to programs is no endpoint."""
    found = []
    for front in sorted(registry.installed(registry.FRONT_ENDS)):
        module, package = modules_of(front)
        with suppress(ImportError):
            public = [vars(importlib.import_module(each)).values() for each in (package, module)]
            classes = {each for values in public for each in values if isinstance(each, type)}
            if any(each.__module__.startswith(package) and _has(each, name) for each in classes):
                found.append(front)
    return found


def _fronts_of(module: str) -> list[str]:
    """Return what programs of a public module call its front end."""
    return [front for front in registry.installed(registry.FRONT_ENDS) if module in modules_of(front)]


def _front_packages() -> list[str]:
    """Return the packages of the front ends."""
    return [modules_of(front)[1] for front in registry.installed(registry.FRONT_ENDS)]


def _has(kind: type, name: str) -> bool:
    """Return whether objects of a class have that name, in the class or from its `__init__`."""
    code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]
    steps = dis.get_instructions(code) if code is not None else ()
    return name in dir(kind) or any(step.opname == "STORE_ATTR" and step.argval == name for step in steps)


def _names_of(there: object, error: BaseException) -> set[str]:
    """Return what an object is called where an error was raised."""
    steps = steps_of(error)
    return {name for name, value in steps[-1].tb_frame.f_locals.items() if value is there} if steps else set()


def _layers() -> Iterator[type]:
    """Yield the classes that programs attach to an endpoint."""
    for package in _packages():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if isinstance(found, type) and "attach" in vars(found) and package != "conduit":
                yield found


def is_ours(there: object) -> bool:
    """Say of a class or function whether it is one of this project."""
    return (getattr(there, "__module__", None) or "").partition(".")[0] in _packages()


def _packages() -> list[str]:
    return ["conduit", *sorted({name.partition(".")[0] for name in registry.layers()})]


def public_modules() -> list[str]:
    """Return the packages and modules that programs import names from: those with `__all__`."""
    fronts = [entry.module for entry in registry.installed(registry.FRONT_ENDS).values()]
    suites = [entry.module for entry in registry.installed(registry.SUITES).values()]
    found = [*_packages(), *fronts, *(each.rpartition(".")[0] for each in (*fronts, *suites))]
    return [each for each in dict.fromkeys(found) if each and _has_public_names(each)]


def _has_public_names(module: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), "__all__")
    except ImportError:
        return False


def _public(layer: type) -> str:
    return layer.__module__.partition(".")[0]
