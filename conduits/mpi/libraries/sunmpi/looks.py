"""Directed polling: a poll looks at one queue of postboxes, not at all of them.

Sun MPI's directed poll looks at the connection that the call names.  What comes from others must be taken all the same,
else ranks that wait in a ring would wait for ever.  So queues take turns, poll by poll: those of the ranks that are
waited for at every second poll, the others in between; where no rank in particular is waited for, all of them.

Source: Q IV-B, sf.q.pollall; the turns are assumed.
"""

from __future__ import annotations

from collections.abc import Sequence


def misses(waited: Sequence[bool], others: Sequence[bool], turn: int) -> int:
    """Return how many polls come before the one that looks at a queue.

    Args:
        waited: of the queues of ranks that are waited for, whether each is the one.
        others: of the other queues; in one of both there is one.
        turn: number of the first poll.  Where there are both kinds, even ones look at the first.
    """
    if not waited or not others:
        either = waited or others
        return (either.index(True) - turn) % len(either)
    kind, parity = (waited, 0) if True in waited else (others, 1)
    first = (turn + 1 - parity) // 2  # of that kind's own polls, the first that is not over
    return 2 * (first + (kind.index(True) - first) % len(kind)) + parity - turn
