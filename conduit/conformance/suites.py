"""Finding the suites: the core's own, and those that other layers and packages bring."""

from importlib.util import find_spec
from pathlib import Path

from conduit.launch.entry_points import SUITES, installed


def suite_folders() -> dict[str, Path]:
    """Give the folder of test modules of each suite found, by the name of its entry point, the core's first.

    A suite that is declared but cannot be found is left out here; the layer it checks cannot be used either.
    """
    folders = {"core": Path(__file__).parent}
    for name, entry in sorted(installed(SUITES).items()):
        folder = _folder(entry.value)
        if folder is not None:
            folders[name] = folder
    return folders


def _folder(package: str) -> Path | None:
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:
        return None
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) if locations else None
