"""What to do about names that are not there: of an object of this project, of a module, of a library in C."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from random import Random
from types import ModuleType

import attrs
import numpy as np

from conduit.core import written
from conduit.core.endpoint import Endpoint
from conduit.core.steps import steps_of
from conduit.launch.hints.misuse import nothing
from conduit.launch.hints.misused_handles import awaited_once
from conduit.launch.program.folders import is_own
from conduit.launch.program.front_ends import (
    front_packages,
    fronts_of,
    fronts_with,
    given_an_endpoint,
    how_to_start,
    imports_front,
    meant_fronts,
    of_another_front,
    of_main,
    run_of,
    script_of,
)
from conduit.launch.program.program_node import as_called, is_name, program_node
from conduit.launch.program.public import (
    has_name,
    is_ours,
    layer_classes,
    offered,
    own_packages,
    package_of,
    public_modules,
)
from conduit.launch.program.uses import use
from conduit.words import closest, is_a, like, slip

_WAITS = ("wait", "result", "value", "get", "done", "test")
"""What others call it to wait for what is awaited here."""
_PREFIX = re.compile(
    r"^(gasnet[te]?|gex|mpix?|shmemx?|b?upcx{0,2}|all|am|atomic|comm|ctx|team|tm|win|"
    r"u?int(8|16|32|64)?|u?long|u?longlong|float|double)_",
    re.IGNORECASE,
)
"""What libraries of C put before names, and behind that for their parts and for types."""
_RANDOM = {"rand": "random", "randn": "standard_normal", "random_sample": "random", "random_integers": "integers"}
"""What numpy's generators have in the place of functions of `numpy.random`."""
_PYTHONS = {"integers": "randrange(low, high)", "normal": "gauss(mean, deviation)"}
"""What Python's generators have for one number in the place of methods of numpy's."""
_OF_A_LIBRARY = re.compile(r"(gasnett?|gex|mpi|shmemx?|b?upc|upcxx)_|(MYTHREAD|THREADS|my_pe|n_pes)$", re.IGNORECASE)
"""Names as C has them in the libraries that programs come from."""


def of_attribute(there: object, name: str, error: BaseException) -> str:
    """Say what an object of this project has in the place of an attribute that it has not."""
    if isinstance(there, ModuleType):
        return _of_module(there.__name__, name, error)
    kind = there if isinstance(there, type) else type(there)
    if not is_ours(kind):
        return _of_another_package(there, kind, name, error)
    own = offered(there)
    fronts = meant_fronts(fronts_with(name), error) if isinstance(there, Endpoint) else []
    of_front = isinstance(there, Endpoint) and _is_of(fronts, there, error)
    if text := of_another_front(kind, name, error, imported=True):
        return text
    for each in (*_without_prefix(name), *_got(name, there)):
        if not of_front and (text := _written_there(there, each, _written(error), error)):
            return f"{kind.__name__} has no {name}; {text}"
        if each in own:
            if text := of_another_front(kind, name, error, imported=False):
                return text
            return f"{kind.__name__} has no {name} (did you mean {each}?){_perhaps_of(there, name, error)}"
    if (
        name in dir(Endpoint)
        and (name == "attach" or "ep" not in own)
        and (text := given_an_endpoint(kind, name, error))
    ):
        return text
    if meant := next(filter(None, (_own_name(each, own) for each in _without_prefix(name))), ""):
        return f"{kind.__name__} has no {name} (did you mean {meant}?)"
    of_result = hasattr(np.ndarray, name)
    if hasattr(kind, "__await__") and (of_result or name in _WAITS) and (called := _written(error)):
        result = "" if not of_result or "put" in getattr(there, "call", "") else f" for its result, which has {name}"
        return f"{called} {is_a(there)}: write `await {called}`{result}"
    if hasattr(kind, "__await__") and of_result and (once := _awaited_once(kind, error)):
        return once
    of_one_at_hand = _of_one_at_hand(there, name, error)
    if isinstance(there, Endpoint) and (text := of_one_at_hand or _of_front_end(there, name, fronts, error)):
        return text
    if text := (
        _in_part(there, name, error)
        or of_main(kind, name, _written(error))
        or of_one_at_hand
        or (f"{kind.__name__} has no {name}; {array}" if (array := _of_its_arrays(kind, name)) else "")
        or of_another_front(kind, name, error, imported=False)
    ):
        return text
    if close := next(filter(None, (like(each, own) for each in _without_prefix(name))), ""):
        return f"{kind.__name__} has no {name}{close}"
    return _in_layer(kind, name)


