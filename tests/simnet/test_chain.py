"""What the author of a network gives a chain, or yields to it, and is wrong there is told with the author's line."""

import inspect
from functools import partial

import pytest

import conduit
from conduit.simnet.chain import Chain
from conduits.loggp.port import LoggpTransport

WRITE = "yield partial(f, x), which the chain calls as f(x, done); f(x) would be called at once"


async def main(ep):
    def handler(token):
        pass

    await ep.attach(handler)
    await ep.request_short(1 - ep.rank, handler)


def fly(dest, done):
    done(0)


def nothing(dest):
    """Stand in for an act that is called."""


def called(self, dest):
    yield nothing(dest)  # the line


def bare(self, dest):
    yield partial(fly, dest)
    yield  # the line


def number(self, dest):
    yield 3  # the line


def inner(self, dest):
    yield partial(fly, dest)
    yield from called(self, dest)


def line(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(index for index, text in enumerate(lines) if "# the line" in text)


def sending(monkeypatch, steps):
    def send(self, dest, slot, message, then):
        Chain(self.port.kernel, self.port.cpu, steps(self, dest), then)

    monkeypatch.setattr(LoggpTransport, "send", send)
    monkeypatch.setattr(LoggpTransport, "send_request", send)


@pytest.mark.parametrize(
    ("steps", "author", "value"),
    [(called, called, "None"), (bare, bare, "None"), (number, number, "3"), (inner, called, "None")],
)
@pytest.mark.parametrize("dev", [False, True])
def test_an_act_that_is_called_and_not_given(monkeypatch, dev, steps, author, value):
    if dev:
        flags = type("Flags", (), {"dev_mode": True})
        monkeypatch.setattr("conduit.launch.jobs.simulated.sys", type("Sys", (), {"flags": flags}))
    sending(monkeypatch, steps)
    text = f"Chain: {author.__name__} yielded {value} at {__file__}:{line(author)}, which cannot be called; {WRITE}"
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value) == text
    assert caught.value.__context__ is None


def test_an_act_that_fails_by_itself_is_left_as_it_is(monkeypatch):
    def steps(self, dest):
        yield partial(fly, dest, 5, 6)

    sending(monkeypatch, steps)
    with pytest.raises(TypeError, match=r"^fly\(\) takes 2 positional arguments but 4 were given"):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(
    ("steps", "value"),
    [(lambda self, dest: None, "None"), (lambda self, dest: (5,), r"\(5,\)"), (lambda self, dest: nothing, "nothing")],
)
def test_steps_that_are_no_generator(monkeypatch, steps, value):
    sending(monkeypatch, steps)
    with pytest.raises(
        TypeError,
        match=rf"^Chain: steps={value} is no generator; give what a method with a `yield` in it returns: self\.steps\(",
    ):
        conduit.run(main, conduit="loggp")


def test_a_step_that_fails_by_itself_is_left_as_it_is(monkeypatch):
    def steps(self, dest):
        yield nothing()

    sending(monkeypatch, steps)
    with pytest.raises(TypeError, match=r"^nothing\(\) missing 1 required positional argument: 'dest'"):
        conduit.run(main, conduit="loggp")
