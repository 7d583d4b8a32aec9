"""TLS for the hostile server: who is called, with which certificate, and talk beneath it.

Authority     certificates made on the spot, good ones and bad ones
called_name   the host that a ClientHello asks for
Secured       TLS over a connection whose first bytes were looked at before
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import trustme

T = TypeVar("T")
HANDSHAKE = 0x16  # the first byte of a TLS connection; no HTTP request begins with it


class Authority:
    """Certificates by kind; `trust` has a client believe in ours."""

    def __init__(self) -> None:
        self._ours, self._strangers = trustme.CA(), trustme.CA()
        self._contexts: dict[tuple[str, str], ssl.SSLContext] = {}

    def trust(self, client: ssl.SSLContext) -> None:
        """Have a client trust our authority, and not the strangers'."""
        self._ours.configure_trust(client)

    def write_certificate(self, file: Path) -> None:
        """Write our own certificate, by which clients know the ones that we issue."""
        self._ours.cert_pem.write_to_path(str(file))

    def context(self, kind: str, name: str) -> ssl.SSLContext:
        """What a server has that shows a certificate of that kind for a name."""
        if (kind, name) not in self._contexts:
            self._contexts[kind, name] = self._create_context(kind, name)
        return self._contexts[kind, name]

    def _create_context(self, kind: str, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority = self._strangers if kind == "unknown" else self._ours
        day, now = timedelta(days=1), datetime.now(UTC)
        begins, ends = {
            "expired": (now - 9 * day, now - day),
            "early": (now + day, now + 9 * day),
        }.get(kind, (now - day, now + day))
        if kind == "self-signed":
            _self_signed(context)
            return context
        shown = {"other": "other.example", "wildcard": "*.test", "suffix": f"{name}.evil.example"}
        cert = authority.issue_cert(shown.get(kind, name), not_before=begins, not_after=ends)
        cert.configure_cert(context)
        if kind == "tickets":
            context.num_tickets = 5_000
        elif kind == "client":
            context.verify_mode = ssl.CERT_REQUIRED
            self._strangers.configure_trust(context)
        elif kind == "tls-1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context


def _self_signed(context: ssl.SSLContext) -> None:
    """An authority's own certificate is signed by itself."""
    own = trustme.CA()
    with own.private_key_pem.tempfile() as key, own.cert_pem.tempfile() as cert:
        context.load_cert_chain(cert, key)


@cache
def authority() -> Authority:
    """One for all tests: a key takes some milliseconds to make."""
    return Authority()


def called_name(hello: bytes) -> str:
    """The server_name of a ClientHello record (RFC 8446 4.1.2, RFC 6066 3); "" without."""
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]  # session
    at += 2 + int.from_bytes(hello[at : at + 2])  # ciphers
    at += 1 + hello[at]  # compression
    end = at + 2 + int.from_bytes(hello[at : at + 2])
    at += 2
    while at + 4 <= end:
        kind, size = int.from_bytes(hello[at : at + 2]), int.from_bytes(hello[at + 2 : at + 4])
        if kind == 0:
            return hello[at + 9 : at + 4 + size].decode("ascii", "replace")
        at += 4 + size
    return ""


class Secured:
    """Reader and writer in one, of what lies within TLS. `sent` bytes of TLS."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext
    ) -> None:
        self._reader, self._writer = reader, writer
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._text = bytearray()
        self.sent = 0
        self.transport = writer.transport

    async def shake_hands(self, hello: bytes) -> None:
        self._in.write(hello)
        await self._do(self._tls.do_handshake)

    async def _do(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._reader.read(65536)
                if not data:
                    raise asyncio.IncompleteReadError(b"", None) from None
                self._in.write(data)
            finally:
                await self._flush()

    async def _flush(self) -> None:
        while data := self._out.read(65536):
            self._writer.write(data)
            await self._writer.drain()
            self.sent += len(data)

    async def readuntil(self, end: bytes) -> bytes:
        while (at := self._text.find(end)) < 0:
            if not (data := await self.read(65536)):
                raise asyncio.IncompleteReadError(bytes(self._text), None)
            self._text += data
        head, self._text = bytes(self._text[: at + len(end)]), self._text[at + len(end) :]
        return head

    async def read(self, size: int) -> bytes:
        return await self._do(lambda: self._tls.read(size))

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), 16384):
            self._tls.write(data[start : start + 16384])

    async def drain(self) -> None:
        await self._flush()

    def write_bare(self, data: bytes) -> None:
        """Past TLS, onto the wire."""
        self._writer.write(data)

    def say_goodbye(self) -> None:
        """close_notify, without waiting for the other's."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        self._writer.write(self._out.read())

    def get_extra_info(self, name: str) -> Any:
        return self._writer.get_extra_info(name)
