"""Every rank asks its right neighbour to double its number."""

import conduit


async def main(ep):
    answers = []

    def double(token, number):
        token.reply_short(take, 2 * number)

    def take(token, number):
        answers.append(number)

    await ep.attach(double, take)
    await ep.request_short((ep.rank + 1) % ep.size, double, ep.rank)
    await ep.block_until(lambda: answers)
    print(f"rank {ep.rank}: {answers[0]}")


if __name__ == "__main__":
    conduit.run(main, ranks=4, conduit="sci")
