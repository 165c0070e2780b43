"""What a user is told where the command line cannot take a word: the command, the word, what to do."""

import os
import re
from collections.abc import Iterator
from itertools import chain
from shlex import join
from typing import Any, Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from conduit.commandline.names import Value
from conduit.launch.call_words import conduits_given
from conduit.launch.entry_points import CONDUITS, installed
from conduit.words import in_spec, like

_OF_RUN = {"report": "--report DIR", "trace": "--trace FILE", "stats": "--stats"}
"""What `conduit run` writes or prints where it has the option, by a word that may be taken for a command."""

_RANKS = frozenset({"--threads", "--nprocs", "--np", "--pes", "--processes"})
"""What other programs and front ends call ranks."""

_ARGUMENT = re.compile(r"\b(conduit|ranks|ranks_per_host|segment|time_limit|stall_limit)=('[^']*'|[\w.+-]*\w)")
"""An argument of `conduit.run` as its refusals name it."""

_BY_WORD = frozenset({"conform", "list", "raw", "show"})
"""Commands that take conduits without an option."""
_OF_ONE = frozenset({"raw", "show"})
"""Those of them that take one."""

_SHORT = {"-c": "--conduit"}
"""What other programs have a letter for."""


def in_options(text: str) -> str:
    """Put what `conduit.run` refuses in words of the command line: `--stall-limit 2` for `stall_limit=2.0`."""
    plain = text.split("`")  # what is to be written stays as it is
    plain[::2] = [_ARGUMENT.sub(_as_option, each) for each in plain[::2]]
    return "`".join(plain)


def _as_option(argument: re.Match[str]) -> str:
    value = argument[2].strip("'").removesuffix(".0")
    return f"--{argument[1].replace('_', '-')} {value}"


def explain(name: str, error: CycloptsError) -> str:
    """Return the line to be shown.

    Args:
        name: the command, the first word of the call.
        error: what the parser says.
    """
    if isinstance(error, UnknownCommandError):
        return f"conduit: {_no_command(name, error)}"
    text, remedy = _text(error)
    if name in _BY_WORD and isinstance(error, UnknownOptionError):
        remedy = _without_option(error) or remedy
    own = _of_the_program(error) if name == "run" and isinstance(error, UnknownOptionError) else ""
    return f"conduit {name}: {text}; {remedy or f'see conduit {name} --help'}{own}"


def _without_option(error: UnknownOptionError) -> str:
    """Return the call without `--conduit`, "" where it has none; for each conduit one, of a command that takes one."""
    given = list(error.root_input_tokens or [])
    named = conduits_given(given)
    words = [word.removeprefix("--conduit=") for word in given if word != "--conduit"]
    calls = [words]
    if named and given[0] in _OF_ONE:  # those that the option names are meant
        others = [word for word in words[1:] if word.partition(":")[0] not in {*installed(CONDUITS), *named}]
        calls = [[given[0], each, *others] for each in dict.fromkeys(words) if each in named]
    ways = ", then ".join(f"conduit {join(each)}" for each in calls)
    return f"write {ways}" if words[1:] and words != given else ""


def _of_the_program(error: UnknownOptionError) -> str:
    """Return where an option stands that is meant for the program which `conduit run` runs."""
    words = error.root_input_tokens or []
    program = next((word for word in words if word.endswith(".py") and not word.startswith("-")), "")
    option = error.token.keyword or error.token.value
    if option == "-" and words[1:2] == ["-"]:
        return "; standard input is /dev/stdin: conduit run /dev/stdin"
    if option.endswith(".py") and os.path.exists(option):
        return f"; a file whose name begins with a hyphen is written {join(['conduit', 'run', f'./{option}'])}"
    if option.endswith(".py") and not program:
        plain = option.lstrip("-")
        if os.path.exists(plain):
            return f"; did you mean {join(['conduit', 'run', plain])}?"
        return f"; nor is there a file {option}, which would be written {join(['conduit', 'run', f'./{option}'])}"
    if option == "-m":
        return "; a program is a file: write one with `from package.module import main`, and run that"
    call = join(["conduit", "run", program or "PROGRAM", "--", option])
    return f"; an option of the program stands behind --: {call} ..."


def _no_command(name: str, error: UnknownCommandError) -> str:
    """Return what is wrong with the first word of a call, and what to do."""
    known, words = list(error.app or ()), error.root_input_tokens or []
    command = next((word for word in words if word in known), "")
    if name.startswith("-") and command:
        at = words.index(command)
        return f"options follow the command; write conduit {join([command, *words[:at], *words[at + 1 :]])}"
    if name.endswith(".py"):
        return f"there is no command '{name}'; to run that program write conduit run {name}"
    if name in _OF_RUN:
        return f"there is no command '{name}'; write conduit run PROGRAM {_OF_RUN[name]}"
    begun = [each for each in known if len(name) > 1 and each.startswith(name) and not each.startswith("-")]
    meant = f" (did you mean {' or '.join(begun)}?)" if begun else like(name, known)
    return f"there is no command '{name}'{meant}; conduit --help lists them"


