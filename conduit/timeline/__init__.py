"""What happened in a job and when: recorded through the doors, added up, and written as a trace."""

from conduit.timeline.accounts import Account, accounts
from conduit.timeline.chrome import ChromeTrace
from conduit.timeline.recording import Recording
from conduit.timeline.timeline import Timeline

__all__ = ["Account", "ChromeTrace", "Recording", "Timeline", "accounts"]
