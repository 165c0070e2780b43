"""What a network must provide: a `Conduit` per job, a `Port` per rank.

The core does all that does not depend on the network: argument checks, the handler table, tokens
and the reply-once rule, messages of a rank to itself, counts, errors.  A port moves messages and
decides when they are noticed.  docs/contract.md numbers the rules; `conduit conform` checks them.

Read `network` and `port`: what stands there is all that a job and the core ask of a network.
`message`, `rma` and `records` are what is handed over, `world` is what a network has of its job's time.

Networks rarely implement `Port` whole: `conduit.simnet.SimulatedPort` does for simulated ones, with
any set of `Transport`s, `conduit.wall.WallPort` for those in real time (docs/writing_a_conduit.md).
"""

from conduit.contract.layer_report import Clue, ClueWait, LayerHold, LayerReport, LayerWant, Participation, Turn
from conduit.contract.memory import SEGMENT_ALIGNED, on_a_page, zeros_on_a_page
from conduit.contract.message import (
    AUTO_REPLY,
    CATEGORY,
    CATEGORY_SHIFT,
    LONG,
    REQUEST,
    Buffer,
    Bytes,
    Category,
    Identity,
    Message,
    word_of,
)
from conduit.contract.network import Conduit, JobSetup, RankKind
from conduit.contract.port import Awaited, Core, DigestSink, Hook, Hooks, Port, Unhandled, Wait, refuse_coroutine
from conduit.contract.processes import Processes
from conduit.contract.records import Constant, Costs, Limits, MessageCosts, RawTable
from conduit.contract.rma import AtomicOp, Complete, OneSided, StridedSection
from conduit.contract.world import End, World

__all__ = [
    "AUTO_REPLY",
    "CATEGORY",
    "CATEGORY_SHIFT",
    "LONG",
    "REQUEST",
    "SEGMENT_ALIGNED",
    "AtomicOp",
    "Awaited",
    "Buffer",
    "Bytes",
    "Category",
    "Clue",
    "ClueWait",
    "Complete",
    "Conduit",
    "Constant",
    "Core",
    "Costs",
    "DigestSink",
    "End",
    "Hook",
    "Hooks",
    "Identity",
    "JobSetup",
    "LayerHold",
    "LayerReport",
    "LayerWant",
    "Limits",
    "Message",
    "MessageCosts",
    "OneSided",
    "Participation",
    "Port",
    "Processes",
    "RankKind",
    "RawTable",
    "StridedSection",
    "Turn",
    "Unhandled",
    "Wait",
    "World",
    "on_a_page",
    "refuse_coroutine",
    "word_of",
    "zeros_on_a_page",
]
