"""What machines have in common whose processors reach the memory of all nodes: memories, moves, queues of messages."""
