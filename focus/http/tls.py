"""Makes the TLS contexts: whose certificates are believed, and which protocols are allowed.

To read the system's certificates takes 33 ms a context, where OpenSSL has them in one file; a
crawl has three contexts when its first request goes out (ours, two of aiohttp's) and often needs
none of them yet. So they are read when a context is used first.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_USES = ("wrap_bio", "wrap_socket", "get_ca_certs", "cert_store_stats")


def client_context(*, insecure: bool = False) -> ssl.SSLContext:
    """TLS 1.2 or later, certificates checked by the system's authorities unless `insecure`.

    A server cannot have us begin anew (renegotiation): it could go on with that for ever.
    """
    with certificates_read_late():
        context = ssl.create_default_context()
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        _forget(context)  # they are of no use
    return context


@contextmanager
def certificates_read_late() -> Iterator[None]:
    """Whoever makes a context meanwhile gets one that reads its certificates when it is used.

    Not for several threads at once: what makes contexts is replaced until it is left.
    """
    read = ssl.SSLContext.load_default_certs
    ssl.SSLContext.load_default_certs = _defer  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = read  # type: ignore[method-assign]


def _defer(context: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None:
    for name in _USES:
        setattr(context, name, _reading(context, purpose, getattr(context, name)))


def _forget(context: ssl.SSLContext) -> None:
    for name in _USES:
        vars(context).pop(name, None)


def _reading(
    context: ssl.SSLContext, purpose: ssl.Purpose, use: Callable[..., Any]
) -> Callable[..., Any]:
    def reads_first(*args: Any, **named: Any) -> Any:
        if vars(context).pop(_USES[0], None) is not None:
            context.load_default_certs(purpose)
            _forget(context)
        return use(*args, **named)

    return reads_first
