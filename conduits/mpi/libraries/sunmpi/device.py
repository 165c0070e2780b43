"""How Sun MPI moves the messages of a rank.

By size: data in the postboxes themselves (short); data in blocks of the sender's pool that postboxes name, piece by
piece (long, eager); or a rendezvous: a postbox alone (request to send), the receiver's answer when it has found the
receive, and then the data in the same way.  Where there is no room for the data of a short or an eager message it goes
as a rendezvous.  So envelopes always get through, and all that a receiver keeps for others is bounded but for them.

A receiver takes every entry out of its postboxes at each poll, wanted or not, and acknowledges them; data in blocks
stay there until they are wanted.

Source: SIS 3, Q IV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import attrs

from conduit.sim import Store
from conduit.sim.memory import Buffer
from conduit.simnet.chain import Steps, sleep_until
from conduits.mpi.engine.device import LAST, MORE, NOTHING, Device, Matching, UntakenMessage
from conduits.mpi.engine.transfer import Mode, Receive, Send
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.sunmpi import wire
from conduits.mpi.libraries.sunmpi.connections import DeviceConfig, Inward, Outward, PiecewiseSend, PostboxArea
from conduits.mpi.libraries.sunmpi.incoming import Piece, SunmpiMessage
from conduits.mpi.libraries.sunmpi.looks import misses
from conduits.mpi.libraries.sunmpi.node import SunmpiNode
from conduits.mpi.libraries.sunmpi.pool import BufferPool
from conduits.mpi.libraries.sunmpi.repair import DeviceRepair
from conduits.mpi.libraries.sunmpi.wire import ALONE, INLINE, KIND, LINE, MODE, SEQUENCES, PostboxHeader
from conduits.rsm import Permission
from conduits.rsm.safe import SafeImport, Stores, safely, store
from conduits.sunfire.driver import SunfireProcess

_STANDARD, _SYNCHRONOUS = Mode.STANDARD, Mode.SYNCHRONOUS


@attrs.frozen
class SunmpiCosts:
    """What the protocol takes of the CPU beside stores and copies, picoseconds.

    Attributes:
        build_ps: making an entry.
        take_ps: taking an entry that is there.
        space_ps: finding blocks.
        reclaim_ps: each acknowledgement that is looked at, in the cache.
        fetch_ps: bringing there the first of consecutive ones that have come.
        fetch_next_ps: and each one behind it.
        poll_ps: a poll.
        head_ps: each queue that it looks at.
        directed: whether it looks at one queue alone.
    """

    build_ps: int
    take_ps: int
    space_ps: int
    reclaim_ps: int
    fetch_ps: int
    fetch_next_ps: int
    poll_ps: int
    head_ps: int
    directed: bool


class SunmpiDevice(Device):
    """One rank's end of Sun MPI.

    Args:
        engine: the rank's.
        config: job and options.
        costs: what the protocol takes.
        memory: what copies on the rank's host pass through.
        node: how messages to ranks of its host travel.
        process: the rank's use of the NIs.

    Attributes:
        memory: as given.
    """

    __slots__ = (
        "_areas", "_arrived", "_at_once", "_build_ps", "_coming", "_config", "_controller", "_costs", "_counts", "_cpu",
        "_directed", "_host", "_inward", "_kernel", "_layout", "_may_fail", "_misses", "_movable", "_node", "_on_host",
        "_outward", "_repair", "_sends", "_short", "_single", "_take_ps", "_turn", "_worker", "memory",
    )  # fmt: skip

    def __init__(
        self, engine: Matching, config: DeviceConfig, costs: SunmpiCosts, memory: HostMemory, node: SunmpiNode,
        process: SunfireProcess,
    ) -> None:  # fmt: skip
        super().__init__(engine)
        self._layout = config.layout
        self._single = min(config.layout.short, wire.SINGLE)  # bytes of the largest message in one postbox
        self._kernel, self._cpu, self._worker = engine.kernel, engine.cpu, engine.worker
        self._build_ps, self._take_ps, self._directed = costs.build_ps, costs.take_ps, costs.directed
        self._config = config
        self._costs = costs
        self.memory = memory
        self._node = node
        self._on_host = node.ready
        self.exchange = node.exchange
        self._host = engine.hosts[engine.rank]
        self._controller = config.cluster.controller(process)
        self._may_fail = process.fabric.may_fail
        self._at_once = -1 if self._may_fail else self._single  # bytes of the largest message that may go at once
        self._areas: dict[int, PostboxArea] = {}
        self._outward: dict[int, Outward] = {}
        self._inward: dict[int, Inward] = {}
        self._arrived: dict[Inward, None] = {}  # where there may be something to take
        self._movable: dict[Outward, None] = {}  # where there may be something to send
        self._sends: dict[int, Send] = {}  # that an answer will name
        self._coming: dict[tuple[int, int], SunmpiMessage] = {}  # of which not all is here
        self._turn = False  # whether the host's own messages are next
        self._short = 0  # messages that went in postboxes alone
        self._counts = {"eager": 0, "rendezvous": 0, "pieces": 0, "areas": 0}
        self._repair = DeviceRepair(process, engine.cpu, self._outward, self._inward, self._reclaimed)
        process.processor.alarm = self._alarm
        self.eager_limit = self._layout.pool.nbytes - self._layout.reserve
        on_host = engine.hosts.count(self._host) - 1
        self._misses = costs.poll_ps + (min(on_host, 1) if costs.directed else on_host) * costs.head_ps
        self.miss_ps = self._misses
        config.readers[self._host][config.cluster.place(engine.rank)] = self

    # -- conduits.mpi.engine.device.Device -----------------------------------------------------------

    def send_now(self, dest: int, context: int, source: int, tag: int, data: memoryview, number: int) -> bool:
        """Store a short message in one postbox, where nothing is in its way."""
        way, nbytes = self._outward.get(dest), len(data)
        if way is None or way.store is None or nbytes > self._at_once or not way.is_open(nbytes):
            return False
        cpu = self._cpu
        when = cpu.free + self._build_ps
        if not self._kernel.advance(when):
            return False
        cpu.free = when
        self._short += 1
        offset, line = way.place_single(_STANDARD, context, source, tag, number, data)
        self._worker.store_now(way.store, offset, line)
        return True

    def send(self, send: Send) -> None:
        """Begin a send, behind those to the same rank."""
        dest = send.dest
        way = self._outward.get(dest)
        if way is None:
            if self.engine.hosts[dest] == self._host:
                self._node.send(send)
                return
            way = self._connection_to(dest)
        if self._may_fail:
            self._repair.check(way.area.host)
        data, store, worker = send.data, way.store, self._worker
        if store is not None and len(data) <= self._single and way.is_open(len(data)) and worker.idle:
            if send.mode is _SYNCHRONOUS:
                self._sends[send.number] = send
            self._cpu.free += self._build_ps
            self._short += 1
            offset, line = way.place_single(send.mode, send.context, send.source, send.tag, send.number, data)
            worker.store(store, offset, line, self.engine.sent, send)  # as `_begin_short`, without the header
        elif way.waiting or not self._has_room(way, self._postboxes_of(send)):
            way.waiting.append(send)
        else:
            self._begin(way, send)

    def pending(self) -> bool:
        """Return whether anything has landed that was not looked at, or can be sent, or is to be repaired."""
        return bool(self._arrived or self._movable or self._repair.due or self._on_host)

    def progress(self, most: int = 1) -> int:
        """Do one thing: repair; else something of the host's own and of the network's, by turns."""
        arrived = self._arrived
        if self._movable or self._on_host or self._repair.due:
            return self._progress_by_turns()
        for connection in arrived:
            del arrived[connection]
            break
        else:
            return NOTHING
        if connection.landed == connection.head:
            self._turn = not self._turn
            return MORE if arrived else LAST
        if self._take(connection) and most > 1 and connection.landed == connection.head and len(arrived) == 1:
            arrived.clear()  # the look that finds nothing, and the turn that it takes, are made at once
            return LAST
        self._turn = not self._turn
        return MORE

    def _progress_by_turns(self) -> int:
        """Do one thing where there is something to repair, of the host's own, or to be sent."""
        if self._repair.due:
            self._worker.do(self._repair.steps())
            return MORE
        arrived, movable, on_host = self._arrived, self._movable, self._on_host
        self._turn = turn = not self._turn
        if arrived and not turn:
            connection = next(iter(arrived))
            del arrived[connection]
            if connection.landed != connection.head:
                self._take(connection)
        elif on_host and (turn or not movable):
            self._node.progress()
        else:
            way = next(iter(movable))
            del movable[way]
            if self._begin_waiting(way) or self._send_piece(way):
                movable[way] = None
        return MORE

    def quiet(self) -> bool:
        """Return whether nothing waits to be sent, and nothing can have been lost."""
        if self._may_fail and (self._repair.due or self._repair.unacknowledged()):
            return False
        return self._node.quiet() and not any(way.waiting or way.large for way in self._outward.values())

    def untaken(self) -> list[UntakenMessage]:
        """Return the messages in postboxes."""
        return [*self._node.untaken(), *(each for way in self._inward.values() for each in way.untaken())]

    def slots_in_use(self) -> Sequence[str]:
        """Describe what waits for room, and the blocks in use."""
        lines = list(self._node.slots_in_use())
        for peer, way in self._outward.items():
            if way.waiting:
                lines.append(f"{len(way.waiting)} messages wait for postboxes of the queue to rank {peer}")
        for host, area in self._areas.items():
            used = self._layout.pool.nbytes - area.pool.free_bytes
            if used:
                lines.append(f"{used} of {self._layout.pool.nbytes} bytes of the pool on host {host} are in use")
        return lines

    def statistics(self) -> Mapping[str, int]:
        """Return how many messages went in which way, and what was written again."""
        return {
            "mpi_short": self._short,
            **{f"mpi_{name}": count for name, count in self._counts.items()},
            "mpi_connections": len(self._outward) + len(self._inward),
            "mpi_repairs": self._repair.repairs,
            "mpi_retries": self._repair.lines,
            **{f"{name}_on_host": count for name, count in self._node.statistics().items()},
        }

    # -- connections ---------------------------------------------------------------------------------

    def _way(self, peer: int) -> Outward:
        """Return the connection to `peer`, which its first message makes."""
        return self._outward.get(peer) or self._connection_to(peer)

    def _connection_to(self, peer: int) -> Outward:
        """Make the connection to `peer`."""
        host, cluster = self.engine.hosts[peer], self._config.cluster
        area = self._areas.get(host)
        if area is None:
            area = self._areas[host] = PostboxArea(host, BufferPool(self._layout.pool))
        made = self._outward[peer] = Outward(peer, cluster.place(peer), area, self._layout, keep=self._may_fail)
        return made

    def _connect(self, way: Outward) -> Steps:
        """Set aside what the other acknowledges in, and have the area made on its host if there is none yet."""
        engine, area = self.engine, way.area
        yield sleep_until(engine.kernel, 0)
        acks = self._controller.export_create(self._layout.acks_bytes)
        acks.publish(self._acks_number(engine.rank, way.peer), {area.host: Permission.READ_WRITE})
        acks.landing = partial(self._acknowledged, area)
        way.acks = acks.memory
        if area.remote is None:
            yield partial(self._config.services[area.host].make_area, engine.rank, self._host)
            area.remote = SafeImport(self._controller.import_connect(area.host, engine.rank), self._host, area.host)
            self._counts["areas"] += 1
        way.store = area.remote.mapping.store
        yield sleep_until(engine.kernel, engine.cpu.free)  # what was published can be connected to from then on

    def _acks_number(self, sender: int, receiver: int) -> int:
        return self.engine.size * (1 + sender) + receiver

    def _connect_back(self, connection: Inward) -> Steps:
        """Import the sender's memory for acknowledgements."""
        yield sleep_until(self.engine.kernel, 0)
        host = self.engine.hosts[connection.peer]
        number = self._acks_number(connection.peer, self.engine.rank)
        connection.remote = SafeImport(self._controller.import_connect(host, number), self._host, host)
        connection.store = connection.remote.mapping.store

    def landed(self, source: int, memory: Store, offset: int, data: Buffer) -> None:
        """Take note that lines of rank `source` have landed in this rank's queue; the last act of an event."""
        connection = self._inward.get(source)
        if connection is None:
            base = self._config.cluster.place(self.engine.rank) * self._layout.queue_bytes
            connection = Inward(source, memory, base, self._layout, keep=self._may_fail)
            self._inward[source] = connection
            looks = 1 if self._directed else len(self._inward)
            self.miss_ps = self._misses + looks * self._costs.head_ps
            self.engine.miss_changed()
        connection.landed += len(data) // LINE
        connection.last = offset, data
        self._arrived[connection] = None
        arrived = self.engine.arrived
        arrived()

    def _acknowledged(self, area: PostboxArea, offset: int, data: Buffer) -> None:
        """Acknowledgements have landed: who waits for postboxes or blocks looks again; in an event."""
        for way in area.ways:
            if way.waiting or way.large:
                self._movable[way] = None
        if self._movable or self._may_fail:  # where parts may fail the end of the job waits for them too
            self.engine.notify()

    def _alarm(self) -> None:
        """The error register was written, or a host cannot be reached any more: the next poll looks."""
        self._repair.due = True
        self.engine.notify()

    # -- sending -------------------------------------------------------------------------------------

    def _postboxes_of(self, send: Send | PostboxHeader) -> int:
        """Return how many postboxes the first entry takes at most."""
        if not isinstance(send, Send):
            return 1
        nbytes = len(send.data)
        return wire.count(nbytes) if nbytes <= self._layout.short else self._layout.piece_postboxes

    def _has_room(self, way: Outward, postboxes: int) -> bool:
        """Return whether so many postboxes are free by now."""
        if way.room < postboxes:
            self._reclaim(way)
        return way.room >= postboxes

    def _reclaim(self, way: Outward) -> None:
        """Take back what the receiver has acknowledged."""
        self.engine.charge(self._reclaimed(way))

    def _reclaimed(self, way: Outward) -> int:
        """Take back what the receiver has acknowledged; return the CPU time of it, picoseconds."""
        looks, come, runs = way.reclaim()
        costs = self._costs
        return looks * costs.reclaim_ps + runs * costs.fetch_ps + (come - runs) * costs.fetch_next_ps

    def _may_keep(self, way: Outward, nbytes: int) -> bool:
        """Return whether the receiver has room for a short message that it does not want yet."""
        if way.may_keep(nbytes):
            return True
        if way.look_taken():
            self.engine.charge(self._costs.reclaim_ps + self._costs.fetch_ps)
            if way.may_keep(nbytes):
                return True
        self._reclaim(way)
        return way.may_keep(nbytes)

    def _blocks(self, area: PostboxArea, sizes: Sequence[int], keep: int = 0) -> list[tuple[int, ...]] | None:
        """Return blocks for pieces; None where not all fit."""
        self.engine.charge(self._costs.space_ps)
        found = area.pool.allocate(sizes, keep)
        if found is None:
            for way in area.ways:
                self._reclaim(way)
            found = area.pool.allocate(sizes, keep)
        return found

    def _begin(self, way: Outward, send: Send) -> None:
        """Send what says that there is a message, and the data where there is room for them."""
        layout, nbytes = self._layout, len(send.data)
        kind, blocks = wire.REQUEST, None
        if nbytes <= layout.short:
            if self._may_keep(way, nbytes):
                self._begin_short(way, send, nbytes)
                return
        elif layout.rendezvous is None or nbytes < layout.rendezvous:
            sizes = [min(layout.piece, nbytes - start) for start in range(0, nbytes, layout.piece)]
            blocks = self._blocks(way.area, sizes, layout.reserve)
            kind = wire.REQUEST if blocks is None else wire.EAGER
        self._counts["eager" if kind == wire.EAGER else "rendezvous"] += 1
        if kind == wire.REQUEST or send.mode == _SYNCHRONOUS:
            self._sends[send.number] = send
        first = blocks[0] if blocks else ()
        header = PostboxHeader(kind, send.mode, len(first), send.context, send.source, send.tag, nbytes, send.number, 0)
        way.room -= wire.count(wire.POINTER * len(first))
        self.engine.worker.do(self._send_message(way, send, header, first))
        if blocks is not None and len(blocks) > 1:
            large = PiecewiseSend(send, nbytes, layout.piece)
            large.blocks.extend(blocks[1:])
            way.large.append(large)
            self._movable[way] = None
            self.engine.notify()

    def _begin_short(self, way: Outward, send: Send, nbytes: int) -> None:
        """Send a short message with its data: by a connection that there is, nearly always one store."""
        engine, worker, remote = self.engine, self._worker, way.area.remote
        way.short += nbytes
        self._short += 1
        if send.mode == _SYNCHRONOUS:
            self._sends[send.number] = send
        header = PostboxHeader(wire.INLINE, send.mode, 0, send.context, send.source, send.tag, nbytes, send.number, 0)
        way.room -= wire.count(nbytes)
        if way.store is None or remote is None or not worker.idle:
            worker.do(self._send_message(way, send, header, ()))
            return
        engine.cpu.free += self._costs.build_ps
        stores = way.place(header, bytes(send.data), ())
        if len(stores) == 1:
            ((offset, lines),) = stores
            worker.store(way.store, offset, lines, engine.sent, send)
        else:
            worker.do(self._store_short(remote, stores, send))

    def _store_short(self, remote: SafeImport, stores: Stores, send: Send) -> Steps:
        for offset, lines in stores:
            yield store(remote, offset, lines)
        self.engine.sent(send)

    def _send_message(self, way: Outward, send: Send, header: PostboxHeader, blocks: tuple[int, ...]) -> Steps:
        if way.acks is None:
            yield from self._connect(way)
        rest = b""
        if header.kind == wire.INLINE:
            rest = bytes(send.data)
        elif blocks:
            size = min(self._layout.piece, header.nbytes)
            yield from self._fill(way.area, blocks, send.data[:size])
            rest = wire.pointers(blocks)
        yield from self._post(way, header, rest, blocks)
        if header.kind == wire.INLINE or (header.kind == wire.EAGER and header.nbytes <= self._layout.piece):
            self.engine.sent(send)

    def answer(self, peer: int, header: PostboxHeader) -> None:
        """Send an entry that is no message, once there is room."""
        way = self._way(peer)
        if way.waiting or not self._has_room(way, 1):
            way.waiting.append(header)
        else:
            way.room -= 1
            self.engine.worker.do(self._send_answer(way, header))

    def tell_matched(self, peer: int, sent: int) -> None:
        """Tell the sender of a synchronous message that its receive was found."""
        self.answer(peer, wire.about(wire.MATCHED, sent))

    def _send_answer(self, way: Outward, header: PostboxHeader) -> Steps:
        if way.acks is None:
            yield from self._connect(way)
        yield from self._post(way, header)

    def _post(self, way: Outward, header: PostboxHeader, rest: bytes = b"", blocks: tuple[int, ...] = ()) -> Steps:
        """Store an entry behind the last one."""
        self.engine.cpu.free += self._costs.build_ps
        remote = way.area.remote
        assert remote is not None
        for offset, lines in way.place(header, rest, blocks):
            yield store(remote, offset, lines)

    def _fill(self, area: PostboxArea, blocks: tuple[int, ...], data: memoryview) -> Steps:
        """Copy a piece into its blocks, behind a barrier."""
        stores: Stores = []
        at = 0
        for block in blocks:
            part = bytes(data[at : at + area.pool.shape.size(block)])
            stores.append((self._layout.block_at(block), part.ljust(-(-len(part) // LINE) * LINE, b"\0")))
            at += len(part)
        assert area.remote is not None
        yield from safely(area.remote, stores, LINE, self._repair.retried, announced=True)

    def _begin_waiting(self, way: Outward) -> bool:
        """Send the first that waits for postboxes."""
        if not way.waiting or not self._has_room(way, self._postboxes_of(way.waiting[0])):
            return False
        first = way.waiting.popleft()
        if isinstance(first, Send):
            self._begin(way, first)
        else:
            way.room -= 1
            self.engine.worker.do(self._send_answer(way, first))
        return True

    def _send_piece(self, way: Outward) -> bool:
        """Send the next piece of a long message; several to one rank take turns."""
        if not way.large or way.waiting or not self._has_room(way, self._layout.piece_postboxes):
            return False
        large = way.large[0]
        size = min(self._layout.piece, large.wanted - large.stored)
        if large.blocks:
            blocks = large.blocks.popleft()
        else:
            found = self._blocks(way.area, [size])
            if found is None:
                return False
            blocks = found[0]
        way.large.popleft()
        start = large.stored
        large.stored += size
        last = large.stored == large.wanted
        if not last:
            way.large.append(large)
        way.room -= wire.count(wire.POINTER * len(blocks))
        self._counts["pieces"] += 1
        self.engine.worker.do(self._send_data(way, large.send, start, size, blocks, last))
        return True

    def _send_data(self, way: Outward, send: Send, start: int, size: int, blocks: tuple[int, ...], last: bool) -> Steps:
        yield from self._fill(way.area, blocks, send.data[start : start + size])
        header = wire.about(wire.DATA, send.number, size, blocks=len(blocks))
        yield from self._post(way, header, wire.pointers(blocks), blocks)
        if last:
            self.engine.sent(send)

    # -- receiving -----------------------------------------------------------------------------------

    def _take_postboxes(self, connection: Inward, count: int) -> None:
        """Take the postboxes of an entry out of a queue."""
        if self._directed:
            self._look(connection)
        self._arrived[connection] = None
        self._cpu.free += self._take_ps
        connection.head += count

    def _take(self, connection: Inward) -> bool:
        """Take the next entry of a queue, if all of it is there; return whether nothing is left to do for it."""
        # Nearly always it is a short message in one postbox, and its receive is there: no object is made of it.
        flag, number, what, context, source, tag, nbytes, sent, _, data = connection.peek_single()
        first = connection.head
        if not (flag == ALONE and number == first % SEQUENCES and what & KIND == INLINE):
            lines = connection.peek()
            if lines:
                self._take_postboxes(connection, len(lines))
                self._take_entry(connection, lines, first)
            return False
        if self._directed:  # as `_take_postboxes`, in which a call would cost
            self._look(connection)
        self._arrived[connection] = None
        self._cpu.free += self._take_ps
        connection.head = first + 1
        receive = self.engine.take_posted(context, source, tag, nbytes)
        mode = what >> MODE  # there are no blocks
        if receive is not None and receive.room and self._worker.idle:
            size = receive.room
            receive.data[:size] = data[:size]
            if mode == _SYNCHRONOUS:
                self._copied_short(connection, receive, first, False)
                self.tell_matched(connection.peer, sent)
                return False
            return self._copied_short(connection, receive, first, True)
        message = SunmpiMessage(
            self, connection, PostboxHeader(INLINE, mode, 0, context, source, tag, nbytes, sent, 0), data
        )
        message.pieces.append(Piece(first, 1, (), nbytes))
        message.left = 0
        if receive is None:
            self.engine.keep(message)
        else:
            message.deliver(receive)
        return False

    def _copied_short(self, connection: Inward, receive: Receive, first: int, last: bool) -> bool:
        """Charge the copy of a short message to its place, end its receive, and acknowledge its postbox.

        Args:
            connection: that it has come by.
            receive: that it was copied to, with the worker idle.
            first: number of the postbox.
            last: whether the device does no more; then it is acknowledged at once, where that is possible.

        Returns:
            Whether that was done.
        """
        cpu, worker, store = self._cpu, self._worker, connection.store
        cpu.free += self.engine.host.copy_ticks(receive.room)
        self.engine.received(receive)
        offset, line = connection.acknowledge_single(first)
        if store is None:
            worker.do(self.store_back(connection, [(offset, line)]))
        elif last and worker.passing and self._kernel.advance(cpu.free):
            worker.store_now(store, offset, line)
            return worker.idle
        else:
            worker.store(store, offset, line)
        return False

    def _take_entry(self, connection: Inward, lines: Sequence[bytes], first: int) -> None:
        """Take an entry that is not a short message in one postbox."""
        count = len(lines)
        header, rest = wire.decode(lines)
        if header.kind <= wire.REQUEST:
            self._take_message(connection, header, rest, first, count)
        elif header.kind == wire.DATA:
            message = self._coming[connection.peer, header.send]
            piece = Piece(first, count, wire.blocks_of(header, rest), header.nbytes)
            message.left -= piece.nbytes
            if not message.left:
                del self._coming[connection.peer, header.send]
            message.come(piece)
        else:
            self.engine.worker.do(self.acknowledge(connection, first, count))
            send = self._sends.pop(header.send)
            if header.kind == wire.ACK:
                if header.nbytes:
                    way = self._way(connection.peer)
                    way.large.append(PiecewiseSend(send, header.nbytes))
                    self._movable[way] = None
                else:
                    self.engine.sent(send)
            self.engine.matched(send)

    def _take_message(self, connection: Inward, header: PostboxHeader, rest: bytes, first: int, count: int) -> None:
        message = SunmpiMessage(self, connection, header, rest)
        if header.kind == wire.REQUEST:
            self.engine.worker.do(self.acknowledge(connection, first, count))
        else:
            blocks: tuple[int, ...] = ()
            size = header.nbytes
            if header.kind == wire.EAGER:
                blocks, size = wire.blocks_of(header, rest), min(self._layout.piece, size)
            message.pieces.append(Piece(first, count, blocks, size))
            message.left -= size
            if message.left:
                self.expect(message)
        self.engine.arrive(message)

    def _look(self, connection: Inward) -> None:
        """Take the CPU for the looks at other queues before the one at this."""
        engine, named = self.engine, self.engine.named()
        waited = [each is connection for each in self._inward.values() if each.peer in named]
        others = [each is connection for each in self._inward.values() if each.peer not in named]
        engine.cpu.free += misses(waited, others, engine.cpu.free // self.miss_ps) * self.miss_ps

    def expect(self, message: SunmpiMessage) -> None:
        """Take note that more of a message is to come."""
        self._coming[message.origin, message.send] = message

    def acknowledge(self, connection: Inward, first: int, count: int, state: int = wire.FREED) -> Steps:
        """Acknowledge postboxes."""
        yield from self.store_back(connection, connection.acknowledge(first, count, state))

    def store_back(self, connection: Inward, stores: Stores) -> Steps:
        """Store to a sender, by the connection back, which the first time makes."""
        if connection.remote is None:
            yield from self._connect_back(connection)
        assert connection.remote is not None
        for offset, lines in stores:
            yield store(connection.remote, offset, lines)