def _of_another_package(there: object, kind: type, name: str, error: BaseException) -> str:
    """Say what is written in the place of an attribute that an object has not which this project hands to programs."""
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
    return _of_random(there, name, error) if isinstance(there, Random) else ""


def _of_front_end(ep: Endpoint, name: str, fronts: list[str], error: BaseException) -> str:
    """Say which front ends' objects have what an endpoint has not; "" where none of them is meant.

    Args:
        ep: the endpoint.
        name: what it has not.
        fronts: those that may be meant.
        error: of the program.
    """
    if not fronts:
        return ""
    kind = type(ep)
    if started := how_to_start(fronts, ep, error):  # the program says itself what it is for
        return f"{kind.__name__} has no {name}; {started}"
    if len(fronts) == 1 and imports_front(fronts[0], error):
        return f"{kind.__name__} has no {name}{_perhaps_of(ep, name, error)}"
    here = _in_layer(kind, name, exact=True)
    if here and "ep" in _names_of(ep, error):  # who calls it so has an endpoint in mind
        return here
    here = here or f"{kind.__name__} has no {name}"
    return f"{here}{_perhaps_of(ep, name, error)}"


def of_bare_name(name: str, error: BaseException) -> str:
    """Say what a name is that was written alone: one of an object at hand, of another library, or not imported."""
    for variable, value in _at_hand(error):
        with suppress(Exception):  # out of a property, while the report of another error is made
            if not name.startswith("_") and hasattr(value, name):
                return f"{name} is of {variable}: write `{use(variable, type(value), name)}`"
    if _OF_A_LIBRARY.match(name):
        return _of_a_library(name, error)
    return _of_its_module(name, error) or _in_an_imported_module(name, error) or _not_imported(name)


def _taken_of(name: str, error: BaseException) -> list[str]:
    """Return what the line that failed takes of a name, sorted: SUM, for `MPI.SUM`."""
    step = steps_of(error)[-1]
    return sorted(
        {
            each.attr
            for each in written.nodes(step.tb_frame.f_code)
            if isinstance(each, ast.Attribute)
            and isinstance(each.value, ast.Name)
            and (each.value.id, each.lineno) == (name, step.tb_lineno)
        }
    )


def _of_its_module(name: str, error: BaseException) -> str:
    """Say what an object at hand has for what a line takes of another library's module, as `MPI.COMM_WORLD`; else "".

    Only for modules of libraries that have a front end here, and for what that front end's module has not.
    """
    found = _at_hand(error)
    for public in public_modules():
        module = importlib.import_module(public)
        package, _, last = public.rpartition(".")
        at_hand = any(type(value).__module__.startswith(f"{package}.") for _, value in found)
        if name != getattr(module, "_stands_for", "") and (name != last or at_hand):  # else to import it is enough
            continue
        for taken in _taken_of(name, error):
            if taken in getattr(module, "__all__", ()) or taken.startswith("_"):
                continue
            if text := _as_here(f"{name}_{taken}", f"{name}.{taken}", error):
                perhaps = "".join(
                    f'; if this is a program of {each}, put `api = "{each}"` at its top' for each in fronts_of(public)
                )
                return text + (perhaps if any(isinstance(value, Endpoint) for _, value in found) else "")
    return ""


