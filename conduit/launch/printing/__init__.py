"""What people read of a job, and how it gets there: nothing here knows what is told.

`output` carries the lines of several processes, `endings` sees to the end of the last one.  `terminal` folds sentences
where they are shown in one, `formatting` does so with tracebacks and warnings.  `phrases` says ranks, times and
waits in words.
"""
