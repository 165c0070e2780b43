"""Programs that are traced."""

from collections import Counter

SIMULATED = [
    "loggp", "loggp:late=0.05,overtake=0.3", "origin", "sci", "sci:order=weak", "startx", "sunfire", "t3e", "udp",
    "udp:loss=0.05,dup=0.02", "mpi:library=scampi", "mpi:library=sunmpi",
]  # fmt: skip


def sizes(ep):
    return [size for size in (0, 1, 100, 2049) if size <= min(ep.limits.max_long_request, ep.limits.max_long_reply)]


async def everything(ep):
    """All categories to all ranks, itself included, with and without replies; works, waits and charges."""
    got = Counter()

    def short(token, number):
        got["asked"] += 1
        ep.charge(1e-7)
        if number % 2:
            token.reply_short(answer, number)

    def medium(token, payload, number):
        got["asked"] += 1
        token.reply_medium(answer_payload, bytes(payload), number)

    def long(token, payload, number):
        got["asked"] += 1
        token.reply_long(answer_payload, bytes(payload), 500_000 + token.rank * 50_000, number)

    def answer(token, number):
        got["answered"] += 1

    def answer_payload(token, payload, number):
        got["answered"] += 1

    await ep.attach(short, medium, long, answer, answer_payload)
    answers = 0
    for step in range(ep.size):
        dest = (ep.rank + step) % ep.size
        for number in range(4):
            await ep.request_short(dest, short, number)
            answers += number % 2
        for number, size in enumerate(sizes(ep)):
            await ep.request_medium(dest, medium, bytes(min(size, ep.limits.max_medium)), number)
            await ep.request_long(dest, long, bytes(size), 100_000 + ep.rank * 50_000, number)
            answers += 2
        await ep.compute(3e-6)
    await ep.block_until(lambda: got["answered"] == answers, what="the answers")
    await ep.block_until(lambda: got["asked"] == ep.size * (4 + 2 * len(sizes(ep))), what="the questions")
    return got["asked"], got["answered"], len(sizes(ep))
