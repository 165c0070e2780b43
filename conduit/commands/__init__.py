"""The core's own commands; each is found by its entry point in the group `conduit.commands`.

A command is a plain function whose parameters cyclopts reads.  It returns its exit status (None counts as 0), raises
`BadRequest` or `UnknownConduit` for a wrong call (status 2) and any other `ConduitError` for a failure (status 1).
"""
