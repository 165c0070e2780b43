"""Mistakes of who writes a network in real time are told in words of the contract, with the class and the method."""

import re

import pytest

import conduit
from conduit.launch.registry import parse_spec


async def ask_the_next(ep):
    got = []

    def ask(token, number):
        token.reply_short(take, number)

    def take(token, number):
        got.append(number)

    await ep.attach(ask, take)
    await ep.request_short((ep.rank + 1) % ep.size, ask, 7)
    await ep.block_until(lambda: got)
    return got


@pytest.fixture
def network(local, monkeypatch):
    """Gives the classes of ports and of the network."""
    cls = parse_spec(local).cls
    port = cls.make_port.__globals__["LocalPort"]
    return lambda **methods: [
        monkeypatch.setattr(port, name, method(getattr(port, name))) for name, method in methods.items()
    ]


MISTAKES = {
    "a tuple": (
        {"take": lambda take: lambda self: take(self) and (1, b"2")},
        r"take returned \(1, b'2'\); return a Message, or None",
    ),
    "true of a request": (
        {"send_request": lambda send: lambda self, *what: [send(self, *what), True][1]},
        "send_request returned True; return None, or a function that tells whether its source may be reused",
    ),
    "a list of an all-gather": (
        {"begin_allgather": lambda begin: lambda self, data: [data, data]},
        r"begin_allgather returned \[.*\]; return a function that gives the bytes of all ranks, None until then",
    ),
    "one rank's of an all-gather": (
        {"begin_allgather": lambda begin: lambda self, data: lambda: [data]},
        r"begin_allgather\(...\) returned \[.*\]; return the bytes of all 2 ranks, by rank",
    ),
    "nothing of serving": (
        {"begin_serving": lambda begin: lambda self: None},
        "begin_serving returned None; return a function that tells whether the job is over",
    ),
}


@pytest.mark.parametrize(("methods", "told"), MISTAKES.values(), ids=MISTAKES)
def test_what_a_method_returns_that_is_of_another_kind_is_told(network, local, methods, told):
    network(**methods)
    with pytest.raises(conduit.ConduitError, match=rf"^rank [01], LocalPort\.{told}\n"):
        conduit.run(ask_the_next, conduit=local)


def test_a_handler_that_fails_is_told_as_that(network, local):
    async def main(ep):
        def fail(token):
            raise AttributeError("of the handler's own")

        await ep.attach(fail)
        await ep.request_short(1 - ep.rank, fail)
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.HandlerError, match="AttributeError: of the handler's own"):
        conduit.run(main, conduit=local)


async def waits(self, *what):
    return None


def yields(self, *what):
    yield None


@pytest.mark.parametrize(("method", "kind"), [(waits, "is async"), (yields, "has a `yield` in it")])
@pytest.mark.parametrize("name", ["take", "acquire", "send_request", "send_reply", "begin_allgather", "begin_serving"])
def test_a_method_that_would_wait_is_refused_with_its_class(local, name, method, kind):
    base = parse_spec(local).cls.make_port.__globals__["LocalPort"]
    told = f"Waiting.{name} {kind}; a port's methods are plain: they begin what lasts, and later polls look at it"
    with pytest.raises(TypeError, match=f"^{re.escape(told)}$"):
        type("Waiting", (base,), {name: method})
