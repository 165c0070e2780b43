"""What the author of a simulated network gets wrong is said in terms of what the author has written."""

import subprocess
import sys

import attrs
import pytest

import conduit
from conduit.contract import Constant, Limits, RawTable
from conduit.launch import registry
from conduit.launch.hints.of_errors import hint
from conduit.options import SimOptions, option
from conduit.simnet import HostModel, Transport, Unit
from conduit.simnet.constants import bytes_per_s, ps
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpTransport
from extended import Extended

FRACTION = """
import conduit
from conduits.loggp.port import LoggpTransport

def send(self, dest, slot, message, then):
    self.port.cpu.charge(0.35e6)
    self.port.kernel.at(self.port.cpu.free, then)  # the line

LoggpTransport.send_request = send

async def main(ep):
    def handler(token):
        pass

    await ep.attach(handler)
    await ep.request_short(1, handler)

conduit.run(main, conduit="loggp")
"""


async def main(ep):
    got = []

    def ask(token, number):
        token.reply_short(answer, number)

    def answer(token, number):
        got.append(number)

    await ep.attach(ask, answer)
    for number in range(3):
        await ep.request_short(1 - ep.rank, ask, number)
    await ep.block_until(lambda: len(got) == 3)
    return got


def refused(message):
    with pytest.raises(conduit.ConduitError, match=message):
        conduit.run(main, conduit="loggp")


def test_a_time_that_is_no_whole_number(monkeypatch):
    send = LoggpTransport.send_request

    def charging(self, *args):
        self.port.cpu.charge(0.5)
        send(self, *args)

    monkeypatch.setattr(LoggpTransport, "send_request", charging)
    refused(r"^the time of a rank has become \S+\.5 ps, a float: the network has picoseconds that are no int")


@pytest.mark.slow
def test_in_development_mode_the_line_that_gives_such_a_time_is_shown():
    done = subprocess.run([sys.executable, "-X", "dev", "-c", FRACTION], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'File "<string>", line 7, in send' in done.stderr
    assert "ps, which is a float; times are whole numbers" in done.stderr


class Bare(LoggpTransport):
    """Forgets what every transport begins with."""

    def __init__(self, port, conduit):
        self.conduit = conduit


class Swapped(LoggpTransport):
    """Takes its arguments in another order than its base."""

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        Transport.__init__(self, conduit)


class Costless(LoggpTransport):
    """Has no cost of a poll, or none that can be counted."""

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        del self.miss_ps


class Fractional(LoggpTransport):
    """Polls at the cost of a fraction of a picosecond."""

    def __init__(self, port, conduit):
        super().__init__(port, conduit)
        self.miss_ps = 0.5


class Abstract(Transport):
    """Has not all that a transport must have."""


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        (
            lambda port, network: Abstract(port),
            r"^Loggp\.make_transport: Can't instantiate abstract class Abstract .*take'?; define what it lacks$",
        ),
        (lambda port, network: None, r"^Loggp\.make_transport returned None; return a Transport$"),
        (Bare, r"^Bare\.__init__ has not called super\(\)\.__init__\(port\)$"),
        (
            Swapped,
            r"^Swapped\.__init__ has called super\(\)\.__init__ with <.*Loggp object>; pass the port$",
        ),
        (Costless, r"^Costless has no miss_ps; set it to what one poll costs that finds nothing, picoseconds$"),
        (Fractional, r"^Fractional\.miss_ps=0\.5 is no int of picoseconds from 0 on; use conduit\.sim\.units\.ps"),
    ],
)
def test_a_transport_that_is_not_ready(monkeypatch, transport, message):
    monkeypatch.setattr(Loggp, "make_transport", lambda network, port: transport(port, network))
    refused(message)


class Wire:
    """Has a transport's methods and derives from nothing, as those that follow."""

    take = acquire = send_request = send_reply = None

    def __init__(self, port):
        super().__init__(port)


class Asking:
    """Asks for what the base class would have."""

    take = acquire = send_request = send_reply = None

    def __init__(self, port):
        port.kernel.at(self.miss_ps, self.take)


class Complete(dict):
    """Has all that is asked of a transport."""

    take = acquire = send_request = send_reply = None

    def __init__(self, port):
        self.port, self.miss_ps = port, 1000

    def __repr__(self):
        return "Complete(port)"


class Empty:
    """Has no `__init__`."""

    take = acquire = send_request = send_reply = None


class Other:
    """Is no transport."""


