"""Lines that the server and its processes write on standard error."""

from __future__ import annotations

import logging
import time

from focus.text.formatting import replace_unprintable

LOG = logging.getLogger("focus.serve")


class LineFormatter(logging.Formatter):
    """Formatter of lines with UTC time and level, without control characters.

    Further lines of a record are indented, so that no text of a stranger looks like a record.
    """

    converter = time.gmtime  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        return "\n  ".join(map(replace_unprintable, super().format(record).split("\n")))


def set_up_log() -> None:
    """Write the records of all libraries on standard error, from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
