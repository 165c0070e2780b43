"""What advice says that a program writes: each layer has its own names for it, and gives them (`_advised`)."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class Vocabulary:
    """The words of a layer; without others those of the extended one.

    Attributes:
        poll: what polls once.
        block: what moves a range at once.
        begin: how several accesses are made at once, as an order.
        begun: whether accesses that are begun one by one, and waited for together, are just that.
        tree: what combines numbers of all ranks.
        together: how one call makes operations that change numbers and fetch none, as an order.
        fewer: how atomic operations become fewer than one for each number, beside adding up in a variable; an order.
        opened: how calls around accesses, that open and close them, become fewer; a sentence.
        from_one: what replaces one rank's accesses of all others; sentences.
        send: how many messages become few; a sentence.
        exchange: how an exchange step by step takes less; a sentence.
        own: handlers of messages by which the layer sees to itself, as to check arguments, which are no accesses.
    """

    poll: str = "await ep.poll()"
    block: str = "one get or put of the range"
    begin: str = "begin all of them (get_nb, put_nb) and wait once"
    begun: bool = True
    tree: str = "reduce, all_reduce"
    together: str = "give all offsets and numbers of one rank to one call, `await d.accumulate(dest, offsets, values)`"
    fewer: str = (
        "draw several numbers at once (`fetch_add` of how many), give numbers of one rank to one `accumulate`, or let "
        "a tree combine what is one sum (all_reduce)"
    )
    opened: str = "Make these calls once for all of the accesses, or move a whole range at once."
    from_one: str = (
        "If all of them get the same, `await x.broadcast(...)` lets ranks pass it on; the parts of one array go by "
        "`scatter`, and what comes from all by `gather` or `reduce`."
    )
    send: str = "Send a whole block at once, or begin all sends and wait once."
    exchange: str = (
        "Exchange more at a time and less often, as a halo wide enough for several steps; or begin the exchange, "
        "compute what needs none of it, and wait then."
    )
    own: tuple[str, ...] = ()


EXTENDED = Vocabulary()
"""That of programs of the core too."""
