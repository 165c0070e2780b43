"""What `a[i]` gives: a read that is still to be awaited, and says so to code that takes it for a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from extended.upc.errors import NotAwaited

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable


_ASSIGNED = "in an assignment with an operator"
_ADDED = ", and `await a.add_at(i, v)` where `a[i] += v` was meant"


def _refusing(what: str) -> Callable[..., NoReturn]:
    def method(self: Read, *others: object, **options: object) -> NoReturn:
        raise self.refusal(what)

    return method


class Read:
    """A relaxed read of an element, or of several; ``await`` it for the value.

    Args:
        coroutine: reads.
        forgive: takes the read as never made, when it is refused in another way than that of what is forgotten;
            returns it as the program has written it.
    """

    __slots__ = ("_coroutine", "_forgive")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], forgive: Callable[[], str]) -> None:
        self._coroutine = coroutine
        self._forgive = forgive

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __repr__(self) -> str:
        return "<read a[i] that was not awaited>"

    def refusal(self, what: str) -> NotAwaited:
        """Return the error for the use of this read as a value, which says what to write."""
        made = self._forgive() or "a[i]"
        self._coroutine.close()
        return NotAwaited(
            f"{made} was used {what}, but it is a read that has not been awaited; write `await {made}` for the value"
            + _ADDED * (what == _ASSIGNED)
        )

    def __setitem__(self, index: object, value: object) -> NoReturn:
        """Refuse: what is read is a copy, so the array would stay as it is, with `await` too."""
        self._forgive()
        self._coroutine.close()
        raise NotAwaited("a[i][j] = v would write into a copy of what is read; write `a[i, j] = v` into the array")

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = _refusing("in arithmetic of numpy")
    __array__ = _refusing("as an array")


_IN_WORDS = {
    "in arithmetic": """add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow
        matmul rmatmul lshift rlshift rshift rrshift and rand or ror xor rxor neg pos abs invert round trunc floor ceil
        """,
    _ASSIGNED: """iadd isub imul itruediv ifloordiv imod ipow imatmul ilshift irshift iand ior
        ixor""",
    "in a comparison": "eq ne lt le gt ge",
    "as a truth value": "bool",
    "as a number": "int float complex index",
    "as text": "format",
    "as a sequence": "iter len contains reversed",  # no __getitem__: with it numpy takes it for a sequence itself
    "as bytes": "bytes",
}
ARITHMETIC = ("in arithmetic", _ASSIGNED)
"""What an array that does not lie here does not take part in either."""


def refuse(cls: type, uses: Iterable[str], refusing: Callable[[str], Callable[..., NoReturn]]) -> None:
    """Give a class the methods of some uses, all of which refuse.

    Args:
        cls: the class.
        uses: in words.
        refusing: makes such a method, given the words.
    """
    for use in uses:
        for name in _IN_WORDS[use].split():
            setattr(cls, f"__{name}__", refusing(use))


refuse(Read, _IN_WORDS, _refusing)
