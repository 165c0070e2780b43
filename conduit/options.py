"""Options of conduits: declared as attrs classes, written as text in a spec, explained to users.

A conduit declares `Options`, an `@attrs.frozen(kw_only=True)` class whose fields are made with `option`.  The type of a
field says how its text is read:

| type                        | text                                                              |
|-----------------------------|-------------------------------------------------------------------|
| `int`                       | `16`; a size also with a suffix, `64K` (K, M, G: powers of 2)     |
| `float`                     | `0.5`, `1e-6`; a time, see `option`, also with a suffix, `1.5us`  |
| `bool`                      | `yes`, `no`                                                       |
| `str`                       | as it stands                                                      |
| `Literal["a", "b"]`         | one of its values                                                 |
| `tuple[int, ...]`           | `4x2` or `4+2`                                                    |
| `tuple[str, ...]`           | `a+b`                                                             |
| a union of these, or `None` | by the first member that can read it; `None` is written `none`    |
"""

import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeVar, Union

import attrs

from conduit.bounds import is_told, objecting, ranges
from conduit.errors import BadRequest
from conduit.words import closest, like, slip, value_text

OptionsT = TypeVar("OptionsT")

MOST_OPTION_SECONDS = 1_000_000
"""Of an option that is a time: some ten days; what the longest message takes at that for each byte can be told."""
_TYPES = (
    "it must be int, float, bool, str, Literal[...], tuple[int, ...] or tuple[str, ...], of these also with `| None`"
)
_FACTORY: Any = attrs.Factory
_SUFFIXES = {"s": 0, "ms": 3, "us": 6, "\u03bcs": 6, "ns": 9, "ps": 12}
"""By how many decimal places a suffix moves the point; without case the micro sign is the letter mu."""
_IN_SECONDS = re.compile(r", s\b(?!/)|\(s\)|\bseconds\b")
"""In the help of an option that is a time."""
_DURATION = re.compile(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)(s|ms|us|µs|ns|ps)", re.IGNORECASE)


def option(
    default: object,
    help: str = "",
    *,
    validator: Callable[..., object] | Sequence[Callable[..., object]] | None = None,
    allowed: str | None = None,
    shown: str | None = None,
    **metadata: object,
) -> Any:
    """Declare one option of a conduit: an attrs field that also knows how to explain itself.

    Args:
        default: the value when the spec does not give the option.
        help: one line for `conduit list` and `conduit show`; say the unit.  A float whose help says ", s", "(s)" or
            "seconds", or which may be up to `MOST_OPTION_SECONDS`, is a time: it may be written as `1.5us`.
        validator: an attrs validator, or several; it raises ValueError or TypeError.
        allowed: what the option accepts, in words; by default derived from type and validator.
        shown: how the default is described, where its value alone would not tell (`"of the parameter set"`).
        metadata: kept in the field's metadata beside `help`; `conformance=(1, 4)` are values for the suite to try.

    Returns:
        What `attrs.field` returns.

    Raises:
        BadRequest: the validator is none.
    """
    for each in validator if isinstance(validator, Sequence) else () if validator is None else (validator,):
        if not callable(each):
            raise BadRequest(
                f"option: validator={each!r} cannot be called; pass one of attrs.validators, such as ge({each!r})"
            )
    notes = {"help": help, "allowed": allowed, "shown": shown, **metadata}
    checks = list(validator) if isinstance(validator, Sequence) else validator
    return attrs.field(default=default, validator=checks, metadata=notes)


def kept_in(unit: str, places: int) -> Callable[..., None]:
    """Return a validator that refuses a number which a network would keep as 0, though it is more.

    Args:
        unit: what the network keeps whole ones of: `"picoseconds"`.
        places: how many decimal places of the option's own unit that is, 12 for picoseconds of seconds.
    """

    def check(options: object, field: "attrs.Attribute[Any]", value: float) -> None:
        if value > 0 and not round(value * 10.0**places):
            raise ValueError(f"it is kept in whole {unit}, and would be 0; give 0, or at least 1e-{places}")

    return check


