"""Jobs in virtual time that go on for nothing, without any error: a rank never awaits, or never polls.

`looks` finds that rank, from a thread of its own; `log` says it once on standard error; `loops` says what to do about
the loop of the program that it is in.
"""
