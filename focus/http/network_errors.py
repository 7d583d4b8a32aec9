"""Maps exceptions of the network to failure kinds."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from focus.i18n import Msg, error_message, msg
from focus.records import FailureKind

NETWORK_ERRORS = (
    aiohttp.ClientError, HttpProcessingError, asyncio.TimeoutError, OSError, ValueError,
)  # fmt: skip
"""Exceptions that a fetch can raise because of the server or the network."""

TOO_MANY_HEADERS = "Too many headers"
"""Beginning of aiohttp's message for a response with too many header lines."""

_NO_ROUTE_ERRNOS = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
"""Errors of the system when a packet cannot leave or has no route."""

_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)
_MAX_DETAIL = 200


def classify_error(error: Exception) -> tuple[FailureKind, str]:
    """Return failure kind and detail of an exception of aiohttp, the socket or TLS."""
    causes = _exception_chain(error)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _classify_dns_error(error.os_error)
    if any(isinstance(cause, ssl.SSLError | ssl.CertificateError) for cause in causes):
        return FailureKind.TLS, _tls_reason(causes)
    if isinstance(error, asyncio.TimeoutError):
        return FailureKind.TIMEOUT, msg("no connection in time")
    if isinstance(error, aiohttp.ClientConnectorError):
        kind = FailureKind.UNREACHABLE if _has_no_route(causes) else FailureKind.CONNECT
        return kind, _system_reason(error.os_error) or msg("closed in the handshake")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return FailureKind.CONNECT, msg("the proxy answered {status}", status=error.status)
    if isinstance(error, aiohttp.InvalidURL):
        return FailureKind.GUARD, msg("no usable host: {error}", error=error)
    return _classify_response_error(error, causes)


def _classify_response_error(
    error: Exception, causes: list[BaseException]
) -> tuple[FailureKind, str]:
    """Classify an error after the connection was established."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return FailureKind.RESET, msg("closed without an answer")
    if isinstance(error, HttpProcessingError):
        if (error.message or "").startswith(TOO_MANY_HEADERS):
            return FailureKind.HEADERS_TOO_LARGE, error.message
        return FailureKind.PROTOCOL, error.message or msg("not HTTP")
    if isinstance(error, aiohttp.ClientPayloadError):
        text = " ".join(map(str, causes))
        if "not completed" in text or "Not enough data" in text:
            return FailureKind.RESET, msg("broken off in mid-answer")
        return FailureKind.PROTOCOL, str(causes[-1])
    if isinstance(error, OSError):
        kind = FailureKind.UNREACHABLE if _has_no_route(causes) else FailureKind.RESET
        return kind, _system_reason(error)
    return FailureKind.PROTOCOL, str(error) or type(error).__name__


def _has_no_route(causes: list[BaseException]) -> bool:
    """Return whether the system had no route to the address."""
    return any(isinstance(cause, OSError) and cause.errno in _NO_ROUTE_ERRNOS for cause in causes)


def _classify_dns_error(error: OSError) -> tuple[FailureKind, str]:
    unknown = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
    if isinstance(error, socket.gaierror) and error.errno in unknown:
        return FailureKind.DNS, msg("no such host")
    return FailureKind.DNS_TEMPORARY, error_message(error)


def _exception_chain(error: BaseException | None) -> list[BaseException]:
    """Return an exception and its causes, outermost first."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        inner = getattr(error, "os_error", None)
        error = error.__cause__ or inner or error.__context__
    return chain


def _system_reason(error: OSError) -> str:
    """Return the system's text; asyncio's own names the call instead of the reason."""
    return msg(os.strerror(error.errno)) if error.errno else error_message(error)


def _tls_reason(causes: list[BaseException]) -> str:
    """Return the innermost reason, in OpenSSL's words."""
    for cause in reversed(causes):
        if message := getattr(cause, "verify_message", None):
            return msg(str(message))
        if reason := getattr(cause, "reason", None):
            return str(reason).replace("_", " ").lower()
    return str(causes[-1])


def to_one_line(text: str) -> str:
    """Return a text from the network as one short line that is safe to print.

    In a message (`Msg`) the values from the network are converted.
    """
    if isinstance(text, Msg):
        return text.map_texts(to_one_line)
    text = " ".join(_UNPRINTABLE.sub(" ", text[: 4 * _MAX_DETAIL]).split())
    return text if len(text) <= _MAX_DETAIL else text[: _MAX_DETAIL - 1] + "…"
