"""`conduit conform SPEC`."""

import os
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from conduit.errors import BadRequest, ConduitError
from conduit.launch.registry import parse_spec

PLUGIN = "conduit.conformance.plugin"


def conform(spec: str, /, *, full: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Run the conformance suite on a conduit.

    Args:
        spec: The conduit, as NAME or NAME:option=value,...; options that it names stay as they are.
        full: Every number of ranks and all combinations of options (or of three), weak order with five seeds.
    """
    found = parse_spec(spec)
    try:
        import pytest
    except ImportError:
        raise ConduitError("the suite needs pytest; install it with: pip install 'conduit-am[conform]'") from None
    from conduit.conformance.suites import suite_folders

    # The suite's own settings count, not those of the project in whose folder the command is called.
    settings = ["-c", os.devnull, "--rootdir", str(suite_folders()["core"]), "--import-mode=importlib"]
    chosen = ["-p", PLUGIN, "-p", "no:cacheprovider", "--conduit", found.text, *(["--full"] if full else [])]
    folders = [str(folder) for folder in suite_folders().values()]
    status = pytest.main([*settings, *chosen, *_spread(simulated=found.simulated), *folders])
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status == pytest.ExitCode.USAGE_ERROR:
        raise BadRequest(f"the suite refused '{found.text}'; see above")
    return 0 if status == pytest.ExitCode.OK else 1


def _spread(*, simulated: bool) -> list[str]:
    """Use all processors, where pytest can; real jobs want them for their own ranks."""
    return ["-n", "auto"] if simulated and find_spec("xdist") is not None else []