DERIVE = "{0} does not derive from Transport: write `class {0}({1})`, with `from conduit.simnet import Transport`"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda network, port: Wire(port),
            "Loggp.make_transport: object.__init__() takes exactly one argument (the instance to initialize); "
            + DERIVE.format("Wire", "Transport"),
        ),
        (
            lambda network, port: Empty(port),
            "Loggp.make_transport: Empty() takes no arguments; " + DERIVE.format("Empty", "Transport"),
        ),
        (
            lambda network, port: Asking(port),
            "Loggp.make_transport: 'Asking' object has no attribute 'miss_ps'; " + DERIVE.format("Asking", "Transport"),
        ),
        (
            lambda network, port: Complete(port),
            "Loggp.make_transport returned Complete(port); " + DERIVE.format("Complete", "dict, Transport"),
        ),
    ],
)
def test_a_transport_that_does_not_derive_from_one(monkeypatch, make, said):
    monkeypatch.setattr(Loggp, "make_transport", make)
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value) == said


def test_a_class_of_its_own_that_a_transport_is_made_with_is_told_in_pythons_words(monkeypatch):
    monkeypatch.setattr(Loggp, "make_transport", lambda network, port: LoggpTransport(port, Other(port)))
    with pytest.raises(TypeError, match=r"^Other\(\) takes no arguments$"):
        conduit.run(main, conduit="loggp")


def test_a_host_that_is_no_model(monkeypatch):
    monkeypatch.setattr(Loggp, "make_host", lambda network: None)
    refused(r"^Loggp\.make_host returned None; return a HostModel$")


@pytest.mark.parametrize(
    ("name", "found", "write"),
    [
        ("limits", (16, 512, 512, 512), "conduit.contract.Limits(...)"),
        ("costs", None, "conduit.contract.Costs(...)"),
        ("library_costs", [1], "a dict of seconds by name, finite numbers of at least 0"),
        ("library_costs", {"put": -1e-6}, "a dict of seconds by name, finite numbers of at least 0"),
        ("max_hosts", "250", "an int of at least 1, or None"),
        ("max_ranks_per_host", 0, "an int of at least 1, or None"),
        ("max_segment", 1e6, "an int of at least 1, or None"),
        ("thresholds", 2048, "a tuple of payload sizes, ints"),
        ("thresholds", (1024.0,), "a tuple of payload sizes, ints"),
        ("raw_tables", [5], "a list of conduit.contract.RawTable"),
        ("raw_time", "3us", "seconds, or None"),
    ],
)
def test_what_a_network_says_of_itself_and_is_not_that(name, found, write):
    wrong = type("Wrong", (Loggp,), {name: classmethod(lambda cls, options, *more: found)})
    with pytest.raises(conduit.ConduitError) as caught:
        getattr(wrong, name)(None)
    assert str(caught.value) == f"Wrong.{name} returned {found!r}; return {write}"


BY_HOST = 'a dict by host of dicts of counts by name, whole numbers, as {0: {"x_count": 3}}'


@pytest.mark.parametrize(
    ("base", "name", "found", "write"),
    [
        (Loggp, "start_ticks", 1.5e6, "an int of picoseconds, 0 or more"),
        (Loggp, "allgather_ticks", -5, "an int of picoseconds, 0 or more"),
        (Loggp, "host_statistics", 7, BY_HOST),
        (Loggp, "host_statistics", {"0": {"x": 1}}, BY_HOST),
        (LoggpTransport, "statistics", [5], "a dict of counts by name, whole numbers"),
        (LoggpTransport, "statistics", {"x": 0.5}, "a dict of counts by name, whole numbers"),
    ],
)
def test_what_a_network_says_of_a_job_and_is_not_that(base, name, found, write):
    wrong = type("Wrong", (base,), {name: lambda self: found})
    with pytest.raises(conduit.ConduitError) as caught:
        getattr(wrong, name)(None)
    assert str(caught.value) == f"Wrong.{name} returned {found!r}; return {write}"


def test_a_class_method_of_a_network_that_is_none():
    with pytest.raises(
        TypeError,
        match=r"^Wrong\.limits is no class method; write @classmethod above it: it is asked before a network is made$",
    ):
        type("Wrong", (Loggp,), {"limits": lambda self, options: None})


def test_a_network_that_forgets_its_base(monkeypatch):
    monkeypatch.setattr(Loggp, "__init__", lambda network, *args: None)
    refused(r"^Loggp\.__init__ has not called super\(\)\.__init__\(options, setup, world\)$")


def test_a_network_that_asks_for_its_kernel_before_its_base(monkeypatch):
    monkeypatch.setattr(Loggp, "__init__", lambda network, *args: network.kernel.at(0, print))
    with pytest.raises(AttributeError) as caught:
        conduit.run(main, conduit="loggp")
    assert hint(caught.value) == (
        "Loggp has no kernel; call `super().__init__(options, setup, world)` first in its __init__"
    )


