"""What is counted for `result.statistics`."""

from __future__ import annotations


class Counts:
    """Counts of one rank: what programs asked for; automatic replies and attach are not in them.

    Attributes:
        others: what layers above count, by name.
    """

    __slots__ = (
        "others", "payload_bytes_off_host", "payload_bytes_sent", "replies_handled", "replies_sent",
        "requests_handled", "requests_sent",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests_sent = 0
        self.replies_sent = 0
        self.requests_handled = 0
        self.replies_handled = 0
        self.payload_bytes_sent = 0
        self.payload_bytes_off_host = 0
        self.others: dict[str, int] = {}

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "others"} | self.others
