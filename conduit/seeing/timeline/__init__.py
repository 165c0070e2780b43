"""What happened in a job and when: recorded through the hooks, added up, and written as a trace."""

from conduit.seeing.timeline.accounts import Account, accounts
from conduit.seeing.timeline.chrome import ChromeTrace
from conduit.seeing.timeline.parts import RankPart, join_parts, part_of
from conduit.seeing.timeline.recording import Recording
from conduit.seeing.timeline.timeline import Timeline

__all__ = [
    "Account",
    "ChromeTrace",
    "RankPart",
    "Recording",
    "Timeline",
    "accounts",
    "join_parts",
    "part_of",
]
