"""A hash table over all ranks, on Active Messages alone: a key lives on the rank that its hash names."""

import json
from zlib import crc32

WINDOW = 8  # requests of a rank under way


class Table:
    """One rank's part of the table, and its view of the rest."""

    def __init__(self, ep):
        self.ep = ep
        self.part = {}
        self.answers = {}
        self.asked = self.answered = 0

    async def attach(self):
        await self.ep.attach(self.store, self.stored, self.find, self.found)
        return self

    # Handlers: a request's runs at the owner of the key, a reply's at the rank that asked.

    def store(self, token, payload):
        key, value = json.loads(bytes(payload))
        self.part[key] = self.part.get(key, 0) + value
        token.ep.charge(1e-6)
        token.reply_short(self.stored)

    def stored(self, token):
        self.answered += 1

    def find(self, token, payload, number):
        token.ep.charge(1e-6)
        token.reply_medium(self.found, json.dumps(self.part.get(json.loads(bytes(payload)))).encode(), number)

    def found(self, token, payload, number):
        self.answers[number] = json.loads(bytes(payload))
        self.answered += 1

    # What a program calls.

    async def add(self, key, value):
        """Add to the value of a key; complete after `flush`."""
        await self._ask(key, self.store, (key, value))

    async def look_up(self, keys):
        """Return the values of keys, None for those that are not there."""
        self.answers.clear()
        for number, key in enumerate(keys):
            await self._ask(key, self.find, key, number)
        await self.flush()
        return [self.answers[number] for number in range(len(keys))]

    async def flush(self):
        """Wait until all that this rank has asked for is done."""
        await self.ep.block_until(lambda: self.answered == self.asked, what="answers of the table")

    async def _ask(self, key, handler, message, *args):
        await self.ep.block_until(lambda: self.asked - self.answered < WINDOW, what="room for a request")
        self.asked += 1
        owner = crc32(key.encode()) % self.ep.size
        await self.ep.request_medium(owner, handler, json.dumps(message).encode(), *args)


TEXT = "how much wood would a woodchuck chuck if a woodchuck could chuck wood " * 8


async def main(ep):
    table = await Table(ep).attach()
    words = TEXT.split()
    start = ep.now
    for word in words[ep.rank :: ep.size]:
        await table.add(word, 1)
    await table.flush()
    # All ranks must have added their words: rank 0 counts them at a key of its own.
    await table.add("(ranks)", 1)
    while (await table.look_up(["(ranks)"]))[0] != ep.size:
        await ep.compute(1e-6)
    if ep.rank == 0:
        known = sorted(set(words))
        counts = dict(zip(known, await table.look_up(known), strict=True))
        assert counts == {word: words.count(word) for word in known}
        assert await table.look_up(["axe"]) == [None]
        print(" ".join(f"{word}={count}" for word, count in counts.items()))
        print(f"time: {(ep.now - start) * 1e3:.3f} ms")
