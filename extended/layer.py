"""`Extended`: all calls of this layer on one endpoint."""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import conduit
from conduit.words import is_a
from extended.atomics import Atomic, Atomics, atomic
from extended.barrier import Barriers
from extended.calls import public
from extended.collectives.engine import CollectiveEngine
from extended.dropped import refuse_dropped
from extended.events import Events
from extended.heap.calls import SymmetricHeap
from extended.heap.combining import HeapCalls
from extended.listened import (
    ListenedAtomics,
    ListenedBarriers,
    ListenedCollectives,
    ListenedLocks,
    ListenedNativeAtomics,
    ListenedNetworkBarriers,
    ListenedScatter,
    ListenedTransfers,
)
from extended.locks import Lock, Locks
from extended.native import NativeAtomics
from extended.network_barrier import NetworkBarriers
from extended.numpy_warnings import let_raise
from extended.of_others import OF_OTHERS
from extended.program_lines import name_here
from extended.putget import PutGet
from extended.teams import SharedParts, Team
from extended.transfers import Transfers
from extended.vis.indexed import Indexed
from extended.vis.scatter import Scatter
from extended.vis.strided import Strided
from extended.vis.vector import Vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from extended.reporting import ReportSink


class Attachment:
    """A layer and the parts that it is made of, as they are attached to one endpoint.

    Args:
        ep: the endpoint.
        kind: the class of the layer.
    """

    def __init__(self, ep: conduit.Endpoint, kind: type[Extended]) -> None:
        let_raise()
        self.ep = ep
        self.events = Events(ep)
        self.transfers = Transfers(ep, self.events)
        listened = ep.call_listener is not None
        self.called_transfers = ListenedTransfers(ep, self.transfers) if listened else self.transfers
        self.scatter = (ListenedScatter if listened else Scatter)(ep, self.events, self.transfers)
        self.heap = HeapCalls(ep)
        barriers: type[Barriers] = ListenedBarriers if listened else Barriers
        if ep.rma is not None and ep.rma.barriers:
            barriers = ListenedNetworkBarriers if listened else NetworkBarriers
        self.barriers = barriers(ep)  # before the collectives, which take all auxiliary memory that is left
        self.collectives = (ListenedCollectives if listened else CollectiveEngine)(ep, self.events)
        native = (ListenedNativeAtomics if listened else NativeAtomics)(ep, self.events, self.transfers)
        self.atomics = (ListenedAtomics if listened else Atomics)(ep, self.events, self.transfers, native)
        self.locks = (ListenedLocks if listened else Locks)(ep)
        self.layer = kind(self)
        self.complete = False
        self.failed: Exception | None = None

    async def connect(self) -> None:
        """Attach the handlers on all ranks, and what this rank does at its polls and at its end.

        Raises:
            conduit.BadRequest: ranks attach different handlers; the endpoint is then as before.
        """
        try:
            await self.ep.attach(
                *self.transfers.handlers.table(),
                *self.scatter.handlers.table(),
                *self.heap.table(),
                *self.barriers.table(),
                *self.collectives.handlers.table(),
                *self.atomics.table(),
                *self.locks.table(),
                *self.collectives.handlers.table_of_staging(),
            )
        except Exception as error:
            self.failed = error
            _attachments.pop(id(self.ep), None)  # the error's traceback may keep this alive for a while
            raise
        self.ep.on_progress(self.progress)
        self.ep.on_exit(self.finish)
        self.ep.on_report(self.tell)
        self.complete = True

    async def progress(self) -> None:
        """Send what handlers and cancelled tasks have left to send."""
        if self.barriers.outgoing:
            await self.barriers.outgoing.send()
        if self.collectives.ready or self.collectives.send_queue.listed:
            await self.collectives.progress()
        if self.heap.outgoing:
            await self.heap.outgoing.send()
        if self.locks.outgoing:
            await self.locks.outgoing.send()
        if self.transfers.unsent:
            await self.transfers.progress()

    def tell(self, sink: ReportSink) -> None:
        """Tell what the layer knows of this rank, for the report of a job that gets no further."""
        for part in (self.events, self.barriers, self.collectives, self.heap, self.locks):
            part.tell(sink)

    async def finish(self) -> None:
        """End the layer's work on a rank that has returned from its main."""
        await self.ep.block_until(self.transfers.all_sent, what="the rest of cancelled puts and gets")
        self.events.warn_unsynced()
        self.barriers.warn_unwaited()
        self.locks.warn_held()
        self.collectives.make_no_more()


# By the identity of the endpoint, which itself keeps the attachment alive (by its handlers): a job leaves nothing here.
_attachments: WeakValueDictionary[int, Attachment] = WeakValueDictionary()


