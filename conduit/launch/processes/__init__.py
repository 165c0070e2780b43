"""Jobs whose ranks are processes: how these are started, come together, watch one another and end.

`of_spec` says which networks need processes, and has `starting` start them and see them to their end, with `tied`,
`standard_input` and `exit_ways`.  `marks` and `coming` tell who has not come.  In each process `watch` watches its rank
and asks the others; `answering` says who still answers, `stall` makes the report.  `crossing` joins what each recorded.
"""
