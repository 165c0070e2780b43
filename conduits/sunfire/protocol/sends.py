"""Sends, as chains of acts (`conduit.simnet.chain`).

    short, or payload up to the limit    postboxes
    larger medium                        blocks; barrier; postboxes with pointers
    larger long                          whole lines straight to the segment; barrier; postboxes with the edges

A reply goes the same ways to its place in the pair, behind the acknowledgement of its request.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

from conduit.contract import LONG, Buffer, Message
from conduit.errors import NetworkError
from conduit.sim import Cpu, Kernel
from conduit.simnet import header
from conduit.simnet.chain import Act, Chain, Steps, sleep_until
from conduit.simnet.transport import Then
from conduits.rsm.safe import Stores, store
from conduits.sunfire import wire
from conduits.sunfire.driver import StoreMapping
from conduits.sunfire.protocol.connections import Connections
from conduits.sunfire.protocol.inbox import acknowledgement, acknowledgements
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.peers import RemoteArea, SunfirePeer
from conduits.sunfire.protocol.pool import BlockPool, Grant
from conduits.sunfire.protocol.postbox_writer import PostboxWriter
from conduits.sunfire.protocol.repair import SafeTransport, safely
from conduits.sunfire.wire import LINE, SINGLE, Form


def whole_lines(data: Buffer) -> Buffer:
    """Return data filled up to whole lines."""
    short = -len(data) % LINE
    return bytes(data) + bytes(short) if short else data


class SendsTransport(SafeTransport, Protocol):
    """A rank's end of the network, as its sends know it; `SunfireTransport` says what each is."""

    kernel: Kernel
    cpu: Cpu
    layout: PostboxLayout
    connections: Connections
    may_fail: bool

    def export_pair(self, peer: SunfirePeer) -> None:
        """Set aside memory for a peer's acknowledgements and replies, before the first request to it."""

    def freed(self) -> None:
        """Postboxes or blocks are free: let a task that waits for them look again."""


