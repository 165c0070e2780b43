"""From a spec to a finished job: the registry, the jobs, their reports and results.

`registry` finds the conduit that a spec names, `run` checks the arguments of a run and hands them to one of the `jobs`.
Every job gives each rank the same life (`life`): start, main, serving the others, end.  Where ranks are `processes`,
these are started, watched and ended.

A job ends once, for one reason.  Either all ranks have returned, or the first error ends it: an exception of a rank, a
deadlock, a livelock, a time limit, Ctrl-C (`interrupts`).  `errors` says what is raised of all that went wrong, and
`reports` what is told of a job that gets no further.  What goes on for nothing ends in no error: `hanging` tells that.

What is known of the program itself is in `program`.  `hints` says what to write in the place of a mistake that raises
an error, `oversights` finds those that raise none.  `printing` carries all of this to people.

A job leaves a `result`, and, where somebody listens (`observing`), a recording: `tracing`, `timelines`, `explanation`.
"""
