"""Dolphin's SCI cards on a torus, with the GASNet core conduit of Su, Gordon, Oral and George.

SCI makes another host's memory part of this one's address space.  A message is therefore stores: into a slot at its
receiver, which its sender owns, and into a flag that says that it is there.  Stores are posted, so a sender that needs
to know whether all have landed pays for a store barrier.  Large payloads go by DMA, which costs a long set-up and then
streams faster than the CPU can store.

`hardware` has the rings and adapters, `driver` the card's API after SISCI, `protocol` the messages.  docs/models/sci.md
has the formulas and the constants' sources.
"""

from conduits.sci.port import Sci

__all__ = ["Sci"]
