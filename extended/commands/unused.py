"""Options that all benchmarks share and one of them has no use for: not offered, and refused, not ignored."""

import attrs
from cyclopts import Parameter

from conduit import BadRequest
from conduit.benchmarks import BenchmarkOptions

UNUSED = Parameter(show=False)
"""Marks such an option: parsed, for it to be refused in words of ours, and not shown."""


def refuse_unused(program: str, options: BenchmarkOptions, *names: str) -> None:
    """Refuse options that a benchmark has no use for.

    Args:
        program: the command.
        options: what the user asked for.
        names: the options, as attributes.

    Raises:
        BadRequest: one of them is not at its default.
    """
    fields = attrs.fields_dict(BenchmarkOptions)
    for name in names:
        value = getattr(options, name)
        if value != fields[name].default:
            option = "--" + name.replace("_", "-")
            raise BadRequest(f"{option} {value} means nothing to {program}; leave it out")
