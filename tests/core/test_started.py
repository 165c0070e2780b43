"""Where a task was started that is in no function of a program."""

import inspect
import os

import trio

from conduit.core.started import started_at
from conduit.launch.program.tasks import Starts

LIBRARY = """
import trio

async def starts(seen):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(notes, seen)

async def notes(seen):
    seen.append(trio.lowlevel.current_task())
"""


def test_a_task_that_a_library_starts_has_the_place_of_the_one_that_started_the_library():
    """It had that of what runs the whole loop, below all tasks."""
    library, seen = {}, []
    exec(compile(LIBRARY, "library.py", "exec"), library)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(library["starts"], seen)

    folder = os.path.dirname(trio.__file__)
    trio.run(main, instruments=[Starts(lambda file: file == "library.py" or file.startswith(folder))])
    (task,) = seen
    _, first = inspect.getsourcelines(main)
    assert started_at(task) == (__file__, first + 2, "main")
