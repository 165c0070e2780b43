"""What `a[i]` gives: a read that is still to be awaited, and says so to whoever takes it for a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from extended.upc.errors import NotAwaited

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator


def _refusing(what: str) -> Callable[..., NoReturn]:
    def method(self: Read, *others: object, **options: object) -> NoReturn:
        raise NotAwaited(self.explain(what))

    return method


class Read:
    """A relaxed read of an element, or of several; ``await`` it for the value.

    Args:
        name: what messages call it: the array with its index.
        make: returns the coroutine that reads.
    """

    __slots__ = ("_make", "_name")

    def __init__(self, name: Callable[[], str], make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._name = name
        self._make = make

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._make().__await__()

    def __repr__(self) -> str:
        return f"<read of {self._name()} that was not awaited>"

    def explain(self, what: str) -> str:
        """Return what is wrong with the use of this read as a value, and what to write."""
        name = self._name()
        return (
            f"{name} was used {what}, but it is a read that has not been awaited; write `await {name}` for the value, "
            f"and `await a.add_at(i, v)` where `a[i] += v` was meant"
        )

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = _refusing("in arithmetic of numpy")
    __array__ = _refusing("as an array")


_IN_WORDS = {
    "in arithmetic": """add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow
        matmul rmatmul lshift rlshift rshift rrshift and rand or ror xor rxor neg pos abs invert round trunc floor ceil
        """,
    "in an assignment with an operator": """iadd isub imul itruediv ifloordiv imod ipow imatmul ilshift irshift iand ior
        ixor""",
    "in a comparison": "eq ne lt le gt ge",
    "as a truth value": "bool",
    "as a number": "int float complex index",
    "as text": "format",
    "as a sequence": "iter len getitem setitem contains reversed",
    "as bytes": "bytes",
}
for _what, _names in _IN_WORDS.items():
    for _name in _names.split():
        setattr(Read, f"__{_name}__", _refusing(_what))
