"""What Active Messages take of the CPU beside MPI's own calls, on the processor of a simulated library."""

from __future__ import annotations

import attrs


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
