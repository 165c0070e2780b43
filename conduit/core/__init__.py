"""The core: endpoints, handlers, tokens, dispatch, counts and the digest; no networks, no simulation.

A program calls its endpoint (`endpoint`), which checks the arguments (`arguments`), counts, and hands a message to the
port of its network.  A message that has arrived comes back from the port to `dispatch`, which finds its handler by
index (`handlers`), makes the token (`token`) and runs the handler.  `rank` makes the two sides of one rank together.

The rules of Active Messages that need no network are kept here, once:

- A request waits for a slot; a reply never waits.  So requests are async, and handlers and replies are plain.
- A token replies at most once, and only while its handler runs.  Where a handler makes no reply, the core makes an
  empty one, so that each request frees its slot.
- A call that is never awaited is an error (`calls`).

Observers hear what happens (`observer`), and the digest is a hash of it (`digest`).  Read `endpoint`, then `dispatch`;
docs/contract.md numbers the rules.
"""
