"""Jobs whose ranks are processes: how these are started, come together, watch one another and end.

`of_spec` says which networks need processes, and has `starting` start them and see them to their end, with `tied` and
`standard_input`.  There `reader` takes apart what they print, `told` keeps what their ranks tell of errors, `started`
sees which of them have ended, and `exit_ways` says how.  `marks` and `coming` tell who has not come.  In each process
`watch` watches its rank and asks the others; `answering` says who still answers, `stall` makes the report.  `crossing`
joins what each recorded.
"""