def test_a_message_that_is_delivered_twice_is_told_of_its_network(monkeypatch):
    take = LoggpTransport.take

    def twice(self):
        message = take(self)
        if message is not None and not message.is_request and not hasattr(self, "again"):
            self.again = message
            self.port.kernel.at(self.port.kernel.now, self.port.notify)
        elif message is None and getattr(self, "again", None) is not None:
            message, self.again = self.again, None
        return message

    monkeypatch.setattr(LoggpTransport, "take", twice)

    async def puts(ep):
        x = await Extended.attach(ep)
        for _ in range(3):
            await x.put(1 - ep.rank, 0, b"12345678")
        await x.barrier()

    message = (
        "^a reply to operation 0 has come, which this rank does not wait for: the network has delivered a message "
        r"twice, or to another rank than its own; `python -X dev -m conduit \.\.\.` says which"
    )
    with pytest.raises(conduit.ConduitError, match=message):
        conduit.run(puts, conduit="loggp", segment=64)


@pytest.mark.parametrize("name", ["take", "begin_pass", "send_request", "acquire", "end_pass"])
def test_a_method_of_a_transport_that_is_async(name):
    async def method(self, *args):
        pass

    with pytest.raises(
        TypeError, match=rf"^Slow\.{name} is async; a transport's methods are plain; what they begin goes on in"
    ):
        type("Slow", (LoggpTransport,), {name: method})


def test_a_method_of_a_transport_that_is_an_async_generator():
    async def method(self, *args):
        yield

    with pytest.raises(
        TypeError, match=r"^Slow\.take is async; a transport's methods are plain; what they begin goes on"
    ):
        type("Slow", (LoggpTransport,), {"take": method})


def yielding(self, *args):
    yield


@pytest.mark.parametrize(
    ("base", "what", "name", "last"),
    [
        (LoggpTransport, "transport", "send_request", "then"),
        (LoggpTransport, "transport", "send_reply", "then"),
        (Unit, "unit", "put", "free"),
        (Unit, "unit", "get", "free"),
        (Unit, "unit", "atomic", "free"),
        (Unit, "unit", "fence", "free"),
        (Unit, "unit", "quiet", "free"),
    ],
)
def test_a_method_that_begins_a_chain_and_is_a_generator(base, what, name, last):
    with pytest.raises(TypeError) as caught:
        type("Slow", (base,), {name: yielding})
    assert str(caught.value) == (
        f"Slow.{name} has a `yield` in it; a {what}'s methods are plain; put the acts into a method of another name, "
        f"and in this one write Chain(self.port.kernel, self.port.cpu, self.steps(...), {last})"
    )


@pytest.mark.parametrize("name", ["take", "acquire", "begin_pass", "end_pass", "close"])
def test_another_method_of_a_transport_that_is_a_generator(name):
    with pytest.raises(TypeError) as caught:
        type("Slow", (LoggpTransport,), {name: yielding})
    assert str(caught.value) == (
        f"Slow.{name} has a `yield` in it; a transport's methods are plain; what they begin goes on in events "
        "(port.kernel.at)"
    )


@pytest.mark.parametrize("name", ["work", "slots_in_use", "steps"])
def test_what_may_be_a_generator_or_is_told_in_reports(name):
    type("Slow", (LoggpTransport,), {name: yielding})


def test_costs_of_a_host_that_are_no_whole_picoseconds():
    costs = {
        "copy_bytes_per_s": 1e9,
        "copy_call_ps": 1,
        "flops_per_s": 1e9,
        "line_ps": 1,
        "poll_ps": 1,
        "message_ps": 1,
    }
    HostModel(**costs)
    for name in ("copy_call_ps", "line_ps", "poll_ps", "message_ps"):
        for wrong in (0.5, 1.0, -1, None):
            with pytest.raises(
                ValueError, match=rf"^HostModel: {name}={wrong} is no int of picoseconds from 0 on; use"
            ):
                HostModel(**costs | {name: wrong})
    for name in ("copy_bytes_per_s", "flops_per_s"):
        for wrong in (0, -1.0, float("nan")):
            with pytest.raises(ValueError, match=rf"^HostModel: {name}={wrong} is no rate; pass a number above 0$"):
                HostModel(**costs | {name: wrong})


