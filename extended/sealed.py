"""What programs are given, and whose names they do not assign to."""

from __future__ import annotations

import copy
from typing import ClassVar, NoReturn, SupportsIndex

import conduit
from extended.checks import shown


def refuse_copy(ep: conduit.Endpoint) -> NoReturn:
    """Refuse to copy or to pickle what has an endpoint, in the endpoint's own words.

    Raises:
        TypeError: always.
    """
    copy.copy(ep)
    raise AssertionError("an endpoint was copied")


class Sealed:
    """An object of a program's whose calls and values stay what they are.

    A call that is overwritten in silence would fail much later, as an int that cannot be called.
    """

    ep: conduit.Endpoint
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

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled, as the endpoint is.

        Raises:
            TypeError: always.
        """
        refuse_copy(self.ep)
