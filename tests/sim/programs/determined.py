"""Programs whose acts depend on the order in which Trio and the kernel let tasks go on.

Run as a script it prints the digest of each: `python determined.py SPEC SEED`.
"""

import sys

import trio

import conduit


async def nurseries(ep):
    """Many tasks of every rank send, wait and start others."""
    got = []

    def note(token, number):
        got.append((token.rank, number))

    async def send(number):
        await ep.request_short((ep.rank + number) % ep.size, note, number)
        if number > 2:
            async with trio.open_nursery() as inner:
                inner.start_soon(ep.compute, 1e-6)
                inner.start_soon(ep.request_short, (ep.rank + 1) % ep.size, note, 0)

    await ep.attach(note)
    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(send, number)
    await ep.block_until(lambda: len(got) == 9)
    return got


async def sleepers(ep):
    """Tasks of all ranks wake at the same instants: Trio's own order, which is the seed's."""
    got, order = [], []

    def note(token, number):
        got.append((token.rank, number))

    async def sleeper(number):
        for _ in range(3):
            await trio.sleep(1e-5)
            order.append(number)
            await ep.request_short((ep.rank + 1) % ep.size, note, number)

    await ep.attach(note)
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(sleeper, number)
    await ep.block_until(lambda: len(got) == 12)
    return order, got


async def timeouts(ep):
    """Deadlines that end waits for slots, predicates and sleeps, some at the very time of an event."""
    got, ended = [], []

    def note(token, number):
        got.append(number)

    await ep.attach(note)
    for number in range(8):
        with trio.move_on_after(1e-6 * number) as scope:
            await ep.request_short((ep.rank + 1) % ep.size, note, number)
            await ep.block_until(lambda: len(got) > 6)
        ended.append(scope.cancelled_caught)
    with trio.move_on_after(3e-5):
        await trio.sleep_forever()
    return ended, got


async def cancellation(ep):
    """Tasks that end one another, by nurseries, scopes and handlers; clean-ups that send."""
    got = []
    scopes = {}

    def stop(token, number):
        got.append(number)
        if number in scopes:
            scopes.pop(number).cancel()

    async def victim(number):
        with trio.CancelScope() as scope:
            scopes[number] = scope
            try:
                await ep.block_until(lambda: False)
            finally:
                with trio.CancelScope(shield=True):
                    await ep.compute(1e-7 * number)
                    await ep.request_short((ep.rank + 1) % ep.size, stop, 10 + number)

    await ep.attach(stop)
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(victim, number)
        await trio.sleep(1e-6)
        for number in (3, 1):
            await ep.request_short((ep.rank + 1) % ep.size, stop, number)
        await ep.block_until(lambda: len(got) >= 4)
        nursery.cancel_scope.cancel()
    return got


async def random_numbers(ep):
    """Ranks draw from their own generators; sets and dicts of strings are on the way."""
    got = []

    def note(token, payload):
        got.append(bytes(payload))

    await ep.attach(note)
    names = {f"name {number}" for number in range(20)}
    table = {name: ep.random.randrange(1000) for name in sorted(names)}
    for _ in range(5):
        name = ep.random.choice(sorted(table))
        await trio.sleep(1e-7 * table[name])
        await ep.request_medium(ep.random.randrange(ep.size), note, name.encode())
    return got


PROGRAMS = [nurseries, sleepers, timeouts, cancellation, random_numbers]


def digests(spec, seed):
    """Return the digest of each program."""
    return [conduit.run(program, ranks=3, conduit=spec, seed=seed).digest for program in PROGRAMS]


if __name__ == "__main__":
    print(*digests(sys.argv[1], int(sys.argv[2])), sep="\n")
