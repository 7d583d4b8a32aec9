"""Tells mail addresses and telephone numbers from other texts."""

from __future__ import annotations

import re

PHONE = re.compile(r"\+?\d{3,20}")


def is_mail(text: str) -> bool:
    """Whether it may be an address of a mail: `a@b.org`, without a name."""
    user, at, host = text.rpartition("@")
    return bool(user and at and host) and not any(char in " \r\n,;<>" for char in text)


def is_phone(text: str) -> bool:
    """Whether it may be a number: digits, a plus before them."""
    return PHONE.fullmatch(text) is not None
