"""Words of messages that depend on a value: how many of what, what kind of thing it is, and what to give instead."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import takewhile
from types import CoroutineType, FunctionType
from typing import Any

ANOTHER_RUN = (
    "calls of a rank belong to the run of Trio that its job is, and trio.run begins another one, also in a thread: "
    "begin the thread by `await trio.to_thread.run_sync(function)`, and write `trio.from_thread.run(call, *arguments)` "
    "in it"
)
"""What is wrong where a program makes a call by `trio.run`."""

FOREIGN = ("trio.run received unrecognized yield message", "Task got bad yield: ")
"""How another run of Trio, and asyncio, refuse what a call of this package waits for, and each what the other does."""

OF_ENDING = (
    "the job has ended, and this rank's main with it: let this pass, as `except Exception:` does, or raise it again"
)
"""What is told by the exception that ends the ranks of a job which has ended."""

UNSAID = "<exception str() failed>"
"""What Python writes in a traceback in the place of what an error says that cannot be asked."""

_SHOWN = 40  # characters of a value that is part of an advice
_SHORT = 3
"""Letters of a word that is like many names, and meant to be few of them."""


def many(count: int, noun: str) -> str:
    """Return a count with its noun, whose plural ends in s: "1 message", "2 messages"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def text_of(error: BaseException) -> str:
    """Return what an error says; where its own `__str__` raises, what a traceback has in its place."""
    try:
        return str(error)
    except Exception:
        return UNSAID


def natural(name: str) -> list[tuple[int, str]]:
    """Return what names are sorted by, so that "bus 2" comes before "bus 10"."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def is_a(value: object) -> str:
    """Return what kind of thing a value is, after its name: "is a str", "is an Endpoint", "is no value"."""
    return "is no value" if value is None else f"is {a_kind(type(value))}"


def a_kind(kind: type) -> str:
    """Return the name of a class with its article: "a str", "an Endpoint"."""
    return f"{'an' if kind.__name__[0] in 'AEIOaeio' else 'a'} {kind.__name__}"


def to_install(extra: str) -> str:
    """Return how to install what an extra of this package brings, from an index and from where its sources are."""
    return f"pip install 'conduit-am[{extra}]', in a clone of the project pip install '.[{extra}]'"


def not_async(main: object, write: str) -> str:
    """Return what a program's main is that is not async, and what to do; "" where it is, or nothing can be seen of it.

    Args:
        main: a function, or an object that can be called.
        write: how it is to be written.
    """
    while isinstance(main, functools.partial):
        main = main.func
    kind = ""
    if inspect.isclass(main):
        return f"is a class; {write}, or pass an object of it"
    if not inspect.isroutine(main):
        main, kind = type(main).__call__, "an object whose `__call__` is "
    if inspect.isasyncgenfunction(main):
        return f"is {kind}an async generator, for it has a `yield`; {write}"
    code = getattr(main, "__code__", None)
    if code is None or inspect.iscoroutinefunction(main):
        return ""
    place = f"{code.co_filename}:{code.co_firstlineno}"
    if code.co_name == "<lambda>":
        return f"({place}) cannot be async; {write}, or pass the function that it calls and then its arguments"
    if not (hasattr(main, "__wrapped__") or "<locals>" in main.__qualname__):
        return f"is {kind}an ordinary function; {write}"
    remedy = f"{write}, and `return await` in it where it calls another async function"
    return f"is {kind}an ordinary function ({place}); {remedy}"


def plain(value: object) -> str:
    """Return how messages show a value: a function by its name, in one line, nothing by where it is in memory."""
    if isinstance(value, FunctionType):
        return value.__name__
    if isinstance(value, CoroutineType):
        return "a call without `await`"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", re.sub(r"\s*\n\s*", " ", repr(value)))


def as_bytes(value: object) -> str:
    """Return what to give in the place of a value that has no bytes: "its bytes, 'text'.encode()"."""
    if isinstance(value, str):
        return f"its bytes, {_short(value, 'text')}.encode()"
    if isinstance(value, list | tuple):
        return f"an array: numpy.array({_short(value, '...')})"
    if isinstance(value, CoroutineType):
        return "what that call gives: it was not awaited"
    return "bytes, a bytearray, a memoryview or a numpy array"


def _short(value: object, instead: str) -> str:
    """Return how messages show a value, `instead` where that is long, or an element of it cannot be shown."""
    try:
        text = plain(value)
    except Exception:
        return instead
    return text if len(text) <= _SHOWN else instead


def value_text(value: object) -> str:
    """Write the value of an option as a spec does; reading the text gives the value again."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return _float_text(value)
        case tuple() if all(isinstance(item, int) for item in value):
            return "x".join(map(str, value))
        case tuple():
            return "+".join(map(str, value))
    return str(value)


