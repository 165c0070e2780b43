"""Rank 1 computes without polling while rank 0 waits for its answers, before which it cannot go on."""


async def main(ep):
    answers = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        answers.append(token.rank)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        for turn in range(4):
            await ep.request_short(1, ask)
            await ep.block_until(lambda turn=turn: len(answers) > turn)
            await ep.compute(500e-6)
    else:
        for _ in range(4):
            await ep.compute(500e-6)
            await ep.poll()
