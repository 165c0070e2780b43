"""A rank with Active Messages: an endpoint on a port of the job's network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CoroutineType
from typing import Any

from conduit.contract import AUTO_REPLY, Conduit, Hooks, JobSetup, LayerReport, Port, Unhandled, Wait
from conduit.core.calls import note_kept, tell_others
from conduit.core.checked_call import CURRENT
from conduit.core.digest import DigestLog
from conduit.core.endpoint import Endpoint
from conduit.core.rank import make_endpoint
from conduit.errors import ConduitError
from conduit.launch.program.folders import is_library
from conduit.launch.program.tasks import error_line
from conduit.launch.registry import Spec

_ASKED = ("requests_sent", "rma_gets", "rma_puts", "rma_atomics")
"""Counts of what a rank has begun."""


class MessageRank:
    """One rank of a job on a conduit; main is called with its endpoint.

    Args:
        spec: the conduit.
        setup: the job.
        network: the job's network.
        rank: the rank.
        digest_log: takes note of what it observably does; None: nothing does.
        hooks: whom to tell what happens; None: there is no listener.
    """

    __slots__ = ("_endpoint", "_port", "_spec")

    def __init__(
        self,
        spec: Spec,
        setup: JobSetup,
        network: Conduit,
        rank: int,
        digest_log: DigestLog | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        endpoint = make_endpoint(
            rank, setup.hosts, spec.limits, setup.segment, setup.seed,
            costs=spec.costs, library_costs=spec.library_costs, simulated=spec.simulated,
            max_segment=spec.cls.max_segment(spec.options), larger_segment=spec.larger_segment,
            digest_log=digest_log, hooks=hooks,
        )  # fmt: skip
        self._spec = spec
        self._port: Port = network.port(rank, endpoint._dispatch)
        endpoint._connect(self._port)
        self._endpoint = endpoint

    @property
    def endpoint(self) -> Endpoint:
        """What main is called with."""
        return self._endpoint

    async def start(self) -> Endpoint:
        """Build queues and connections; see `conduit.launch.life.Rank`, as for the rest."""
        CURRENT.set(self._endpoint)
        await self._port.start()
        return self._endpoint

    async def leave(self) -> None:
        """Run what was given to `on_exit`."""
        await self._endpoint._run_exits()

    async def serve(self) -> None:
        """Poll until every rank has returned and every message was handled."""
        await self._port.serve()

    def close(self) -> None:
        """Refuse every further call on the endpoint, and give back what its port holds."""
        self._endpoint._end_job()
        self._port.close()

    def release(self) -> None:
        """Hold the segment no longer."""
        self._port.release()
        self._endpoint._let_go()

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""
        self._port.fail(error)

    def forgotten(self) -> BaseException | None:
        """Return the error of the first call that was never awaited, which tells of the others once."""
        if not self._endpoint.forgotten:
            return None
        tell_others(self._endpoint.forgotten)
        return self._endpoint.forgotten[0]

    def note_kept(self, kept: Iterable[CoroutineType[Any, Any, Any]]) -> None:
        """Take note of those of some calls that are of this rank, which never awaited them."""
        note_kept(self._endpoint, kept)

    def ticks(self) -> int:
        """Return this rank's clock, picoseconds."""
        return self._port.ticks()

    def warnings(self) -> Sequence[str]:
        """Return what layers want users to know."""
        return self._endpoint.warnings

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the endpoint and of its port.

        Raises:
            ConduitError: the network has none, as what it counts with has failed.
        """
        try:
            return {**self._endpoint._counted(), **self._port.statistics()}
        except ConduitError:
            raise
        except Exception as error:  # behind the last main: no line of a program has to do with it
            raise ConduitError(
                f"the counts of rank {self._endpoint.rank} on conduit {self._spec.name!r} are not to be had: "
                f"{type(error).__name__}: {error}, at {error_line(error, is_library)}: a mistake of the network, not "
                "of the program"
            ) from error

    def moved(self) -> int:
        """Return a number that grows with every message that is sent or handled here."""
        return sum(self._endpoint._counted().values())

    def asked(self) -> int:
        """Return how many requests and native operations this rank has begun, for reports."""
        counts = self._endpoint._counted()
        return sum(count for name, count in counts.items() if name in _ASKED)

    def waits(self) -> Sequence[Wait]:
        """Return what this rank's tasks wait for."""
        return self._port.waits()

    def slots_in_use(self) -> Sequence[str]:
        """Return the slots in use."""
        return self._port.slots_in_use()

    def told(self) -> LayerReport:
        """Return what the layers tell of the rank, and what its port could not."""
        told = self._endpoint.layer_report()
        for text in self.untellable():
            told.advise(text)
        return told

    def undelivered(self) -> int:
        """Return how many messages have arrived and were not handled."""
        return self._port.undelivered()

    def untellable(self) -> Sequence[str]:
        """Return what of this its port could not tell."""
        return self._port.untellable()

    def unended(self) -> tuple[str, str]:
        """Return which part of the network's own has not done what it must, and what that is; ("", "") for none."""
        return self._port.unended()

    def unhandled(self) -> Sequence[tuple[Unhandled, Callable[..., object] | None]]:
        """Return what these are, with their handlers."""
        handlers = [function for function, _ in self._endpoint.handlers.entries]
        found = []
        for each in self._port.unhandled():
            known = not each.word & AUTO_REPLY and each.word & 255 < len(handlers)
            found.append((each, handlers[each.word & 255] if known else None))
        return found
