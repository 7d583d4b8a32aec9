"""Plain meanings of failures, drops and ends of crawls, for people who do not know the codes."""

from __future__ import annotations

import re

from focus.i18n import msg, translate

REASON_LABELS = {
    "dns": msg("the host name does not exist"),
    "dns-temporary": msg("the host name could not be looked up"),
    "unreachable": msg("no connection to the network of the host"),
    "connect": msg("the host refused the connection"),
    "tls": msg("no valid certificate or encryption"),
    "timeout": msg("no answer in time"),
    "too-slow": msg("the answer was too slow"),
    "reset": msg("the connection broke off"),
    "protocol": msg("the answer was not valid HTTP"),
    "headers-too-large": msg("the headers were too large"),
    "too-large": msg("the page was too large"),
    "http-4xx": msg("page not found or not allowed"),
    "http-5xx": msg("error of the server"),
    "rate-limited": msg("the server asked for fewer requests"),
    "redirect": msg("a redirect that leads nowhere"),
    "guard": msg("the address is not public"),
    "not-html": msg("not a page"),
    "unreadable": msg("an encrypted or damaged document"),
    "empty": msg("an empty answer"),
    "parse-timeout": msg("the page took too long to read"),
    "parse-crash": msg("the page could not be read"),
    "poison": msg("the page could not be read by any worker"),
    "host-given-up": msg("the host failed too often and is left alone"),
    "robots": msg("forbidden by robots.txt"),
    "frontier empty": msg("no URLs left"),
}
"""Code of a failure, a drop or an end -> its meaning."""


def reason_label(code: str) -> str:
    """Return the meaning of a code as a message, or the code itself if it has no label."""
    return REASON_LABELS.get(code, code)


_GUARD = re.compile(r"(?<![^ ;])guard: (robots\.txt: )?")
_CODE = re.compile(rf"(?<![^ ;])({'|'.join(map(re.escape, REASON_LABELS))})(?=: |;|$)")


def explain_codes(text: str, language: str = "") -> str:
    """Return a message such as `https://a.example/: dns: …` with the meanings of its codes.

    It is translated, by default to the language of the command line. What follows `guard` says all.
    """
    plain = _GUARD.sub("", translate(text, language))
    return _CODE.sub(lambda code: translate(REASON_LABELS[code[1]], language), plain)
