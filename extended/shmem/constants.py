"""The constants and enumerations, which are names of the module and of every PE."""

from __future__ import annotations

from enum import IntEnum, IntFlag, StrEnum

MAJOR_VERSION = 1
MINOR_VERSION = 5
VENDOR_STRING = "conduit"


class THREAD(IntEnum):
    """How many tasks of a PE may call; here always as many as there are."""

    SINGLE = 0
    FUNNELED = 1
    SERIALIZED = 2
    MULTIPLE = 3


class CTX(IntFlag):
    """Options of a context; they are hints, and change nothing here."""

    SERIALIZED = 1
    PRIVATE = 2
    NOSTORE = 4


class MALLOC(IntFlag):
    """Hints for an allocation; they change nothing here."""

    ATOMICS_REMOTE = 1
    SIGNAL_REMOTE = 2


class SIGNAL(IntEnum):
    """What a put does to its signal."""

    SET = 0
    ADD = 1


class CMP(IntEnum):
    """How a variable is compared with a value."""

    EQ = 0
    NE = 1
    GT = 2
    LE = 3
    LT = 4
    GE = 5


class AMO(StrEnum):
    """Atomic operations by name."""

    SET = "set"
    INC = "inc"
    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"


class OP(StrEnum):
    """Reductions by name."""

    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    SUM = "sum"
    PROD = "prod"


THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = (
    THREAD.SINGLE,
    THREAD.FUNNELED,
    THREAD.SERIALIZED,
    THREAD.MULTIPLE,
)
CTX_PRIVATE, CTX_SERIALIZED, CTX_NOSTORE = CTX.PRIVATE, CTX.SERIALIZED, CTX.NOSTORE
MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE = MALLOC.ATOMICS_REMOTE, MALLOC.SIGNAL_REMOTE
SIGNAL_SET, SIGNAL_ADD = SIGNAL.SET, SIGNAL.ADD
CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE = CMP.EQ, CMP.NE, CMP.GT, CMP.LE, CMP.LT, CMP.GE
AMO_SET, AMO_INC, AMO_ADD, AMO_AND, AMO_OR, AMO_XOR = AMO.SET, AMO.INC, AMO.ADD, AMO.AND, AMO.OR, AMO.XOR
OP_AND, OP_OR, OP_XOR, OP_MAX, OP_MIN, OP_SUM, OP_PROD = OP.AND, OP.OR, OP.XOR, OP.MAX, OP.MIN, OP.SUM, OP.PROD


class ShmemConstants:
    """All of them as attributes."""

    MAJOR_VERSION = MAJOR_VERSION
    MINOR_VERSION = MINOR_VERSION
    VENDOR_STRING = VENDOR_STRING
    THREAD = THREAD
    THREAD_SINGLE = THREAD_SINGLE
    THREAD_FUNNELED = THREAD_FUNNELED
    THREAD_SERIALIZED = THREAD_SERIALIZED
    THREAD_MULTIPLE = THREAD_MULTIPLE
    CTX = CTX
    CTX_PRIVATE = CTX_PRIVATE
    CTX_SERIALIZED = CTX_SERIALIZED
    CTX_NOSTORE = CTX_NOSTORE
    MALLOC = MALLOC
    MALLOC_ATOMICS_REMOTE = MALLOC_ATOMICS_REMOTE
    MALLOC_SIGNAL_REMOTE = MALLOC_SIGNAL_REMOTE
    SIGNAL = SIGNAL
    SIGNAL_SET = SIGNAL_SET
    SIGNAL_ADD = SIGNAL_ADD
    CMP = CMP
    CMP_EQ = CMP_EQ
    CMP_NE = CMP_NE
    CMP_GT = CMP_GT
    CMP_LE = CMP_LE
    CMP_LT = CMP_LT
    CMP_GE = CMP_GE
    AMO = AMO
    AMO_SET = AMO_SET
    AMO_INC = AMO_INC
    AMO_ADD = AMO_ADD
    AMO_AND = AMO_AND
    AMO_OR = AMO_OR
    AMO_XOR = AMO_XOR
    OP = OP
    OP_AND = OP_AND
    OP_OR = OP_OR
    OP_XOR = OP_XOR
    OP_MAX = OP_MAX
    OP_MIN = OP_MIN
    OP_SUM = OP_SUM
    OP_PROD = OP_PROD
