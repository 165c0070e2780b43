"""Words of messages that depend on a value: how many of what, and what kind of thing it is."""


def many(count: int, noun: str) -> str:
    """Return a count with its noun, whose plural ends in s: "1 message", "2 messages"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def is_a(value: object) -> str:
    """Return what kind of thing a value is, after its name: "is a str", "is an Endpoint", "is no value"."""
    if value is None:
        return "is no value"
    name = type(value).__name__
    return f"is {'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
