"""`conduit run` without `--report`: what it asks of its reports (`reported`), where there are none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


class Unreported:
    """Stands for the reports of a command that writes none."""

    def job(self, number: int) -> AbstractContextManager[None]:
        """Do nothing about the job on the conduit of that number."""
        return nullcontext()

    def tell(self) -> None:
        """Print nothing."""

    def tell_where(self) -> None:
        """Say nothing."""
