"""What is noted on a failure of the network: where the program of its rank was."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.core.steps import steps_of
from conduit.launch.life import Life
from conduit.launch.program.folders import is_own
from conduit.launch.reports.gather import gather


def note_failure(error: BaseException, lives: Sequence[Life], rank: int) -> None:
    """Note on an error that no line of the program has raised where that was; calls nothing of the program.

    Args:
        error: gets the note.
        lives: those of all ranks.
        rank: the one whose error it is.
    """
    if not all(is_own(step.tb_frame.f_code.co_filename) for step in steps_of(error)):
        return  # its traceback says it
    tasks = gather(lives, interrupted=True)[rank].tasks
    if places := dict.fromkeys(str(task.place) for task in tasks if task.place is not None):
        error.add_note(f"the program of rank {rank} was at {', '.join(places)}")
