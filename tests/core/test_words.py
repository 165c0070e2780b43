"""What messages say of counts and kinds."""

import pytest

import conduit
from conduit import Endpoint, words


def test_counts_and_kinds():
    assert [words.many(count, "message") for count in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
    values = 3, "x", None, object(), Endpoint.__new__(Endpoint), [], UnicodeError()
    assert [words.is_a(value) for value in values] == [
        "is an int", "is a str", "is no value", "is an object", "is an Endpoint", "is a list", "is a UnicodeError",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda ep: ep.warn(None), "ep.warn: text=None is no value; pass a str"),
        (lambda ep: ep.warn(3), "ep.warn: text=3 is an int; pass a str"),
        (lambda ep: ep.count(ep), "is an Endpoint; pass a str"),
    ],
)
def test_calls_use_them(program, text):
    async def main(ep):
        with pytest.raises(conduit.BadRequest) as caught:
            program(ep)
        assert text in str(caught.value)

    conduit.run(main, ranks=1, conduit="loggp")


def test_what_is_waited_for_may_be_of_a_class_of_its_own():
    """By which a layer knows it again in a report."""

    class Words(str):
        pass

    async def main(ep):
        await ep.block_until(lambda: False, what=Words("a word"))

    with pytest.raises(conduit.Deadlock, match=r"waits for a word"):
        conduit.run(main, ranks=1, conduit="loggp")
