"""Basic datatypes: MPI's names for what numpy calls a dtype.

C's, those of fixed width, bytes, and the pairs of a value and an index that MAXLOC and MINLOC take.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from conduit import BadRequest
from conduits.mpi.awaited import not_here

_GROUPS = {"i": "integer", "u": "integer", "f": "floating point", "b": "logical", "c": "complex"}
"""By numpy's kind, where no other is given: MPI 4.0, section 6.9.2."""


class Datatype:
    """A basic datatype.

    Attributes:
        name: MPI's name of it.
        dtype: numpy's.
        size: bytes of its data.
        extent: bytes from one element to the next.
        group: of those that MPI's operators are defined by: "integer", "floating point", "logical", "complex", "byte",
            "pair", or "character", which has none.
    """

    _instead: ClassVar = not_here.OF_DATATYPES

    __slots__ = ("dtype", "extent", "group", "name", "size")

    def __init__(self, name: str, dtype: Any, size: int | None = None, group: str = "") -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.group = group or _GROUPS.get(self.dtype.kind, "character")
        self.extent = self.dtype.itemsize
        self.size = self.extent if size is None else size

    def Get_size(self) -> int:
        """Return the bytes of its data."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Return where it begins, 0, and how far it reaches."""
        return 0, self.extent

    def Get_name(self) -> str:
        """Return its name."""
        return self.name

    def tocode(self) -> str:
        """Return numpy's code for it."""
        return self.dtype.str[1:]

    @property
    def is_pair(self) -> bool:
        """Whether it is a value and an index."""
        return self.group == "pair"

    @property
    def is_null(self) -> bool:
        """Whether it is none."""
        return self is DATATYPE_NULL

    def __bool__(self) -> bool:
        return not self.is_null

    def __repr__(self) -> str:
        return f"<Datatype {self.name}>"


def _pair(value: str) -> np.dtype[Any]:
    return np.dtype([("value", value), ("index", "i4")], align=True)


DATATYPE_NULL = Datatype("MPI_DATATYPE_NULL", "V0")
BY_NAME: dict[str, Datatype] = {}


def _make(name: str, dtype: Any, size: int | None = None, group: str = "") -> Datatype:
    made = BY_NAME[name] = Datatype(f"MPI_{name}", dtype, size, group)
    return made


BYTE = _make("BYTE", "u1", group="byte")
for _name, _code in {
    "C_BOOL": "?", "CHAR": "S1", "SIGNED_CHAR": "b", "SHORT": "h", "INT": "i", "LONG": "l", "LONG_LONG": "q",
    "UNSIGNED_CHAR": "B", "UNSIGNED_SHORT": "H", "UNSIGNED": "I", "UNSIGNED_LONG": "L", "UNSIGNED_LONG_LONG": "Q",
    "FLOAT": "f", "DOUBLE": "d", "LONG_DOUBLE": "g", "C_FLOAT_COMPLEX": "F", "C_DOUBLE_COMPLEX": "D",
    "C_LONG_DOUBLE_COMPLEX": "G", "INT8_T": "i1", "INT16_T": "i2", "INT32_T": "i4", "INT64_T": "i8", "UINT8_T": "u1",
    "UINT16_T": "u2", "UINT32_T": "u4", "UINT64_T": "u8", "AINT": "i8", "OFFSET": "i8", "COUNT": "i8",
}.items():  # fmt: skip
    _make(_name, _code)
_make("WCHAR", "u4", group="character")
for _name, _code, _size in (
    ("FLOAT_INT", "f", 8), ("DOUBLE_INT", "d", 12), ("LONG_INT", "l", 12), ("TWOINT", "i", 8), ("SHORT_INT", "h", 6),
    ("LONG_DOUBLE_INT", "g", 20),
):  # fmt: skip
    _make(_name, _pair(_code), _size, "pair")
