"""The commands that this layer adds to `conduit`: benchmarks of put and get, barriers, collectives; LogGP's figures."""
