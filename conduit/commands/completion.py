"""`conduit completion SHELL`."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from cyclopts import App
from cyclopts.argument import ArgumentCollection

from conduit.commandline.names import Choices, Names, OfConduit
from conduit.commands.cli import app
from conduit.commands.compare import benchmarks
from conduit.commands.completing_lines import bash_lines
from conduit.launch.entry_points import CONDUITS, OPERATIONS, commands, installed


class _Completing(App):
    """The command line as shells see it: its words call nothing, and what is a name has a list of the names."""

    def assemble_argument_collection(self, **settings: Any) -> ArgumentCollection:
        """Return the arguments of a command."""
        arguments = super().assemble_argument_collection(**settings)
        for argument in arguments:
            for part in get_args(argument.field_info.annotation):
                match part:
                    case OfConduit(name):
                        argument.hint = Literal[name]
                    case Choices(words):
                        argument.hint = Literal[words]
                    case Names():
                        argument.hint = Literal[tuple(_INSTALLED[part]())]
        return arguments


def _conduits() -> Sequence[str]:
    return sorted(installed(CONDUITS))


def _operations() -> Sequence[str]:
    return sorted(installed(OPERATIONS))


_INSTALLED = {Names.CONDUITS: _conduits, Names.BENCHMARKS: benchmarks, Names.OPERATIONS: _operations}


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print what makes a shell complete commands, options, conduits and benchmarks: all that are installed now.

    bash: conduit completion bash > ~/.conduit_completion; source it in ~/.bashrc
    zsh:  conduit completion zsh > a folder of $fpath/_conduit
    fish: conduit completion fish > ~/.config/fish/completions/conduit.fish

    Args:
        shell: For which shell.
    """
    line = app(commands(), kind=_Completing)
    print(line.generate_completion(prog_name="conduit", shell=shell), end="")
    if shell == "bash":
        print(bash_lines(_several_values(line)), end="")
    return 0


def _several_values(line: App) -> dict[str, int | None]:
    """Return how many values the options take that take more than one, None for any number."""
    found: dict[str, int | None] = {}
    for command in commands():
        for argument in line[command].assemble_argument_collection():
            count, any_number = argument.token_count()
            any_number = any_number and bool(argument.parameter.consume_multiple)
            if count > 1 or any_number:
                found |= dict.fromkeys(argument.names, None if any_number else count)
    return {name: count for name, count in found.items() if name.startswith("-")}
