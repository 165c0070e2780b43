"""An MPI library in memory, for tests: all processes in one, messages matched as the standard says.

A message completes at the receiver when somebody asks, after as many questions as a random generator says.
"""

from random import Random


class Waiting:
    """A request."""

    def __init__(self, begin=None):
        self.begin = begin
        self.over = begin is not None  # a persistent one is not under way at first
        self.asked = 0

    def Start(self):
        assert self.over, "begun again while under way"
        self.over = False
        self.begin(self)

    def Test(self):
        if not self.over and self.asked > 0:
            self.asked -= 1
            if not self.asked:
                self.over = True
        return self.over

    def Cancel(self):
        self.over = True

    def Free(self):
        assert self.over, "freed while under way"

    def finish(self, random):
        self.asked = random.randint(1, 3)


class Wires:
    """What one communicator's processes share."""

    def __init__(self, size, random):
        self.size = size
        self.random = random
        self.posted = [[] for _ in range(size)]  # receives: source, tag, buffer, request
        self.unexpected = [[] for _ in range(size)]  # messages: source, tag, bytes

    def match(self, rank, source, tag, data):
        """Give a message to the first receive that it fits, in the order of posting."""
        for place, (wanted, its_tag, buffer, request) in enumerate(self.posted[rank]):
            if wanted in (source, -1) and its_tag == tag:
                del self.posted[rank][place]
                memoryview(buffer).cast("B")[: len(data)] = data
                request.finish(self.random)
                return
        self.unexpected[rank].append((source, tag, data))

    def post(self, rank, wanted, tag, buffer, request):
        """Give a receive the first message that it fits, in the order of arrival."""
        for place, (source, its_tag, data) in enumerate(self.unexpected[rank]):
            if wanted in (source, -1) and its_tag == tag:
                del self.unexpected[rank][place]
                memoryview(buffer).cast("B")[: len(data)] = data
                request.finish(self.random)
                return
        self.posted[rank].append((wanted, tag, buffer, request))


class Comm:
    """One process's end of a communicator."""

    def __init__(self, wires, rank):
        self.wires = wires
        self.rank = rank

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.wires.size

    def Free(self):
        pass

    def Isend(self, buf, dest, tag=0):
        request = Waiting()
        self.wires.match(dest, self.rank, tag, bytes(buf))
        request.finish(self.wires.random)
        return request

    def Irecv(self, buf, source=-1, tag=0):
        request = Waiting()
        self.wires.post(self.rank, source, tag, buf, request)
        return request

    def Send_init(self, buf, dest, tag=0):
        def begin(request):
            self.wires.match(dest, self.rank, tag, bytes(buf))
            request.finish(self.wires.random)

        return Waiting(begin)

    def Recv_init(self, buf, source=-1, tag=0):
        return Waiting(lambda request: self.wires.post(self.rank, source, tag, buf, request))


class Library:
    """What belongs to no communicator."""

    ANY_SOURCE = -1
    pushes = 32

    def startall(self, requests):
        for request in requests:
            request.Start()


def comms(size, seed):
    """Return one communicator's ends."""
    wires = Wires(size, Random(seed))
    return [Comm(wires, rank) for rank in range(size)]