def _text(error: CycloptsError) -> tuple[str, str]:
    """Return what is wrong and what to do, an empty text where only the help says it."""
    match error:
        case UnknownOptionError():
            word = error.token.keyword or error.token.value
            known = list(chain.from_iterable(argument.names for argument in error.argument_collection))
            if word in known:  # behind --, where words are no options
                return f"{word} stands behind --", "write it before that, or leave -- out"
            name = "--ranks" if word in _RANKS else _SHORT.get(word, "")
            if name not in known and "--conduit" in known and (text := _of_a_conduit(word, error)):
                return text
            return f"there is no option {word}{f' (did you mean {name}?)' if name in known else like(word, known)}", ""
        case UnusedCliTokensError():
            word = (error.unused_tokens or [""])[0]
            return f"the command takes no argument '{word}'", _option_for(error, word)
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice", "give it once"
        case MissingArgumentError() if error.argument is not None:
            option = error.keyword or error.argument.name
            if not option.startswith("-"):
                return _missing(option, error.argument.field_info.annotation)
            if (word := _after(option, error)) and re.match(r"-\d", word):  # taken for an option
                return f"{option} {word} is too small", "it must be at least 0"
            what, _, remedy = _needed(error.argument.field_info.annotation).partition("; ")
            return f"{option} needs {what}", remedy
        case CoercionError() if error.token is not None:
            positional = error.argument.name if error.argument is not None else ""
            return _value(error, error.token.keyword or positional, error.token.value)
    error.verbose = False
    return str(error).strip().removesuffix("."), ""


def _after(option: str, error: CycloptsError) -> str:
    """Return the word that stands behind an option, "" where none does."""
    words: list[str] = [*(error.root_input_tokens or ()), option, ""]
    return words[words.index(option) + 1]


def _of_a_conduit(word: str, error: UnknownOptionError) -> tuple[str, str] | None:
    """Return what is wrong and what to do where an option is one of a conduit, and stands in its spec; else None."""
    from conduit.launch.registry import available  # with what conduits are made of

    words = [*(error.root_input_tokens or ()), ""]
    word = next((each for each in words if each.startswith(f"{word}=")), word)
    option, equals, value = word.partition("=")
    name = option.removeprefix("--").replace("-", "_")
    after = words[words.index(word) + 1] if word in words else ""
    text = value if equals else after if after and not after.startswith("-") else "VALUE"
    who, written = in_spec(name, text, (conduits_given(words) or ["sci"])[0], available())
    return (f"{option} is an option of {who}", f"write --conduit {written}") if who else None


def _option_for(error: UnusedCliTokensError, word: str) -> str:
    """Return what to write where a word is a conduit, and the command takes one by an option."""
    if word.partition(":")[0] not in installed(CONDUITS) or error.app is None:
        return ""
    options = [argument.name for argument in error.app.assemble_argument_collection()]
    return f"write --conduit {word}" if "--conduit" in options else ""


def _missing(argument: str, annotation: Any) -> tuple[str, str]:
    """Return what is wrong and what to do where an argument without a name is missing: which values there are."""
    if get_origin(annotation) is Literal:
        return f"{argument} is missing: {_choice(annotation)}", ""
    what, _, remedy = _needed(annotation, "").partition("; ")
    return f"{argument} is missing{f', {what}' if what else ''}", remedy


def _choice(annotation: Any) -> str:
    """Return the values that a type has: "bash, zsh or fish"."""
    *others, last = map(str, get_args(annotation))
    return f"{', '.join(others)} or {last}" if others else last


def _needed(annotation: Any, otherwise: str = "a value") -> str:
    """Return what the type of a parameter says of its value."""
    return next((part.text for part in _parts(annotation) if isinstance(part, Value)), otherwise)


def _parts(annotation: Any) -> Iterator[object]:
    """Yield what stands in a type, at any depth."""
    for part in get_args(annotation):
        yield part
        yield from _parts(part)


def _value(error: CoercionError, option: str, word: str) -> tuple[str, str]:
    """Do so for a word that is no value of its option."""
    if error.msg is not None:  # of a converter of this project, which names the word
        problem, _, remedy = str(error.msg).partition("; ")
        return f"{option} {problem}".strip(), remedy
    if error.target_type is bool:
        return f"{option} takes no value, and not '{word}'", f"write {option} alone, or leave it out"
    if get_origin(error.target_type) is Literal:
        return f"{option} cannot be '{word}'", f"choose {_choice(error.target_type)}"
    return f"{option} cannot be '{word}'".strip(), ""