BY_NAME |= {
    "C_COMPLEX": BY_NAME["C_FLOAT_COMPLEX"],
    "BOOL": BY_NAME["C_BOOL"],
    "INT_INT": BY_NAME["TWOINT"],
    "DOUBLE_COMPLEX": BY_NAME["C_DOUBLE_COMPLEX"],
    "UNSIGNED_INT": BY_NAME["UNSIGNED"],
    "SINT8_T": BY_NAME["INT8_T"],
    "SINT16_T": BY_NAME["INT16_T"],
    "SINT32_T": BY_NAME["INT32_T"],
    "SINT64_T": BY_NAME["INT64_T"],
    "SIGNED_SHORT": BY_NAME["SHORT"],
    "SIGNED_INT": BY_NAME["INT"],
    "SIGNED_LONG": BY_NAME["LONG"],
    "SIGNED_LONG_LONG": BY_NAME["LONG_LONG"],
}
_BY_CODE = {
    BY_NAME[name].dtype.str: BY_NAME[name]
    for name in (
        "C_BOOL", "CHAR", "SIGNED_CHAR", "SHORT", "INT", "LONG", "UNSIGNED_CHAR", "UNSIGNED_SHORT", "UNSIGNED",
        "UNSIGNED_LONG", "FLOAT", "DOUBLE", "LONG_DOUBLE", "C_FLOAT_COMPLEX", "C_DOUBLE_COMPLEX",
        "C_LONG_DOUBLE_COMPLEX",
    )
}  # fmt: skip
BY_DTYPE = {each.dtype: each for each in _BY_CODE.values()}
"""The datatypes of numpy's numbers in this machine's byte order."""


def of(dtype: np.dtype[Any], what: str, *, combined: bool = False) -> Datatype:
    """Return the datatype of a numpy dtype.

    Args:
        dtype: numpy's.
        what: the call and the argument, for the error.
        combined: whether elements are operands of a reduction, for the error.

    Raises:
        BadRequest: MPI has none for it.
    """
    found = _BY_CODE.get(dtype.str)
    if found is None:
        found = next((each for each in BY_NAME.values() if each.is_pair and each.dtype == dtype), None)
    if found is None:
        raise BadRequest(f"{what}: MPI has no basic datatype for numpy's {dtype}; {_instead(dtype, combined)}")
    return found


def _instead(dtype: np.dtype[Any], combined: bool) -> str:
    """Return what to give for an array of a dtype that MPI does not have."""
    if not combined:
        return "give one explicitly, as [array, MPI.BYTE]"
    known = {"f": "float32", "M": "int64", "m": "int64"}.get(dtype.kind)
    if known is not None:
        return f"reduce array.{'astype' if dtype.kind == 'f' else 'view'}(numpy.{known})"
    if pair := _pair_like(dtype):
        return f"give one explicitly, as [array, MPI.{pair}]"
    return "reduce an array of numbers"


def _pair_like(dtype: np.dtype[Any]) -> str:
    """Return the name of the pairs that lie as the elements of a structured array, whatever its fields are called."""
    lies = None if dtype.names is None else [dtype.fields[name][:2] for name in dtype.names]  # type: ignore[index]
    pairs = {name: each.dtype for name, each in BY_NAME.items() if each.is_pair and each.extent == dtype.itemsize}
    return next((name for name, its in pairs.items() if [its.fields[each][:2] for each in its.names] == lies), "")  # type: ignore[index,union-attr]


def named(text: str, what: str) -> Datatype:
    """Return the datatype that a text stands for: one of numpy's codes, or MPI's name.

    Raises:
        BadRequest: it stands for none.
    """
    found = BY_NAME.get(text.removeprefix("MPI_"))
    if found is not None:
        return found
    try:
        return of(np.dtype(text), what)
    except TypeError:
        raise BadRequest(f"{what}: {text!r} names no datatype; give MPI.INT, MPI.DOUBLE or another") from None
