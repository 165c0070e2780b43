"""A program made of random acts: whatever it does, inline driving must not show."""

import random

import trio

TIMES = (0.0, 1e-9, 5e-8, 1e-6, 1.0000005e-6, 5e-6, 2e-5)


class RandomProgram:
    """One rank's part of it.

    Args:
        ep: the endpoint.
        seed: of the acts; what Trio and the network draw comes from the job's own.
    """

    def __init__(self, ep, seed):
        self.ep = ep
        self.random = random.Random(f"{seed}/{ep.rank}")
        self.log = []
        self.handled = 0
        self.event = trio.Event()
        self.scopes = []
        self.depth = 0
        self.latest = 0.0

    def time(self):
        """Return the rank's time, which never goes back (T4)."""
        now = self.ep.now
        assert now >= self.latest
        assert now >= trio.current_time()
        self.latest = now
        return now

    # -- handlers --------------------------------------------------------------------------------

    def note(self, token, number):
        self._handle(token, number)

    def ask(self, token, number):
        self._handle(token, number)
        if number % 3:
            token.reply_short(self.note, number)

    def ask_medium(self, token, payload, number):
        self._handle(token, number)
        token.reply_medium(self.land, payload, number)

    def land(self, token, payload, number):
        self._handle(token, number)

    def _handle(self, token, number):
        self.log.append(("handled", token.rank, number, self.time()))
        self.handled += 1
        if number % 5 == 0:
            self.ep.charge(1e-7 * number)
        if number % 7 == 0:
            self.ep.want_progress()
        if number % 11 == 0:
            self.event.set()
            self.event = trio.Event()
        if number % 13 == 0 and self.scopes:
            self.scopes[0].cancel()

    # -- acts ------------------------------------------------------------------------------------

    async def progress(self):
        self.log.append(("progress", self.time()))
        await self.send()
        if self.random.random() < 0.3:
            await self.ep.compute(2e-6)

    async def send(self):
        ep, number = self.ep, self.random.randrange(100)
        dest = self.random.randrange(ep.size)
        kind = self.random.randrange(5)
        if kind == 0:
            await ep.request_short(dest, self.note, number)
        elif kind == 1:
            await ep.request_short(dest, self.ask, number)
        elif kind == 2:
            await ep.request_medium(dest, self.ask_medium, bytes(number), number)
        elif kind == 3:
            await ep.request_medium(dest, self.land, bytes(3 * number), number)
        else:
            size = self.random.choice((0, 5, 64, 3000, 9000))
            await ep.request_long(dest, self.land, bytes(size), number, number)

    async def wait(self):
        target = self.handled + self.random.randrange(3)
        with trio.move_on_after(self.random.choice(TIMES[3:])) as scope:
            self.scopes.append(scope)
            try:
                await self.ep.block_until(lambda: self.handled >= target)
            finally:
                self.scopes.remove(scope)
        self.log.append(("waited", scope.cancelled_caught, self.time()))

    async def hurry(self):
        with trio.move_on_after(self.random.choice(TIMES)) as scope:
            await self.act()
        self.log.append(("hurried", scope.cancelled_caught, self.time()))

    async def watch(self):
        with trio.move_on_after(self.random.choice(TIMES[3:])):
            await self.event.wait()

    async def spread(self):
        if self.depth > 2:
            return
        self.depth += 1
        async with trio.open_nursery() as nursery:
            for _ in range(self.random.randrange(1, 4)):
                nursery.start_soon(self.digest_log, 3)
            if self.random.random() < 0.3:
                await trio.sleep(self.random.choice(TIMES))
                nursery.cancel_scope.cancel()
        self.depth -= 1

    async def act(self):
        ep, draw = self.ep, self.random
        kind = draw.randrange(13)
        if kind < 4:
            await self.send()
        elif kind == 4:
            await ep.compute(draw.choice(TIMES))
        elif kind == 5:
            await trio.sleep(draw.choice(TIMES))
        elif kind == 6:
            await ep.poll()
        elif kind == 7:
            ep.charge(draw.choice(TIMES))
        elif kind == 8:
            await self.wait()
        elif kind == 9:
            await self.hurry()
        elif kind == 10:
            await self.watch()
        elif kind == 11:
            await self.spread()
        else:
            with trio.CancelScope(shield=True):
                await self.send()

    async def digest_log(self, count):
        for _ in range(count):
            await self.act()
            self.log.append((trio.current_time(), self.time()))


async def main(ep, seed, count=12):
    """Run the random acts of one rank; return what it saw."""
    program = RandomProgram(ep, seed)
    await ep.attach(program.note, program.ask, program.ask_medium, program.land)
    ep.on_progress(program.progress)
    async with trio.open_nursery() as nursery:
        for _ in range(1 + seed % 3):
            nursery.start_soon(program.digest_log, count)
    return program.log
