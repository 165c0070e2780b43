"""What is known of the program that runs, from its source and its frames, without running any of it.

`folders` says which files are a program's, `tasks` where its tasks stand, `program_node` which expression an error has
come from.  `written_for` and `front_ends` say which front end it is for, `uses` and `polls` how it writes things there,
`public` what of this project it sees.  `reached` and `own_variables` read its functions.
"""
