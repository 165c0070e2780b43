"""From a spec to a finished job: the registry, the jobs, their reports and results."""
