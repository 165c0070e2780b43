"""What programs are given, and whose names they do not assign to."""

from __future__ import annotations

from typing import ClassVar

import conduit
from extended.checks import shown


class Sealed:
    """An object of a program's whose calls and values stay what they are.

    A call that is overwritten in silence would fail much later, as an int that cannot be called.
    """

    _called: ClassVar[str]
    _values: ClassVar[frozenset[str]]
    """Public attributes that are set as it is made, and not any more."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute that is a program's, or not public.

        Raises:
            conduit.BadRequest: programs call or read one of that name.
        """
        own = hasattr(type(self), name) or (name in self._values and name in self.__dict__)
        if own and name[0] != "_":
            raise conduit.BadRequest(
                f"{self._called}.{name} = {shown(value)} is not allowed: {name} is a name of its own; keep the value "
                "in a variable"
            )
        object.__setattr__(self, name, value)
