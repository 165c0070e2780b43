"""Access regions: a task's implicit operations, collected into one explicit handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import conduit
from extended.events import Handle

if TYPE_CHECKING:
    from types import TracebackType

    from extended.events import Events, OperationGroup


_WAIT = "write `async with x.access_region() as region:`, and after it `await region.handle`"


class AccessRegion:
    """An asynchronous context manager that collects the implicit operations of the task that entered it.

    Args:
        events: the rank's operations.
    """

    _instead: ClassVar = {"await": _WAIT}

    def __init__(self, events: Events) -> None:
        self._events = events
        self._group: OperationGroup | None = None
        self._handle: Handle[None] | None = None

    @property
    def handle(self) -> Handle[None]:
        """The one handle of all operations begun inside; there once the region has been left.

        Raises:
            conduit.BadRequest: the region has not been left yet.
        """
        if self._handle is None:
            raise conduit.BadRequest(
                "access_region: its handle is made when the region is left; use it after `async with`"
            )
        return self._handle

    async def __aenter__(self) -> AccessRegion:
        if self._group is not None:
            raise conduit.BadRequest(
                "access_region: this region was entered before; call access_region() for a new one"
            )
        self._group = self._events.open_region()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._group is not None
        self._events.close_region(self._group, failed=error is not None)
        self._handle = self._events.handle(
            "access_region", self._group, lambda: None, expected=error is None, wait=_WAIT
        )
        if error is None:
            try:
                await self._events.ep.poll()
            except BaseException:
                self._events.adopt(self._group)
                self._events.synced(self._handle)  # no task can wait for it any more
                raise
