"""Puts the conduits of this repository to the conformance suite; `conformance` in pyproject.toml says which."""

pytest_plugins = ["conduit.conformance.plugin"]
