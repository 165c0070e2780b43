"""Which front end a program is for, and what it is given there."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from conduit.core.endpoint import Endpoint
from conduit.core.steps import steps_of
from conduit.launch import entry_points
from conduit.launch.program.public import has_name, public_modules
from conduit.launch.program.uses import use
from conduit.launch.program.written_for import imports, modules_of


class FrontEnd(NamedTuple):
    """What a front end gives to main.

    Attributes:
        module: the last part of the public module's name.
        word: what programs call it.
        kind: its class.
    """

    module: str
    word: str
    kind: type


def given_by(front: str) -> FrontEnd:
    """Return what an installed front end gives to main."""
    for public in modules_of(front):
        if given := getattr(importlib.import_module(public), "_given", None):
            return FrontEnd(public.rpartition(".")[2], *given)
    return FrontEnd(front, "ep", Endpoint)


def first_argument(front: str | None) -> str:
    """Return what programs of a front end call the first argument of main; None: of the core."""
    known = front is not None and front in entry_points.installed(entry_points.FRONT_ENDS)
    return given_by(front).word if known and front else "ep"


def fronts_with(name: str) -> list[str]:
    """Return the front ends a class of which has that name; what they give to programs is no endpoint."""
    found = []
    for front in sorted(entry_points.installed(entry_points.FRONT_ENDS)):
        module, package = modules_of(front)
        with suppress(ImportError):
            public = [vars(importlib.import_module(each)).values() for each in (package, module)]
            classes = {each for values in public for each in values if isinstance(each, type)}
            if any(each.__module__.startswith(package) and has_name(each, name) for each in classes):
                found.append(front)
    return found


def fronts_of(module: str) -> list[str]:
    """Return what programs of a public module call its front end."""
    return [front for front in entry_points.installed(entry_points.FRONT_ENDS) if module in modules_of(front)]


def front_packages() -> list[str]:
    """Return the packages of the front ends."""
    return [modules_of(front)[1] for front in entry_points.installed(entry_points.FRONT_ENDS)]


def meant_fronts(fronts: list[str], error: BaseException) -> list[str]:
    """Return those of some front ends that a program imports, all where it imports none."""
    return [each for each in fronts if imports_front(each, error)] or fronts


def imports_front(front: str, error: BaseException) -> bool:
    """Say whether a program has imported the module of a front end."""
    return any(imports(step.tb_frame.f_globals.values(), front) for step in steps_of(error))


def how_to_start(fronts: list[str], endpoint: Endpoint, error: BaseException) -> str:
    """Say how to start a program that says itself which of some front ends it is for, "" for one that does not.

    It says so by `api`, or by importing it in a script, which starts the job itself.
    """
    for step in steps_of(error):
        known = step.tb_frame.f_globals
        front = known.get("api")
        if (
            front is None
            and known.get("__name__") == "__main__"
            and len(fronts) == 1
            and imports_front(fronts[0], error)
        ):
            front = fronts[0]
        if isinstance(front, str) and front in fronts and (written := run_of(front, endpoint.size, known)):
            return f"conduit.run gives main an endpoint: write {written}"
    return ""


def run_of(front: str, ranks: int, known: Mapping[str, object]) -> str:
    """Return what to write in the place of `conduit.run(main)` for a program of a front end, with what it imports."""
    for public in modules_of(front):
        if text := getattr(importlib.import_module(public), "_started", ""):
            above, _, last = public.rpartition(".")
            first = "" if last in known else f"`from {above} import {last}`, then "
            return f"{first}`{text.format(ranks)}`"
    return ""


def script_of(error: BaseException) -> dict[str, object] | None:
    """Return the names of the script that starts the job itself, where an error was raised in one; else None."""
    for step in steps_of(error):
        if step.tb_frame.f_globals.get("__name__") == "__main__":
            return step.tb_frame.f_globals
    return None


def given_an_endpoint(kind: type, name: str, error: BaseException) -> str:
    """Say that main is given an endpoint elsewhere, to who has what a front end gives; "" for others."""
    for module in public_modules():
        _, given = getattr(importlib.import_module(module), "_given", ("", object))
        if given is not kind:
            continue
        said = {step.tb_frame.f_globals.get("api") for step in steps_of(error)}
        fronts = [front for front in fronts_of(module) if front in said]
        who = f"{module.rpartition('.')[2]}.run gives main a {kind.__name__}, conduit.run an endpoint"
        if fronts:
            who = f'with `api = "{fronts[0]}"` main is given a {kind.__name__}, without that line an endpoint'
        return f"{kind.__name__} has no {name}, but an endpoint has: {who}, `async def main(ep)`"
    return ""


def of_another_front(kind: type, name: str, error: BaseException, *, imported: bool) -> str:
    """Say which front end gives main what has a name, to who has what another one gives; "" for others.

    Args:
        kind: the class of what has not that name.
        name: it.
        error: that it has not.
        imported: whether only front ends count that the program imports.
    """
    fronts = {front: given_by(front) for front in sorted(entry_points.installed(entry_points.FRONT_ENDS))}
    mine = next((front for front, given in fronts.items() if given.kind is kind), "")
    said = mine in {step.tb_frame.f_globals.get("api") for step in steps_of(error)}
    for front, given in fronts.items() if mine else ():
        if front != mine and has_name(given.kind, name) and (imports_front(front, error) or not imported):
            one, other = (
                f'with `api = "{each}"`' if said else f"by {fronts[each].module}.run" for each in (mine, front)
            )
            return (
                f"{kind.__name__} has no {name}, but a {given.kind.__name__} has: {one} main is given a "
                f"{kind.__name__}, {other} a {given.kind.__name__}, `async def main({given.word})`"
            )
    return ""


def of_main(kind: type, name: str, called: str) -> str:
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
