"""Checks of mail addresses and telephone numbers."""

from __future__ import annotations

import re

PHONE = re.compile(r"\+?\d{3,20}")


def is_mail_address(text: str) -> bool:
    """Return whether a text may be a mail address such as `a@b.org`, without a name."""
    user, at, host = text.rpartition("@")
    return bool(user and at and host) and not any(char in " \r\n,;<>" for char in text)


def is_phone_number(text: str) -> bool:
    """Return whether a text consists of 3 to 20 digits with an optional plus in front."""
    return PHONE.fullmatch(text) is not None