@attrs.frozen(kw_only=True)
class SimOptions:
    """The options that every simulated conduit has."""

    order: Literal["strict", "weak"] = option(
        "strict", "weak: a seeded order of whatever the hardware may legally reorder"
    )
    inline: bool = option(True, "let the kernel step tasks itself; changes the speed only")
    piece: int = option(4096, "bytes after which a transfer lets others onto a link", validator=attrs.validators.ge(64))


@attrs.frozen(kw_only=True)
class OneSidedOptions(SimOptions):
    """The options of a simulated conduit with native one-sided operations."""

    rma: Literal["native", "am"] = option(
        "native", "how layers put and get: by the hardware's own operations (ep.rma), or by messages alone"
    )


_FEW = 2
"""Options that a word may stand for which does not tell them apart."""
_ANOTHER = re.compile(r"(?P<value>[^\s:;/+=]+)[\s:;/+]+(?P<rest>[A-Za-z][\w-]*=.+)")
"""A value, and another option behind what is no comma."""


def options_problem(cls: type, *, simulated: bool) -> str:
    """Return why a class decorated by attrs cannot be the options of a conduit, "" where it can."""
    if "__attrs_attrs__" not in vars(cls):
        return "are not decorated; write @attrs.frozen(kw_only=True) above it"
    if not simulated:
        return ""
    if not issubclass(cls, SimOptions):
        return "lack order, inline and piece; derive it from conduit.options.SimOptions"
    fields = attrs.fields_dict(cls)
    for common in attrs.fields(SimOptions):
        if fields[common.name] != common:
            return f"declare '{common.name}' anew, which every simulated conduit has; choose another name"
    return ""


def declaration_problem(cls: type) -> tuple[str, str]:
    """Return the option that is declared in a way that it could not be read, set or tried, and what follows its name.

    ("", "") where all can be.
    """
    kinds = {name: (each, kind) for each in cls.__mro__[::-1] for name, kind in inspect.get_annotations(each).items()}
    for name in _fields(cls):
        if name not in kinds:
            return name, f" has no type; write `{name}: int = option(...)`, or of what type it is"
        where, kind = kinds[name]
        alone = type(cls.__name__, (), {"__annotations__": {name: kind}, "__module__": where.__module__})
        try:
            typing.get_type_hints(alone)
        except (NameError, SyntaxError, TypeError, AttributeError) as error:
            return name, f" has the type {kind!r}, which cannot be found: {error}"
    hints = _hints(cls)
    for name, field in _fields(cls).items():
        if problem := _problem(cls, field, hints[name]):
            return name, problem
    return "", ""


def _problem(cls: type, field: "attrs.Attribute[Any]", hint: Any) -> str:
    """Return what is wrong with an option of a known type, to follow its name; "" for nothing."""
    for kind in _members(hint):
        if not (typing.get_origin(kind) in (Literal, tuple) or kind in _READERS):
            return f" cannot be of type {getattr(kind, '__name__', kind)}; {_TYPES}"
    if field.default is attrs.NOTHING:
        return " has no default; write option(DEFAULT, ...), which a spec without the option has"
    default = () if isinstance(field.default, _FACTORY) else ((f": its default {field.default!r}", field.default),)
    tried = tuple(
        (f": {value!r}, of its conformance=..., which the suite tries,", value)
        for value in field.metadata.get("conformance") or ()
    )
    for what, value in (*default, *tried):
        try:
            text = value_text(value)
            same = _read(hint, text) == value and type(_read(hint, text)) is type(value)
        except ValueError:
            same = False
        same = same or (isinstance(value, int) and not isinstance(value, bool) and float in _members(hint))
        validator, objection = (None, "") if not same else _objection(field, value)
        if not same or validator is not None:
            said = f" ({objection})" if objection and not is_told(validator) else ""
            return f"{what} is not allowed; allowed: {_allowed(cls, field)}{said}"
    return ""


class OptionDoc(NamedTuple):
    """What users may know of one option; all texts."""

    name: str
    default: str
    allowed: str
    help: str


