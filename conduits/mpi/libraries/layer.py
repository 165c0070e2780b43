"""What Active Messages take of the CPU beside MPI's own calls, on the processor of a simulated library."""

from __future__ import annotations

import attrs

from conduit.contract import Constant
from conduit.simnet.constants import ps


@attrs.frozen(kw_only=True)
class LayerCosts:
    """What the layer of Active Messages takes for each message whatever it carries, picoseconds.

    Copies of payloads are apart: they are the host's.

    Attributes:
        request: checks of a request, its slot, its header.
        reply: the same of a reply, whose slot is the request's.
        receive: unpacking either, and calling its handler.
    """

    request: int
    reply: int
    receive: int

    @classmethod
    def of(cls, check: Constant, slot: Constant, build: Constant, unpack: Constant, dispatch: Constant) -> LayerCosts:
        """Return what constants say."""
        reply = ps(check) + ps(build)
        return cls(request=reply + ps(slot), reply=reply, receive=ps(unpack) + ps(dispatch))
