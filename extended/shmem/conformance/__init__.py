"""The part of the conformance suite for SHMEM: the rules of ``docs/shmem.md`` as checks of any conduit."""
