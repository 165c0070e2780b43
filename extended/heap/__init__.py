"""The symmetric heap: memory at the same offset of every rank's segment, from the segment's top down.

Every rank could keep a map of its own, since all make the same calls.  But one that errs would then go on with other
offsets than the rest.  So there is one map, rank 0's (`HeapMap`).  The ranks' calls are combined up a k-ary tree.
Rank 0 asks the map, and the answer goes down again (`HeapCalls`).
"""
