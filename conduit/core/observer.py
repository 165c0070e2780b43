"""What may be heard of a job, and by whom: six kinds, each listened to alone.

An observer is an object of one or more of the classes below.  It is told in the order of the simulation's events; the
times that it is told are those of the rank, and may be before or after those it was told last.  All are picoseconds.
It must not change anything of the job.  A kind without a listener costs nothing: the classes of which a job is made
are chosen when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from conduit.contract import Hook, Hooks, Identity
from conduit.core.arguments import shown
from conduit.errors import BadRequest


@attrs.frozen
class Failure:
    """What a job that failed ended with.

    Attributes:
        text: what is said of it: lines, with that of the program which it happened at.
        standstill: whether the job got no further, so that its time went to waits that nothing could end.
    """

    text: str
    standstill: bool = False


class CpuListener:
    """Hears how a rank's CPU spends its time."""

    def spent(self, rank: int, begin: int, end: int, why: str) -> None:
        """A span of it: those of a rank come in order and do not overlap; between them the CPU had nothing to do.

        Args:
            rank: that of the CPU.
            begin: picoseconds.
            end: picoseconds, later than `begin`.
            why: "start", "compute" (what programs ask for; in real time, code of their own), "polling" (in a call or a
                pass), "call" (in a call of a library beside Active Messages, but for its poll), "waiting" (polls that
                find nothing while tasks of the rank are blocked), "send", "receive" (decoding), "handler", "reply",
                "move" (native one-sided operations), "interrupt", "library" (what a vendor's library adds to calls of a
                layer that stands for it), or "copy" (of payloads, in whichever of these; also what programs charge as
                `copied`).
        """


class LinkListener:
    """Hears what links and engines carry, and how long locks and CPUs of the hosts, which are no rank's, are taken."""

    def carried(self, name: str, begin: int, end: int, nbytes: int) -> None:
        """A link or an engine is taken.

        Told when that is decided, which may be before it begins.

        Args:
            name: of the link or engine; its hardware's.
            begin: picoseconds.
            end: picoseconds.
            nbytes: bytes on the link, packet headers included; of an engine, the bytes that it moves; of a lock or a
                CPU 0, or those of the interrupt.
        """


class MessageListener:
    """Hears of messages.  Of automatic empty replies it is told only `noticed`."""

    def sent(self, message: Identity, begin: int, end: int, category: int, nbytes: int) -> None:
        """A program or a handler has sent a message, also one to its own rank.

        Args:
            message: which.
            begin: when the call began, or the handler ended that replied.
            end: when the call returned, or the CPU was done with sending the reply; a reply of a rank to itself takes
                no time.
            category: a `conduit.contract.Category`.
            nbytes: bytes of payload.
        """

    def noticed(self, message: Identity, when: int) -> None:
        """A poll of the receiver has found the message; decoding it begins at `when`."""

    def handled(self, message: Identity, begin: int, end: int, handler: str) -> None:
        """The receiver's handler, of this name, has run from `begin` to `end`."""


class LandingListener:
    """Hears of bytes that messages write to segments, a rank's own to itself included; not of what programs write."""

    def landed(self, rank: int, when: int, offset: int, nbytes: int, origin: Identity | int | None) -> None:
        """Bytes have been written to a segment.

        Args:
            rank: that of the segment.
            when: in which event, picoseconds; of a message to itself, the rank's time.
            offset: where.
            nbytes: how many.
            origin: the message that brings them, nearly always.  Several messages under way may bring the same bytes
                to the same place, and memory does not tell them apart.  Then it is their sender, if all have one
                sender or the hardware names it; else None (sci's DMA and mapped stores, Sun Fire's lines do not name
                it).  None too for bytes that no message brings.
        """


class WaitListener:
    """Hears of tasks that are blocked."""

    def blocked(self, rank: int, when: int, task: object, what: str, ranks: Sequence[int]) -> None:
        """A task begins to wait.

        Args:
            rank: that of the task.
            when: picoseconds.
            task: the Trio task.
            what: it waits for, in words; "" where the program does not say.
            ranks: whom it waits for, as far as is known.
        """

    def resumed(self, rank: int, when: int, task: object) -> None:
        """It waits no more: what it waited for has come, or it was cancelled, or has failed."""


class CallListener:
    """Hears of what is above messages, and of what needs none: a call may be many messages, or no message."""

    def called(self, rank: int, begin: int, end: int, level: str, name: str, peer: int, nbytes: int) -> None:
        """A call of a rank has begun its operation; told in the task that has made it.

        A message that a collective of a library sends is told wherever the library goes on, and a little before the
        collective itself, which has begun by then.

        Args:
            rank: the rank.
            begin: of the call, picoseconds.
            end: when all that it sends was sent, or handed to the hardware; the operation may end later.
            level: "native" for a one-sided operation of the network's own, "signal" for one by which a layer tells
                another rank something, as that a barrier is reached; "put/get" or "collective" for the layer's calls,
                "begin" once more, after "put/get", for one that another call waits for, "list" for one that was several
                native operations, told after these; "message" for one that a library beside Active Messages sends, as
                MPI in programs of MPI alone.  Of the layer too, and told when they are over: "atomic" for an operation
                on one number, "barrier" from when the rank has come until it leaves, "lock" from when a task asks for a
                lock until it has it, "hold" from then until it has released it; "open" for a call that accesses to a
                rank need before them, "close" for that after them, "complete" for one that waits for those to a rank
                which were begun before.
            name: "put", "get" or "atomic"; of a collective or a call on one number its own; of a message "send", or
                the name of the collective that sends it; of a barrier or a lock what reports call it.
            peer: the rank at the other side, of a lock the one that keeps its queue, -1 where that is a team.
            nbytes: bytes that it moves; of a list, its elements; of a collective, what this rank gives or, where it
                gives nothing, gets.
        """


_KINDS: dict[type, tuple[str, ...]] = {
    CpuListener: ("spent",),
    LinkListener: ("carried",),
    MessageListener: ("sent", "noticed", "handled"),
    LandingListener: ("landed",),
    WaitListener: ("blocked", "resumed"),
    CallListener: ("called",),
}


def hooks_to(observers: Sequence[object]) -> Hooks | None:
    """Return what lets a job tell `observers`, None where there are none.

    Raises:
        BadRequest: one of them listens to nothing.
    """
    for each in observers:
        if not isinstance(each, tuple(_KINDS)):
            names = ", ".join(kind.__name__ for kind in _KINDS)
            raise BadRequest(f"run: observers: {shown(each)} listens to nothing; derive its class of {names}")
    hooks: dict[str, Any] = {
        "messages": any(isinstance(each, (MessageListener, LandingListener)) for each in observers)
    }
    for kind, calls in _KINDS.items():
        listeners = [each for each in observers if isinstance(each, kind)]
        hooks.update({name: _all([getattr(each, name) for each in listeners]) for name in calls})
    return Hooks(**hooks) if observers else None


def _all(calls: Sequence[Callable[..., object]]) -> Hook:
    """Return one call for all of these."""
    if len(calls) < 2:
        return calls[0] if calls else None

    def tell(*what: Any) -> None:
        for call in calls:
            call(*what)

    return tell
