"""The networks: one package for each conduit, and the parts they share.

A network is built in layers, and each module has the same name in every package: `constants` (every number, with its
source), `hardware` (what carries bytes), `driver` (the vendor's interface to it), `machine` (a cluster of both),
`protocol` (how Active Messages travel on the driver), `port` (the conduit: its options, limits and placement), `wire`
(packets as bytes), `raw` (the driver's own benchmarks).

`loggp` is the smallest, and the one to read first.  `rsm` is an interface that two networks have, and `globalmem`
is what machines share that have one memory for all processors.
"""
