"""The exceptions that users meet; this module imports nothing of ours.

Whose fault it is is part of the type: `BadRequest` the caller's, `HandlerError` a handler's, `NetworkError` the
hardware's.  `Deadlock`, `TimeLimit` and `Livelock` end a simulated job that gets no further; their text is the report,
and their attribute `report` the same as a structure.
"""

from typing import Any


class ConduitError(Exception):
    """Base of every error that this package raises on purpose."""


class BadRequest(ConduitError, ValueError):
    """A call with a wrong argument, raised at the call; the text names argument, value, what is allowed, what to do."""


class HandlerError(ConduitError):
    """A handler raised, or broke a rule of handlers and tokens.

    Attributes:
        where: in which handler, on which rank and for which message, where that raised; then `__cause__` is what it
            raised.  "" elsewhere.
    """

    where = ""


class _Stopped(ConduitError):
    """A simulated job got no further.

    Args:
        text: the report, as people read it.
        report: the same as a structure.

    Attributes:
        report: a `conduit.launch.reports.Report`: ranks, tasks, waits, who waits for whom; None where there is none.
    """

    def __init__(self, text: str = "", report: Any = None) -> None:
        super().__init__(text)
        self.report = report


class Deadlock(_Stopped):
    """Nothing can ever happen again in a simulated job; the text says which rank waits for what, where, since when."""


class TimeLimit(_Stopped):
    """A job ran past its `time_limit`; the text is the same report as `Deadlock` gives."""


class Livelock(_Stopped):
    """A rank went through very many steps without progress of its time; the text is the same report."""


class NetworkError(ConduitError):
    """The hardware could not deliver a message."""


class UnknownConduit(ConduitError):
    """No conduit of that name is installed, or it cannot be imported; the text lists those that can be used."""


class ConduitWarning(UserWarning):
    """Something that users should know: of a layer, issued after the job; of copies of a job, before it.

    Attributes:
        result: what the job came to, where it is over and the warning is raised, as the program's filters can say.
    """

    result: Any = None
