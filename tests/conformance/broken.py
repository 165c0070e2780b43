"""Conduits with one fault each, made from loggp: the suite must find every one of them.

A fault shows only now and then, as faults do: every seventh message, or only in payloads of some size.
"""

import attrs

from conduits.loggp import Loggp
from conduits.loggp.port import LoggpTransport

SEVENTH = 7
REPLY = 0


class _Transport(LoggpTransport):
    """Counts what arrives, so that a fault can show now and then."""

    __slots__ = ("count",)

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        self.count = 0

    def due(self):
        self.count += 1
        return self.count % SEVENTH == 0

    def land(self, name, slot, payload, offset):
        super().arrive(name, slot, payload, offset)


class _Drops(_Transport):
    def arrive(self, name, slot, payload, offset):
        if not self.due():
            self.land(name, slot, payload, offset)


class _Twice(_Transport):
    """Shows every seventh request a second time."""

    def take(self):
        again = self.arrived[0] if self.arrived else None
        message = super().take()
        if message is not None and again[0][1] and self.due():
            self.arrived.append(again)
        return message


class _Corrupts(_Transport):
    """Turns one bit of a payload over."""

    def arrive(self, name, slot, payload, offset):
        if payload and self.due():
            payload = payload[:-1] + bytes([payload[-1] ^ 1])
        self.land(name, slot, payload, offset)


class _FlagsFirst(_Transport):
    """Raises the flag before any byte of a long payload is there."""

    def arrive(self, name, slot, payload, offset):
        self.land(name, slot, b"", offset)
        if payload:
            memory = self.port.memory
            self.port.kernel.at(self.port.kernel.now + 3_000_000, _store, memory, payload, offset)


class _TailLate(_Transport):
    """Runs the handler before the end of a longer payload has come."""

    def arrive(self, name, slot, payload, offset):
        cut = len(payload) - len(payload) % 64 if len(payload) > 256 else len(payload)
        self.land(name, slot, payload[:cut], offset)
        if payload[cut:]:
            memory = self.port.memory
            self.port.kernel.at(self.port.kernel.now + 3_000_000, _store, memory, payload[cut:], offset + cut)


class _LosesSlots(_Transport):
    """Does not free the slot of every seventh reply."""

    def take(self):
        name, _ = self.arrived[0] if self.arrived else (None, None)
        message = super().take()
        if message is not None and name[1] == REPLY and self.due():
            self.free[name[0]].pop()
        return message


class _Rounds(_Transport):
    """Writes long payloads from the next lower multiple of eight on."""

    def arrive(self, name, slot, payload, offset):
        self.land(name, slot, payload, offset & ~7 if payload else offset)


class _Overruns(_Transport):
    """Writes long payloads in whole words, with zeros behind the end."""

    def arrive(self, name, slot, payload, offset):
        room = len(self.port.memory) - offset
        self.land(name, slot, (payload + bytes(-len(payload) % 8))[: max(room, 0)] if payload else payload, offset)


class _Past(_Transport):
    """Schedules what is past."""

    def send(self, dest, slot, message, then):
        super().send(dest, slot, message, then)
        if self.due():
            self.port.kernel.at(self.port.kernel.now - 1_000, list)


class _Starves(_Transport):
    """Gives replies no room of their own: they wait while this rank's requests take up all slots."""

    __slots__ = ("waiting",)

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        self.waiting = []

    def send_reply(self, request, reply, then):
        if sum(self.slots - len(free) for free in self.free.values()) >= self.slots:
            self.waiting.append((request, reply))
            then()
        else:
            super().send_reply(request, reply, then)

    def take(self):
        # Nothing is handled while a reply waits, and so no slot becomes free either.
        return None if self.waiting else super().take()


class _Hastens(_Transport):
    """Sends at once, before the CPU time is spent that stands before it."""

    def send(self, dest, slot, message, then):
        self.port.cpu.free += self.send_ps
        self.port.kernel.at(self.port.kernel.now, self.inject, dest, slot, message, then)


class _Denies(_Transport):
    """Says that all messages have been handled."""

    def undelivered(self):
        return 0


