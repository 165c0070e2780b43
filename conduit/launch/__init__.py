"""From a spec to a finished job: the registry, the jobs, their reports and results.

`registry` finds the conduit that a spec names, `run` checks the arguments of a run, and `kinds` chooses the job: in
virtual time (`simulated`), in real time with all ranks in this process (`real`), or as one process of several
(`process`).  Every job gives each rank the same life (`life`): start, main, serving the others, end.

A job ends once, for one reason.  Either all ranks have returned, or the first error ends it: an exception of a rank, a
deadlock, a livelock, a time limit, Ctrl-C.  `errors` says what is raised of all that went wrong, and `reports` what
is told of a job that gets no further.

What goes on for nothing ends in no error.  `hanging` tells, of a job in virtual time, which rank never awaits or polls.

Where ranks are processes none of them sees the others.  So each process watches its own rank and asks the others
(`watch`), and what it learns travels as plain records (`stall`).
"""
