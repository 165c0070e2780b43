"""Errors of MPI calls, with MPI's classes; the numbers are MPICH's."""

from __future__ import annotations

from enum import IntEnum

from conduit.errors import ConduitError


class ErrorClass(IntEnum):
    """What kind of error it is."""

    SUCCESS = 0
    ERR_BUFFER = 1
    ERR_COUNT = 2
    ERR_TYPE = 3
    ERR_TAG = 4
    ERR_COMM = 5
    ERR_RANK = 6
    ERR_ROOT = 7
    ERR_GROUP = 8
    ERR_OP = 9
    ERR_ARG = 12
    ERR_UNKNOWN = 13
    ERR_TRUNCATE = 14
    ERR_OTHER = 15
    ERR_INTERN = 16
    ERR_IN_STATUS = 17
    ERR_PENDING = 18
    ERR_REQUEST = 19


class MpiError(ConduitError):
    """What an MPI call refuses or reports; public as `MPI.Exception`.

    Args:
        error_class: of which kind it is.
        text: what is wrong, with what, and what to do; without it, as programs may raise one, the name of the class.
    """

    def __init__(self, error_class: int = ErrorClass.SUCCESS, text: str = "") -> None:
        known = error_class in list(ErrorClass)
        super().__init__(text or (f"MPI_{ErrorClass(error_class).name}" if known else f"MPI error {error_class}"))
        self._error_class = int(error_class)

    def Get_error_class(self) -> int:
        """Return its class."""
        return self._error_class

    def Get_error_code(self) -> int:
        """Return its code, which is its class."""
        return self._error_class

    def Get_error_string(self) -> str:
        """Return its text."""
        return str(self)

    error_class = property(Get_error_class)
    error_code = property(Get_error_code)
    error_string = property(Get_error_string)