def _for_attach(cls: type[Extended], ep: object) -> None:
    match ep:
        case FunctionType(__name__=name) | MethodType(__name__=name):
            raise conduit.BadRequest(
                f"Extended.attach: ep={name} is a function; handlers are attached to the endpoint: write `await "
                f"ep.attach({name})`"
            )
    if not isinstance(ep, conduit.Endpoint):
        called = name_here(ep) or getattr(type(ep), "_called", "t")
        remedy = (
            f", which has the extended layer: write `x = {called}.extended`"
            if isinstance(inspect.getattr_static(ep, "extended", None), Extended)
            else "; give the endpoint that `async def main(ep)` is called with, in a program without `api = ...`"
        )
        raise conduit.BadRequest(f"Extended.attach: ep {is_a(ep)}{remedy}")


class Extended(PutGet, Vector, Indexed, Strided, SymmetricHeap, Team):
    """The extended API on one endpoint, and the team of all ranks; get it by `attach`.

    Attributes:
        ep: the endpoint.
        bounds: how far the segments of the ranks reach.
    """

    _instead: ClassVar = OF_OTHERS
    _called: ClassVar = "x"
    _for_layers: ClassVar = frozenset({"call_ranks", "title_locks"})
    _first_handler: ClassVar = "put_medium"
    """By which errors know the layer among the handlers of a rank."""

    def __init__(self, parts: Attachment) -> None:
        if not isinstance(parts, Attachment):
            raise conduit.BadRequest("Extended: the layer is not made by calling it; write `await Extended.attach(ep)`")
        PutGet.__init__(self, parts.ep, parts.events, parts.called_transfers)
        Team.__init__(
            self, SharedParts(parts.ep, parts.events, parts.collectives, parts.barriers), (0, 0), range(parts.ep.size)
        )
        self._scatter = parts.scatter
        self._heap = parts.heap
        self._atomics = parts.atomics
        self._locks = parts.locks

    @classmethod
    @public(_for_attach)
    async def attach(cls, ep: conduit.Endpoint) -> Extended:
        """Attach this layer to an endpoint; collective, blocks until all ranks have come.

        Args:
            ep: the endpoint; of one that has the layer already the same object is returned, without communication.

        Returns:
            the layer.

        Raises:
            conduit.BadRequest: `ep` is no endpoint, ranks attach different handlers, or the conduit's limits are too
                small.
        """
        attachment = _attachments.get(id(ep))
        if attachment is None or attachment.ep is not ep:
            attachment = _attachments[id(ep)] = Attachment(ep, cls)
            await attachment.connect()
        elif attachment.complete:
            await ep.poll()
        else:
            there = attachment
            await ep.block_until(lambda: there.complete or there.failed, what="Extended.attach of another task")
            if there.failed is not None:
                raise conduit.BadRequest(f"Extended.attach: refused to another task of this rank: {there.failed}")
        return attachment.layer

    # ----------------------------------------------------------------------------------------------- atomics and locks

    def atomic(self, dtype: DTypeLike, *, told: bool = True) -> Atomic:
        """Return the atomic operations on numbers of one type; plain.

        Args:
            dtype: i4, u4, i8, u8, f4 or f8, little-endian, in any form that numpy takes.
            told: of a front end: whether listeners hear of the operations as calls of the program's; False where it
                tells its own calls.

        Raises:
            conduit.BadRequest: another dtype.

        Source: GASNet-EX, `gex_AD_Create` and `gex_AD_OpNB`.
        """
        return atomic(self._atomics, self.bounds, dtype, told=told)

    def lock(self, name: str | int) -> Lock:
        """Return a lock of the whole job; plain.

        Args:
            name: a str or an int; every rank that gives the same one gets the same lock, and 1 is not "1".

        Raises:
            conduit.BadRequest: another name, one that is too long for a medium message, or a line that throws the
                lock away without taking it.
        """
        lock = Lock(self._locks, name)
        refuse_dropped("x", lock.name)
        return lock

    def call_ranks(self, word: str) -> None:
        """Let errors and warnings call a rank otherwise; plain, for front ends that call it so.

        Args:
            word: ``thread``, ``PE``.
        """
        parts = _attachments[id(self.ep)]
        parts.locks.rank_word = parts.heap.rank_word = parts.barriers.rank_word = word
        parts.collectives.call_ranks(word)

    def title_locks(self, prefix: str, title: Callable[[str], str], short: Callable[[str], str] | None = None) -> None:
        """Let errors and reports call some locks otherwise than by their names; plain, for front ends that make these.

        Args:
            prefix: what the names begin with.
            title: takes the rest of a name, and returns what the lock is called; on each rank for itself, also of
                locks that this rank has not asked for.
            short: takes the same, and returns what a report calls the lock that has said the title; None: the title.
        """
        self._locks.call_named(prefix, title, short or title)
