"""The smallest conduit: a network that is nothing but its LogGP parameters.

A message takes the sender's CPU for o_s, travels for L, and takes the receiver's CPU for o_r.  Each byte of payload
takes G more, and two messages that a rank sends, or receives, are at least g apart.  Nothing else is contended for.
A rank has at most `slots` outstanding requests to each other rank, as on every network.

So this conduit is a baseline for the others, and the one to copy from.  docs/models/loggp.md has the formulas.

Source: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, LogGP, SPAA 1995.
"""

from conduits.loggp.port import Loggp

__all__ = ["Loggp"]
