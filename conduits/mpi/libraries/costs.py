"""What Active Messages on a simulated library cost, by what the library's own messages take (`ep.costs`)."""

from __future__ import annotations

import attrs

from conduit.contract import MessageCosts
from conduit.sim.units import seconds
from conduits.mpi.engine.software import Software
from conduits.mpi.libraries.layer import LayerCosts


@attrs.frozen(kw_only=True)
class PairTimes:
    """What a library's messages between two ranks take, picoseconds, beside its `Software`; the only messages there.

    A message of `conduits.mpi.wire.BARE` bytes, which is an Active Message without a payload, is *bare*.

    Attributes:
        poll: a poll that finds nothing.
        send: a bare message, of the sender's CPU.
        way: from there until polls of the receiver can find it.
        take: a bare message, of the receiver's CPU, with the copy and with what acknowledges it.
        medium_byte: seconds of each byte more, on both sides.
        answer: from where a large message is found, which comes without its bytes, until its sender has the answer.
        large: of the bytes of a large message what is left when all but one has its time; an earlier one does not wait.
        large_byte: seconds of each byte of a large message.
    """

    poll: int
    send: int
    way: int
    take: int
    medium_byte: float
    answer: int
    large: int
    large_byte: float


def message_costs(software: Software, layer: LayerCosts, times: PairTimes, copy_byte: float) -> MessageCosts:
    """Return what Active Messages between the two ranks cost: requests and replies have a communicator each.

    Args:
        software: what the library's calls take.
        layer: what Active Messages take beside them.
        times: what messages between the two take.
        copy_byte: seconds of a byte that a CPU copies, as the sender does with a medium payload.
    """
    test = software.test_ps
    look = times.poll + 2 * test  # a receive of requests and one of replies
    posts = software.call_ps + times.send + software.complete_ps + test  # the last one from the same buffer is away
    found = times.take + software.match_ps + software.complete_ps + 3 * test + layer.receive
    again = software.call_ps + 4 * test  # the receive begins again; two looks that find no more
    # Of a round trip: each side's look and the wait for it, the request's own; one side's receive begins again.
    start = (layer.request + layer.reply) // 2 + posts + times.way + found + again // 2 + 2 * look
    return MessageCosts(
        start=seconds(start),
        send=seconds(layer.request + posts),
        receive=seconds(found + again),
        medium_byte=copy_byte + times.medium_byte,
        long_start=seconds(start + 2 * software.call_ps + times.answer + look + times.large),
        long_byte=times.large_byte,
        poll=seconds(look),
    )
