"""Where the payload of an arrived message is, and where it belongs.

Source: SIS 3.2, Q IV-B; that long payloads go straight to the target's segment is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import LONG, Message
from conduit.simnet import SimulatedPort
from conduits.sunfire.protocol.connections import SunfireConfig
from conduits.sunfire.protocol.inbox import Inbox
from conduits.sunfire.wire import Form, cut


class Payloads:
    """The payloads that one rank receives.

    Args:
        port: the rank's port.
        config: job and options.
    """

    def __init__(self, port: SimulatedPort, config: SunfireConfig) -> None:
        self._cpu = port.cpu
        self._memory = port.memory
        self._copy_ticks = config.cluster.host.copy_ticks
        self._layout = config.layout
        self._areas = config.services[port.host].areas

    def fetch(self, message: Message, form: int, blocks: Sequence[int], inbox: Inbox) -> None:
        """Copy the payload of a message from `inbox` to where it belongs.

        Args:
            message: taken from its postboxes, with what they hold of the payload.
            form: a `Form`.
            blocks: where the payload is, if the form says so.
            inbox: the queue that it came in.
        """
        edges = form == Form.STRAIGHT
        self._cpu.free += self._copy_ticks(cut(message.offset, message.nbytes).edges if edges else message.nbytes)
        if form == Form.BLOCKS:
            message.payload = self._read_blocks(message.nbytes, blocks, inbox)
        if message.word & LONG:
            self._place(message, form)
            message.payload = b""

    def _read_blocks(self, nbytes: int, blocks: Sequence[int], inbox: Inbox) -> bytes:
        layout, peer = self._layout, inbox.peer
        if inbox.is_reply:
            assert peer.pair is not None
            return peer.pair.read(layout.reply_block_at(blocks[0]), nbytes)
        memory, pool = self._areas[peer.rank].memory, layout.pool
        read, left = [], nbytes
        for block in blocks:
            size = min(left, pool.size(block))
            read.append(memory.read(layout.block_at(block), size))
            left -= size
        return b"".join(read)

    def _place(self, message: Message, form: int) -> None:
        """Copy a long payload, or the edges that whole lines left over, to the segment."""
        memory, start, nbytes = self._memory, message.offset, message.nbytes
        if form != Form.STRAIGHT:
            memory.write(start, message.payload)
            return
        body, edges = cut(start, nbytes), message.payload
        memory.write(start, edges[: body.head])
        memory.write(start + nbytes - body.tail, edges[body.head :])
