"""What a user is told where the command line cannot take a word: the command, the word, what to do."""

from itertools import chain
from typing import Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from conduit.options import like


def explain(name: str, error: CycloptsError) -> str:
    """Return the line to be shown.

    Args:
        name: the command, the first word of the call.
        error: what the parser says.
    """
    if isinstance(error, UnknownCommandError):
        return f"conduit: there is no command '{name}'{like(name, _commands(error))}; conduit --help lists them"
    text, remedy = _text(error)
    return f"conduit {name}: {text}; {remedy or f'see conduit {name} --help'}"


def _commands(error: CycloptsError) -> list[str]:
    return [each for each in error.app or () if not each.startswith("-")]


def _text(error: CycloptsError) -> tuple[str, str]:
    """Return what is wrong and what to do, an empty text where only the help says it."""
    match error:
        case UnknownOptionError():
            word = error.token.keyword or error.token.value
            known = chain.from_iterable(argument.names for argument in error.argument_collection)
            return f"has no option {word}{like(word, known)}", ""
        case UnusedCliTokensError():
            return f"takes no argument '{(error.unused_tokens or [''])[0]}'", ""
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice", "give it once"
        case MissingArgumentError() if error.argument is not None:
            option = error.keyword or error.argument.name
            return (f"{option} needs a value" if option.startswith("-") else f"{option} is missing"), ""
        case CoercionError() if error.token is not None:
            positional = error.argument.name if error.argument is not None else ""
            return _value(error, error.token.keyword or positional, error.token.value)
    error.verbose = False
    return str(error).strip().removesuffix("."), ""


def _value(error: CoercionError, option: str, word: str) -> tuple[str, str]:
    """Do so for a word that is no value of its option."""
    if error.msg is not None:  # of a converter of this project, which names the word
        problem, _, remedy = str(error.msg).partition("; ")
        return f"{option} {problem}".strip(), remedy
    if error.target_type is bool:
        return f"{option} takes no value, and not '{word}'", f"write {option} alone, or leave it out"
    if get_origin(error.target_type) is Literal:
        return f"{option} cannot be '{word}'", f"choose {' or '.join(map(str, get_args(error.target_type)))}"
    return f"{option} cannot be '{word}'".strip(), ""
