"""Whether a job fits a network, for who asks before jobs on other networks have run."""

from __future__ import annotations

from conduit.contract import RankKind
from conduit.core import arguments
from conduit.errors import BadRequest
from conduit.launch.call_words import DEFAULT_RANKS
from conduit.launch.jobs.kinds import kind_of_job
from conduit.launch.processes import of_spec
from conduit.launch.registry import Spec


def check_fits(
    spec: Spec,
    *,
    ranks: int | None,
    ranks_per_host: int | None,
    segment: int,
    time_limit: float | None,
    stall_limit: float | None,
) -> None:
    """Refuse, as `conduit.run` does, what a network cannot have or no network takes.

    Where processes are is known when they have been started, and refused then; no host has more than there are.

    Raises:
        BadRequest: the text says which argument, and what fits.
    """
    for name, limit in (("time_limit", time_limit), ("stall_limit", stall_limit)):
        if limit is not None:
            arguments.number("run", name, limit, arguments.MOST_SECONDS)
    kind = kind_of_job(spec)
    if spec.rank_kind is not RankKind.PROCESS:
        kind.hosts(spec, ranks, ranks_per_host)
    elif ranks_per_host is not None:
        _check_few(spec, of_spec.announced(spec) or ranks or DEFAULT_RANKS, ranks_per_host)
    spec.cls.check_segment(spec.options, segment)


def _check_few(spec: Spec, ranks: int, ranks_per_host: int) -> None:
    """Refuse more processes on a host than there are."""
    if ranks_per_host > ranks:
        raise BadRequest(
            f"ranks_per_host={ranks_per_host} is more than the {ranks} ranks on {spec.text!r}, whose processes are "
            "where their launcher puts them; leave it out, and tell the launcher"
        )
