"""A collective rehearsed: its messages one by one on the model of the network, without their bytes.

Each rank has one CPU, which sends, takes and answers messages one after the other, as they come.  Ranks of a host share
the way out of it.  What an algorithm does is told as messages up or down a tree, or as steps between all ranks.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from extended.collectives import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from extended.collectives.algorithms.model import Model
    from extended.collectives.trees import Shape
    from extended.topology import Topology

WORDS = 28
"""Bytes of a message's arguments: team, call, tag and the three words of a signature, 4 each."""

GREETING, HEAD, ANSWER, ASK = -1, -2, -3, -4
"""Tags of what carries no data; of asking for data, less the data's tag."""

NOBODY = -1


class Rehearsed(NamedTuple):
    """A message between two ranks."""

    source: int
    dest: int
    nbytes: int
    tag: int
    near: bool  # within a host

    def asking(self) -> Rehearsed:
        """Return the message that asks for this one."""
        return Rehearsed(self.dest, self.source, 0, ASK - self.tag, self.near)


Messages = list[list[Rehearsed | None]]


class Step(NamedTuple):
    """What every rank does in a step of an exchange.

    Attributes:
        dests: whom each rank sends to, `NOBODY` for none; none is sent to by two.
        nbytes: what it sends.
        copied: bytes that it copies before.
    """

    dests: Sequence[int]
    nbytes: int
    copied: int = 0


class Rehearsal:
    """The CPUs of all ranks, and the messages that are on their way.

    Attributes:
        ended: when each rank has last sent or taken a message that is no answer.
        taken: called with a message, when its receiver has taken it.

    Args:
        model: of the network.
        hosts: where each rank is.
    """

    def __init__(self, model: Model, hosts: Sequence[int]) -> None:
        size = len(hosts)
        self._model, self._hosts = model, hosts
        self.ended = [0.0] * size
        self.taken: Callable[[Rehearsed], None] = _nothing
        self._free = [0.0] * size
        self._out = {host: 0.0 for host, ranks in Counter(hosts).items() if ranks > 1}
        self._posted: list[deque[Rehearsed]] = [deque() for _ in range(size)]
        self._events: list[tuple[float, int, Rehearsed | int]] = []
        self._number = 0
        self._asked: set[Rehearsed] = set()
        self._held: dict[Rehearsed, Rehearsed] = {}

    def greet(self) -> None:
        """Let every rank tell the next of the call."""
        size = len(self._free)
        for rank in range(size):
            self.send(self.between(rank, (rank + 1) % size, 0, GREETING))

    def between(self, source: int, dest: int, nbytes: int, tag: int) -> Rehearsed:
        """Return a message between two ranks, each where it is."""
        return Rehearsed(source, dest, nbytes, tag, self._hosts[source] == self._hosts[dest])

    def send(self, sent: Rehearsed) -> None:
        """Send behind what the sender has to send; large data when it has been asked for."""
        if sent.nbytes <= self._model.eager_bytes or sent.asking() in self._asked:
            self._post(sent)
        else:
            self._held[sent.asking()] = sent

    def receive(self, sent: Rehearsed) -> None:
        """Ask for data that is large."""
        if sent.nbytes > self._model.eager_bytes:
            self._post(sent.asking())

    def copy(self, rank: int, nbytes: int) -> None:
        """Let a rank copy."""
        self._free[rank] += nbytes * self._model.copy_byte

    def run(self) -> None:
        """Let all messages be sent and arrive."""
        while self._events:
            when, _, what = heappop(self._events)
            if isinstance(what, Rehearsed):
                self._take(when, what)
            elif when < self._free[what]:  # it has done something else meanwhile
                self._at(self._free[what], what)
            else:
                self._leave(self._posted[what].popleft())
                if self._posted[what]:
                    self._at(self._free[what], what)

    def _post(self, sent: Rehearsed) -> None:
        posted = self._posted[sent.source]
        posted.append(sent)
        if len(posted) == 1:
            self._at(self._free[sent.source], sent.source)

    def _at(self, when: float, what: Rehearsed | int) -> None:
        self._number += 1  # of equals the first one first
        heappush(self._events, (when, self._number, what))

    def _leave(self, sent: Rehearsed) -> None:
        source, carried = sent.source, sent.nbytes + WORDS
        way, begun, host = self._model.way(sent.nbytes, on_host=sent.near), self._free[source], self._hosts[source]
        count = way.messages(sent.nbytes)
        self._free[source] = self.ended[source] = begun + count * (way.poll + way.send) + carried * way.send_byte
        if not sent.near and host in self._out:
            begun = max(begun, self._out[host])
            self._out[host] = begun + carried * way.shared_byte
        later = (count - 1) * max(way.send, way.receive) + carried * (way.byte - way.receive_byte)
        self._at(begun + way.start - way.receive + later, sent)

    def _take(self, came: float, sent: Rehearsed) -> None:
        way, dest = self._model.way(sent.nbytes, on_host=sent.near), sent.dest
        begun = max(self._free[dest] + way.interrupt, came)
        if sent.tag == ANSWER:
            self._free[dest] = begun + way.receive
            return
        taken = begun + way.messages(sent.nbytes) * way.receive + (sent.nbytes + WORDS) * way.receive_byte
        self._free[dest] = self.ended[dest] = taken
        if way.answered:
            self._free[dest] += way.send
            self._at(taken + way.start - way.receive, Rehearsed(dest, sent.source, 0, ANSWER, sent.near))
        if sent.tag > ASK:
            self.taken(sent)
        elif sent in self._held:
            self._post(self._held.pop(sent))
        else:
            self._asked.add(sent)


