"""The path on which processes that tests start look for modules."""

import os
from pathlib import Path


def python_path(*folders: Path | str) -> str:
    """Return a `PYTHONPATH` of folders, then what this process was given: it may say which tree is tested."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
