"""How `run` is called: it says which argument was meant where it has none of that name; errors begin at the call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from conduit.core.arguments import shown
from conduit.errors import BadRequest
from conduit.launch.errors.tracebacks import trim_tracebacks
from conduit.launch.registry import available
from conduit.words import closest, in_spec

P = ParamSpec("P")
T = TypeVar("T")

_MEANT = {
    **dict.fromkeys(("np", "n", "nranks", "n_ranks", "nprocs", "procs", "size", "pes", "threads", "nodes"), "ranks"),
    **dict.fromkeys(("timeout", "limit", "max_time"), "time_limit"),
    **dict.fromkeys(("network", "spec", "transport", "library"), "conduit"),
    **dict.fromkeys(("ppn", "per_host", "ranks_per_node"), "ranks_per_host"),
    **dict.fromkeys(("memory", "heap", "heap_size", "segment_bytes"), "segment"),
}
"""What others call the arguments of `run`."""


def named(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function say which argument was meant where one is given that it does not have.

    What it raises comes from the caller's line, without those of this package.
    """
    known = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    ]

    @trim_tracebacks
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known and name != "main":
                main = args[0] if args else kwargs.get("main")
                raise _unknown(function.__name__, name, known, kwargs, main)
        if not args and "main" not in kwargs:
            raise BadRequest(
                f"{function.__name__}: there is no main; give first the function that every rank calls: "
                f"conduit.{function.__name__}(main, ...)"
            )
        return function(*args, **kwargs)

    return call


def _takes(main: object, name: str) -> bool:
    """Say whether a program's main has an argument of a name."""
    try:
        return callable(main) and name in inspect.signature(main).parameters
    except (TypeError, ValueError):
        return False


def _unknown(call: str, name: str, known: Sequence[str], given: Mapping[str, object], main: object) -> BadRequest:
    spec = given.get("conduit", "sci")
    who, written = in_spec(name, given[name], spec, available()) if isinstance(spec, str) else ("", "")
    meant = _MEANT.get(name, "")
    if who and (not meant or " not of " not in who):
        return BadRequest(f'{call}: {name}={shown(given[name])} is an option of {who}: write conduit="{written}"')
    meant = meant or closest(name, known)
    return BadRequest(
        f"{call}: there is no argument {name}="
        + (f" (did you mean {meant}=?)" if meant else "")
        + f"; there are {', '.join(known)}; what main takes goes before them, without names"
        + f", or by functools.partial(main, {name}=...)" * _takes(main, name)
    )
