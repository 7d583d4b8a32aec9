"""Checks of mail addresses, telephone numbers and web addresses."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
"""A telephone number by E.164: a plus, the country code, 7 to 15 digits in all."""


def is_mail_address(text: str) -> bool:
    """Return whether a text may be a mail address such as `a@b.org`, without a name."""
    user, at, host = text.rpartition("@")
    return bool(user and at and host) and not any(char in " \r\n,;<>" for char in text)


def is_phone_number(text: str) -> bool:
    """Return whether a text is an international telephone number such as `+8613800138000`."""
    return PHONE.fullmatch(text) is not None


def is_web_address(text: str) -> bool:
    """Return whether a text is an http or https URL with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # such as http://[
        return False
