"""Schedules of faults: parts that fail and come back, bits that go wrong; how they are written in a spec.

    link0.1.0@50us          that link fails at 50 us, for good
    ni2.0@50us-2ms          that NI fails at 50 us and is back at 2 ms
    switch1@1ms-3ms         that switch
    links~5ms/200us         every link by itself, at random: works 5 ms on average, is down 200 us on average
    ni0.1~5ms/200us         that NI alone, at random; without /TIME it stays down
    links%1e-7              bit errors: that probability for each bit, on every link
    link3.0.0%1e-6          on that link alone

A link is named by host, NI and link, an NI by host and number; `links`, `nis` and `switches` are all of
a kind.  Times are in seconds or with a suffix, as in other options; random ones are drawn from exponential
distributions of the job's seed.  Several are joined with `+`.

Schedules are background events: they keep no job alive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import attrs

from conduit.options import MOST_OPTION_SECONDS, read_float
from conduit.sim.kernel import Kernel
from conduit.sim.units import ps
from conduits.sunfire.hardware.fabric import FireLinkFabric
from conduits.sunfire.hardware.parts import Cable, Component
from conduits.sunfire.hardware.wiring import ClusterTopology, Inventory

FORMS = (
    "PART@TIME, PART@TIME-TIME, PART~MEAN, PART~MEAN/MEAN or LINK%RATE, where PART is linkH.N.L, niH.N, switchS, "
    "links, nis or switches, LINK is linkH.N.L or links, a TIME or MEAN is like 50us, and a RATE is below 1"
)

_FAULT = re.compile(
    r"(?P<part>links|nis|switches|link\d+\.\d+\.\d+|ni\d+\.\d+|switch\d+)"
    r"(?:@(?P<down>[^-/@~%]+?)(?:-(?P<up>[^-/@~%]+))?|~(?P<mean>[^-/@~%]+)(?:/(?P<repair>[^-/@~%]+))?|%(?P<rate>.+))"
)
_KINDS = {"links": "link", "nis": "ni", "switches": "switch"}


@attrs.frozen
class Fault:
    """One entry of a schedule.

    Attributes:
        part: a part's name, or `links`, `nis`, `switches`.
        text: the entry as it was written.
        down: when it fails, picoseconds.
        up: when it is back, picoseconds; None: never.
        mean: how long it works on average, picoseconds.
        repair: how long it is down on average, picoseconds; None: for good.
        rate: bit errors per bit.
    """

    part: str
    text: str
    down: int | None = None
    up: int | None = None
    mean: int | None = None
    repair: int | None = None
    rate: float | None = None


def parse_fault(text: str) -> Fault:
    """Read one entry.

    Raises:
        ValueError: it has none of the forms; the text names them.
    """
    found = _FAULT.fullmatch(text)
    if found is None:
        raise ValueError(f"fault {text!r} is not understood; write {FORMS}")
    part, down, up, mean, repair, rate = found.group("part", "down", "up", "mean", "repair", "rate")
    if rate is not None:
        return Fault(part, text, rate=_rate(text, part, rate))
    if mean is not None:
        down_for = None if repair is None else _time(text, repair, least=1)
        return Fault(part, text, mean=_time(text, mean, least=1), repair=down_for)
    fails = _time(text, down)
    back = None if up is None else _time(text, up)
    if back is not None and back <= fails:
        raise ValueError(f"fault {text!r}: back at {up}, which is not after {down}; give a later time, or none")
    return Fault(part, text, down=fails, up=back)


def check_faults(texts: Sequence[str], topology: ClusterTopology) -> tuple[Fault, ...]:
    """Read a schedule for a topology.

    Raises:
        ValueError: an entry has none of the forms, or names what the topology has not.
    """
    faults = tuple(parse_fault(text) for text in texts)
    inventory = Inventory(Kernel(), topology)
    for fault in faults:
        if not _named(inventory, fault.part):
            raise ValueError(
                f"fault {fault.text!r}: there is no {fault.part}; this cluster has {topology.hosts} hosts with "
                f"{topology.nis} NIs of {topology.links // topology.nis} links, and {topology.switches} switches, all "
                "numbered from 0"
            )
    return faults


def schedule(fabric: FireLinkFabric, faults: Sequence[Fault]) -> None:
    """Let the faults happen to a fabric, which must have been made `may_fail`."""
    assert fabric.may_fail
    for fault in faults:
        for part in _named(fabric.inventory, fault.part):
            _schedule(fabric, fault, part)


def _schedule(fabric: FireLinkFabric, fault: Fault, part: Component) -> None:
    if fault.rate is not None:
        assert isinstance(part, Cable)
        part.error_rate = 1 - (1 - part.error_rate) * (1 - fault.rate)
    elif fault.mean is not None:
        random = fabric.kernel.random(f"sunfire/fault/{part.name}/{fault.text}")
        _AtRandom(fabric, part, fault.mean, fault.repair, random)
    elif fault.down is not None:
        fabric.kernel.background(fault.down, fabric.fail, part)
        if fault.up is not None:
            fabric.kernel.background(fault.up, fabric.repair, part)


class _AtRandom:
    """A part that fails and comes back again and again."""

    __slots__ = ("_fabric", "_mean", "_part", "_random", "_repair")

    def __init__(self, fabric: FireLinkFabric, part: Component, mean: int, repair: int | None, random: Random) -> None:
        self._fabric = fabric
        self._part = part
        self._mean = mean
        self._repair = repair
        self._random = random
        self._later(mean, self._fail)

    def _later(self, mean: int, act: object) -> None:
        kernel = self._fabric.kernel
        kernel.background(kernel.now + 1 + round(self._random.expovariate(1 / mean)), act)  # type: ignore[arg-type]

    def _fail(self) -> None:
        self._fabric.fail(self._part)
        if self._repair is not None:
            self._later(self._repair, self._back)

    def _back(self) -> None:
        self._fabric.repair(self._part)
        self._later(self._mean, self._fail)


def _named(inventory: Inventory, name: str) -> list[Component]:
    """Return the parts of a name, each once."""
    if name in _KINDS:
        kind = _KINDS[name]
        return [part for own, part in inventory.parts.items() if own == part.name and own.rstrip("0123456789.") == kind]
    return [inventory.parts[name]] if name in inventory.parts else []


def _time(text: str, written: str, least: int = 0) -> int:
    try:
        seconds = read_float(written)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_OPTION_SECONDS or ps(seconds) < least:
        raise ValueError(
            f"fault {text!r}: {written!r} is no time, such as 50us, 1.5ms, 2s, at most {MOST_OPTION_SECONDS}s; "
            f"write {FORMS}"
        )
    return ps(seconds)


def _rate(text: str, part: str, written: str) -> float:
    try:
        rate = float(written)
    except ValueError:
        rate = -1.0
    if not part.startswith("link") or not 0 <= rate < 1:
        raise ValueError(f"fault {text!r}: {written!r} is no rate of bit errors of a link; write {FORMS}")
    return rate