def parse_options(conduit_name: str, cls: type[OptionsT], pairs: Mapping[str, str], chooser: str = "") -> OptionsT:
    """Make the options of a conduit from the texts of a spec.

    Args:
        conduit_name: for messages.
        cls: the conduit's attrs class of options.
        pairs: text of each option that was given, by name; a hyphen in a name counts as an underscore.
        chooser: the option that has chosen this network among those of the conduit's name, "" for none.

    Raises:
        BadRequest: an option is unknown, a value cannot be read or is not allowed.
    """
    fields = _fields(cls)
    values: dict[str, object] = {}
    texts: dict[str, str] = {}
    for given, text in pairs.items():
        name = given.replace("-", "_")
        if name not in fields:
            raise BadRequest(_unknown(conduit_name, given, cls, [*filter(None, [chooser])]))
        if name in values:
            raise BadRequest(f"option '{name}' of conduit '{conduit_name}' is given twice; give it once")
        try:
            values[name] = _read(_hints(cls)[name], text, with_units=_is_time(fields[name]))
        except ValueError:
            raise BadRequest(_refusal(conduit_name, cls, name, text)) from None
        texts[name] = text
    return _make(conduit_name, cls, values, texts)


def _make(conduit_name: str, cls: type[OptionsT], values: Mapping[str, object], texts: Mapping[str, str]) -> OptionsT:
    """Make the options; the objections of validators name the option and what was written for it."""
    try:
        return cls(**values)
    except (ValueError, TypeError) as exc:
        for name, value in values.items():
            field = _fields(cls)[name]
            validator, objection = _objection(field, value)
            if validator is not None:
                refusal = _refusal(conduit_name, cls, name, texts[name])
                more = _unsaid(field, refusal) if is_told(validator) else objection
                raise BadRequest(refusal + (f" ({more})" if more else "")) from None
        raise BadRequest(f"options of conduit '{conduit_name}': {_text(exc)}") from None


def _unsaid(field: "attrs.Attribute[Any]", refusal: str) -> str:
    """Return where a number must be, as far as a refusal has not said it."""
    bounds = _ranges_text(field.validator)
    return "" if bounds in refusal else f"a number {bounds}"


def describe(cls: type) -> list[OptionDoc]:
    """Return name, default, allowed values and help of each option, in the order of their declaration."""
    return [
        OptionDoc(
            name,
            field.metadata.get("shown") or value_text(field.default),
            _allowed(cls, field),
            field.metadata.get("help", ""),
        )
        for name, field in _fields(cls).items()
    ]


def named_values(cls: type) -> dict[str, str]:
    """Return the values that have names of their own, each with its option: `{"weak": "order"}`."""
    return {
        str(value): name
        for name in _fields(cls)
        for member in _members(_hints(cls)[name])
        if typing.get_origin(member) is Literal
        for value in typing.get_args(member)
    }


def joined(cls: type, name: str, parts: Sequence[str]) -> str:
    """Return the text of a value of which the parts were written apart: `4x2`; "" where the option takes no such.

    Args:
        cls: a class of options.
        name: of one of them.
        parts: of its value, each by itself.
    """
    tuples = [each for each in _members(_hints(cls).get(name)) if typing.get_origin(each) is tuple]
    for each in tuples:
        text = ("x" if typing.get_args(each)[0] is int else "+").join(parts)
        with suppress(ValueError):
            _read_one(each, text)
            return text
    return ""


def render(options: object, *, defaults: bool = False) -> str:
    """Write options in canonical form, `k=v,k=v`, in order of declaration.

    Args:
        options: an instance of a conduit's options.
        defaults: write all of them, not only those that differ from their default.  A class whose defaults depend on
            other options may have `in_effect() -> Mapping[str, object]`, the values that they come to.
    """
    if defaults:
        return ",".join(f"{name}={value_text(value)}" for name, value in in_effect(options).items())
    pairs = ((name, getattr(options, name), field.default) for name, field in _fields(type(options)).items())
    return ",".join(f"{name}={value_text(value)}" for name, value, default in pairs if value != default)