def test_limits_below_the_contract():
    sound = {"max_args": 16, "max_medium": 512, "max_long_request": 512, "max_long_reply": 512}
    Limits(**sound)
    for name, least in sound.items():
        for wrong in (least - 1, float(least)):
            with pytest.raises(
                ValueError, match=rf"^Limits: {name}={wrong} is not allowed; pass an int of at least {least}"
            ):
                Limits(**sound | {name: wrong})


def test_a_constant_of_no_kind():
    with pytest.raises(
        ValueError, match=r"^constant 'x': kind='guess' is not allowed; pass 'fact', 'anchor' or 'assumed'$"
    ):
        Constant("x", 1, "us", "guess", "because")


def test_a_constant_of_no_unit():
    with pytest.raises(
        ValueError,
        match=r"^constant 'x': unit='nsec' is not allowed; pass one of ns, us, us/byte, bytes, MB/s, 1/s, MHz, "
        r"Mflop/s, count, messages, datagrams, ratio, -$",
    ):
        Constant("x", 1, "nsec", "fact", "because")


def test_a_constant_that_is_read_as_what_it_is_not():
    size = Constant("x", 1, "bytes", "fact", "because")
    with pytest.raises(TypeError, match=r"^x is in 'bytes', no time; its unit must be 'ns' or 'us'$"):
        ps(size)
    with pytest.raises(TypeError, match=r"^x is in 'bytes', no rate; its unit must be 'MB/s'$"):
        bytes_per_s(size)


def test_a_table_whose_rows_do_not_fill_its_columns():
    RawTable("t", ("bytes", "us"), [(1, 2.0), (2, None)])
    with pytest.raises(
        ValueError, match=r"^table 't': the row \(1,\) does not have a cell for each of \('bytes', 'us'\)$"
    ):
        RawTable("t", ("bytes", "us"), [(1,)])


@attrs.frozen(kw_only=True)
class Bald:
    slots: int = option(2, "slots")


class Undecorated(SimOptions):
    slots: int = option(2, "slots")


@attrs.frozen(kw_only=True)
class Inline(SimOptions):
    inline: int = option(128, "bytes that fit into a work request")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            Bald,
            r"its Options, the class Bald, lack order, inline and piece; derive it from conduit\.options\.SimOptions$",
        ),
        (
            Undecorated,
            r"its Options, the class Undecorated, are not decorated; write @attrs\.frozen\(kw_only=True\) above",
        ),
        (Inline, r"its Options, the class Inline, declare 'inline' anew, which every simulated conduit has; choose an"),
    ],
)
def test_options_that_cannot_be_told(monkeypatch, options, message):
    monkeypatch.setattr(Loggp, "Options", options)
    with pytest.raises(conduit.UnknownConduit, match=message):
        registry.parse_spec("loggp")


def test_a_transport_that_cannot_be_closed_is_told_once(monkeypatch):
    def close(self):
        raise LookupError("no timer")

    monkeypatch.setattr(LoggpTransport, "close", close)
    with pytest.raises(LookupError, match=r"^no timer") as caught:
        conduit.run(main, conduit="loggp")
    assert caught.value.__context__ is None


def test_events_that_let_no_time_pass_are_named(monkeypatch):
    def spin(self):
        self.port.kernel.at(self.port.kernel.now, self.spin)

    monkeypatch.setattr(LoggpTransport, "spin", spin, raising=False)
    monkeypatch.setattr(LoggpTransport, "take", spin)
    spin.__qualname__ = "LoggpTransport.spin"
    with pytest.raises(conduit.Livelock) as caught:
        conduit.run(main, conduit="loggp")
    assert caught.value.report.head.endswith(
        "(events of the simulated hardware follow one another at one instant, such as LoggpTransport.spin)"
    )


@pytest.mark.parametrize("schedule", ["at", "call", "soon"])
def test_an_event_that_nothing_can_call(monkeypatch, schedule):
    """The result of a call in the place of the function."""
    begin_pass = LoggpTransport.begin_pass

    def begin(self):
        getattr(self.port.kernel, schedule)(self.port.kernel.now, 3)
        begin_pass(self)

    monkeypatch.setattr(LoggpTransport, "begin_pass", begin)
    message = (
        r"\Aan event is to call 3; kernel\.at\(when, f, x\) calls f\(x\) then, and kernel\.at\(when, f\(x\)\) calls it "
        r"now; `python -X dev -m conduit \.\.\.` shows the line that schedules it\n"
        r"raised by an event of no rank at [\d.]+ s\Z"
    )
    with pytest.raises(TypeError, match=message):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(("args", "given"), [((), "0 arguments"), ((1,), "1 argument"), ((1, 2, 3, 4), "4 arguments")])
