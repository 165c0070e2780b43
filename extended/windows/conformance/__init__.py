"""The part of the conformance suite for windows: the rules of ``docs/windows.md`` as checks of any conduit."""
