"""Non-contiguous puts and gets: vector, indexed and strided.

Every transfer has a place there and a place here, and the order in which both are walked; the k-th byte of the one walk
goes to the k-th byte of the other.  `StridedRegion` and `Runs` describe what lies there, `Local` what lies here, and
`Scatter` turns the two into messages.

Source: GASNet-EX, the calls `gex_VIS_Vector...`, `gex_VIS_Indexed...` and `gex_VIS_Strided...`.
"""