def _float_text(value: float) -> str:
    """Write a number shortly: small ones are times nearly always, and 1.5e-06 reads better than 0.0000015."""
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def in_spec(option: str, value: object, spec: str, conduits: Mapping[str, Any]) -> tuple[str, str]:
    """Return whose option a name is, and the spec that it stands in; ("", "") where no conduit has such an option.

    Args:
        option: its name.
        value: as the program gives it, or its text.
        spec: that of the job, whose conduit comes first.
        conduits: the classes of conduits by name, as `conduit.available()` returns them.
    """
    name = spec.partition(":")[0].strip()
    have = [each for each, cls in conduits.items() if option in _options(cls, spec if each == name else "")]
    try:
        text = value_text(value)
    except Exception:
        text = "VALUE"
    if name in have:
        given = re.compile(rf"(?<=[:,])\s*{option}\s*=[^,]*")
        if given.search(spec):
            return f"the conduit {name}", given.sub(lambda _: f"{option}={text}", spec)
        return f"the conduit {name}", f"{spec}{',' if ':' in spec else ':'}{option}={text}"
    if not have:
        return "", ""
    *others, last = have
    who = f"conduits {', '.join(others)} and {last}" if others else f"conduit {last}"
    return f"the {who}, not of {name}", f"{have[0]}:{option}={text}"


def _options(cls: Any, spec: str) -> set[str]:
    """Return the names of a conduit's options; of several networks under one name those of the one in a spec."""
    names, chooser = set(), getattr(cls, "chooser", "")
    if chooser:
        names.add(chooser)
        found = re.search(rf"[:,]\s*{chooser}\s*=\s*([^,\s]*)", spec)
        with suppress(Exception):  # of a plug-in, or for want of a library
            cls = cls.variant(found[1] if found else cls.preferred or cls.variants()[0])
    return names | {field.name for field in getattr(getattr(cls, "Options", None), "__attrs_attrs__", ()) if field.init}


def to_be_named(args: Sequence[object], ranks: str, network: str = "") -> str:
    """Return what is added where main does not take what it is given, "" where it is given nothing.

    Args:
        args: those after main; a number alone is how many ranks there are to be.
        ranks: what `run` calls these.
        network: what it is given before, with a comma.
    """
    if not args:
        return ""
    number = args[0] if len(args) == 1 and type(args[0]) is int and args[0] > 0 else 4
    return f"; what run takes itself is given by name: {network}{ranks}={number}"


def to_be_given(main: Callable[..., object], args: Sequence[object], call: str) -> str:
    """Return how main is given what it lacks, "" where it has all that it takes by place.

    Args:
        main: the program, whose first argument `run` gives it.
        args: those after main.
        call: what `run` is called as.
    """
    taken = inspect.signature(main, follow_wrapped=False).parameters.values()
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each.name for each in taken if each.kind in by_place and each.default is each.empty][1:]
    if len(args) >= len(needed):
        return ""
    return f"pass what it takes after it: {call}({', '.join((getattr(main, '__name__', 'main'), *needed))}, ...)"


def other_head(function: Callable[..., object], count: int) -> str:
    """Return what a function takes where that is not so many arguments, "" where it is or cannot be known."""
    try:
        head = inspect.signature(function)
    except (TypeError, ValueError):  # some of those that are built in do not tell
        return ""
    try:
        head.bind(*range(count))
    except TypeError:
        return str(head)
    return ""


def closest(word: str, known: Iterable[str]) -> str:
    """Return the name that is most like a word, "" if none is; case, hyphens and underscores count for nothing."""
    plain, given = {_plain(name): name for name in known}, _plain(word)
    if given in plain or len(word) == 1:  # which is half of every name of two letters
        return plain.get(given, "")
    found = get_close_matches(given, plain, n=3, cutoff=0.65)
    if len(given) <= _SHORT:  # two of whose three letters are in many names
        found = [name for name in found if _is_slip(given, name)]
    return next((plain[name] for name in found), "")


def slip(word: str, known: Iterable[str]) -> str:
    """Return the name that a word is but for one letter, or two in the wrong order; "" if it is none, or short."""
    plain, given = {_plain(name): name for name in known}, _plain(word)
    if given in plain:
        return plain[given]
    return next((plain[name] for name in plain if len(given) > _SHORT and _is_slip(given, name)), "")


def _is_slip(word: str, name: str) -> bool:
    """Return whether a letter too many, too few or another one, or two in the wrong order, makes a word of a name."""
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name, strict=False)))
    word, name = word[begin:], name[begin:]
    return word[1:] == name[1:] or word[1:] == name or word == name[1:] or word == name[1::-1] + name[2:]


def like(word: str, known: Iterable[str]) -> str:
    """Return a question after the name that is most like a word, an empty text if none is."""
    close = closest(word, known)
    return f" (did you mean {close}?)" if close else ""


def _plain(name: str) -> str:
    return re.sub("[-_]", "", name).casefold()
