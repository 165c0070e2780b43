"""Non-contiguous puts and gets: vector, indexed and strided (reference/gasnet.md B.7).

Every transfer has a place there and a place here, and the order in which both are walked; the k-th byte of the one walk
goes to the k-th byte of the other.  `Lattice` and `Runs` describe what lies there, `Local` what lies here, and
`Scatter` turns the two into messages.
"""
