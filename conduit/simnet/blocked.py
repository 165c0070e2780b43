"""The queue of a rank's blocked tasks, in order of arrival; those that wait for slots to one rank share a sub-queue.

After a pass blocked tasks are asked whether their wait is over.  Of those that wait for a slot to one rank only the
first can get it, and so only the first is asked: a crowd of them costs no more than one.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush

from conduit.simnet.waiting import Blocked, ForSlot


class BlockedQueue(dict[Blocked, None]):
    """Who is to be asked whether its wait is over; of all who wait for a slot to one rank the first.

    While no task waits for a slot, which is nearly always, it is a dict in the order of joining, used as one without a
    call.  Else everybody has a place, `Blocked.place`: who becomes the first of some came earlier than others.

    Attributes:
        heads: by rank, the first of those who wait for a slot to it.
    """

    __slots__ = ("_behind", "_highest", "_lowest", "heads")

    def __init__(self) -> None:
        super().__init__()
        self.heads: dict[int, ForSlot] = {}
        self._behind: dict[int, OrderedDict[ForSlot, None]] = {}
        self._lowest = self._highest = 0

    def everybody(self) -> list[Blocked]:
        """Return all who wait, in order."""
        behind = [each for line in self._behind.values() for each in line]
        return sorted([*self, *behind], key=_place) if behind else self.in_order()

    def in_order(self) -> list[Blocked]:
        """Return those who are to be asked, in order."""
        return sorted(self, key=_place) if self.heads else list(self)

    def announce(self, waiting: ForSlot) -> None:
        """Somebody is about to join who waits for a slot: from now on everybody has a place."""
        if not self.heads:
            for each in self:
                self._place_last(each)
        self._place_last(waiting)
        self.heads.setdefault(waiting.dest, waiting)

    def join(self, blocked: Blocked) -> None:
        """Take somebody in, as the last."""
        if not self.heads:
            self[blocked] = None
            return
        self._place_last(blocked)
        if isinstance(blocked, ForSlot) and self.heads[blocked.dest] is not blocked:
            self._behind.setdefault(blocked.dest, OrderedDict())[blocked] = None
        else:
            self[blocked] = None

    def join_first(self, blocked: Blocked) -> None:
        """Take somebody in again, as the first."""
        if not self and not self.heads and not isinstance(blocked, ForSlot):  # nearly always
            self[blocked] = None
            return
        if isinstance(blocked, ForSlot):
            self.announce(blocked)
            head = self.heads[blocked.dest]
            if head is not blocked:
                line = self._behind.setdefault(blocked.dest, OrderedDict())
                line[head] = None
                line.move_to_end(head, last=False)
                del self[head]
                self.heads[blocked.dest] = blocked
        self._lowest -= 1
        blocked.place = self._lowest
        others = list(self)
        self.clear()
        self[blocked] = None
        self.update(dict.fromkeys(others))

    def leave(self, blocked: Blocked) -> ForSlot | None:
        """Remove a task, if it is still there; return the task that becomes head of its sub-queue, if any."""
        if blocked in self:
            del self[blocked]
            return self._promote(blocked.dest) if isinstance(blocked, ForSlot) else None
        if isinstance(blocked, ForSlot) and blocked.dest in self._behind:
            line = self._behind[blocked.dest]
            line.pop(blocked, None)
            if not line:
                del self._behind[blocked.dest]
        return None

    def take_first(self) -> Blocked:
        """Take out who came first of all."""
        if not self.heads:
            first = next(iter(self))
            del self[first]
            return first
        first = self.in_order()[0]
        self.leave(first)
        return first

    def take_ready(self) -> list[Blocked]:
        """Take out those that are ready, asked in order."""
        if self.heads:
            return self._take_ready_by_place()
        ready = [each for each in self if each.ready()]
        for each in ready:
            del self[each]
        return ready

    def _take_ready_by_place(self) -> list[Blocked]:
        left = [(each.place, each) for each in self]
        heapify(left)
        ready = []
        while left:
            _, each = heappop(left)
            if each.ready():
                ready.append(each)
                head = self.leave(each)
                if head is not None:
                    heappush(left, (head.place, head))
        return ready

    def _promote(self, dest: int) -> ForSlot | None:
        """Let the next who waits for a slot to `dest` be the first."""
        line = self._behind.get(dest)
        if line is None:
            del self.heads[dest]
            return None
        head, _ = line.popitem(last=False)
        if not line:
            del self._behind[dest]
        self.heads[dest] = head
        self[head] = None
        return head

    def _place_last(self, blocked: Blocked) -> None:
        self._highest += 1
        blocked.place = self._highest


def _place(blocked: Blocked) -> int:
    return blocked.place