def _in_an_imported_module(name: str, error: BaseException) -> str:
    """Say how to import what a line takes of a name, as `MPI.SUM`, of a module that the program knows; else ""."""
    step = steps_of(error)[-1]
    wanted = _taken_of(name, error)
    known = {getattr(value, "__module__", None) or "" for value in step.tb_frame.f_globals.values()}
    for module in public_modules():
        names = getattr(importlib.import_module(module), "__all__", ())
        given = [each for each in wanted if each in names]
        if given and any(f"{each}.".startswith(f"{module}.") for each in known):
            return f"write `from {module} import {given[0]}` at the top, and `{given[0]}` in its place"
    return ""


def elsewhere(package: str, name: str) -> str:
    """Return where a public name is that a package or module of this project has not, "" where none is like it."""
    if package.partition(".")[0] not in own_packages() or name.startswith("_"):
        return ""
    module = importlib.import_module(package)
    if text := getattr(module, "_instead", {}).get(name):
        return f"{package} has no {name}; {text}"
    word, kind = getattr(module, "_given", ("", object))
    if word and has_name(kind, name):
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


def of_import(package: str, name: str) -> str:
    """Say what is written in the place of a name that a program imports and that is not there; "" for others."""
    ours = package.partition(".")[0] in own_packages()
    of_front = ours and hasattr(importlib.import_module(package), "_given")  # which says what its objects have
    return (_not_at_hand(package, name) if ours and not of_front else "") or elsewhere(package, name)


def _of_module(package: str, name: str, error: BaseException) -> str:
    """Say where a name is that a package or module of this project has not: perhaps an object at hand has it."""
    if package.partition(".")[0] not in own_packages():
        return ""
    of_front = hasattr(importlib.import_module(package), "_given")
    if not of_front and _OF_A_LIBRARY.match(name) and (text := _of_a_library(name, error)):
        return f"{package} has no {name}; {text}"
    return (
        elsewhere(package, name)
        or of_bare_name(name, error)
        or _as_here(name, name, error)
        or _not_at_hand(package, name)
    )


def _at_hand(error: BaseException) -> list[tuple[str, object]]:
    """Return variables with objects of this project: of the function that failed, or the next around that has any."""
    for step in reversed(steps_of(error)):
        named = {} if is_own(step.tb_frame.f_code.co_filename) else step.tb_frame.f_locals
        if found := [(variable, value) for variable, value in named.items() if is_ours(type(value))]:
            return found
    return []


def _of_a_library(name: str, error: BaseException) -> str:
    """Say what is written here for a name of C, as `gasnet_put` and `MPI_Barrier`; "" where nothing at hand has it."""
    if text := _as_here(name, name, error):
        return text
    for variable, value in reversed(_at_hand(error)):  # what is attached to an endpoint comes after it
        text = of_attribute(value, name, error)
        if close := re.search(r"did you mean (\w+)", text):
            return f"it may be `{use(variable, type(value), close[1])}`"
        if text:
            return re.sub(rf"^{type(value).__name__} has no {name}(, but|;)? ?", "", text)
    return ""


def _as_here(name: str, called: str, error: BaseException) -> str:
    """Say what objects at hand have for a name of C beyond doubt: a name of theirs, or one that their classes list.

    Args:
        name: it.
        called: as the program writes it.
        error: that it is not there.
    """
    found = _at_hand(error)
    for variable, value in found:
        own = {_folded(each): each for each in dir(value) if not each.startswith("_")}
        if there := next((own[_folded(each)] for each in _without_prefix(name) if _folded(each) in own), ""):
            return f"{called} is {variable}.{there} here: write `{use(variable, type(value), there)}`"
    for variable, value in reversed(found):  # what is attached to an endpoint comes after it
        for each in _without_prefix(name):
            if text := _written_there(value, each, variable, error):
                return text
        if text := _of_its_arrays(type(value), name):
            return text
    return ""


def _of_its_arrays(kind: type, name: str) -> str:
    """Say what is written for a name that another class of a front end has than the one that it gives to main.

    Args:
        kind: what it gives to main; of other classes nothing is said.
        name: the name, with or without the library's prefix.
    """
    for module in map(importlib.import_module, public_modules()):
        if getattr(module, "_given", ("", object))[1] is not kind:
            continue
        for other in vars(module).values():
            word = getattr(other, "_called", "") if isinstance(other, type) and other is not kind else ""
            found = next((each for each in _without_prefix(name) if word and each in offered(other)), "")
            if found:
                return f"write `{use(word, other, found)}`, of a {other.__name__}"
    return ""


