"""Messages through rings in memory that their senders write and their receivers read.

For every ordered pair of ranks there is a region of memory at the receiver that only the sender writes: a ring of
entries, buffers for what is sent at once, and buffers through which large messages are led.  So no two write one place,
and nothing is ever locked.  What the receiver has consumed it tells in its own region at the sender.
"""
