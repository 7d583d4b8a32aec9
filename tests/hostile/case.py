"""Defines a behaviour of the hostile server, so that one is written in a line or two.

A behaviour has a host of its own, `ID.test`, and an address there to be met at. `Talk` is
the server's end of one request: a script sends whatever bytes it likes and may pause,
reset or hang. `Expect` says what a good crawler makes of it, in terms of what the crawl
has stored and of what the server has seen.
"""

import asyncio
import html
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.hostile.secure import Secured

MIB = 1024 * 1024
ENDLESS_BYTES = 64 * MIB  # after so much even an endless answer ends: the crawler has lost
ENDLESS_S = 20.0


Reader = asyncio.StreamReader | Secured
Writer = asyncio.StreamWriter | Secured


class Talk:
    """One request as the server sees it.

    nth   which request for this path it is, from 1
    sent  bytes handed to the system for this answer
    """

    def __init__(self, reader: Reader, writer: Writer, *, port: int, host: str) -> None:
        self.reader, self.writer = reader, writer
        self.port, self.host = port, host
        self.path = ""
        self.headers: dict[str, str] = {}
        self.nth = 1
        self.sent = 0
        self.keep = False

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def hang(self) -> None:
        """Say nothing until the crawler has had enough."""
        async with asyncio.timeout(ENDLESS_S):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        """Break off with RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Talk], Awaitable[None]]


@dataclass(frozen=True)
class Expect:
    """What a good crawler makes of a behaviour.

    ends      state and reason of the URL, "done", "failed:too-large"…; any of these
    bytes     that the server may get rid of per request, at most
    seconds   that a request may last, at most
    tries     requests for the URL, at most
    title     what the page is called in the end, None: not looked at
    links     links taken from the page, at most
    asked     paths of the host that are asked for, too
    unasked   paths of the host that must not be
    visits    requests to the host (and hosts below it), at most
    after     the host's other page, /after, is still crawled
    """

    ends: tuple[str, ...] = ("done",)
    bytes: int = 6 * MIB
    seconds: float = 9.0
    tries: int = 3
    title: str | None = None
    links: int | None = None
    asked: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    visits: int = 40
    after: bool = True


@dataclass(frozen=True)
class Case:
    """A behaviour. `url` is where it is met; `{host}` and `{port}` are filled in.

    tls    the kind of certificate that it shows to who comes by TLS (secure.py)
    hello  acted out instead of TLS, once a ClientHello has come
    """

    id: str
    does: str
    script: Script
    expect: Expect = Expect()
    url: str = "http://{host}/x"
    paths: Mapping[str, Script] = field(default_factory=dict)
    default: Script | None = None
    tls: str = "good"
    hello: Script | None = None
    seed: bool = False
    group: str = ""

    @property
    def name(self) -> str:
        return f"{self.id}.test"

    def address(self, port: int) -> str:
        return self.url.format(host=f"{self.name}:{port}", port=port)


# -- scripts --------------------------------------------------------------------------


def raw(*parts: bytes, then: str = "close", pause_s: float = 0.0) -> Script:
    """Exactly these bytes; `then` close, reset or hang. `pause_s` after each part."""

    async def script(talk: Talk) -> None:
        for part in parts:
            await talk.send(fill(part, talk))
            if pause_s:
                await talk.pause(pause_s)
        if then == "hang":
            await talk.hang()
        elif then == "reset":
            talk.reset()

    return script


def endless(head: bytes, piece: bytes, pause_s: float = 0.0) -> Script:
    """A beginning, and then the same piece until nobody listens any more."""

    async def script(talk: Talk) -> None:
        await talk.send(fill(head, talk))
        loop = asyncio.get_running_loop()
        until = loop.time() + ENDLESS_S
        while talk.sent < ENDLESS_BYTES and loop.time() < until:
            await talk.send(piece)
            if pause_s:
                await talk.pause(pause_s)

    return script


def fill(text: bytes, talk: Talk) -> bytes:
    """{host} and {port} in a script's bytes."""
    if b"{host}" in text or b"{port}" in text:
        text = text.replace(b"{host}", f"{talk.host}:{talk.port}".encode())
        text = text.replace(b"{port}", str(talk.port).encode())
    return text


def reply(
    body: bytes | str,
    *,
    status: str = "200 OK",
    kind: str | None = "text/html; charset=utf-8",
    headers: Sequence[str] = (),
) -> Script:
    """A well-formed answer with its length; the connection stays."""
    data = body.encode() if isinstance(body, str) else body

    async def script(talk: Talk) -> None:
        payload = fill(data, talk) if len(data) < 100_000 else data
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(payload)}", *headers]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        head = fill("\r\n".join(lines).encode("utf-8", "surrogateescape"), talk)
        talk.keep = True
        await talk.send(head + b"\r\n\r\n" + payload)

    return script


def page(title: str = "a page", *links: str, text: str = "words and words") -> Script:
    """An ordinary page with these links."""
    return reply(markup(title, *links, text=text))


def markup(title: str = "a page", *links: str, text: str = "words and words") -> str:
    anchors = "".join(f'<p><a href="{html.escape(to)}">{html.escape(to)}</a></p>' for to in links)
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body><p>{text}</p>{anchors}</body></html>"
    )


def redirect(location: str, status: str = "302 Found") -> Script:
    return reply(b"", status=status, headers=[f"Location: {location}"])


def turns(*scripts: Script) -> Script:
    """Another answer each time; the last one for good."""

    async def script(talk: Talk) -> None:
        await scripts[min(talk.nth, len(scripts)) - 1](talk)

    return script


OK = page()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
START = b"<!doctype html><title>a page</title><p>"


def failed(*kinds: str) -> tuple[str, ...]:
    return tuple(f"failed:{kind}" for kind in kinds)


def dropped(*kinds: str) -> tuple[str, ...]:
    return tuple(f"dropped:{kind}" for kind in kinds)
