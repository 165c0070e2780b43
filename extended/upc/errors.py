"""What this layer says no with, where Python has a word of its own for the mistake."""

from __future__ import annotations

import conduit


class WrongIndex(conduit.BadRequest, IndexError):
    """An index that the array does not have, or that is no index."""


class NotAwaited(conduit.BadRequest, TypeError):
    """A read that was used as a value before it was awaited, or an array used as if it lay here."""
