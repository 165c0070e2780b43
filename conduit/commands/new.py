"""`conduit new NAME`: a plugin package to start from, made from the smallest conduit there is."""

import keyword
import re
import tokenize
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from conduit.errors import BadRequest, ConduitError
from conduit.launch.entry_points import COMMANDS, CONDUITS, DISTRIBUTION, SUITES, installed

TEMPLATE = "loggp"
_FORMULAS = f"  docs/models/{TEMPLATE}.md has the formulas."
"""What the new package has not."""
_SUFFIXES = (".py", ".md", ".toml")

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "conduit-{name}"
version = "0.1.0"
description = "A conduit for ..."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["conduit-am>=0.1"]

[project.optional-dependencies]
test = ["conduit-am[conform]", "pytest-trio>=0.8"]

# By this line `conduit list` and `conduit.run(..., conduit="{name}")` find it.
[project.entry-points."conduit.conduits"]
{name} = "conduit_{name}:{title}"

[tool.hatch.build.targets.wheel]
packages = ["conduit_{name}"]

[tool.pytest.ini_options]
# What `pytest` puts to the conformance suite; add specs with options of your own, such as "{name}:slots=1".
conformance = ["{name}"]
addopts = ["-p", "conduit.conformance.plugin"]
# Where tests of your own are. Without this pytest takes the whole folder, and passes over a suite that is in its .venv.
testpaths = ["tests", "conduit_{name}"]
"""

_TESTS = '''\
"""Tests of this conduit's own: its parts on the kernel alone, and the timing of its messages.

The rules that every conduit keeps are checked by the conformance suite, which `pytest` runs as well.
"""

import conduit
import pytest
from conduit.sim import Kernel
from conduit.sim.units import US

from conduit_{name}.port import {title}Options


@pytest.fixture
def kernel():
    """The clock of the tests that take it: virtual time."""
    return Kernel(seed=1)


@pytest.mark.trio
async def test_events_take_virtual_time(kernel):
    await kernel.chain(lambda then: kernel.at(kernel.now + 7 * US, then))
    assert kernel.now == 7 * US


def test_a_short_round_trip_takes_what_its_parts_take():
    """Twice sending, the way and receiving; and a poll in the request, and one that is under way at each end."""

    async def main(ep):
        answers = []

        def ask(token):
            token.reply_short(answer)

        def answer(token):
            answers.append(token.rank)

        await ep.attach(ask, answer)
        begun = ep.now
        if ep.rank == 0:
            await ep.request_short(1, ask)
            await ep.block_until(lambda: answers)
        return ep.now - begun

    options = {title}Options()
    parts = 2 * sum(options.time(name) for name in ("o_s", "L", "o_r")) / 1e12
    took = conduit.run(main, ranks=2, conduit="{name}", ranks_per_host=1).values[0]
    assert parts <= took <= parts + 4 * options.poll
'''

_README = """\
# conduit-{name}

A conduit for `conduit`, the Active Message framework (conduit-am). It began as a copy of `loggp`, the smallest
conduit there is; the numbered parts of `conduit_{name}/port.py` are what a network has to say: options, limits and
costs, and the transport of its messages.

Install it into the environment that has `conduit`, then measure it and prove it right:

```sh
pip install -e '.[test]'
conduit testam --conduit {name}
conduit conform {name}
```

`pytest` runs the same conformance suite, together with tests of your own.
"""


def new(name: str, /) -> int:
    """Write a new plugin package in a folder of its own, which passes the conformance suite as it is.

    Args:
        name: Name of the conduit: lower-case letters, digits and underscores, beginning with a letter.
    """
    _check(name)
    target = Path(f"conduit-{name}")
    if target.exists():
        raise BadRequest(f"{target} exists already; choose another name, or remove it first")
    files = dict(_files(name))
    try:
        for relative, text in files.items():
            path = target / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConduitError(
            f"cannot write {exc.filename}: {exc.strerror}; call it in a folder that may be written"
        ) from exc
    print(f"wrote {target}:", *(f"  {relative}" for relative in sorted(files, key=str)), sep="\n")
    print(f"next: pip install -e '{target}[test]', then conduit testam --conduit {name}, then conduit conform {name}")
    return 0


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise BadRequest(
            f"'{name}' cannot be the name of a conduit; use lower-case letters, digits and underscores, a letter first"
        )
    if name in installed(CONDUITS):
        raise BadRequest(
            f"there is a conduit '{name}' already; choose a name other than {', '.join(installed(CONDUITS))}"
        )
    if f"conduit-{name}" == DISTRIBUTION:
        raise BadRequest(f"'{name}' cannot be the name of a conduit: {DISTRIBUTION} is this package; choose another")
    if keyword.iskeyword(name):
        raise BadRequest(f"'{name}' cannot be the name of a conduit: it is a keyword of Python; choose another")
    if name in _packages():
        raise BadRequest(f"'{name}' cannot be the name of a conduit: there is a package of that name; choose another")
    used = set(keyword.kwlist).union(*map(_words, _template()))
    taken = [title for title in (_title(name) + part for part in ("", "Options", "Transport")) if title in used]
    if taken:
        raise BadRequest(f"'{name}' cannot be the name of a conduit: {taken[0]} is the name of another thing in it")


def _packages() -> set[str]:
    """Return the packages that this project is made of, and those of its plugins: to be taken for one misleads."""
    entries = [entry for group in (CONDUITS, COMMANDS, SUITES) for entry in installed(group).values()]
    return {entry.module.partition(".")[0] for entry in entries}


def _files(name: str) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every file of the package."""
    title = _title(name)
    package = f"conduit_{name}"
    for source in _template():
        text = source.read_text(encoding="utf-8")
        if source.suffix != ".md":  # its README describes the model; the new package has its own
            yield Path(package) / source.name, _renamed(text, name, title)
    yield Path(package) / "py.typed", ""
    yield Path("pyproject.toml"), _PYPROJECT.format(name=name, title=title)
    yield Path("README.md"), _README.format(name=name)
    yield Path("tests") / f"test_{name}.py", _TESTS.format(name=name, title=title)


def _title(name: str) -> str:
    """Return the name of the class."""
    return "".join(part.capitalize() for part in name.split("_"))


def _words(source: Path) -> set[str]:
    """Return the names in a source file."""
    if source.suffix != ".py":
        return set()
    with tokenize.open(source) as file:
        return {token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.NAME}


def _template() -> list[Path]:
    """Return the source files of the conduit that is copied, without importing it."""
    entry = installed(CONDUITS).get(TEMPLATE)
    spec = find_spec(entry.module) if entry is not None else None
    if spec is None or spec.origin is None:
        raise ConduitError(
            f"the conduit '{TEMPLATE}', from which new ones are made, is not installed; install conduit-am"
        )
    return sorted(path for path in Path(spec.origin).parent.iterdir() if path.suffix in _SUFFIXES)


def _renamed(text: str, name: str, title: str) -> str:
    """Put the new name in the place of the old one; the model's own name, LogGP, stays."""
    text = text.replace(_FORMULAS, "")
    text = text.replace(f"conduits.{TEMPLATE}", f"conduit_{name}")
    text = text.replace(TEMPLATE.capitalize(), title)
    return text.replace(TEMPLATE, name)
