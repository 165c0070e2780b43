"""The smallest conduit: a network that is nothing but its LogGP parameters."""

from conduits.loggp.port import Loggp

__all__ = ["Loggp"]
