"""What collectives take, reckoned message by message: a CPU for each rank that does one thing at a time.

An algorithm is a generator for each rank of `("send", to, nbytes)`, `("receive", from, nbytes)`, `("wait",)` and
`("work", us)`, written down from the textbooks and not from the library.  Messages are on their way for as long as the
pair takes; links keep nobody waiting.  Times are in microseconds.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil


@dataclass
class Costs:
    """What a library takes of the CPU, and what messages take on their way.

    Attributes:
        poll: looking in vain.
        call: beginning a send or a receive.
        send: of so many bytes, behind the call, up to the last byte that is stored.
        way: between two ranks, from there until the receiver can see it.
        take: a message that is there, up to its match.
        match: each comparison.
        copy: so many bytes.
        answer: what the receiver stores for so many.
        complete: the end of a send or a receive.
    """

    poll: float
    call: float
    send: Callable[[int], float]
    way: Callable[[int, int], float]
    take: float
    match: float
    copy: Callable[[int], float]
    answer: Callable[[int], float]
    complete: float


class _Rank:
    def __init__(self, number, program, start):
        self.number, self.program, self.free = number, program, start
        self.landed, self.unexpected, self.posted = deque(), [], []
        self.waiting = self.polling = False
        self.end = None


class Model:
    """Ranks that run one program.

    Args:
        costs: of the library.
        program: makes a rank's generator.
        starts: when each rank begins.
    """

    STEPS = 10  # messages that one poll takes

    def __init__(self, costs, program, starts):
        self.costs, self.events, self.number = costs, [], 0
        self.ranks = [_Rank(number, program(number), start) for number, start in enumerate(starts)]

    def run(self):
        """Return when each rank is through."""
        for rank in self.ranks:
            self._at(rank.free, self._begin, rank)
        while self.events:
            when, _, act, args = heapq.heappop(self.events)
            act(when, *args)
        return [rank.end for rank in self.ranks]

    def _at(self, when, act, *args):
        self.number += 1
        heapq.heappush(self.events, (when, self.number, act, args))

    def _begin(self, when, rank):
        rank.free = when + self.costs.poll
        self._at(rank.free, self._poll, rank, self.STEPS)

    def _poll(self, when, rank, steps):
        """Take what has landed by now, one by one; then go on, unless what is waited for has not come."""
        if steps and rank.landed and (rank.posted or not rank.waiting):
            self._take(rank, *rank.landed.popleft())
            self._at(rank.free, self._poll, rank, steps - 1)
        elif not (rank.waiting and rank.posted):
            rank.waiting = False
            self._go_on(rank)
        else:
            rank.polling = False
            if rank.landed:
                self._look(when, rank)

    def _go_on(self, rank):
        for what, *args in rank.program:
            if what == "wait":
                if rank.posted:
                    rank.waiting, rank.polling = True, False
                    self._at(rank.free, self._look, rank)
                    return
            elif what == "work":
                rank.free += args[0]
            else:
                rank.free += self.costs.call
                (self._send if what == "send" else self._receive)(rank, *args)
        rank.end = rank.free

    def _send(self, rank, to, nbytes):
        rank.free += self.costs.send(nbytes)
        self._at(rank.free + self.costs.way(rank.number, to), self._land, self.ranks[to], (rank.number, nbytes))
        rank.free += self.costs.complete

    def _receive(self, rank, source, nbytes):
        message = source, nbytes
        if message in rank.unexpected:
            place = rank.unexpected.index(message)
            del rank.unexpected[place]
            rank.free += (place + 1) * self.costs.match + self.costs.copy(nbytes) + self.costs.complete
        else:
            rank.free += len(rank.unexpected) * self.costs.match
            rank.posted.append(message)

    def _land(self, when, rank, message):
        rank.landed.append(message)
        if rank.waiting and not rank.polling:  # the first look from then on
            looks = max(0, ceil((when - rank.free) / self.costs.poll))
            self._at(max(when, rank.free + looks * self.costs.poll), self._look, rank)

    def _look(self, when, rank):
        if rank.waiting and not rank.polling and rank.landed:
            rank.polling = True
            self._begin(when, rank)

    def _take(self, rank, source, nbytes):
        message, costs = (source, nbytes), self.costs
        rank.free += costs.take + costs.copy(nbytes) + costs.answer(nbytes)
        if message in rank.posted:
            place = rank.posted.index(message)
            del rank.posted[place]
            rank.free += (place + 1) * costs.match + costs.complete
        else:
            rank.free += len(rank.posted) * costs.match
            rank.unexpected.append(message)


# -- algorithms, for `size` ranks and `nbytes` of each ---------------------------------------------------------


def dissemination(size, nbytes, copy):
    def program(rank):
        distance = 1
        while distance < size:
            yield "receive", (rank - distance) % size, 0
            yield "send", (rank + distance) % size, 0
            yield ("wait",)
            distance *= 2

    return program


def linear_broadcast(size, nbytes, copy):
    def program(rank):
        if rank:
            yield "receive", 0, nbytes
            yield ("wait",)
        else:
            for each in range(1, size):
                yield "send", each, nbytes

    return program


def binomial_broadcast(size, nbytes, copy):
    def program(rank):
        bit = 1
        while bit < size and not rank & bit:
            bit *= 2
        if rank:
            yield "receive", rank - bit, nbytes
            yield ("wait",)
        while bit > 1:
            bit //= 2
            if rank + bit < size:
                yield "send", rank + bit, nbytes

    return program


def binomial_reduction(size, nbytes, copy):
    def program(rank):
        yield "work", copy(nbytes)  # of the operand, which is not to change
        bit = 1
        while bit < size:
            if rank & bit:
                yield "send", rank - bit, nbytes
                return
            if rank + bit < size:
                yield "receive", rank + bit, nbytes
                yield ("wait",)
                yield "work", copy(nbytes)
            bit *= 2
        yield "work", copy(nbytes)  # the result, which lies where the last operand has come

    return program


def recursive_doubling(size, nbytes, copy):
    most = 1 << (size.bit_length() - 1)
    extra = size - most

    def program(rank):
        yield "work", copy(nbytes)
        if rank < 2 * extra and rank % 2 == 0:
            yield "send", rank + 1, nbytes
            yield "receive", rank + 1, nbytes
            yield ("wait",)
            return
        number = rank - extra
        if rank < 2 * extra:
            number = rank // 2
            yield "receive", rank - 1, nbytes
            yield ("wait",)
            yield "work", copy(nbytes)
        distance = 1
        while distance < most:
            other = number ^ distance
            peer = 2 * other + 1 if other < extra else other + extra
            yield "receive", peer, nbytes
            yield "send", peer, nbytes
            yield ("wait",)
            yield "work", copy(nbytes)
            distance *= 2
        if rank < 2 * extra:
            yield "send", rank - 1, nbytes
        yield "work", copy(nbytes)  # as in a reduction to a root

    return program


def ring(size, nbytes, copy):
    def program(rank):
        yield "work", copy(nbytes)
        for _ in range(size - 1):
            yield "receive", (rank - 1) % size, nbytes
            yield "send", (rank + 1) % size, nbytes
            yield ("wait",)

    return program


def linear_exchange(size, nbytes, copy):
    def program(rank):
        for each in reversed(range(1, size)):
            yield "receive", (rank + each) % size, nbytes
        for each in range(1, size):
            yield "send", (rank + each) % size, nbytes
        yield "work", copy(nbytes)
        yield ("wait",)

    return program


def pairwise_exchange(size, nbytes, copy):
    def program(rank):
        yield "work", copy(nbytes)
        for distance in range(1, size):
            yield "receive", (rank - distance) % size, nbytes
            yield "send", (rank + distance) % size, nbytes
            yield ("wait",)

    return program


def linear_gather(size, nbytes, copy):
    def program(rank):
        if rank:
            yield "send", 0, nbytes
        else:
            for each in range(1, size):
                yield "receive", each, nbytes
            yield "work", copy(nbytes)
            yield ("wait",)

    return program


def linear_scatter(size, nbytes, copy):
    def program(rank):
        if rank:
            yield "receive", 0, nbytes
            yield ("wait",)
        else:
            for each in range(1, size):
                yield "send", each, nbytes
            yield "work", copy(nbytes)

    return program