def test_an_event_with_other_arguments_than_it_takes(monkeypatch, args, given):
    def landed(self, first, second, third=3):
        pass

    begin_pass = LoggpTransport.begin_pass
    monkeypatch.setattr(LoggpTransport, "landed", landed, raising=False)
    monkeypatch.setattr(
        LoggpTransport,
        "begin_pass",
        lambda self: (self.port.kernel.at(self.port.kernel.now + 5, self.landed, *args), begin_pass(self)),
    )
    with pytest.raises(TypeError) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value).startswith(
        f"an event calls {landed.__qualname__} ({__file__}:{landed.__code__.co_firstlineno}) with {given}, and it "
        "takes (first, second, third): kernel.at(when, f, x) calls f(x), so give what f takes behind it; `python -X dev"
    )


def test_what_an_event_raises_inside_stays_as_it_is(monkeypatch):
    def landed(first, second=2):
        raise TypeError("inside")

    begin_pass = LoggpTransport.begin_pass
    monkeypatch.setattr(
        LoggpTransport,
        "begin_pass",
        lambda self: (self.port.kernel.at(self.port.kernel.now + 5, landed, 1), begin_pass(self)),
    )
    with pytest.raises(TypeError, match=r"\Ainside\n"):
        conduit.run(main, conduit="loggp")


def test_an_error_out_of_a_method_of_a_network_is_told_as_one_of_the_network(monkeypatch):
    """Here a reply takes a slot that nobody has set aside: it comes back to who has sent no request."""
    send_request = LoggpTransport.send_request

    def send_reply(self, request, reply, then):
        send_request(self, request.source, self.acquire(request.source), reply, then)

    def take(self, take=LoggpTransport.take):
        message = take(self)
        if message is not None and not message.is_request:
            return self.free[message.source, "missing"]
        return message

    monkeypatch.setattr(LoggpTransport, "send_reply", send_reply)
    monkeypatch.setattr(LoggpTransport, "take", take)
    with pytest.raises(KeyError) as caught:
        conduit.run(main, conduit="loggp")
    assert (
        "raised in LoggpTransport.take: a mistake of the network 'loggp', not of the program; `python -X dev -m "
        "conduit ...` looks at every call of a network, and often names the one that is at fault"
    ) in caught.value.__notes__


@pytest.mark.parametrize("where", ["main", "handler", "predicate"])
def test_an_error_of_a_program_is_none_of_the_network(where):
    async def fails(ep):
        def ask(token):
            if where == "handler":
                raise KeyError("program")

        def predicate():
            raise KeyError("program")

        await ep.attach(ask)
        await ep.request_short(1 - ep.rank, ask)
        if where == "main":
            raise KeyError("program")
        await ep.block_until(predicate if where == "predicate" else lambda: False)

    with pytest.raises((KeyError, conduit.HandlerError)) as caught:
        conduit.run(fails, conduit="loggp")
    assert "a mistake of the network" not in "".join(caught.value.__notes__)


@pytest.mark.parametrize("delay", [100_000, 1_000_000, 3_000_000])
def test_a_reply_whose_then_is_called_twice_is_told_of_its_network(monkeypatch, delay):
    send_reply = LoggpTransport.send_reply

    def twice(self, request, reply, then):
        def both():
            then()
            self.port.kernel.at(self.port.kernel.now + delay, then)

        send_reply(self, request, reply, both)

    async def gets(ep):
        x = await Extended.attach(ep)
        for number in range(3):
            await x.put(1 - ep.rank, 0, bytes(100))
            await x.all_reduce(number)
            await x.barrier()
        await x.wait_all([await x.get_nb(1 - ep.rank, 0, 8) for _ in range(4)])

    monkeypatch.setattr(LoggpTransport, "send_reply", twice)
    with pytest.raises(conduit.ConduitError, match=r"send_reply called then\(\) a second time, or .*`python -X dev -m"):
        conduit.run(gets, conduit="loggp", time_limit=1)


def test_an_event_that_exits(monkeypatch):
    def leave(self):
        raise SystemExit(3)

    class Clock:
        def __init__(self, kernel):
            kernel.at(kernel.now, self.leave)

    Clock.leave = leave
    monkeypatch.setattr(LoggpTransport, "begin_pass", lambda self: Clock(self.port.kernel))
    with pytest.raises(SystemExit) as caught:
        conduit.run(main, conduit="loggp")
    where = f"{__file__}:{leave.__code__.co_firstlineno + 1} in leave"
    assert caught.value.__notes__ == [f"an event outside all ranks ended the job with status 3 at {where}"]
