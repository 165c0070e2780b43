"""A mistake: rank 1 answers only what is even, so that rank 0 waits for ever."""


async def main(ep):
    answers = []

    def ask(token, number):
        if number % 2 == 0:
            token.reply_short(answer, number // 2)

    def answer(token, half):
        answers.append(half)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        await ep.request_short(1, ask, 7)
        await ep.block_until(lambda: answers, what="half of 7", ranks=[1])
