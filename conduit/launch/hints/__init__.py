"""What is said about the mistakes of a program that do raise an error: what to write instead.

`of_errors` asks all others about an error of Python's own: names that are not there (`wrong_names`), objects that are
not used as they can be (`misuse`, and `misused_arguments`, `misused_arrays`, `misused_handles`), predicates, limits of
time, other loops than Trio's, files that hide a package (`hidden`).  `begun_inside` is about jobs inside of jobs.
"""
