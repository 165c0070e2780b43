"""Every rank greets rank 0, which answers."""


async def main(ep):
    greetings = []
    answers = []

    def greeting(token, number):
        greetings.append((token.rank, number))
        token.reply_short(answer, number + 1)

    def answer(token, number):
        answers.append(number)

    await ep.attach(greeting, answer)
    start = ep.now
    await ep.request_short(0, greeting, 10 * ep.rank)
    await ep.block_until(lambda: answers)
    print(f"rank {ep.rank} of {ep.size}: answer {answers[0]}")
    print(f"time: rank {ep.rank} had its answer after {(ep.now - start) * 1e6:.2f} us")
    if ep.rank == 0:
        await ep.block_until(lambda: len(greetings) == ep.size)
        print("rank 0 was greeted by", sorted(greetings))
