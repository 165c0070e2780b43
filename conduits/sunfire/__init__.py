"""Sun Fire Link, with Active Messages the way of Sun MPI's postboxes and pools.

There is no engine that moves data.  A CPU stores lines of 64 bytes into another host's memory, dealt out over several
links (*stripes*).  A store is posted, and is lost when its link fails; a memory barrier tells its sender so.

A message is one or more *postboxes*, lines in a queue at the receiver which one writer fills.  Payloads that are too
large for them go into blocks of a pool, which that writer keeps as well.  The receiver acknowledges postboxes, and that
gives postboxes and blocks back.  While parts may fail, what was stored is kept until a barrier was good (`repair`).

`hardware` has links, NIs and their faults, `driver` RSM's provider, `protocol` the messages.  docs/models/sunfire.md
has the formulas and the constants' sources.
"""

from conduits.sunfire.port import Sunfire

__all__ = ["Sunfire"]