def _nothing(sent: Rehearsed) -> None:
    """Take no note of a message."""


class _Exchange:
    """Steps that ranks go through, each at its own pace.

    Args:
        on: what they are rehearsed on.
        sends: by step and rank, the message that it sends, or None.
        comes: by step and rank, the message that it gets, or None.
        copied: by step, bytes that a rank copies before it sends.
        ahead, asked: as of `exchange`.
    """

    def __init__(
        self, on: Rehearsal, sends: Messages, comes: Messages, copied: Sequence[int], ahead: int, asked: int
    ) -> None:
        size = len(on.ended)
        self._on, self._sends, self._comes, self._copied = on, sends, comes, copied
        self._ahead, self._asked_ahead = ahead, asked
        self._step, self._sent, self._asked = [0] * size, [0] * size, [0] * size
        self._come: list[set[int]] = [set() for _ in range(size)]
        on.taken = self._take
        for rank in range(size):
            self._go_on(rank)
        on.run()

    def _take(self, sent: Rehearsed) -> None:
        self._come[sent.dest].add(sent.tag)
        self._go_on(sent.dest)

    def _go_on(self, rank: int) -> None:
        count = len(self._sends)
        while (now := self._step[rank]) < count:
            for number in range(self._asked[rank], min(count, now + 1 + self._asked_ahead)):
                self._asked[rank] = number + 1
                if (coming := self._comes[number][rank]) is not None:
                    self._on.receive(coming)
            for number in range(self._sent[rank], min(count, now + 1 + self._ahead)):
                self._sent[rank] = number + 1
                if (sent := self._sends[number][rank]) is not None:
                    self._on.copy(rank, self._copied[number])
                    self._on.send(sent)
            if self._comes[now][rank] is not None and now not in self._come[rank]:
                return
            self._step[rank] += 1


def exchange(
    model: Model, topology: Topology, steps: Sequence[Step], *, alike: bool = True, ahead: int = 0, asked: int = 0
) -> float:
    """Return what steps between all ranks take.

    Args:
        model: of the network.
        topology: of the team.
        steps: in their order.
        alike: whether the ranks of all hosts do the same, so that those of one are enough, who send to themselves
            what others send to them; where hosts have as many ranks each, side by side.
        ahead: steps whose messages are sent before the one that is waited for.
        asked: steps whose large data is asked for before the one that is waited for.
    """
    size, hosts = topology.size, topology.group_of
    each = len(topology.groups[0])
    some = each if alike and topology.contiguous and {each} == set(map(len, topology.groups)) else size
    sends: Messages = [[None] * some for _ in steps]
    comes: Messages = [[None] * some for _ in steps]
    for number, step in enumerate(steps):
        for rank in range(some):
            if (dest := step.dests[rank]) != NOBODY:
                sent = Rehearsed(rank, dest % some, step.nbytes, number, hosts[rank] == hosts[dest])
                sends[number][rank] = comes[number][dest % some] = sent
    rehearsal = Rehearsal(model, hosts[:some])
    _Exchange(rehearsal, sends, comes, [step.copied for step in steps], ahead, asked)
    return max(rehearsal.ended)


def down(model: Model, topology: Topology, shape: Shape, nbytes: Callable[[int], int]) -> float:
    """Return what messages down a tree take until all ranks have theirs.

    Args:
        model: of the network.
        topology: of the team.
        shape: of the tree.
        nbytes: of the message to a subtree of so many ranks.
    """
    on, nodes = Rehearsal(model, topology.group_of), trees.nodes(shape, topology)
    sizes = [nbytes(node.high - node.low) for node in nodes]

    def get_ready(rank: int) -> None:
        for child in nodes[rank].children:
            if sizes[child.rank] > model.eager_bytes:
                on.send(on.between(rank, child.rank, 0, HEAD))
        if (parent := nodes[rank].parent) is not None:
            on.receive(on.between(parent, rank, sizes[rank], 0))

    def pass_on(rank: int) -> None:
        on.copy(rank, nbytes(1))
        for child in nodes[rank].children:
            on.send(on.between(rank, child.rank, sizes[child.rank], 0))

    def take(sent: Rehearsed) -> None:
        if sent.tag == HEAD or (sent.tag == 0 and sizes[sent.dest] <= model.eager_bytes):
            get_ready(sent.dest)
        if sent.tag == 0:
            pass_on(sent.dest)

    on.taken = take
    on.greet()
    get_ready(0)
    pass_on(0)
    on.run()
    return max(on.ended)


def up(model: Model, topology: Topology, shape: Shape, nbytes: Callable[[int], int]) -> float:
    """Return what messages up a tree take until the root has them all; see `down`."""
    on, nodes = Rehearsal(model, topology.group_of), trees.nodes(shape, topology)
    left = [len(node.children) for node in nodes]

    def pass_on(rank: int) -> None:
        node = nodes[rank]
        if node.children:
            on.copy(rank, nbytes(1))
        if node.parent is not None:
            on.send(on.between(rank, node.parent, nbytes(node.high - node.low), 0))

    def take(sent: Rehearsed) -> None:
        if sent.tag == 0:
            left[sent.dest] -= 1
            if not left[sent.dest]:
                pass_on(sent.dest)

    on.taken = take
    on.greet()
    for rank, node in enumerate(nodes):
        for child in node.children:
            on.receive(on.between(child.rank, rank, nbytes(child.high - child.low), 0))
        if not node.children:
            pass_on(rank)
    on.run()
    return on.ended[0]
