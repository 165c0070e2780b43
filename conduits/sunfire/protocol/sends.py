"""The chains of acts of which sends consist.

    short, or payload up to the limit    postboxes
    larger medium                        blocks; barrier; postboxes with pointers
    larger long                          whole lines straight to the segment; barrier; postboxes with the edges

A reply goes the same ways to its place in the pair, behind the acknowledgement of its request.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from conduit.contract import LONG, Buffer, Message
from conduits.common import header
from conduits.sunfire import wire
from conduits.sunfire.protocol.chain import Act, Done, Steps, sleep_until
from conduits.sunfire.protocol.peers import Area, Peer, Remote, Sent, acknowledgements
from conduits.sunfire.protocol.pool import Grant, Pool
from conduits.sunfire.protocol.queues import Outbox, Stores
from conduits.sunfire.wire import LINE, Form

if TYPE_CHECKING:
    from conduits.sunfire.protocol.path import SunfirePath


def store(remote: Remote, offset: int, data: Buffer) -> Act:
    """Return the act of storing whole lines."""

    def act(done: Done) -> None:
        end = remote.mapping.store(offset, data, done)
        if end:
            done(end)

    return act


def whole_lines(data: Buffer) -> Buffer:
    """Return data filled up to whole lines."""
    short = -len(data) % LINE
    return bytes(data) + bytes(short) if short else data


def lines_of(stores: Stores) -> int:
    """Return how many lines are stored."""
    return sum(len(lines) for _, lines in stores) // LINE


def safely(path: SunfirePath, host: int, remote: Remote, stores: Stores) -> Steps:
    """Store and close a barrier, again and again until it is good.

    Raises:
        NetworkError: no path to the host is left.
    """
    while True:
        remote.barrier.open()
        for offset, lines in stores:
            yield store(remote, offset, lines)
        error = yield remote.barrier.close
        if error is None:
            return
        path.check_path(host)
        path.counts["sunfire_retries"] += lines_of(stores)


class Sends:
    """The sends of one rank.

    Args:
        path: the rank's end of the network.
    """

    def __init__(self, path: SunfirePath) -> None:
        self._path = path
        self._layout = path.layout

    # -- requests ------------------------------------------------------------------------------

    def request(self, peer: Peer, message: Message) -> Steps:
        """Send a request, connecting first where this is the first one."""
        layout = self._layout
        if peer.requests is None:
            yield from self._connect(peer)
        outbox, area = peer.requests, peer.area
        assert outbox is not None
        assert area.remote is not None
        area.pool.reserved -= layout.max_medium
        head, form, grant = header.pack(message), Form.INLINE, None
        if message.nbytes > layout.short_limit:
            if message.word & LONG:
                form = Form.STRAIGHT
                yield from self._straight(peer, message)
                head += self._edges(message)
            else:
                form = Form.BLOCKS
                grant = yield from self._into_pool(area, peer.host, message.payload)
                head += wire.pointers(grant.blocks)
        elif message.nbytes:
            head += message.payload
        count = wire.count(len(head))
        peer.sent.append(Sent(outbox.tail, count, grant))
        peer.room += layout.largest - count
        yield from self._post(area.remote, outbox, head, form)

    def _connect(self, peer: Peer) -> Steps:
        """Set aside the pair, and make the area on the peer's host if there is none yet."""
        path, layout = self._path, self._layout
        path.export_pair(peer)
        area = peer.area
        if area.remote is None:
            service, number = path.setting.services[peer.host], path.area_number()
            yield partial(service.make_area, path.rank, path.port.host, number)
            area.remote = Remote(path.controller.import_connect(peer.host, number))
            path.counts["sunfire_areas"] += 1
        area.peers.append(peer)
        peer.requests = Outbox(peer.place * layout.queue_bytes, layout.postboxes)
        yield sleep_until(path.kernel, path.cpu.free)  # what was published can be connected to from then on

    def _into_pool(self, area: Area, host: int, data: Buffer) -> Generator[Act, Any, Grant]:
        """Write a payload into blocks and make it safe; the grant is the outcome."""
        pool, layout = area.pool, self._layout
        grant = self._allocate(pool, len(data))
        while True:
            failed = yield from self._write_blocks(area, grant, data)
            if not failed:
                pool.settle()
                return grant
            self._path.check_path(host)
            self._path.counts["sunfire_retries"] += wire.lines(len(data))
            # What is still on its way to these blocks might land at any time: others serve better, if there are any.
            if pool.reserve(layout.max_medium):
                pool.reserved -= layout.max_medium
                pool.fail(grant)
                grant = self._allocate(pool, len(data))

    def _allocate(self, pool: Pool, nbytes: int) -> Grant:
        grant = pool.allocate(nbytes)
        assert grant is not None  # so much was reserved
        return grant

    def _write_blocks(self, area: Area, grant: Grant, data: Buffer) -> Generator[Act, Any, bool]:
        """Write a payload into blocks and close a barrier; return whether that failed."""
        remote, view, at = area.remote, memoryview(data), 0
        assert remote is not None
        remote.barrier.open()
        for block in grant.blocks:
            size = area.pool.shape.size(block)
            yield store(remote, self._layout.block_at(block), whole_lines(view[at : at + size]))
            at += size
        error = yield remote.barrier.close
        return error is not None

    # -- replies -------------------------------------------------------------------------------

    def reply(self, peer: Peer, emptied: tuple[int, int], message: Message) -> Steps:
        """Acknowledge a request's postboxes and send its reply."""
        layout, back = self._layout, peer.back
        assert back is not None
        for offset, lines in acknowledgements(*emptied, layout.postboxes):
            yield store(back, offset, lines)
        outbox, head, form = peer.replies, header.pack(message), Form.INLINE
        if message.nbytes > layout.short_limit:
            if message.word & LONG:
                form = Form.STRAIGHT
                yield from self._straight(peer, message)
                head += self._edges(message)
            else:
                form = Form.BLOCKS
                region = (peer.received - 1) % layout.outstanding
                lines = whole_lines(message.payload)
                yield from safely(self._path, peer.host, back, [(layout.reply_block_at(region), lines)])
                head += wire.pointers([region])
        elif message.nbytes:
            head += message.payload
        peer.answered.append(outbox.tail)
        yield from self._post(back, outbox, head, form)

    # -- both ----------------------------------------------------------------------------------

    def _post(self, remote: Remote, outbox: Outbox, head: bytes, form: int) -> Steps:
        """Write the postboxes of a message behind the last one."""
        for offset, lines in outbox.place(wire.pack(head, form, outbox.tail)):
            yield store(remote, offset, lines)

    def _straight(self, peer: Peer, message: Message) -> Steps:
        """Store the whole lines of a long payload to the peer's segment and make them safe."""
        body = wire.cut(message.offset, message.nbytes)
        if body.lines:
            segment = self._path.segment_of(peer)
            data = memoryview(message.payload)[body.head : body.head + body.lines]
            yield from safely(self._path, peer.host, segment, [(message.offset + body.head, data)])

    def _edges(self, message: Message) -> bytes:
        """Return the bytes of a long payload that whole lines leave over."""
        body = wire.cut(message.offset, message.nbytes)
        payload = memoryview(message.payload)
        return bytes(payload[: body.head]) + bytes(payload[body.head + body.lines :])
