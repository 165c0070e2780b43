"""Active Messages over two-sided MPI, whatever the time is: slots, what is posted, what is taken.

A request takes one of its sender's slots to the target; its reply, or the automatic empty one, gives
the slot back.  So at most `credits` requests of each peer are on their way to a rank, and as many replies.  Receives
for them are posted in advance, requests and replies apart: no reply ever waits for a request.  There is one for each
message that may be on its way, up to `MOST_POSTED`; MPI keeps more than these as unexpected ones until one is free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from conduit.contract import LONG, REQUEST, Message
from conduits.mpi.interface import PlainComm, PlainLibrary, PlainRequest
from conduits.mpi.ring import Ring
from conduits.mpi.wire import APART, ARGS, ARGS_MASK, ARGS_SHIFT, BARE, HEADER, KEPT, PLACED, TAG, payload_tag

# Receives for every message that all of a thousand ranks could send would fill the memory, and hardly any is ever used.
MOST_POSTED = 1024

_write = HEADER.pack_into
_read = HEADER.unpack_from


class SlotRecord:
    """What one slot sends from, a request's or a reply's.

    Attributes:
        slot: its number, the same for a request and its reply.
        buffer: header, arguments and payload of its message.
        view: the same.
        bare: sends what has no payload, or none with it.
        sent: the send that may still read the buffer.
        follows: the send of a payload that is a message of its own.
        payload: what that reads.
    """

    __slots__ = ("bare", "buffer", "follows", "payload", "sent", "slot", "view")

    def __init__(self, comm: PlainComm, dest: int, slot: int, nbytes: int) -> None:
        self.slot = slot
        self.buffer = bytearray(nbytes)
        self.view = memoryview(self.buffer)
        self.bare: PlainRequest = comm.Send_init(self.view[:BARE], dest, TAG)
        self.sent: PlainRequest | None = None
        self.follows: PlainRequest | None = None
        self.payload: object = None

    def reusable(self) -> bool:
        """Return whether MPI has read all that was sent from here."""
        if self.sent is not None:
            if not self.sent.Test():
                return False
            self.sent = None
        if self.follows is not None:
            if not self.follows.Test():
                return False
            self.follows = self.payload = None
        return True


class MessageChannel:
    """Requests, or replies: one communicator, and a record for each message to each peer.

    Args:
        library: the MPI library.
        comm: where they travel.
        rank: this rank.
        size: how many ranks there are.
        credits: messages on their way from one rank to one other.
        nbytes: of the longest message.

    Attributes:
        large: the send of a payload by itself that began last, as long as it is under way.
    """

    __slots__ = ("_comm", "_nbytes", "_old", "_rank", "large", "records", "ring")

    def __init__(self, library: PlainLibrary, comm: PlainComm, rank: int, size: int, credits: int, nbytes: int) -> None:
        self._comm = comm
        self._rank = rank
        self._nbytes = nbytes
        self._old: list[SlotRecord] = []
        self.large: PlainRequest | None = None
        self.records: dict[int, list[SlotRecord]] = {}
        # One more, because the last that was taken is begun again when the next one is looked for.
        self.ring = Ring(library, comm, min(credits * (size - 1) + 1, MOST_POSTED), nbytes)

    def add(self, dest: int) -> SlotRecord:
        """Make one more record for messages to `dest`."""
        mine = self.records.setdefault(dest, [])
        mine.append(SlotRecord(self._comm, dest, len(mine), self._nbytes))
        return mine[-1]

    def record(self, dest: int, slot: int) -> SlotRecord:
        """Return a record for the reply to `dest` in a slot, at once (S3)."""
        mine = self.records.get(dest)
        while mine is None or slot >= len(mine):
            self.add(dest)
            mine = self.records[dest]
        found = mine[slot]
        if found.sent is not None and not found.reusable():
            # Its message has arrived, else this slot were not in use again; only MPI has not noticed here.
            self._set_aside(found)
            found = mine[slot] = SlotRecord(self._comm, dest, slot, self._nbytes)
        return found

    def _set_aside(self, record: SlotRecord) -> None:
        """Keep a record that MPI may still read, and give back those that it has read meanwhile."""
        late = []
        for each in self._old:
            if each.reusable():
                each.bare.Free()
            else:
                late.append(each)
        self._old = [*late, record]

    def post(self, record: SlotRecord, dest: int, message: Message, there: memoryview | None) -> None:
        """Post a message.

        Args:
            record: what it is sent from.
            dest: its receiver.
            message: the message.
            there: the receiver's segment, where this rank can write it.
        """
        args, nbytes = message.args, message.nbytes
        word = message.word | len(args) >> 2 << ARGS_SHIFT
        buffer = record.buffer
        if args:
            buffer[ARGS : ARGS + len(args)] = args
        if nbytes:
            if word & LONG == LONG and there is not None:
                there[message.offset : message.offset + nbytes] = message.payload
                word |= PLACED
            elif BARE + nbytes <= self._nbytes:
                _write(buffer, 0, word, self._rank, record.slot, nbytes, message.offset)
                buffer[BARE : BARE + nbytes] = message.payload
                record.sent = self._comm.Isend(record.view[: BARE + nbytes], dest, TAG)
                return
            else:
                word |= APART
        _write(buffer, 0, word, self._rank, record.slot, nbytes, message.offset)
        record.sent = record.bare
        record.bare.Start()
        if word & APART:
            record.payload = message.payload
            self.large = record.follows = self._comm.Isend(message.payload, dest, payload_tag(record.slot))

    def receive_payload(self, memory: memoryview, source: int, slot: int) -> PlainRequest:
        """Begin to receive a payload that is a message of its own where it belongs."""
        return self._comm.Irecv(memory, source, payload_tag(slot))

    def close(self) -> None:
        """Give all back; every message has arrived."""
        self.ring.close()
        for record in [*self._old, *(record for mine in self.records.values() for record in mine)]:
            while not record.reusable():
                pass
            record.bare.Free()
        self._comm.Free()


class Messages:
    """One rank's requests and replies.

    Args:
        library: the MPI library.
        comms: one communicator for requests, one for replies.
        memory: this rank's segment.
        reach: every rank's segment, None where this rank cannot write it.
        credits: requests on their way from one rank to one other.
        medium: bytes of the largest payload that travels with its message.
    """

    def __init__(
        self,
        library: PlainLibrary,
        comms: tuple[PlainComm, PlainComm],
        memory: memoryview,
        reach: Sequence[memoryview | None],
        *,
        credits: int,
        medium: int,
    ) -> None:
        rank, size = comms[0].Get_rank(), comms[0].Get_size()
        self._memory = memory
        self._pushes = range(library.pushes)
        self._reach = reach
        self._credits = credits
        self._requests, self._replies = (
            MessageChannel(library, comm, rank, size, credits, BARE + medium) for comm in comms
        )
        self._rings = (self._replies.ring, self._requests.ring)
        self._free: dict[int, list[SlotRecord]] = {}
        self._taken: PlainRequest | None = None  # the receive whose message was returned last
        self._landing: deque[tuple[PlainRequest, Message]] = deque()

    def acquire(self, dest: int) -> SlotRecord | None:
        """Take a slot for a request to `dest` and its reply; None while there is none."""
        free = self._free.get(dest)
        if free is None:
            free = self._free[dest] = []
        if not free:
            made = self._requests.records.get(dest, ())
            return self._requests.add(dest) if len(made) < self._credits else None
        record = free[-1]
        if record.sent is not None and not record.reusable():
            return None
        return free.pop()

    def send_request(self, dest: int, slot: SlotRecord, message: Message) -> None:
        """Post a request in a slot."""
        self._requests.post(slot, dest, message, self._reach[dest])

    def send_reply(self, request: Message, reply: Message) -> None:
        """Post the reply to `request`."""
        dest = request.source
        self._replies.post(self._replies.record(dest, request.slot), dest, reply, self._reach[dest])

    def take(self) -> Message | None:
        """Return the next message that has arrived; requests and replies take turns where both have."""
        taken = self._taken
        if taken is not None:
            self._taken = None
            taken.Start()
        if self._landing:
            landed = self._landed()
            if landed is not None:
                return landed
        while True:
            ring, other = self._rings
            if ring.request.Test():
                self._rings = (other, ring)
            elif other.request.Test():
                ring = other
            else:
                if self._requests.large is not None or self._replies.large is not None:
                    self._push()
                return None
            message = self._open(ring)
            if message is not None:
                return message

    def _open(self, ring: Ring) -> Message | None:
        """Return the message that a receive has brought, None where its payload is still on its way."""
        buffer = ring.buffer
        word, source, slot, nbytes, offset = _read(buffer)
        end = ARGS + (word >> ARGS_SHIFT & ARGS_MASK) * 4
        message = Message(
            word & KEPT, bytes(buffer[ARGS:end]) if end > ARGS else b"", b"", offset, nbytes, source, slot
        )
        taken = ring.request
        ring.advance()
        if nbytes and not word & PLACED:
            if word & APART:
                channel = self._requests if word & REQUEST else self._replies
                landing = channel.receive_payload(self._memory[offset : offset + nbytes], source, slot)
                taken.Start()
                if not self._pushed(landing):
                    self._landing.append((landing, message))
                    return None
            else:
                payload = memoryview(buffer)[BARE : BARE + nbytes]
                if word & LONG == LONG:
                    self._memory[offset : offset + nbytes] = payload
                else:
                    message.payload = payload  # until the next take
                self._taken = taken
        else:
            self._taken = taken
        if not word & REQUEST:
            self._free[source].append(self._requests.records[source][slot])
        return message

    def _landed(self) -> Message | None:
        """Return a message with its payload landed; looks at one of those that wait, each time at another."""
        request, message = self._landing[0]
        if not self._pushed(request):
            self._landing.rotate(-1)
            return None
        self._landing.popleft()
        if not message.word & REQUEST:
            self._free[message.source].append(self._requests.records[message.source][message.slot])
        return message

    def _push(self) -> None:
        """Let MPI go on with a large payload, which moves only while it is asked."""
        for channel in (self._requests, self._replies):
            if channel.large is not None and self._pushed(channel.large):
                channel.large = None

    def _pushed(self, request: PlainRequest) -> bool:
        """Return whether the transfer of a large payload is over, asking a bounded number of times."""
        for _ in self._pushes:  # noqa: SIM110  # a generator would be a call more for each time
            if request.Test():
                return True
        return False

    def slots_in_use(self) -> dict[int, int]:
        """Return how many slots to each rank are in use."""
        return {dest: len(made) - len(self._free.get(dest, ())) for dest, made in self._requests.records.items()}

    def landing(self) -> int:
        """Return how many messages wait for their payloads."""
        return len(self._landing)

    def close(self) -> None:
        """Give all back; every message has been handled everywhere."""
        if self._taken is not None:
            self._taken.Start()
        self._requests.close()
        self._replies.close()