def in_effect(options: object) -> dict[str, object]:
    """Return the values of all options, in order of declaration; of those whose defaults depend, what they come to."""
    effective: Mapping[str, object] = getattr(options, "in_effect", dict)()
    return {name: effective.get(name, getattr(options, name)) for name in _fields(type(options))}


def _fields(cls: type) -> dict[str, "attrs.Attribute[Any]"]:
    return {field.name: field for field in attrs.fields(cls) if field.init}


def _hints(cls: type) -> dict[str, Any]:
    """Types of the fields, resolved where annotations are strings."""
    return _cached_hints(cls)


_cached_hints = functools.cache(typing.get_type_hints)


def _is_time(field: "attrs.Attribute[Any]") -> bool:
    """Say whether a number is a time, by its unit or by the bound of times."""
    in_seconds = _IN_SECONDS.search(field.metadata.get("help") or "") is not None
    return in_seconds or any(each.high and each.high[1] == MOST_OPTION_SECONDS for each in ranges(field.validator))


def _read(kind: Any, text: str, *, with_units: bool = False) -> object:
    """Read a text as a value of a type.

    Args:
        kind: the type.
        text: as it is written.
        with_units: whether a float may be a time with a suffix.

    Raises:
        ValueError: it is not the text of such a value.
    """
    for member in _members(kind):
        try:
            return read_float(text) if with_units and member is float else _read_one(member, text)
        except ValueError:
            continue
    raise ValueError(text)


def _members(kind: Any) -> Iterator[Any]:
    """Yield the members of a union, literals and None first: `auto` is also a text, `none` is never one."""
    if typing.get_origin(kind) in (Union, types.UnionType):
        yield from sorted(typing.get_args(kind), key=lambda member: member is str)
    else:
        yield kind


def _read_one(kind: Any, text: str) -> object:
    origin = typing.get_origin(kind)
    if origin is Literal:
        for value in typing.get_args(kind):
            if str(value) == text:
                return value
        raise ValueError(text)
    if origin is tuple:
        item, *_ = typing.get_args(kind)
        return tuple(_read_one(item, part) for part in re.split("[x+]" if item is int else r"\+", text))
    reader = _READERS.get(kind)
    if reader is None:
        raise TypeError(f"an option cannot be of type {kind!r}; {_TYPES}")
    return reader(text)


POWERS = {"": 0, "K": 10, "M": 20, "G": 30}
"""Of 2, by the letter behind a size."""


def _read_int(text: str) -> int:
    found = re.fullmatch(r"([-+]?[0-9][0-9_]*)([KMG]?)", text)
    if found is None:
        raise ValueError(text)
    return int(found[1]) << POWERS[found[2]]


def _read_number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def read_float(text: str) -> float:
    """Read a number that may be a time with a suffix; seconds.

    Raises:
        ValueError: it is none, or not finite.
    """
    if suffixed := _DURATION.fullmatch(text):
        number, suffix = suffixed.groups()
        # As decimals: 1.9 / 10**6 is not the number that 1.9e-6 is, and would be shown as 1.8999999999999998e-06.
        return _read_number(str(Decimal(str(float(number))).scaleb(-_SUFFIXES[suffix.casefold()])))
    return _read_number(text)


def _read_bool(text: str) -> bool:
    return {"yes": True, "no": False}[text] if text in ("yes", "no") else _refuse(text)


def _read_none(text: str) -> object:
    return None if text == "none" else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


_READERS: dict[Any, Callable[[str], object]] = {
    int: _read_int,
    float: _read_number,
    bool: _read_bool,
    str: str,
    types.NoneType: _read_none,
}


def _objection(field: "attrs.Attribute[Any]", value: object) -> tuple[Any, str]:
    """Return which of a field's own validators refuses the value, and what it says: None and "" where none does."""
    try:
        found = objecting(field.validator, field, value)
    except AttributeError:  # a validator that compares fields cannot be asked alone
        return None, ""
    try:
        if found is not None:
            found(None, field, value)
    except (ValueError, TypeError) as exc:
        return found, _text(exc)
    return None, ""


