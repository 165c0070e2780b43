"""All ranks count on rank 0."""


async def main(ep):
    total = 0

    def count(token):
        nonlocal total
        total += 1

    await ep.attach(count)
    for _ in range(30):
        if ep.rank:
            await ep.request_short(0, count)
    if not ep.rank:
        await ep.block_until(lambda: total == 30 * (ep.size - 1))
