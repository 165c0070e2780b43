"""One rank's end of Sun Fire Link: Active Messages through postboxes, blocks and straight stores.

A request waits, polling, until it has a credit, postboxes for the largest message and blocks for the largest
payload; then nothing can hold it up.  Its reply has its place set aside in the pair.  The receiver empties
postboxes and blocks, runs the handler, and stores the acknowledgement just before the reply; the requester looks
at acknowledgements when it runs short.

Source: SIS 3, Q IV.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from conduit.contract import Message, Unhandled
from conduit.errors import NetworkError
from conduit.simnet import SimulatedPort
from conduit.simnet.chain import Steps
from conduit.simnet.tending import TransportWithWork
from conduit.simnet.transport import LATER, Then
from conduits.rsm import Controller
from conduits.sunfire import constants as c
from conduits.sunfire.constants import RECEIVE_PS, REPLY_PS, REQUEST_PS
from conduits.sunfire.driver import CESR_PS, SunfireProcess
from conduits.sunfire.protocol.connections import Connections, SunfireConfig
from conduits.sunfire.protocol.inbox import Inbox
from conduits.sunfire.protocol.lines import line_at
from conduits.sunfire.protocol.local_memory import LocalPair
from conduits.sunfire.protocol.payloads import Payloads
from conduits.sunfire.protocol.peers import RemoteArea, SunfirePeer
from conduits.sunfire.protocol.repair import StoreRepair
from conduits.sunfire.protocol.sends import Sends
from conduits.sunfire.wire import ack_byte

COUNTS = (
    "sunfire_connections",  # queues that a poll looks at
    "sunfire_areas",  # areas of this rank on other hosts
    "sunfire_retries",  # lines written again
    "sunfire_repairs",  # looks at the error register that found an error
    "sunfire_old_postboxes",  # postboxes that came again after they had been emptied
)


_SINGLE = 1, None
"""What nearly every request takes: one postbox, no blocks."""


class SunfireTransport(TransportWithWork):
    """One rank's end.

    Args:
        port: the rank's port.
        process: its use of the NIs.
        controller: of that process, for all NIs.
        config: job and options.
    """

    def __init__(
        self, port: SimulatedPort, process: SunfireProcess, controller: Controller, config: SunfireConfig
    ) -> None:
        super().__init__(port)
        self.rank = port.rank
        self.cpu = port.cpu
        self.kernel = port.kernel
        self.config = config
        self.layout = config.layout
        self.process = process
        self.miss_ps = c.POLL_PS
        self.sent = 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self._requests: dict[int, Inbox] = {}
        self._replies: dict[int, Inbox] = {}
        self.ready: deque[Inbox] = deque()
        self.notify: Callable[[], object] = port.notify
        self.short = False
        self.may_fail = process.fabric.may_fail
        self.connections = Connections(port.rank, controller, config, keep=self.may_fail)
        self.peers = self.connections.peers
        self.areas = self.connections.areas
        self._payloads = Payloads(port, config)
        self._largest = self.layout.largest
        self._outstanding = self.layout.outstanding
        self._medium = self.layout.max_medium
        self.sends = Sends(self)
        self._repair = StoreRepair(self)
        process.processor.alarm = self.alarm
        self.connections.export_segment(port.memory)

    # -- connections ---------------------------------------------------------------------------

    def export_pair(self, peer: SunfirePeer) -> None:
        """Set aside memory for a peer's acknowledgements and replies, before the first request to it."""
        replies = self._replies[peer.rank] = Inbox(self.layout.reply_postboxes, peer, self, is_reply=True)
        self.connections.export_pair(peer, LocalPair(self, replies, self.layout))
        self._new_queue()

    def _new_queue(self) -> None:
        """One more head postbox to poll."""
        self.counts["sunfire_connections"] += 1
        self.miss_ps += c.HEAD_PS
        self.port.miss_changed()

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> SunfirePeer | None:
        """Set aside a credit, postboxes and blocks for the largest request; its reply has its place with the credit."""
        peer = self.peers.get(dest) or self.connections.peer(dest)
        if self.may_fail:
            self.check_path(peer.host)
        if not peer.credits:
            return None
        pool = peer.area.pool
        if peer.room < self._largest or pool.free_bytes - pool.reserved < self._medium:
            self.reclaim(peer.area)
            if peer.room < self._largest or pool.free_bytes - pool.reserved < self._medium:
                self.short = True
                return None
        pool.reserved += self._medium
        peer.credits -= 1
        peer.room -= self._largest
        return peer

    def reclaim(self, area: RemoteArea) -> None:
        """Take back what receivers on a host have acknowledged; what of it a CPU has not read comes from memory."""
        queue = self.layout.postboxes
        for each in area.peers:
            before = each.acknowledged
            while each.unacknowledged:
                count, grant = each.longer.get(each.acknowledged, _SINGLE)
                if not self._acknowledged(each, count):
                    break
                each.longer.pop(each.acknowledged, None)
                each.acknowledged += count
                each.room += count
                if grant is not None:
                    area.pool.acknowledge(grant)
            lines = each.acknowledged - before
            if lines:
                runs = (each.acknowledged - 1) // queue - before // queue + 1  # the end of the queue cuts one in two
                self.cpu.charge(lines * c.RECLAIM_PS + runs * c.FETCH_PS + (lines - runs) * c.FETCH_NEXT_PS)

    def _acknowledged(self, peer: SunfirePeer, count: int) -> bool:
        """Return whether the acknowledgements of so many more request postboxes have landed."""
        queue, pair, first = self.layout.postboxes, peer.pair, peer.acknowledged
        assert pair is not None
        for number in range(first, first + count):
            if line_at(pair.acknowledgements, number % queue)[0] != ack_byte(number, queue):
                return False
        return True

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send with what `acquire` has set aside."""
        self.cpu.free += REQUEST_PS
        if self.short:
            self.freed()
        self.sent += 1
        try:
            self.sends.request(slot, message, then)  # the last act
        except NetworkError:
            self.sent -= 1
            raise

    def freed(self) -> None:
        """Postboxes or blocks are free: let a task that waits for them look again."""
        if self.short:
            self.short = False
            self.port.notify()

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Acknowledge the request's postboxes, then send the reply to its place in the pair."""
        self.sent += 1
        self.cpu.free += REPLY_PS
        self.sends.reply(request.slot, reply, then)

    # -- arrivals ------------------------------------------------------------------------------

    def make_inbox(self, source: int) -> Inbox:
        """Return this rank's queue in the area of rank `source`."""
        peer = self.connections.peer(source)
        inbox = self._requests[source] = Inbox(self.layout.postboxes, peer, self, is_reply=False)
        return inbox

    def came_again(self, inbox: Inbox, number: int) -> None:
        """A postbox has been written again that had been emptied: acknowledge it once more, if it is a request's."""
        self.counts["sunfire_old_postboxes"] += 1
        if not inbox.is_reply:
            self._repair.old(inbox.peer, number)
            self.request_work()

    # -- faults --------------------------------------------------------------------------------

    def alarm(self) -> None:
        """The error register has been written, or a host cannot be reached any more: the next poll pass looks."""
        self.request_work()

    def check_path(self, host: int) -> None:
        """Raise NetworkError, which names the path, if nothing leads to a host any more."""
        if not self.process.stripes(host):
            raise self.process.unreachable(host)

    def emptied(self, rank: int) -> int:
        """Return how many request postboxes from a rank were emptied."""
        inbox = self._requests.get(rank)
        return inbox.head if inbox is not None else 0

    def read_error(self) -> int:
        """Read and clear the error register."""
        self.cpu.free += CESR_PS
        return self.process.read_cesr()

    def work(self) -> Steps:
        """Write again what may be lost."""
        return self._repair.steps()

    # -- polling -------------------------------------------------------------------------------

    def take(self) -> Message | None:
        """Repair what may be lost; else decode the message of the next queue that has one; queues take turns."""
        if self.work_due:
            return self.begin_work()
        if not self.ready:
            return None
        inbox = self.ready.popleft()
        message, form, blocks = inbox.take()
        self.cpu.free += RECEIVE_PS
        peer = inbox.peer
        if inbox.is_reply:
            peer.credits += 1
        else:
            if peer.remote_pair is None and not self._connect_back(peer):
                return LATER  # never resumed, since the job ends
            received = peer.received
            peer.received = received + 1
            answered = peer.answered
            if answered is not None and received >= self._outstanding:
                answered.popleft()  # that many requests later its reply has been taken
        if message.nbytes:
            self._payloads.fetch(message, form, blocks, inbox)
        return message

    def _connect_back(self, peer: SunfirePeer) -> bool:
        """Import where replies to a peer go, at its first request; False where that ends the job."""
        try:
            self.connections.import_pair(peer)
        except NetworkError as error:
            self.port.fail(error)  # not raised: the program could catch it, and the requester would wait for ever
            return False
        self._new_queue()
        return True

    # -- reports -------------------------------------------------------------------------------

    def slots_in_use(self) -> list[str]:
        """Describe the requests without a reply, and the blocks in use."""
        most = self.layout.outstanding
        lines = [
            f"{most - peer.credits} of {most} requests to rank {peer.rank} are without their reply"
            for peer in self.peers.values()
            if peer.credits < most
        ]
        for host, area in self.areas.items():
            blocks = area.pool.shape.blocks
            if area.pool.free < blocks:
                lines.append(f"{blocks - area.pool.free} of {blocks} blocks of the area on host {host}")
        return lines

    def slot_holders(self, dest: int) -> tuple[int, ...]:
        """Return the rank itself, and those on its host that have not emptied postboxes or blocks."""
        area = self.areas.get(self.config.cluster.hosts[dest])
        others = [peer.rank for peer in area.peers if peer.unacknowledged and peer.rank != dest] if area else []
        return (dest, *others)

    def undelivered(self) -> int:
        """Return how many whole messages are in queues here."""
        return len(self.unhandled())

    def unhandled(self) -> list[Unhandled]:
        """Return the whole messages in queues here."""
        inboxes = (*self._requests.values(), *self._replies.values())
        return [each for inbox in inboxes for each in inbox.waiting()]

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the transport."""
        return {"sunfire_messages_sent": self.sent, **self.counts, "sunfire_reroutes": self.process.reroutes()}