def _text(exc: Exception) -> str:
    """Return the message of an error; attrs' own carry more arguments, which say nothing to users."""
    return str(exc.args[0]) if exc.args else type(exc).__name__


def _unknown(conduit_name: str, name: str, cls: type, more: Sequence[str]) -> str:
    known = sorted([*_fields(cls), *more])
    asked = question(name, cls, more)
    return f"conduit '{conduit_name}' has no option '{name}'{asked}; its options are: {', '.join(known) or 'none'}"


def question(word: str, cls: type, more: Iterable[str] = ()) -> str:
    """Return a question after the options that are `meant`, an empty text if none is."""
    found = meant(word, cls, more)
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def meant(word: str, cls: type, more: Iterable[str] = ()) -> list[str]:
    """Return the options that a word may stand for which is the name of none.

    Those that it begins, or is but for a letter, come first; then those whose help begins with it, as that of L does
    with "latency"; then the one that is most like it.

    Args:
        word: as it was written.
        cls: the class of the options.
        more: names of options that are in no class.
    """
    known = sorted([*_fields(cls), *more])
    begun = [each for each in known if each.startswith(word)]
    if len(begun) == 1 and len(word) > 1:
        return begun
    if near := slip(word, known):
        return [near]
    if parts := [each for each in known if each.startswith(f"{word}_")]:
        return parts
    help_begins = re.compile(rf"{re.escape(word.replace('_', ' '))}\b", re.IGNORECASE)
    explained = [name for name, field in _fields(cls).items() if help_begins.match(field.metadata.get("help") or "")]
    if 0 < len(explained) <= _FEW:
        return explained
    return list(filter(None, [closest(word, known)]))


def _begun_or_like(word: str, known: Sequence[str]) -> str:
    """Return a question after the only name that a word begins, else after the one that is most like it."""
    begun = [each for each in known if each.startswith(word)]
    return f" (did you mean {begun[0]}?)" if len(begun) == 1 and len(word) > 1 else like(word, known)


def _refusal(conduit_name: str, cls: type, name: str, text: str) -> str:
    why = f"option '{name}' of conduit '{conduit_name}' cannot be '{text}'"
    if write := with_comma(conduit_name, name, text):
        return f"{why}: {write}"
    choices = [
        str(value)
        for member in _members(_hints(cls)[name])
        if typing.get_origin(member) is Literal
        for value in typing.get_args(member)
    ]
    return f"{why}{_begun_or_like(text, choices)}; allowed: {_allowed(cls, _fields(cls)[name])}"


def with_comma(spec: str, name: str, text: str) -> str:
    """Return what to write where another option follows a value behind something else than a comma, "" where none does.

    Args:
        spec: the name of a conduit, or a spec of its with options.
        name: of the option.
        text: given for it: ``4:torus=2x2``.
    """
    found = _ANOTHER.fullmatch(text)
    if found is None:
        return ""
    joint = "," if ":" in spec else ":"
    return f"options are joined by commas; write {spec}{joint}{name}={found['value']},{found['rest']}"


def _allowed(cls: type, field: "attrs.Attribute[Any]") -> str:
    """Say in words what an option accepts: by its own text, else by type and attrs' own validators."""
    if field.metadata.get("allowed"):
        return str(field.metadata["allowed"])
    bounds = _ranges_text(field.validator)
    members = list(_members(_hints(cls)[field.name]))
    text = " or ".join(f"{_kind_text(each)} {bounds if each in (int, float) else ''}".strip() for each in members)
    return f"{text}; times also as 1.5us" if float in members and _is_time(field) else text


def _kind_text(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if origin is tuple:
        return "integers such as 4x2" if typing.get_args(kind)[0] is int else "names such as a+b"
    words = {int: "an integer", float: "a number", bool: "yes|no", str: "a text"}
    return words.get(kind, "none")


def _ranges_text(validator: Any) -> str:
    """Return where a number must be, "" where it may be any."""
    return " or ".join(map(str, ranges(validator)))
