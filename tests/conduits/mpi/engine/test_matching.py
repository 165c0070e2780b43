"""The engine by itself against a model of the standard's rules: which message a receive gets, in every interleaving.

The model has a list of receives and one of messages, and nothing else: a message goes to the first receive of the list
that it fits, a receive gets the first message of the list that fits it (MPI 3.5: order of the calls, order of each
sender); a probe sees what a receive would get; what a matched probe has taken nobody else gets.
"""

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from conduit.sim import Cpu, Kernel
from conduits.mpi.engine.device import Device, IncomingMessage
from conduits.mpi.engine.engine import Engine
from conduits.mpi.engine.plain import Found
from conduits.mpi.engine.software import Software
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, Mode
from conduits.mpi.errors import ErrorClass

SOFTWARE = Software(call_ps=1_000_000, test_ps=1_000, match_ps=10, complete_ps=0)


class FakePort:
    """What an engine needs of a port."""

    def __init__(self):
        self.rank, self.hosts = 0, (0, 1, 2, 3)
        self.kernel = Kernel()
        self.cpu = Cpu(self.kernel)
        self.failed = []

    def notify(self):
        pass

    arrived = miss_changed = notify

    def fail(self, error):
        self.failed.append(error)

    def waits(self):
        return ()

    def ready_sends_at(self, source, context, tag):
        return ()

    sends_at = ready_sends_at


class NoDevice(Device):
    """Sends are kept; nothing comes but what a test brings."""

    miss_ps = 1
    eager_limit = 0

    def __init__(self, engine):
        super().__init__(engine)
        self.begun = []

    def send(self, send):
        self.begun.append(send)

    def pending(self):
        return False

    def progress(self):
        return False

    def quiet(self):
        return True


class Message(IncomingMessage):
    """Its bytes are its number, over and over; a large one's come later."""

    def __init__(self, engine, number, context, source, tag, nbytes, mode, later):
        super().__init__(source, context, source, tag, nbytes, mode)
        self.engine, self.number, self.later = engine, number, later
        self.kept = self.told = 0
        self.receive = None

    def keep(self):
        self.kept += 1

    def deliver(self, receive):
        assert self.receive is None
        self.receive = receive
        self.told += self.synchronous
        if not self.later:
            self.arrive()

    def arrive(self):
        room = self.receive.room
        self.receive.data[:room] = bytes([self.number % 256]) * room
        self.engine.received(self.receive)


@attrs.define(eq=False)
class Wanted:
    """A receive of the model."""

    context: int
    source: int
    tag: int
    got: object = None
    cancelled: bool = False

    def fits(self, message):
        return (
            self.context == message.context
            and self.source in (ANY_SOURCE, message.source)
            and self.tag in (ANY_TAG, message.tag)
        )


contexts, sources, tags = st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)
wanted = st.tuples(contexts, sources | st.just(ANY_SOURCE), tags | st.just(ANY_TAG))
steps = st.one_of(
    st.tuples(st.just("receive"), wanted, st.sampled_from((0, 5, 9))),
    st.tuples(
        st.just("message"),
        st.tuples(contexts, sources, tags),
        st.sampled_from((0, 5, 8)),
        st.sampled_from((Mode.STANDARD, Mode.SYNCHRONOUS)),
        st.booleans(),
    ),
    st.tuples(st.just("probe"), wanted),
    st.tuples(st.just("take"), wanted),
    st.tuples(st.just("cancel"), st.integers(0, 30)),
    st.tuples(st.just("finish"), st.integers(0, 30)),
)


