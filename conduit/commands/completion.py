"""`conduit completion SHELL`."""

from typing import Literal

from conduit.commands.cli import app


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print what makes a shell complete commands and options; each command that is installed is in it.

    bash: conduit completion bash >> ~/.bash_completion
    zsh:  conduit completion zsh > a folder of $fpath/_conduit
    fish: conduit completion fish > ~/.config/fish/completions/conduit.fish

    Args:
        shell: For which shell.
    """
    print(app("").generate_completion(prog_name="conduit", shell=shell), end="")
    return 0
