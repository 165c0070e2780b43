"""What a cluster error status register (CESR) says.

Source: Sistare and Jackson, section 2.7; the codes are ours.
"""

import enum


class Status(enum.IntFlag):
    """What a cluster error status register says; several may have come together."""

    OK = 0
    LOST = 1
    """A line or its answer did not get through: a link or NI failed, or bits were wrong."""
    NO_PATH = 2
    """System software has no path to the host."""
    REFUSED = 4
    """The receiving NI's tables do not let this host do that there, or have nothing there."""
