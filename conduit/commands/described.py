"""What `--json` says of a network."""

from collections.abc import Mapping
from typing import Any

import attrs

from conduit.commandline.files import package_version
from conduit.contract import Conduit
from conduit.options import describe, in_effect


def described(name: str, cls: type[Conduit], options: Any) -> dict[str, object]:
    """Return a network with its limits and options.

    Args:
        name: its spec.
        cls: its class.
        options: an instance of its options.
    """
    return {
        "conduit": name,
        "version": package_version(),
        "summary": cls.summary,
        "clock": "virtual" if cls.simulated else "wall",
        "limits": {**attrs.asdict(cls.limits(options)), "segment": cls.max_segment(options)},
        "options": in_effect(options),
        "allowed": {
            each.name: {"default": each.default, "allowed": each.allowed, "help": each.help}
            for each in describe(cls.Options)
        },
    }


def with_constants(about: Mapping[str, object], cls: type[Conduit]) -> dict[str, object]:
    """Return the same with the network's constants."""
    return {**about, "constants": [attrs.asdict(each) for each in cls.constants]}
