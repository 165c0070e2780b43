"""What is said of messages that no receive asks for: in reports of a job that stands still, and when it is over."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any

from conduit.words import many
from conduits.mpi.awaited.peers import peer_in_words
from conduits.mpi.engine.contexts import HIDDEN
from conduits.mpi.simulated.last_sends import LINES, few, line_of
from conduits.mpi.simulated.port import SimulatedMpiPort

_TAGS = 8  # of one sender that are told one by one
_BEGINNING = ("Isend", "Issend", "Irsend")  # whose sends may go on when the program is over


def senders_wait(port: SimulatedMpiPort) -> dict[tuple[int, int], int]:
    """Return by source and tag how many messages no receive asks for, where their sender waits for all of them."""
    found = {}
    for (source, tag), count in port.library.engine.unexpected_by().items():
        waits = [wait.what for wait in port.conduit.ports[source].waits() if port.rank in wait.ranks]
        if sum(re.search(rf" to [^,]+, tag {tag}, on ", what) is not None for what in waits) >= count:
            found[source, tag] = count
    return found


def of_collectives(port: SimulatedMpiPort) -> tuple[int, list[tuple[int, str]]]:
    """Return of how many messages of collective calls waits tell, and the others by call: how many, and in words."""
    engine, waited, others = port.library.engine, 0, []
    for context, count in engine.unexpected_counts().items():
        calls = list(port.conduit.same_calls.open_on(context - HIDDEN, port.rank))
        if any(
            wait.what == what
            for came, _ in calls
            for each, what in came.items()
            for wait in port.conduit.ports[each].waits()
        ):
            waited += count
        elif len(calls) == 1:
            others.append((count, f"{many(count, 'message')} of {calls[0][1]}"))
    return waited, others


def unexpected(port: SimulatedMpiPort, but: Container[tuple[int, int]] = ()) -> Iterator[tuple[int, str]]:
    """Yield how many messages are there that no receive asks for, and in words which, those of many tags put together.

    On communicators other than that of the world, whose names the senders know, those alone whose sends are known.

    Args:
        port: of the rank.
        but: senders in the world and tags that are left out.
    """
    world = port.library.world
    kinds: dict[tuple[int, str, str], list[tuple[int, int, list[Any]]]] = {}  # by origin, sender and communicator
    for (context, origin, source, tag), count in port.library.engine.unexpected_messages().items():
        sender = port.conduit.ports[origin]
        sends = sender.sent_to(port, context, tag) if isinstance(sender, SimulatedMpiPort) else []
        if (origin, tag) in but or not (sends or context == world.context):
            continue
        name = world.name if context == world.context else sends[-1][1].plain.name
        kind = origin, peer_in_words(source, origin), name
        kinds.setdefault(kind, []).append((tag, count, [place for place, _ in sends]))
    for (_, who, name), found in kinds.items():
        if len(found) <= _TAGS:
            for tag, count, places in found:
                yield count, f"{many(count, 'message')} from {who}, tag {tag}, on {name}{_sent(places, count)}"
        else:
            total, tags = sum(count for _, count, _ in found), [tag for tag, _, _ in found]
            which = f"{len(tags)} tags from {min(tags)} to {max(tags)}"
            places = [place for _, count, places in found for place in places[-count:]]
            yield total, f"{many(total, 'message')} from {who}, {which}, on {name}{_sent(places, total)}"


def never_taken(port: SimulatedMpiPort) -> str:
    """Return in words which sends that a rank has begun no receive takes, "" where they are over, or not known."""
    found = []
    unfinished = port.library.engine.unfinished()
    for other in port.conduit.ports if unfinished else ():
        if isinstance(other, SimulatedMpiPort):
            for (context, origin, _, tag), count in other.library.engine.unexpected_messages().items():
                sends = port.sent_to(other, context, tag)[-count:] if origin == port.rank else []
                found += [(place, other.rank) for place, _ in sends if getattr(place, "call", "") in _BEGINNING]
    words = list(dict.fromkeys(f"its {place.call} at {line_of(place)} to rank {dest}" for place, dest in found))
    if not words or len(words) > LINES:
        return ""
    # Short ones may be over, and wait where they have gone.
    some = f"{unfinished} of the messages of " if len(found) > unfinished else ""
    return f"{some}{' and '.join(words)} to be received"


def _sent(sends: Sequence[Any], count: int) -> str:
    """Return in words at which lines as many messages were sent that were not received; "" where not all are known.

    Messages from one rank by one tag are received in the order of their sends: so these are the last ones.
    """
    if len(sends) < count:
        return ""
    lines = few(sends[len(sends) - count :])
    return f", sent at {' and '.join(lines)}" if lines else ""


def never_received(port: SimulatedMpiPort) -> Iterator[str]:
    """Yield what to say of messages that have come to a rank whose program is over."""
    library, told = port.library, 0
    for count, messages in unexpected(port):
        told += count
        yield f"{messages}, never received"
    if count := library.engine.extracted():
        yield never_given(count)
    if count := library.engine.unexpected() - told:
        yield (
            f"{many(count, 'message')} of other communicators, or of collective calls that have failed or that not all "
            "ranks have made alike, never received"
        )


def never_given(count: int) -> str:
    """Return what to say of messages that matched probes have taken out."""
    return f"{many(count, 'message')} that Mprobe or Improbe has found, never received: `await` the Recv() of each"
