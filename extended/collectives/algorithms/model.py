"""What is known of the network where a collective chooses its algorithm: what the network says its messages cost.

Source: the model is that of A. Alexandrov, M. Ionescu, K. Schauser and C. Scheiman, LogGP (1995).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from conduit import Endpoint
    from extended.collectives.staging import Staging
    from extended.topology import Topology

    Estimate = Callable[["Model", Topology, int], float]
    """Returns what an algorithm takes among the ranks of a team with so many bytes of each, seconds."""


@attrs.frozen
class PairEstimate:
    """Messages between two ranks; seconds.

    Attributes:
        start: of a short message.
        send: of it, the sender's share.
        receive: of it, the receiver's share.
        byte: each byte of a payload.
        send_byte: of it, what keeps the sender from the next message.
        receive_byte: of it, what keeps the receiver.
        answered: whether each message is answered by a short one.
        most: bytes of one message at most.
        flight_bytes: on their way from one rank to another at most.
        crowd_bytes: on their way to one rank from all, beyond which they are sent twice.
        shared_byte: of `byte`, what is on the way out of a host, which its ranks share.
        poll: before each message, of the sender.
        interrupt: of a message that comes to a receiver that is busy, besides.
    """

    start: float
    send: float
    receive: float
    byte: float
    send_byte: float
    receive_byte: float
    answered: bool
    most: int
    flight_bytes: float
    crowd_bytes: float
    shared_byte: float
    poll: float
    interrupt: float

    def messages(self, nbytes: int) -> int:
        """Return how many messages that many bytes take."""
        return max(1, -(-nbytes // self.most))

    def sender(self, nbytes: int) -> float:
        """Return what a sender is taken for: its messages and the bytes."""
        return self.messages(nbytes) * self.send + nbytes * self.send_byte


@attrs.frozen
class Model:
    """What is known of the network, the same on every rank.

    Attributes:
        on_host, off_host: the two ways, of small data.
        on_host_large, off_host_large: of data that is asked for first.
        copy_byte: seconds of a byte that is copied.
        eager_bytes: data up to here is sent at once.
    """

    on_host: PairEstimate
    off_host: PairEstimate
    on_host_large: PairEstimate
    off_host_large: PairEstimate
    copy_byte: float
    eager_bytes: int

    def way(self, nbytes: int, *, on_host: bool) -> PairEstimate:
        """Return how that many bytes go."""
        if nbytes > self.eager_bytes:
            return self.on_host_large if on_host else self.off_host_large
        return self.on_host if on_host else self.off_host

    def asked(self, *, on_host: bool) -> float:
        """Return what asking for large data takes."""
        return (self.on_host if on_host else self.off_host).start

    def transfer(self, way: PairEstimate, nbytes: int, sharing: int = 1) -> float:
        """Return the time from sending data until it has been received, with that many ranks on the way out."""
        count = way.messages(nbytes)
        return way.start + (count - 1) * max(way.send, way.receive) + sharing * nbytes * way.byte


def rounded(nbytes: int, eager_bytes: int) -> int:
    """Return the power of two that stands for so many bytes, `eager_bytes` at most where these are sent at once."""
    power = 1 << (nbytes - 1).bit_length() if nbytes else 0
    return min(power, eager_bytes) if nbytes <= eager_bytes else power


def model_of(ep: Endpoint, medium_bytes: int, eager_bytes: int, staging: Staging) -> Model | None:
    """Return what the network says of itself, None where that is not enough.

    Args:
        ep: the endpoint.
        medium_bytes: most bytes of one medium message of a collective.
        eager_bytes: data up to here is sent at once.
        staging: says whether larger data comes by way of the memory behind the segment.
    """
    costs = ep.costs
    if costs.on_host is None or costs.off_host is None or costs.copy_byte is None:
        return None
    staged = tuple(
        staging.pays(staging.slot_bytes, on_host=on_host) and staging.has_room() for on_host in (True, False)
    )
    return _model(
        costs.on_host, costs.off_host, costs.copy_byte, medium_bytes, eager_bytes, staging.slot_bytes, *staged
    )


@lru_cache(maxsize=64)  # every rank of a job asks for the same one
def _model(
    on: Any,
    off: Any,
    copy_byte: float,
    medium_bytes: int,
    eager_bytes: int,
    slot_bytes: int,
    near_staged: bool,
    far_staged: bool,
) -> Model:
    """Return the model of a network; larger data comes by way of slots of `slot_bytes` where it is staged.

    What messages cost, `on` and off a host, is as `ep.costs` has it.
    """
    near, far = _small(on, medium_bytes), _small(off, medium_bytes)
    near_large = _large(near, on, copy_byte, slot_bytes, staged=near_staged)
    far_large = _large(far, off, copy_byte, slot_bytes, staged=far_staged)
    return Model(near, far, near_large, far_large, copy_byte, eager_bytes)


def _small(costs: Any, most: int) -> PairEstimate:
    """Return how medium messages of at most `most` bytes go."""
    byte, out, into = costs.medium_byte, costs.medium_send_byte, costs.medium_receive_byte
    return PairEstimate(
        start=costs.start,
        send=costs.send,
        receive=costs.receive,
        byte=byte,
        send_byte=byte if out is None else out,
        receive_byte=byte if into is None else into,
        answered=costs.answered,
        most=most,
        flight_bytes=math.inf if costs.flight_bytes is None else costs.flight_bytes,
        crowd_bytes=math.inf if costs.crowd_bytes is None else costs.crowd_bytes,
        shared_byte=byte if out is None or into is None else max(0.0, byte - out - into),
        poll=costs.poll,
        interrupt=costs.interrupt,
    )


def _large(small: PairEstimate, costs: Any, copy_byte: float, slot_bytes: int, *, staged: bool) -> PairEstimate:
    """Return how large data goes: in medium messages, or where it is staged in long ones, from which it is copied.

    One part follows the other, so that the whole way is taken for its bytes, and replies come meanwhile.
    """
    start, byte, most = small.start, small.byte, small.most
    if staged:
        start, byte, most = costs.long_start, costs.long_byte + copy_byte, slot_bytes
    return attrs.evolve(small, start=start, byte=byte, send_byte=byte, receive_byte=byte, answered=False, most=most)
