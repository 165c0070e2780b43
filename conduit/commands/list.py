"""`conduit list`."""

from collections.abc import Sequence

from conduit.commandline.console import make_console, print_text
from conduit.commandline.files import STANDARD_OUTPUT, File, check_files, json_text, package_version, write_file
from conduit.commandline.names import ConduitName
from conduit.commands.described import described
from conduit.commands.tables import limits_text, print_options
from conduit.contract import Conduit
from conduit.errors import BadRequest
from conduit.launch.registry import ImportFailure, networks, parse_spec


def list_conduits(*names: ConduitName, json: File | None = None) -> int:
    """List the conduits found, their limits and options; a name that stands for several networks with each of them.

    Args:
        names: Only these conduits.
        json: File for the same as JSON, an object per conduit in a list; - prints it in the place of the tables.
    """
    check_files({"json": json})
    found = _named(names) if names else networks()
    if json is not None:
        write_file("json", json, json_text([_described(name, cls) for name, cls in found.items()]))
    if json == STANDARD_OUTPUT:
        return 0
    console = make_console()
    for name, cls in found.items():
        if not isinstance(cls, type):
            print_text(console, f"{name}  cannot be used ({cls.target}): {cls}", bold=len(name))
            console.print()
            continue
        print_text(console, f"{name}  {cls.summary}", bold=len(name))
        print_text(console, limits_text(cls, cls.Options()))
        print_options(console, cls.Options)
    if not found:
        console.print("no conduit is installed")
    return 0


def _named(names: Sequence[str]) -> dict[str, type[Conduit] | ImportFailure]:
    """Return the networks of some conduits.

    Raises:
        BadRequest: a name has options.
        UnknownConduit: there is no such conduit.
    """
    every = networks()
    found: dict[str, type[Conduit] | ImportFailure] = {}
    for name in names:
        own = {each: cls for each, cls in every.items() if name in (each, each.partition(":")[0])}
        if not own:
            spec = parse_spec(name)
            raise BadRequest(f"'{name}' has options; conduit show {spec.text} shows what they make of it")
        found.update(own)
    return found


def _described(name: str, cls: type[Conduit] | ImportFailure) -> dict[str, object]:
    if isinstance(cls, type):
        return described(name, cls, cls.Options())
    return {"conduit": name, "version": package_version(), "error": f"cannot be used ({cls.target}): {cls}"}
