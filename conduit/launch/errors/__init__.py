"""What is told of the error that ends a job, by whom, and with which lines.

`at_end` says what a job raises of all that went wrong, `raised` and `warned` say each thing once for all ranks,
`failing` tells observers.  `complaints` prints an error, where ranks are processes in one of them (`watches`), and
`uncaught` those that a script does not catch.  `tracebacks` leaves out lines of this package, `own_words` its words.
Exits have `exits` and `hard_exits`.
"""