def _not_at_hand(package: str, name: str) -> str:
    """Say what is written here for a name of C where nothing at hand has it; "" where no endpoint and no layer has."""
    if not _OF_A_LIBRARY.match(name):
        return ""
    for kind in (Endpoint, *layer_classes()):
        own = {_folded(each): each for each in dir(kind) if not each.startswith("_")}
        for each in _without_prefix(name):
            there = own.get(_folded(each))
            word = "ep" if kind is Endpoint else "x"
            if text := _of_others(kind, each) or (f"write `{use(word, kind, there)}`" if there else ""):
                return f"{package} has no {name}; {text}"
    return ""


def _not_imported(name: str) -> str:
    """Say how a public name is imported that one package or module alone has; "" for every other name."""
    public = [each for each in public_modules() if name in getattr(importlib.import_module(each), "__all__", ())]
    modules = [each for each in public_modules() if each.rpartition(".")[2] == name]
    if len(modules) == 1:
        above = modules[0].rpartition(".")[0]
        return f"write `{f'from {above} ' if above else ''}import {name}` at the top"
    return f"write `from {public[0]} import {name}` at the top" if len(public) == 1 else ""


def of_no_module(name: str) -> str:
    """Say where a module is that is not there: one of this project, or what stands for another one."""
    last = name.rpartition(".")[2]
    for other in public_modules():
        package, _, own = other.rpartition(".")
        ours = (name == last or name.partition(".")[0] in own_packages()) and own.casefold() == last.casefold()
        if not package and name.partition(".")[0] in own_packages() and own == last:
            classes = ", ".join(each.__name__ for each in layer_classes() if package_of(each) == own)
            return f"there is no {name} here: write `from {own} import {classes or '...'}`"
        if package and (ours or name.partition(".")[0] == getattr(importlib.import_module(other), "_stands_for", "")):
            return f"there is no {name} here: write `from {package} import {own}`"
    return ""


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


def _of_random(there: Random, name: str, error: BaseException) -> str:
    """Say what has a method of numpy's generators to who takes a rank's own for one; "" for others of the program's."""
    method = _RANDOM.get(name, name)
    ranks = [getattr(value, "ep", value) for _, value in _at_hand(error)]
    if not hasattr(np.random.Generator, method) or not any(getattr(each, "random", None) is there for each in ranks):
        return ""
    called = _written(error) or "ep.random"
    like_it = f", or `{called}.{_PYTHONS[method]}`" if method in _PYTHONS else ""
    return (
        f"{called} is a generator of Python's: write `rng = numpy.random.default_rng({called}.getrandbits(64))`, then "
        f"`rng.{method}(...)`{like_it}"
    )


def _own_name(name: str, own: Iterable[str]) -> str:
    """Return the name of an object that is meant beyond doubt, before those of others.

    It is a slip, its words in another order, or its last words.
    """
    if meant := slip(name, own) or _in_order(name, own):
        return meant
    ends = [each for each in own if each.endswith(f"_{name}")]
    shortest = [each for each in ends if each.count("_") == min(end.count("_") for end in ends)]
    return shortest[0] if len(shortest) == 1 else ""