class Sends:
    """The sends of one rank, which is in one send at a time.

    Args:
        transport: the rank's end of the network.

    Attributes:
        rank: the rank, for errors of events.
    """

    __slots__ = (
        "_act", "_cpu", "_done", "_kernel", "_largest", "_layout", "_mapping", "_max_medium", "_postboxes", "_rest",
        "_short_limit", "_then", "_transport", "rank",
    )  # fmt: skip

    # The chain of short messages: what is still to be stored, last first, through which mapping, and what comes then.
    _mapping: StoreMapping
    _rest: Stores
    _then: Then

    def __init__(self, transport: SendsTransport) -> None:
        self._transport = transport
        self._kernel = transport.kernel
        self._cpu = transport.cpu
        self.rank = transport.cpu.rank
        self._act, self._done = self._store, self._stored  # made once, since every message needs them
        self._layout = transport.layout
        self._short_limit = transport.layout.short_limit
        self._max_medium = transport.layout.max_medium
        self._largest = transport.layout.largest
        self._postboxes = transport.layout.postboxes

    # -- the chain of short messages -----------------------------------------------------------

    def _store(self) -> None:
        """Store the next run, in an event at which the CPU is free."""
        rest = self._rest
        offset, lines = rest.pop()
        # What does not end the message lands with its end, which spares an event: an acknowledgement with the reply.
        end = self._mapping.store(offset, lines, self._done, bool(rest))
        if not end:
            return
        cpu = self._cpu
        if end > cpu.free:
            cpu.free = end
        if rest:
            self._kernel.soon(end, self._act)  # as `_stored`, in which a call would cost
        else:
            self._then()

    def _stored(self, end: int) -> None:
        """The CPU has given a run away that was not simply under way."""
        cpu = self._cpu
        if end > cpu.free:
            cpu.free = end
        if self._rest:
            self._kernel.soon(max(end, self._kernel.now), self._act)
        else:
            self._then()

    # -- requests ------------------------------------------------------------------------------

    def request(self, peer: SunfirePeer, message: Message, then: Then) -> None:
        """Send a request with what was set aside.

        Raises:
            NetworkError: the peer's segment cannot be imported any more; all is as before.
        """
        postboxes, nbytes = peer.requests, message.nbytes
        peer.area.pool.reserved -= self._max_medium
        if postboxes is None or nbytes > self._short_limit:
            self._begin_long(peer, message, then)
            return
        if nbytes + len(message.args) <= SINGLE:
            stores: Stores = [postboxes.place_single(message)]
            peer.room += self._largest - 1
        else:
            head = header.pack(message)
            stores = self._place_request(peer, postboxes, head + message.payload if nbytes else head, Form.INLINE, None)
            stores.reverse()
        self._mapping, self._rest, self._then = postboxes.mapping, stores, then
        self._kernel.soon(self._cpu.free, self._act)

    def _begin_long(self, peer: SunfirePeer, message: Message, then: Then) -> None:
        transport = self._transport
        try:
            Chain(transport.kernel, transport.cpu, self._long_request(peer, message), then)
        except NetworkError:  # before anything was stored
            peer.credits += 1
            peer.room += self._largest
            transport.port.notify()  # a task may wait for any of these
            raise

    def _place_request(
        self, peer: SunfirePeer, postboxes: PostboxWriter, head: bytes, form: int, grant: Grant | None
    ) -> Stores:
        """Put a request behind the last one; return the stores of its postboxes."""
        first = postboxes.tail
        stores = postboxes.place(wire.pack(head, form, first))
        count = postboxes.tail - first
        if count > 1 or grant is not None:
            peer.longer[first] = count, grant
        peer.room += self._largest - count
        self._transport.freed()
        return stores

    def _long_request(self, peer: SunfirePeer, message: Message) -> Steps:
        """Send a request that connects, being the first, or with a payload too large for postboxes."""
        if peer.requests is None:
            yield from self._connect(peer)
        postboxes, area = peer.requests, peer.area
        assert postboxes is not None
        assert area.remote is not None
        head, form, grant = header.pack(message), Form.INLINE, None
        if message.nbytes <= self._short_limit:
            head += message.payload
        elif message.word & LONG:
            form = Form.STRAIGHT
            yield from self._straight(peer, message)
            head += self._edges(message)
        else:
            form = Form.BLOCKS
            grant = yield from self._into_pool(area, peer.host, message.payload)
            head += wire.pointers(grant.blocks)
        for offset, lines in self._place_request(peer, postboxes, head, form, grant):
            yield store(area.remote, offset, lines)

    def _connect(self, peer: SunfirePeer) -> Steps:
        """Set aside the pair, and make the area on the peer's host if there is none yet."""
        transport, layout = self._transport, self._layout
        if peer.pair is None:
            transport.export_pair(peer)
        area = peer.area
        if area.remote is None:
            yield transport.connections.make_area(peer, transport.port.host)
            transport.connections.import_area(peer)
            transport.counts["sunfire_areas"] += 1
        area.peers.append(peer)
        assert area.remote is not None
        peer.requests = PostboxWriter(layout.queues_at[peer.place], layout.postboxes, keep=transport.may_fail)
        peer.requests.mapping = area.remote.mapping
        yield sleep_until(transport.kernel, transport.cpu.free)  # what was published can be connected to from then on

    def _into_pool(self, area: RemoteArea, host: int, data: Buffer) -> Generator[Act, Any, Grant]:
        """Write a payload into blocks and make it safe; the blocks are the outcome."""
        remote, pool = area.remote, area.pool
        assert remote is not None
        grant = self._allocate(pool, len(data))
        remote.barrier.open()
        for offset, lines in self._block_stores(pool, grant, data):
            yield store(remote, offset, lines, True)
        error = yield remote.barrier.close
        if error is not None:
            self._transport.check_path(host)
            self._transport.counts["sunfire_retries"] += wire.lines(len(data))
            # What is still on its way to these blocks might land at any time: others serve better, if there are any.
            if pool.reserve(self._max_medium):
                pool.reserved -= self._max_medium
                pool.fail(grant)
                grant = self._allocate(pool, len(data))
            yield from safely(self._transport, remote, self._block_stores(pool, grant, data), True)
        pool.settle()
        return grant

    def _block_stores(self, pool: BlockPool, grant: Grant, data: Buffer) -> Stores:
        """Return the stores that write a payload into its blocks."""
        stores: Stores = []
        view, at = memoryview(data), 0
        for block in grant.blocks:
            size = pool.shape.size(block)
            stores.append((self._layout.block_at(block), whole_lines(view[at : at + size])))
            at += size
        return stores

    def _allocate(self, pool: BlockPool, nbytes: int) -> Grant:
        grant = pool.allocate(nbytes)
        assert grant is not None  # so much was reserved
        return grant

    # -- replies -------------------------------------------------------------------------------

    def reply(self, emptied: tuple[SunfirePeer, int, int], message: Message, then: Then) -> None:
        """Acknowledge the postboxes of a request, as its slot names them, and send its reply."""
        peer, first, count = emptied
        postboxes, nbytes = peer.replies, message.nbytes
        queue = self._postboxes
        if nbytes + len(message.args) <= SINGLE and count == 1:
            if peer.answered is not None:
                peer.answered.append(postboxes.tail)
            stores: Stores = [postboxes.place_single(message), acknowledgement(first, queue)]
        else:
            stores = acknowledgements(first, count, queue)
            if nbytes > self._short_limit:
                Chain(self._kernel, self._cpu, self._long_reply(peer, stores, message), then)
                return
            head = header.pack(message)
            stores += self._place_reply(peer, head + message.payload if nbytes else head, Form.INLINE)
            stores.reverse()
        self._mapping, self._rest, self._then = postboxes.mapping, stores, then
        self._kernel.soon(self._cpu.free, self._act)

    def _place_reply(self, peer: SunfirePeer, head: bytes, form: int) -> Stores:
        """Put a reply behind the last one; return the stores of its postboxes."""
        postboxes = peer.replies
        if peer.answered is not None:
            peer.answered.append(postboxes.tail)
        return postboxes.place(wire.pack(head, form, postboxes.tail))

    def _long_reply(self, peer: SunfirePeer, acks: Stores, message: Message) -> Steps:
        """Send a reply with a payload too large for postboxes."""
        back = peer.remote_pair
        assert back is not None
        for offset, lines in acks:
            yield store(back, offset, lines)
        head = header.pack(message)
        if message.word & LONG:
            form = Form.STRAIGHT
            yield from self._straight(peer, message)
            head += self._edges(message)
        else:
            form = Form.BLOCKS
            region = (peer.received - 1) % self._layout.outstanding
            block = (self._layout.reply_block_at(region), whole_lines(message.payload))
            yield from safely(self._transport, back, [block], True)
            head += wire.pointers([region])
        for offset, lines in self._place_reply(peer, head, form):
            yield store(back, offset, lines)

    # -- both ----------------------------------------------------------------------------------

    def _straight(self, peer: SunfirePeer, message: Message) -> Steps:
        """Store the whole lines of a long payload to the peer's segment and make them safe."""
        body = wire.cut(message.offset, message.nbytes)
        if body.lines:
            segment = self._transport.connections.segment_of(peer)
            data = memoryview(message.payload)[body.head : body.head + body.lines]
            yield from safely(self._transport, segment, [(message.offset + body.head, data)], True)

    def _edges(self, message: Message) -> bytes:
        """Return the bytes of a long payload that whole lines leave over."""
        body = wire.cut(message.offset, message.nbytes)
        payload = memoryview(message.payload)
        return bytes(payload[: body.head]) + bytes(payload[body.head + body.lines :])
