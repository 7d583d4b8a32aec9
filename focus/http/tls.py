"""Makes the TLS contexts: whose certificates are believed, and which protocols are allowed."""

from __future__ import annotations

import ssl


def client_context(*, insecure: bool = False) -> ssl.SSLContext:
    """TLS 1.2 or later, certificates checked by the system's authorities unless `insecure`.

    A server cannot have us begin anew (renegotiation): it could go on with that for ever.
    """
    context = ssl.create_default_context()
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
