"""The commands that this layer adds to `conduit`: benchmarks of put and get, barriers, collectives; LogGP's figures.

Each is found by its entry point in the group `conduit.commands`, so the core does not know of them.  A benchmark is a
`Program` of `conduit.benchmarks`, which runs it on every conduit that the user names.
"""