class Both:
    """The engine and the model, side by side."""

    def __init__(self):
        self.home = FakePort()
        self.engine = Engine(self.home, SOFTWARE, None, NoDevice)
        self.begun = []  # receives: the engine's, the model's
        self.messages = []
        self.receives, self.unwanted = [], []  # the model's two lists

    def cost(self):
        return self.home.cpu.free

    def receive(self, want, room):
        model = Wanted(*want)
        before, looks = self.cost(), [each for each in self.unwanted if each.context == model.context]
        transfer = self.engine.begin_receive(*want, memoryview(bytearray(room)))
        found = next((each for each in self.unwanted if model.fits(each)), None)
        if found is None:
            self.receives.append(model)
        else:
            self.unwanted.remove(found)
            model.got = found
        compared = len(looks) if found is None else looks.index(found) + 1
        assert self.cost() - before == SOFTWARE.call_ps + compared * SOFTWARE.match_ps
        self.begun.append((transfer, model))

    def message(self, envelope, nbytes, mode, later):
        message = Message(self.engine, len(self.messages), *envelope, nbytes, mode, later)
        self.messages.append(message)
        self.engine.arrive(message)
        taker = next((each for each in self.receives if each.fits(message)), None)
        message.unwanted = taker is None  # then, and then alone, and once, its device is to keep it
        if taker is None:
            self.unwanted.append(message)
        else:
            self.receives.remove(taker)
            taker.got = message

    def probe(self, want):
        model = Wanted(*want)
        found = next((each for each in self.unwanted if model.fits(each)), None)
        assert self.engine.has(*want) == (found is not None)
        assert self.engine.find(*want, take=False) is found

    def take(self, want):
        model = Wanted(*want)
        found = self.engine.find(*want, take=True)
        assert found is next((each for each in self.unwanted if model.fits(each)), None)
        if found is not None:
            self.unwanted.remove(found)
            model.got = found
            self.begun.append((Found(self.engine, found).Irecv(bytearray(5)), model))

    def cancel(self, number):
        if number < len(self.begun):
            transfer, model = self.begun[number]
            transfer.Cancel()
            if model in self.receives:
                self.receives.remove(model)
                model.cancelled = True

    def finish(self, number):
        """The bytes of a message that is matched come, if they have not."""
        if number < len(self.messages):
            message = self.messages[number]
            if message.later and message.receive is not None:
                message.later = False
                message.arrive()

    def check(self):
        for transfer, model in self.begun:
            message = model.got
            assert transfer.cancelled == model.cancelled
            assert transfer.over == (model.cancelled or (message is not None and not message.later))
            if message is None:
                continue
            assert message.receive is transfer
            assert (transfer.source, transfer.tag, transfer.nbytes) == (message.source, message.tag, message.nbytes)
            assert message.told == (message.mode == Mode.SYNCHRONOUS)
            if transfer.over:
                room = min(message.nbytes, len(transfer.data))
                rest = len(transfer.data) - room
                assert bytes(transfer.data) == bytes([message.number % 256]) * room + bytes(rest)
                truncated = message.nbytes > len(transfer.data)
                assert (transfer.error is not None) == truncated
                assert not truncated or transfer.error.Get_error_class() == ErrorClass.ERR_TRUNCATE
        for message in self.messages:
            assert message.kept == message.unwanted
        assert self.engine.unexpected() == len(self.unwanted)


@settings(max_examples=300)
@given(st.lists(steps, max_size=40))
def test_every_interleaving_is_matched_as_the_model_does(plan):
    both = Both()
    for kind, *args in plan:
        getattr(both, kind)(*args)
        both.check()
    assert not both.home.failed


def test_a_thousand_of_each_are_matched_in_order():
    both = Both()
    for number in range(1000):
        both.receive((number % 3, ANY_SOURCE if number % 2 else number % 4, ANY_TAG if number % 5 else number % 2), 9)
    for number in range(1000):
        both.message((number % 3, number * 7 % 4, number % 2), 8, Mode.STANDARD, False)
    for number in range(1000):
        both.receive((number % 3, ANY_SOURCE, ANY_TAG), 9)
    both.check()
    assert not both.unwanted


def test_a_ready_send_needs_its_receive():
    both = Both()
    both.receive((0, 1, 2), 9)
    both.engine.arrive(Message(both.engine, 0, 0, 1, 2, 5, Mode.READY, False))
    assert both.begun[0][0].over
    assert not both.home.failed
    late = Message(both.engine, 1, 0, 1, 2, 5, Mode.READY, False)
    both.engine.arrive(late)
    (error,) = both.home.failed
    assert "a ready send of rank 1 to rank 0 with tag 2 has found no receive there" in str(error)
    assert not late.kept
    assert both.engine.unexpected() == 0


def test_when_a_send_of_each_mode_is_over():
    engine = Both().engine
    for mode, ends in (
        (Mode.STANDARD, [(engine.sent, True)]),
        (Mode.READY, [(engine.sent, True)]),
        (Mode.SYNCHRONOUS, [(engine.sent, False), (engine.matched, True)]),
        (Mode.SYNCHRONOUS, [(engine.matched, False), (engine.sent, True)]),
    ):
        send = engine.begin_send(1, 0, 0, 5, memoryview(b"data"), mode)
        assert not send.over
        assert not engine.quiet()
        send.Cancel()
        for happens, over in ends:
            happens(send)
            assert send.over == over
        assert engine.quiet()
        assert not send.cancelled


def test_a_schedule_goes_on_when_what_it_waits_for_is_over():
    both = Both()
    seen = []

    def call():
        first = both.engine.begin_receive(1, 2, 0, memoryview(bytearray(9)))
        yield [first, both.engine.begin_send(2, 1, 0, 0, memoryview(b""), Mode.STANDARD)]
        seen.append(bytes(first.data))
        yield [both.engine.begin_receive(1, 3, 0, memoryview(bytearray(1)))]

    schedule = both.engine.schedule(call(), "a call")
    both.message((1, 2, 0), 9, Mode.STANDARD, False)
    both.engine.progress()
    assert not seen  # the send is under way
    both.engine.sent(both.engine.device.begun[0])
    assert both.engine.pending()
    both.engine.progress()
    assert seen == [bytes(9)]
    assert not schedule.over
    both.message((1, 3, 0), 2, Mode.STANDARD, False)  # too long for its receive
    both.engine.progress()
    assert schedule.over
    assert schedule.error.Get_error_class() == ErrorClass.ERR_TRUNCATE
