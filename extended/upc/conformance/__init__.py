"""The third part of the conformance suite: the rules of ``docs/upc.md`` as checks that any conduit can be put to."""
