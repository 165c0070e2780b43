"""What `conduit explain` takes apart unless it is told otherwise: a request, and its reply with as many bytes."""

from collections.abc import Mapping

from conduit import Endpoint, Token
from conduit.benchmarks.operation import ExplainedOperation, Mark
from conduit.contract import Limits

WARM_UP = 3
"""Exchanges before the one that is explained: connections are there by then."""


def _largest(limits: Limits) -> Mapping[str, int]:
    return {"short": 0, "medium": limits.max_medium, "long": min(limits.max_long_request, limits.max_long_reply)}


async def main(ep: Endpoint, mark: Mark, category: str, nbytes: int) -> None:
    """Have rank 0 ask rank 1 and wait for the reply, which has as many bytes."""
    data = bytes(nbytes)
    replies = []

    def ask(token: Token, *payload: memoryview) -> None:
        if category == "short":
            token.reply_short(replied)
        elif category == "medium":
            token.reply_medium(replied, data)
        else:
            token.reply_long(replied, data, 0)

    def replied(token: Token, *payload: memoryview) -> None:
        replies.append(token.rank)

    await ep.attach(ask, replied)
    if ep.rank:
        return
    for number in range(WARM_UP + 1):
        if number == WARM_UP:
            mark(ep)
        if category == "short":
            await ep.request_short(1, ask)
        elif category == "medium":
            await ep.request_medium(1, ask, data)
        else:
            await ep.request_long(1, ask, data, 0)
        await ep.block_until(lambda: len(replies) > number, what="the reply", ranks=[1])  # noqa: B023 - awaited here
    mark(ep)


am = ExplainedOperation(main=main, largest=_largest)
