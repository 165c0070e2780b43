"""The constants that calls on windows take."""

from __future__ import annotations

from enum import IntEnum, IntFlag

PROC_NULL = -2
"""A target that is none: the call does nothing."""


class LOCK(IntEnum):
    """Kinds of locks."""

    EXCLUSIVE = 1
    SHARED = 2


class MODE(IntFlag):
    """What a program asserts of a synchronisation; joined by ``|``."""

    NOCHECK = 1
    NOSTORE = 2
    NOPUT = 4
    NOPRECEDE = 8
    NOSUCCEED = 16


LOCK_EXCLUSIVE = LOCK.EXCLUSIVE
LOCK_SHARED = LOCK.SHARED
MODE_NOCHECK = MODE.NOCHECK
MODE_NOSTORE = MODE.NOSTORE
MODE_NOPUT = MODE.NOPUT
MODE_NOPRECEDE = MODE.NOPRECEDE
MODE_NOSUCCEED = MODE.NOSUCCEED
