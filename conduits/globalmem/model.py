"""What a machine's constants come to without contention: how long its moves and messages take."""

from __future__ import annotations

import attrs

from conduit.contract import Costs, MessageCosts
from conduit.sim.link import durations
from conduit.sim.units import seconds
from conduit.simnet import HostModel, header
from conduits.globalmem.mover import REQUEST, WORD
from conduits.globalmem.pace import Pace
from conduits.globalmem.queues import ENTRY, QueueCosts


@attrs.frozen
class Timing:
    """Times of a machine without contention; picoseconds.

    Attributes:
        service: of a memory, for a line.
        rate: of a link, bytes per second.
        latency: of the links from one node to another.
        pace: of a processor.
        queues: what messages cost a processor.
    """

    service: int
    rate: int
    latency: int
    pace: Pace
    queues: QueueCosts

    def over(self, nbytes: int) -> int:
        """Return how long bytes take over the links."""
        return durations(self.rate)[nbytes] + self.latency

    def get(self, nbytes: int) -> int:
        """Return how long a get takes the machine; of up to a word, or such as no link is slower than the processor."""
        return self.over(REQUEST) + self.service + self.over(WORD) + (self.pace.ticks(nbytes) if nbytes > WORD else 0)

    def change(self) -> int:
        """Return how long a change of a word takes."""
        return self.over(REQUEST + WORD) + self.service + self.over(WORD)

    def feed(self, nbytes: int) -> int:
        """Return how long the processor takes to push bytes."""
        return max(durations(self.rate)[nbytes], self.pace.ticks(nbytes))

    def send(self, nbytes: int) -> int:
        """Return how long sending a message of that many bytes, its header included, takes its processor."""
        return self.queues.build + self.feed(nbytes) + self.change() + self.feed(ENTRY)

    def one_way(self, nbytes: int) -> int:
        """Return how long such a message takes from its beginning until its handler runs."""
        return self.send(nbytes) + self.latency + self.service + self.queues.take + self.queues.poll

    def messages(self) -> MessageCosts:
        """Return what messages cost."""
        queues = self.queues
        start = self.one_way(header.SIZE) + queues.poll
        near, far = self.pace.slopes
        return MessageCosts(
            start=seconds(start),
            send=seconds(self.send(header.SIZE)),
            receive=seconds(queues.take),
            medium_byte=1 / near,
            long_start=seconds(start + self.pace.ticks(1_000_000)) - 1_000_000 / far,
            long_byte=1 / far,
            poll=seconds(queues.poll),
            answered=False,  # an automatic reply is a word at the requester
        )

    def costs(self, host: HostModel) -> Costs:
        """Return what programs are told."""
        return Costs(
            off_host=self.messages(),
            on_host=host.message_costs(self.queues.poll),
            copy_byte=1 / host.copy_bytes_per_s,
        )
