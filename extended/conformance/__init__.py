"""The second part of the conformance suite: the rules of ``docs/extended.md`` as checks that any conduit can be put to.

A conduit that passes the core's part should pass this one unchanged, since this layer uses nothing but the core.
"""
