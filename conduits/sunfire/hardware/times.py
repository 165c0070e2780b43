"""The hardware's times in picoseconds, composed from the constants."""

from conduits.sunfire import constants as c

START_PS = c.ps(c.STORE_START)
"""Before the first line of a run of stores."""
LINE_PS = c.ps(c.STORE_LINE)
"""Of a CPU for each line of a run."""
TRANSIT_PS = c.ps(c.TRANSIT)
"""From NI to NI."""
WRITE_PS = c.ps(c.WRITE)
"""From the arrival of a line at an NI until a CPU there can see it."""
LANDING_PS = TRANSIT_PS + WRITE_PS
"""From the CPU's issue of a line until a CPU of the other host can see it."""
BARRIER_PS = LINE_PS + LANDING_PS + TRANSIT_PS
"""From the CPU's issue of a memory barrier until it is back."""
READ_LINE_PS = c.ps(c.READ_LINE)
"""Of a CPU for each line of a run of loads."""
