"""Names of C in the table of docs/from_others.md: a program that writes one alone is told what to write."""

import re
from pathlib import Path

import pytest

import conduit
from conduit.launch.hints import hint
from extended import Extended

PAGE = Path(__file__).parents[2] / "docs" / "from_others.md"
OF_LIBRARIES = slice(1, 4)
NO_NAMES_OF_C = {"mpiexec", "_size", "_wait"}


def names():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|")][2:]
    cells = [cell for row in rows for cell in row.strip("|").split("|")[OF_LIBRARIES]]
    return sorted({name for cell in cells for name in re.findall(r"`(\w+)`", cell)} - NO_NAMES_OF_C)


@pytest.mark.parametrize("layer", [False, True])
@pytest.mark.parametrize("name", names())
def test_a_name_written_alone_is_told_what_to_write(name, layer):
    async def main(ep):
        x = await Extended.attach(ep) if layer else None
        await ep.poll()
        try:
            eval(name, {}, locals())
        except NameError as error:
            return hint(error)

    (told,) = conduit.run(main, ranks=1, conduit="loggp").values
    assert re.search("write|leave it out|let a handler|`await`|`x = ", told)


def test_the_table_has_names():
    assert len(names()) > 50