class _Insists(_Transport):
    """Has room for a few messages only at the receiver, and tries again and again until there is some."""

    def arrive(self, name, slot, payload, offset):
        if len(self.arrived) >= 4:
            kernel = self.port.kernel
            kernel.at(kernel.now + 1_000_000_000, self.arrive, name, slot, payload, offset)  # after a millisecond
        else:
            self.land(name, slot, payload, offset)


class _FreesTwice(_Transport):
    """Gives the slot of every seventh reply back twice."""

    def take(self):
        name, _ = self.arrived[0] if self.arrived else (None, None)
        message = super().take()
        if message is not None and name[1] == REPLY and self.due():
            self.free[name[0]].append(name[2])
        return message


class _ByHash(_Transport):
    """Takes what has come in the order of hashes of strings."""

    def take(self):
        if self.arrived:
            first = min(self.arrived, key=lambda each: hash(str(each)))
            self.arrived.remove(first)
            self.arrived.appendleft(first)
        return super().take()


class _TakesForNothing(_Transport):
    """Does not charge what it takes to take a message."""

    def take(self):
        before = self.cpu.free
        message = super().take()
        self.cpu.free = before
        return message


class _NamesSlots(_Transport):
    """Tells of unhandled messages the slot as their source."""

    def unhandled(self):
        return [each._replace(source=7) for each in super().unhandled()]


class _NotifiesAhead(_Transport):
    """Tells the receiver at once, before the message is there."""

    def send(self, dest, slot, message, then):
        super().send(dest, slot, message, then)
        self.conduit.transports[dest].port.notify()


class _Remains(_Transport):
    """Looks behind a message for the flag of one that is still on its way; an old payload may have left one there."""

    __slots__ = ("boxes",)

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        self.boxes = {}

    def arrive(self, name, slot, payload, offset):
        box = self.boxes.setdefault(name, bytearray(1 << 17))
        behind = len(slot) + -len(slot) % 8
        flag = box[behind : behind + 4]
        box[: len(slot)] = slot
        if flag != b"\x01\x00\x00\x00":
            self.land(name, slot, payload, offset)


def _store(memory, payload, offset):
    memory.write(offset, payload)


class Sound(Loggp):
    """No fault at all: what the suite says of the others is not due to this file."""

    name = "sound"
    transport = _Transport

    def make_transport(self, port):
        return self.transport(port, self)


def _broken(name, transport, **more):
    return type(name.title(), (Sound,), {"name": name, "transport": transport, "__doc__": transport.__doc__, **more})


def _said(**figures):
    """Give a `costs` that says something else of messages between hosts."""

    @classmethod
    def costs(cls, options):
        sound = Sound.costs(options)
        off_host = {name: getattr(sound.off_host, name) * by for name, by in figures.items() if name != "copy_byte"}
        copy_byte = sound.copy_byte if "copy_byte" not in figures else 1 / sound.copy_byte
        return attrs.evolve(sound, off_host=attrs.evolve(sound.off_host, **off_host), copy_byte=copy_byte)

    return costs


TRANSPORTS = {
    "drops": _Drops,
    "twice": _Twice,
    "corrupts": _Corrupts,
    "flags_first": _FlagsFirst,
    "tail_late": _TailLate,
    "loses_slots": _LosesSlots,
    "rounds": _Rounds,
    "overruns": _Overruns,
    "past": _Past,
    "starves": _Starves,
    "hastens": _Hastens,
    "denies": _Denies,
    "insists": _Insists,
    "remains": _Remains,
    "frees_twice": _FreesTwice,
    "by_hash": _ByHash,
    "takes_for_nothing": _TakesForNothing,
    "names_slots": _NamesSlots,
    "notifies_ahead": _NotifiesAhead,
}
globals().update({name: _broken(name, transport) for name, transport in TRANSPORTS.items()})
COSTS = {
    "says_microseconds": _said(start=1e6),
    "says_bytes_per_ns": _said(long_byte=1e-9),
    "says_copy_rate": _said(copy_byte=0),
}
globals().update({name: _broken(name, _Transport, costs=costs) for name, costs in COSTS.items()})
