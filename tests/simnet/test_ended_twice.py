"""A network that says twice that a send is over is refused, whatever is under way and without the development mode."""

import pytest

import conduit
from conduits.globalmem.unit import MovingUnit
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpTransport
from extended import Extended

NS = 1_000


async def one_at_a_time(ep):
    got = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(1)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        for number in range(5):
            await ep.request_short(1, ask)
            await ep.block_until(lambda: len(got) > number)  # noqa: B023  the wait is over before the next turn


async def all_at_once(ep):
    got = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(1)

    await ep.attach(ask, answer)
    for _ in range(20):
        await ep.request_short((ep.rank + 1) % ep.size, ask)
        await ep.poll()
    await ep.block_until(lambda: len(got) == 20)


async def puts(ep):
    x = await Extended.attach(ep)
    for _ in range(3):
        await x.put((ep.rank + 1) % ep.size, 8 * ep.rank, b"12345678")
        await x.barrier()


def again(method, later):
    """Return a transport's method that calls `then` a second time, `later` picoseconds after the first."""

    def send(self, *args):
        *rest, then = args

        def twice():
            then()
            if later:
                self.port.kernel.call(self.port.kernel.now + later, then)
            else:
                then()

        getattr(LoggpTransport, method)(self, *rest, twice)

    return send


class Tincan(LoggpTransport):
    """As loggp's; each test breaks one method."""


@pytest.mark.parametrize("later", [0, 1 * NS, 5_000 * NS], ids=["at once", "1 ns", "5 us"])
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("main", [one_at_a_time, all_at_once, puts])
@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("send_request", "Tincan.send_request called then() a second time; a send ends once"),
        (
            "send_reply",
            "Tincan: a pass goes on that is over; send_reply called then() a second time, or resume_pass() was called "
            "twice after one LATER; `python -X dev -m conduit ...` says which",
        ),
    ],
)
def test_a_send_that_ends_twice(monkeypatch, method, told, main, ranks, later):
    monkeypatch.setattr(Tincan, method, again(method, later), raising=False)
    monkeypatch.setattr(Loggp, "make_transport", lambda network, port: Tincan(port, network))
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, ranks=ranks, conduit="loggp", ranks_per_host=1)
    assert str(caught.value).partition(", ")[2] == told


def test_an_operation_that_gives_the_cpu_back_twice(monkeypatch):
    put = MovingUnit.put

    def twice(self, dest, places, data, free, done):
        put(self, dest, places, data, lambda: (free(), free()), done)

    monkeypatch.setattr(MovingUnit, "put", twice)
    with pytest.raises(conduit.ConduitError, match=r"rank 0, MovingUnit called free\(\) a second time"):
        conduit.run(puts, conduit="t3e")
