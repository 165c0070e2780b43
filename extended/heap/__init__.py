"""The symmetric heap: memory at the same offset of every rank's segment, from the segment's top down.

`HeapMap` knows which bytes are taken; the only one is rank 0's.  `Meeting` brings the ranks' calls together there.
"""
