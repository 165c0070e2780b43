"""What the front ends of this layer share: how programs are begun and calls are made, and how both are refused."""

from __future__ import annotations

import inspect
from enum import IntEnum
from numbers import Integral
from operator import index
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import conduit
from conduit.words import closest, in_spec, is_a, many, not_async, to_be_given, to_be_named
from extended import calls, checks
from extended.collectives import signature

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 1 << 62  # no job has as many ranks
_RANKS = ("ranks", "pes", "threads", "np", "n", "nranks", "n_ranks", "nprocs", "procs", "size")
"""What others call the number of ranks."""


def run_options(
    front: str, name: str, count: int | None, options: dict[str, Any], own: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the options of a front end's `run` as `conduit.run` takes them.

    Args:
        front: the front end, for messages: ``upc``, ``shmem``.
        name: of its argument that says how many ranks.
        count: that argument.
        options: the others.
        own: names of arguments that `conduit.run` does not have.

    Raises:
        conduit.BadRequest: an option that there is not, or a wrong number.
    """
    known = [key for key in inspect.signature(conduit.run).parameters if key not in ("main", "args", "ranks")]
    for key in options:
        if key not in known:
            spec = options.get("conduit", "sci")
            who, written = in_spec(key, options[key], spec, conduit.available()) if isinstance(spec, str) else ("", "")
            if who and key not in _RANKS:
                raise conduit.BadRequest(
                    f'{front}.run: {key}={shown(options[key])} is an option of {who}: write conduit="{written}"'
                )
            raise conduit.BadRequest(
                f"{front}.run: there is no argument {key}={_instead(key, options[key], name, [name, *own, *known])}"
            )
    if count is not None:
        integer(f"{front}.run", name, count, 1, _MOST, f"a number of {name}, 1 or more")
    return {**options, "ranks": count}


def _instead(key: str, value: object, name: str, known: list[str]) -> str:
    """Return what to give in place of an argument that there is not."""
    if key in _RANKS:
        return f"; give {name}={shown(value)}"
    meant = closest(key, known)
    return f"{f' (did you mean {meant}=?)' if meant else ''}; give {', '.join(known)}"


def check_main(front: str, name: str, what: str, main: Any, args: tuple[Any, ...]) -> None:
    """Refuse what is no `async def main(name, *args)`.

    Args:
        front: the front end, for messages.
        name: what programs call their first argument.
        what: what that is.
        main: as given.
        args: those that follow.

    Raises:
        conduit.BadRequest: it cannot be called, is not async, or takes other arguments.
    """
    write = f"write `async def main({name}, *args)`"
    if inspect.iscoroutine(main):
        main.close()  # it never ran, and Python would say less of it
        name = main.__name__
        raise conduit.BadRequest(
            f"{front}.run: main={name}(...) is a call of {name}, made already; pass the function: {front}.run({name}, "
            "...)"
        )
    if not callable(main):
        raise conduit.BadRequest(f"{front}.run: main={shown(main)} cannot be called; {write}")
    if wrong := not_async(main, write):
        raise conduit.BadRequest(f"{front}.run: main={shown(main)} {wrong}")
    try:
        inspect.signature(main).bind(None, *args)
    except TypeError as error:
        raise conduit.BadRequest(
            f"{front}.run: main={shown(main)} cannot be called with a {what} and {many(len(args), 'argument')}: "
            f"{error}; " + (to_be_given(main, args, f"{front}.run") or write + to_be_named(args, f"{what.lower()}s"))
        ) from None
    except ValueError:
        pass  # some of those that are built in do not tell


def public(
    owner: str, check: Callable[..., object] | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Turn a method that gives a coroutine into a call, checked when it is made and missed when it is not awaited.

    Args:
        owner: what programs call the object: ``t``, ``pe``, ``win``.
        check: takes the arguments of the call, refuses wrong ones, and may return those to go on with; None where the
            method checks before it gives its coroutine.
    """
    return calls.public(check, owner=owner)


def name_calls(call: str, names: Iterable[str]) -> None:
    """Let reports know names of a front end for a collective call of this layer, also those of other processes.

    Args:
        call: as `all_reduce`.
        names: what the front end gives as `called=`: ``pe.sum_reduce``; with arguments where those of `call` are not
            what its user has written: ``pe.collect(...)``.
    """
    signature.name_calls(call, names)


def shown(value: object) -> str:
    """Return how messages show a value."""
    return checks.shown(value)


def flag(call: str, name: str, value: object) -> bool:
    """Return a yes-or-no argument as a bool.

    Raises:
        conduit.BadRequest: anything but True or False (0 and 1 mean the same).
    """
    return checks.flag(call, name, value)


def barrier_id(call: str, id: object) -> int | None:
    """Return the id of a barrier as a number of 32 bits, None for one that agrees with all.

    Raises:
        conduit.BadRequest: no integer, or wider than 32 bits.
    """
    return checks.barrier_id(call, id)


def is_one_of(value: object, constants: type[IntEnum]) -> bool:
    """Say whether a value is a constant of an enumeration, or its number; also of what compares in no plain way."""
    return isinstance(value, Integral) and int(value) in tuple(constants)


def integer(call: str, name: str, value: Any, least: int, most: int, what: str) -> int:
    """Return an integer argument within bounds.

    Args:
        call: for the message.
        name: of the argument.
        value: as given.
        least: the smallest that is allowed.
        most: the largest.
        what: what to give.

    Raises:
        conduit.BadRequest: it is none, or outside.
    """
    try:
        number = index(value)
    except TypeError:
        raise conduit.BadRequest(f"{call}: {name}={shown(value)} {is_a(value)}; give an integer, {what}") from None
    if not least <= number <= most:
        raise conduit.BadRequest(f"{call}: {name}={shown(number)} is not possible; give {what}")
    return number
