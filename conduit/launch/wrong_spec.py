"""What a user is told of a spec that names no network, or has a part that is no option."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

from conduit.options import describe, joined, meant, named_values
from conduit.words import closest

_BETWEEN = re.compile(r"[\s,;+/=]+")


def no_such(spec: str, known: Sequence[str], chosen: Mapping[str, str], libraries: Collection[str]) -> str:
    """Return what is wrong with a spec that begins with the name of no conduit.

    Args:
        spec: the text.
        known: the names of the installed conduits.
        chosen: specs of networks that share a name, by what chooses them: `{"mpi4py": "mpi:library=mpi4py"}`.
        libraries: names of the libraries that programs can be written for.
    """
    name = spec.partition(":")[0].strip()
    words = {**{each: each for each in known}, **chosen}
    first, *others = _BETWEEN.split(name)
    why, close = "", words.get(closest(name, words), "")
    if first in known and any(others):
        meant = [words[each] for each in others if each in words]
        if not meant:
            rest = spec[len(first) :].lstrip(" ,;+/=:")
            options = rest if "=" in rest else "option=value"
            return f"'{spec}' is no spec: options follow a colon; write {first}:{options}"
        if meant[0].partition(":")[0] != first:
            return several(spec, [first, *meant])
        close = meant[0]
    elif name in libraries and name not in words:
        why, close = f': it is a library for programs (`api = "{name}"` at their top), which run on any conduit', ""
    like = f" (did you mean {close}?)" if close else ""
    return f"there is no conduit '{name}'{like}{why}; installed are: {', '.join(known) or 'none'}"


def several(spec: str, specs: Sequence[str]) -> str:
    """Return what is wrong with a spec that names several conduits."""
    each = " ".join(f"--conduit {text}" for text in specs)
    return f"'{spec}' names several conduits, and a spec is of one; where several may be given write {each}"


def no_pair(spec: str, part: str, options: type, more: Mapping[str, str]) -> str:
    """Return what is wrong with a part of a spec that is no `option=value`.

    Args:
        spec: the text.
        part: that part of it.
        options: the class of the conduit's options.
        more: values of an option that is in no class, with the name of that.
    """
    if (before := _value_before(spec, part)) and (value := joined(options, before[0], before[1:])):
        option = before[0]
        return f"'{part}' in the spec '{spec}' is no option: a comma ends the value of {option}; write {option}={value}"
    name, *rest = re.split("[=:]", part, maxsplit=1)
    given = "".join(rest).strip()
    values = {**named_values(options), **more}
    allowed = {each.name: each.allowed for each in describe(options)}
    allowed.update((option, "|".join(more)) for option in more.values())
    word, close = name.strip().replace("-", "_"), ""
    if word in allowed and not given:
        return f"option '{word}' in the spec '{spec}' has no value; write {word}=VALUE, allowed: {allowed[word]}"
    if word in allowed:
        close = f" (did you mean {word}={given}?)"
    elif part in values:
        close = f" (did you mean {values[part]}={part}?)"
    elif near := meant(word, options, more.values()):
        given = given or "VALUE"
        close = f" (did you mean {' or '.join(f'{each}={given}' for each in near)}?)"
    return f"'{part}' in the spec '{spec}' is no option{close}; write option=value, separated by commas"


def _value_before(spec: str, part: str) -> list[str]:
    """Return the option before a part of a spec, then the parts of its value, which commas may have cut."""
    parts = [each.strip() for each in spec.partition(":")[2].split(",")]
    at = parts.index(part)
    option, equals, first = parts[at - 1].partition("=") if at else ("", "", "")
    rest = list(takewhile(lambda each: "=" not in each, parts[at:]))
    return [option.strip(), *(each.strip("()[] ") for each in [first, *rest])] if equals else []