def _in_order(name: str, known: Iterable[str]) -> str:
    """Return the name that has the words of another one in another order, as add_fetch of fetch_add; "" if none has."""
    words = name.casefold().split("_")
    for wanted in (sorted(words), sorted(each for each in words if each != "and")):
        if found := [each for each in known if len(wanted) > 1 and sorted(each.casefold().split("_")) == wanted]:
            return found[0]
    return ""


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
    imported = len(fronts) == 1 and imports_front(fronts[0], error)
    return imported or how_to_start(fronts, there, error) != "" or "ep" not in _names_of(there, error)


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
    if kind in layer_classes() and (text := _of_others(Endpoint, name)):
        return as_called(text, Endpoint, f"{written}.ep" if written else "")
    for layer in layer_classes() if isinstance(there, Endpoint) else ():
        if text := _of_others(layer, name):
            if at_hand := next((variable for variable, value in _at_hand(error) if type(value) is layer), ""):
                return as_called(text, layer, at_hand)
            attached = (
                f"`from {package_of(layer)} import {layer.__name__}`, then `x = await {layer.__name__}.attach(ep)`"
            )
            return f"{text}, after {attached}"
    return ""


def _of_others(kind: type, name: str) -> str:
    """Return what a class says of a name of other libraries, in any case; "" where it says nothing."""
    known: dict[str, str] = getattr(kind, "_instead", {})
    if name.isupper() and fronts_with(name):  # which says what the program is for: MYTHREAD
        return known.get(name, "")
    return known.get(name) or next((text for each, text in known.items() if each.casefold() == name.casefold()), "")


def _written(error: BaseException) -> str:
    """Return how the program's line writes the object that lacks an attribute; "" where it is no name or one's part."""
    failed = program_node(error, is_ours)
    match None if failed is None else failed.tree:
        case ast.Attribute(value=there) | ast.Call(func=ast.Attribute(value=there)):
            return ast.unparse(there) if is_name(there.value if isinstance(there, ast.Subscript) else there) else ""
    return ""


def _awaited_once(kind: type, error: BaseException) -> str:
    """Say what to write where the program's line has an `await` that gave a handle; "" where it has none."""
    failed = program_node(error, is_ours)
    match None if failed is None else failed.tree:
        case ast.Attribute(value=ast.Await() as node) | ast.Call(func=ast.Attribute(value=ast.Await() as node)) if (
            failed
        ):
            return awaited_once(failed, node, kind)
    return ""


def _perhaps_of(there: object, name: str, error: BaseException) -> str:
    """Say what makes an endpoint's program one of a front end which has that name; "" for every other object."""
    if not isinstance(there, Endpoint):
        return ""
    fronts, script = meant_fronts(fronts_with(name), error), script_of(error)
    remedies = {
        each: f'put `api = "{each}"` at its top' if script is None else f"write {run_of(each, there.size, script)}"
        for each in fronts
    }
    return "".join(f"; if this is a program of {each}, {remedy}" for each, remedy in remedies.items())


def _in_part(there: object, name: str, error: BaseException) -> str:
    """Say which part of an object has a name that it has not itself: its layer, its endpoint, a table.

    A table is a record of values, as the limits of messages are.
    """
    kinds = Endpoint, *layer_classes()
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
    if any(kind.__module__.startswith(f"{package}.") for package in front_packages()):
        return ""
    for layer in layer_classes():
        known = offered(layer)
        folded = {_folded(each): each for each in dir(layer) if not each.startswith("_")}
        names = [folded.get(_folded(each), "") for each in _without_prefix(name)]
        names += [_in_order(each, known) for each in _without_prefix(name)]
        guessed = not exact and kind in (Endpoint, *layer_classes())  # who has these has what a layer is attached to
        close = [closest(each, known) for each in _without_prefix(name)] if guessed else []
        if layer is not kind and (found := next(filter(None, (*names, *close)), "")):
            return (
                f"{kind.__name__} has no {name}, but {layer.__name__} has {found}: `from {package_of(layer)} import "
                f"{layer.__name__}`, then `x = await {layer.__name__}.attach(ep)` and `{use('x', layer, found)}`"
            )
    return ""


def _folded(name: str) -> str:
    """Return a name as it is the same for who writes all_reduce and for who writes Allreduce."""
    return name.replace("_", "").casefold()


def _names_of(there: object, error: BaseException) -> set[str]:
    """Return what an object is called where an error was raised."""
    steps = steps_of(error)
    return {name for name, value in steps[-1].tb_frame.f_locals.items() if value is there} if steps else set()
