"""Creates TLS contexts: trusted certificates and allowed protocols.

Reading the system's certificates takes 33 ms per context where OpenSSL has them in one file. A
crawl has three contexts when its first request is sent (our own and two of aiohttp's) and often
needs none of them yet, so certificates are read when a context is first used.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_CERTIFICATE_METHODS = ("wrap_bio", "wrap_socket", "get_ca_certs", "cert_store_stats")


def make_client_context(*, insecure: bool = False) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or later that checks certificates unless `insecure`.

    Renegotiation is off, because a server could repeat it without end.
    """
    with defer_certificate_loading():
        context = ssl.create_default_context()
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        _restore_methods(context)  # no certificates are needed
    return context


@contextmanager
def defer_certificate_loading() -> Iterator[None]:
    """Make contexts created inside the `with` block read their certificates on first use.

    It patches a method of SSLContext, so only one thread at a time may use it.
    """
    read = ssl.SSLContext.load_default_certs
    ssl.SSLContext.load_default_certs = _defer_loading  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = read  # type: ignore[method-assign]


def _defer_loading(context: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None:
    for name in _CERTIFICATE_METHODS:
        setattr(context, name, _load_before(context, purpose, getattr(context, name)))


def _restore_methods(context: ssl.SSLContext) -> None:
    for name in _CERTIFICATE_METHODS:
        vars(context).pop(name, None)


def _load_before(
    context: ssl.SSLContext, purpose: ssl.Purpose, use: Callable[..., Any]
) -> Callable[..., Any]:
    def reads_first(*args: Any, **named: Any) -> Any:
        if vars(context).pop(_CERTIFICATE_METHODS[0], None) is not None:
            context.load_default_certs(purpose)
            _restore_methods(context)
        return use(*args, **named)

    return reads_first
