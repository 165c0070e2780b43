"""The extended API on any conduit, built on the public names of `conduit` alone.

`x = await Extended.attach(ep)` gives all of its calls (docs/extended.md).  They are made of Active Messages, and of
native one-sided operations where the network has any.

Three ideas carry the layer:

- *Handlers cannot send requests.*  They note what is to be done and ask for progress (`ep.on_progress`); the poll that
  ran them does it.  So barriers, collectives and locks go on whenever their rank polls, without a task of their own.
- *Completion is a count.*  A put or get is complete when all its replies have come; a handle or a sync waits for that
  (`events`).
- *What all ranks call in the same order needs no names.*  A team counts its calls, and a message says which call it
  belongs to (`barrier`, `collectives`).

Read `layer` first; docs/extended_inside.md explains each part.
"""

from extended.atomics import Atomic
from extended.barrier import BarrierMismatch
from extended.collectives.signature import CollectiveMismatch
from extended.events import Handle
from extended.layer import Extended
from extended.locks import Lock
from extended.teams import Team

__all__ = ["Atomic", "BarrierMismatch", "CollectiveMismatch", "Extended", "Handle", "Lock", "Team"]

_instead = {"attach": "write `from extended import Extended`, then `x = await Extended.attach(ep)`"}
"""What to write for names that others look for here."""
