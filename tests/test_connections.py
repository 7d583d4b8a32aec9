"""Connections that are made by a proxy."""

import asyncio
from contextlib import suppress

import pytest
import uvloop
from msgspec.structs import replace

from focus.fetch import WebFetcher
from focus.http import requests
from focus.records import FailureKind, FetchResult
from tests.hostile.secure import authority
from tests.test_fetch import Raw, answer, config, serving

PROXIED = config(insecure=True, connect_timeout_s=5.0, total_timeout_s=10.0, read_timeout_s=5.0)


class Proxy:
    """Connects on, wherever it is asked to, to `port` of this machine; or says no."""

    def __init__(self, port: int, greeting: bytes = b"HTTP/1.1 200 Connected\r\n\r\n") -> None:
        self.port, self.greeting = port, greeting
        self.asked: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.greeting)
        if b" 200 " in self.greeting:
            there, on = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                await asyncio.gather(_relay(reader, on), _relay(there, writer))
            finally:
                on.transport.abort()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def by_proxy(proxy_says: bytes | None = None) -> tuple[list[FetchResult], Raw, Proxy]:
    server = Raw(answer())
    async with serving(server, ssl=authority().context("good", "a.test")) as port:
        proxy = Proxy(port) if proxy_says is None else Proxy(port, proxy_says)
        async with serving(proxy) as near:
            behind = replace(PROXIED, proxy=f"http://user:pa%20ss@127.0.0.1:{near}")
            async with WebFetcher(behind) as web:
                results = [await web.fetch(f"https://a.test:{port}/{n}") for n in range(2)]
            return results, server, proxy


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_send_through_proxy_to_tls_server_connects_once(factory: object) -> None:
    with asyncio.Runner(loop_factory=factory) as runner:  # type: ignore[arg-type]
        results, server, proxy = runner.run(by_proxy())
    assert [result.failure for result in results] == [None, None]
    expected = [b"GET /0 HTTP/1.1", b"GET /1 HTTP/1.1"]
    assert [line.split(b"\r\n")[0] for line in server.requests] == expected
    (asked,) = proxy.asked
    assert asked.startswith(b"CONNECT a.test:")
    assert b"Proxy-Authorization: Basic dXNlcjpwYSBzcw==\r\n" in asked
    assert b"proxy-auth" not in b"".join(server.requests).lower()


def test_send_through_refusing_proxy_names_the_status() -> None:
    results, _, _ = asyncio.run(by_proxy(b"HTTP/1.1 407 Who?\r\nContent-Length: 0\r\n\r\n"))
    assert {result.failure for result in results} == {FailureKind.CONNECT}
    assert results[0].detail == "the proxy answered 407"


@pytest.mark.parametrize("field", [{"X-A": "a\r\nX-B: b"}, {"X-A: a\r\nX-B": "b"}, {"X\0": "a"}])
def test_encode_headers_line_break_raises(field: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="line break"):
        requests._encode_headers(field)
