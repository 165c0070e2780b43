"""The jobs: in virtual time, in real time with all ranks in this process, or as one process of several.

`kinds` chooses one by the network's spec: `simulated`, `real` or `process`.  The first two run their ranks as tasks of
this process (`in_tasks`); `messages` gives each rank its endpoint, `mains` shows them to who looks whether they hang.
`fitting` says beforehand whether a job fits a network, `of_network` which method of one an error has come out of, and
`never_ended` what a network has not done in a job that gets no further.
"""
