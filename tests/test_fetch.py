"""The web fetcher against servers that misbehave, over loopback sockets."""

import asyncio
import gzip
import socket
import ssl
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from focus.config import FetchConfig
from focus.errors import ConfigError
from focus.fetch import WebFetcher
from focus.http import connection
from focus.http.chunk_framing import ChunkRepairer
from focus.http.dns import PrefetchResolver
from focus.http.response_head import repair_head
from focus.http.robots import robots_from_response
from focus.http.sessions import Sessions, parse_cookie_option
from focus.http.tls import defer_certificate_loading, make_client_context
from focus.records import FailureKind
from tests.hostile.secure import authority
from tests.support.cases import cases
from tests.support.timetravel import OWN_TIME, TimeTravel, passing
from tests.support.web import TinyWeb

pytestmark = OWN_TIME

PAGE = b"<!doctype html><title>a page</title><p>" + b"word " * 500
NOW = 1_700_000_000.0
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def config(**changes: Any) -> FetchConfig:
    """Loopback opened, all limits small."""
    small = FetchConfig(
        allow_net=("127.0.0.0/8",), connect_timeout_s=0.3, read_timeout_s=0.25,
        total_timeout_s=1.0, max_body_bytes=200_000, max_raw_bytes=400_000,
    )  # fmt: skip
    return msgspec.structs.replace(small, **changes)


class Raw:
    """A server that sends exactly the given bytes to every request, and counts."""

    def __init__(self, *answer: bytes, close: bool = False, then: Handler | None = None) -> None:
        self.answer, self.close, self.then = answer, close, then
        self.requests: list[bytes] = []
        self.connections = 0
        self.sent = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                for piece in self.answer:
                    writer.write(piece)
                    await writer.drain()
                if self.then is not None:
                    await self.then(reader, writer)
                if self.close:
                    writer.close()
                    await writer.wait_closed()
                    break

    def endless(self, piece: bytes, pause_s: float = 0.0) -> Handler:
        """Go on with `piece` until the client has had enough (or 64 MB)."""

        async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while self.sent < 64_000_000:
                writer.write(piece)
                self.sent += len(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)

        return send


@asynccontextmanager
async def serving(handler: Handler, **options: Any) -> AsyncIterator[int]:
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (asyncio.CancelledError, OSError):
            pass  # the test is over, or the client is gone
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def ask(handler: Handler, path: str = "/", *, robots: bool = False, **limits: Any) -> Any:
    async with serving(handler) as port, WebFetcher(config(**limits), clock=lambda: NOW) as web:
        return await web.fetch(f"http://127.0.0.1:{port}{path}", robots=robots)


def answer(body: bytes = PAGE, *headers: str, status: str = "200 OK") -> bytes:
    fields = [*headers, f"Content-Length: {len(body)}", "Content-Type: text/html"]
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode("latin-1") + body


# A page


async def test_fetch_page_has_all_fields() -> None:
    server = Raw(answer(PAGE, "X-One: 1", "x-one: 2"))
    result = await ask(server, "/a?b=%20c")
    assert (result.status, result.failure, result.body) == (200, None, PAGE)
    assert [value for name, value in result.headers if name == "x-one"] == ["1", "2"]
    assert (result.raw_bytes, result.address) == (len(PAGE), "127.0.0.1")
    assert result.fetched_at == NOW
    assert result.elapsed_s > 0


@pytest.mark.parametrize("size", range(150_000, 900_000, 150_000))
async def test_fetch_reads_on_after_the_parser_was_paused(size: int) -> None:
    """aiohttp pauses its parser when much arrives at once, and continues it with b""."""
    body = b"<p>" + b"word " * (size // 5)
    result = await ask(Raw(answer(body)), max_body_bytes=10**6, max_raw_bytes=10**6)
    assert (result.failure, len(result.body)) == (None, len(body))


async def test_fetch_request_names_crawler_without_credentials() -> None:
    server = Raw(answer())
    async with serving(server) as port, WebFetcher(config(user_agent="focus/9 test")) as web:
        await web.fetch(f"http://user:secret@127.0.0.1:{port}/a?#frag")
    request = server.requests[0].decode().lower()
    assert request.startswith("get /a? http/1.1\r\n")
    assert f"host: 127.0.0.1:{port}\r\n" in request
    assert "user-agent: focus/9 test\r\n" in request
    assert "accept-encoding: gzip, deflate, br, zstd\r\n" in request
    assert "accept-language: zh" in request and "authorization" not in request
    assert "secret" not in request


async def test_fetch_result_has_request_and_status_line() -> None:
    server = Raw(answer(status="203 Fr\xe9 & easy"))
    cookies = Sessions(parse_cookie_option(["127.0.0.1"], "sid=1"))
    async with serving(server) as port, WebFetcher(config(), sessions=cookies) as web:
        conditions = [("If-None-Match", '"x"')]
        result = await web.fetch(f"http://127.0.0.1:{port}/a", conditions=conditions)
    assert result.status_line == b"HTTP/1.1 203 Fr\xe9 & easy"
    assert b'If-None-Match: "x"\r\n' in result.request
    assert b"Cookie: sid=1\r\n" in server.requests[0]
    assert server.requests[0].replace(b"Cookie: sid=1\r\n", b"") == result.request


async def test_fetch_cookies_are_not_sent_back() -> None:
    server = Raw(answer(PAGE, "Set-Cookie: a=b"))
    async with serving(server) as port, WebFetcher(config()) as web:
        await web.fetch(f"http://127.0.0.1:{port}/")
        await web.fetch(f"http://127.0.0.1:{port}/")
    assert b"cookie" not in server.requests[1].lower()
    assert server.connections == 1


async def test_fetch_broken_idle_connection_is_not_retried() -> None:
    server = Raw(answer())

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if server.connections == 1:
            server.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.transport.abort()
            await reader.read()

    server.then = hang_up
    async with serving(server) as port, WebFetcher(config()) as web:
        kinds = [(await web.fetch(f"http://127.0.0.1:{port}/")).failure for _ in range(3)]
    assert kinds == [None, FailureKind.CLOSED, None]
    assert (len(server.requests), server.connections) == (3, 2)


async def test_fetch_broken_new_connection_is_not_retried() -> None:
    server = Raw(close=True)
    result = await ask(server)
    assert result.failure is FailureKind.RESET
    assert len(server.requests) == 1


async def test_connector_idle_connections_are_limited() -> None:
    """Otherwise a wide crawl runs out of file descriptors within the keep-alive time."""
    server = Raw(answer())
    hosts = [f"h{n}.test" for n in range(70)]
    names = Names(*["127.0.0.1"] * 70)
    patient = config(concurrency=1, connect_timeout_s=5, read_timeout_s=5, total_timeout_s=10)
    async with serving(server) as port, WebFetcher(patient, resolver=names) as web:
        for host in [*hosts, hosts[-1], hosts[0]]:
            assert (await web.fetch(f"http://{host}:{port}/")).failure is None
    assert server.connections == 70 + 1  # the last was kept, the first was not


def test_fetch_limits_hold_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    patient = dict.fromkeys(("connect_timeout_s", "read_timeout_s", "total_timeout_s"), 60.0)

    async def scenes() -> list[FailureKind | None]:
        chatty, slow = Raw(CHUNKED), Raw(CHUNKED)
        chatty.then = chatty.endless(b"1;" + b"e" * 4000 + b"\r\n \r\n")
        slow.then = slow.endless(b"1\r\nx\r\n", 0.02)
        results = [
            await ask(Raw(answer()), **patient),
            await ask(chatty, **patient),
            await ask(slow, **patient | {"min_rate_window_s": 0.2}),
            await ask(Raw(), **patient | {"read_timeout_s": 0.2}),
            await ask(Raw(answer()), allow_net=(), **patient),
        ]
        return [result.failure for result in results]

    assert uvloop.run(scenes()) == [
        None, FailureKind.TOO_LARGE, FailureKind.TOO_SLOW, FailureKind.TIMEOUT, FailureKind.GUARD,
    ]  # fmt: skip


# Status


@cases(
    "status, failure",
    ("404 Not Found", FailureKind.HTTP_4XX),
    ("500 Oops", FailureKind.HTTP_5XX),
    ("503 Busy", FailureKind.HTTP_5XX),
    ("429 Slow down", FailureKind.RATE_LIMITED),
    ("304 Not Modified", FailureKind.REDIRECT),
    ("301 Moved", FailureKind.REDIRECT),
    ("204 Nothing", FailureKind.EMPTY),
)
async def test_fetch_error_status_is_failure(status: str, failure: FailureKind) -> None:
    body = b"" if status[:3] in ("204", "304") else b"<html>sorry"
    result = await ask(Raw(answer(body, status=status)))
    assert (result.failure, result.body) == (failure, b"")
    assert result.status == int(status[:3])
    assert status[:3] in result.detail


async def test_fetch_small_error_page_keeps_connection() -> None:
    server = Raw(answer(b"x" * 3000, status="404 Not Found"))
    async with serving(server) as port, WebFetcher(config()) as web:
        for _ in range(3):
            await web.fetch(f"http://127.0.0.1:{port}/")
    assert server.connections == 1


# Redirects


@cases(
    "location, target",
    ("/b", "http://127.0.0.1:{port}/b"),
    ("//b.test/", "http://b.test/"),
    ("http://10.0.0.1/", "http://10.0.0.1/"),
    ("/\xe4\xb8\xad", "http://127.0.0.1:{port}/%E4%B8%AD"),
    ("///b.test//x", "http://b.test//x"),
    ("/\xd6\xd0", "http://127.0.0.1:{port}/%D6%D0"),
)
async def test_fetch_redirect_is_reported_not_followed(location: str, target: str) -> None:
    server = Raw(answer(b"", f"Location: {location}", status="302 Found"))
    async with serving(server) as port, WebFetcher(config()) as web:
        result = await web.fetch(f"http://127.0.0.1:{port}/a")
    assert result.redirect_to == target.format(port=port)
    assert (result.failure, result.status) == (None, 302)
    assert len(server.requests) == 1


# Malformed heads

_CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
_ZIPPED = gzip.compress(PAGE)
_ODD_CHUNKS = b"%x ; a = b\r\n%s\r\n00\r\nX Y : 1\r\n\r\n" % (len(PAGE), PAGE)


@cases(
    "headers, body",
    (["Server : old", f"Content-Length: {len(PAGE)}"], PAGE),
    (["X Name: 1", "(x): 1", "no colon", ": 1", f"Content-Length: {len(PAGE)}"], PAGE),
    (["X-\xe4: 1", f"Content-Length: {len(PAGE)}"], PAGE),
    (["Bad Name: 1", " folded: 2", f"Content-Length: {len(PAGE)}"], PAGE),
    ([f"Content-Length: {len(PAGE)}"] * 2, PAGE),
    ([f"Content-Length: {len(PAGE)}, {len(PAGE)}"], PAGE),
    (["Content-Length: 5", "Transfer-Encoding: chunked"], _CHUNKED),
    (["Transfer-Encoding : Chunked", "Transfer-Encoding: chunked"], _CHUNKED),
    (["Transfer-Encoding: identity", f"Content-Length: {len(PAGE)}"], PAGE),
    (["Connection: close", "Content-Encoding: gzip", "Content-Encoding: identity"], _ZIPPED),
    ([f"Content-Length: {len(PAGE)}", "Content-Encoding: gzip"], _ZIPPED),
    (["X-A: one\rtwo\r", f"Content-Length: {len(PAGE)}"], PAGE),
    (["Connection: close", f"Content-Length: {2**63}"], PAGE),
    (["Transfer-Encoding: chunked"], b"%X\n%s\n0\n\n" % (len(PAGE), PAGE)),
    (["Transfer-Encoding: chunked"], _ODD_CHUNKS),
    (["Transfer-Encoding: chunked, gzip"], _CHUNKED),
    (["Transfer-Encoding: gzip, chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(_ZIPPED), _ZIPPED)),
    (["Transfer-Encoding: gzip", "Connection: close"], _ZIPPED),
)  # fmt: skip
@pytest.mark.parametrize("is_whole", [True, False])
async def test_fetch_odd_head_keeps_page(headers: list[str], body: bytes, is_whole: bool) -> None:
    status = "HTTP/1.1 200 OK" if is_whole else "http/2  200\tOK"
    types = ["Content-Type: image/png", "Content-Type: text/html", "Content-Type: x"]
    head = "\r\n".join([status, *types, *headers, "", ""])
    response = head.encode("latin-1") + body
    early = b"HTTP/1.1 103 Early\r\nLink : </x>\r\n\r\n"
    pieces = [response] if is_whole else [early, *[bytes([byte]) for byte in response[:-50]]]
    closes = "Connection: close" in headers
    server = Raw(*pieces, *([] if is_whole else [response[-50:]]), close=closes)
    result = await ask(server, read_timeout_s=5.0, total_timeout_s=9.0)
    assert (result.failure, result.body) == (None, PAGE)


def test_private_names_of_aiohttp_exist() -> None:
    """`connection` and `requests` use these names of aiohttp, which has no public ones for them."""

    async def missing_names() -> list[str]:
        connector = connection.Connector(concurrency=1)
        handler = connector._factory()
        names = [(connector, "_conns"), (connector, "_loop"), (connector, "_release")]
        names += [(handler, name) for name in ("_payload", "feed_data", "set_response_params")]
        missing = [name for thing, name in names if not hasattr(thing, name)]
        await connector.close()
        return missing if isinstance(handler, connection._CountingHandler) else ["_factory"]

    assert asyncio.run(missing_names()) == []


# Sizes


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_fetch_headers_within_limit_are_complete() -> None:
    result = await ask(Raw(answer(PAGE, "X-Long: " + "y" * 60_000, *["A: b"] * 150)))
    assert result.failure is None
    assert len(result.header("x-long") or "") == 60_000


# Codings


async def test_fetch_truncated_coding_returns_beginning_with_detail() -> None:
    page = PAGE + b"".join(b"<p>%d</p>" % n for n in range(20_000))
    result = await ask(Raw(answer(gzip.compress(page)[:20_000], "Content-Encoding: gzip")))
    assert result.failure is None
    assert len(result.body) > 50_000 and page.startswith(result.body)
    assert result.is_truncated
    assert result.detail == "its gzip data ends too early; what came is kept"


# Time


async def test_fetch_busy_process_extends_time_limits() -> None:
    async def then(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, TimeTravel)
        loop.travel(0.7)  # as by a page that takes long, or SIGSTOP
        writer.write(PAGE)

    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * len(PAGE))
    result = await ask(Raw(head + PAGE, then=then), read_timeout_s=0.4, min_rate_window_s=0.4)
    assert result.failure is None


async def test_fetch_total_time_is_limited() -> None:
    server = Raw(CHUNKED)
    server.then = server.endless(b"10\r\n<html>0123456789\r\n", 0.01)
    with passing(0.4):
        result = await ask(server, min_rate_bytes_s=1.0, total_timeout_s=0.3)
    assert result.failure is FailureKind.TIMEOUT


# Broken answers


def test_repair_head_continued_line_stays_in_its_field() -> None:
    assert b"\r\nA: b\r\n c\r\n" in repair_head(b"HTTP/1.1 200 OK\nA: b\n c\n\n")


def test_repair_chunk_longer_than_its_size_stays_as_received() -> None:
    assert ChunkRepairer().repair(b"1\nab\n3\nc") == b"1\r\nab\n3\nc"


async def test_fetch_detail_has_no_control_characters() -> None:
    result = await ask(Raw(answer(b"", status="404 \x1b[31mred\x9b" + "x" * 500)))
    assert result.detail.isprintable()
    assert len(result.detail) <= 200


async def test_fetch_unrequested_bytes_abort_connection() -> None:
    server = Raw(answer())
    server.then = server.endless(b"HTTP/1.1 200 OK\r\n\r\nspam" * 99, 0.01)
    async with serving(server) as port, WebFetcher(config()) as web:
        first = await web.fetch(f"http://127.0.0.1:{port}/")
        await asyncio.sleep(0.05)
        second = await web.fetch(f"http://127.0.0.1:{port}/")
    assert first.body == PAGE
    assert second.body == PAGE
    assert server.connections == 2


# Connecting


async def test_fetch_closed_port_is_connect_failure() -> None:
    with socket.socket() as port_holder:
        port_holder.bind(("127.0.0.1", 0))
        async with WebFetcher(config()) as web:
            result = await web.fetch(f"http://127.0.0.1:{port_holder.getsockname()[1]}/")
    assert result.failure is FailureKind.CONNECT
    assert "refused" in result.detail


class Names(AbstractResolver):
    """Resolves every name to the next of the given answers; an int is an error."""

    def __init__(self, *answers: str | int) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        record = self.answers.pop(0)
        if isinstance(record, int):
            raise socket.gaierror(record, "by the test")
        fields = {"hostname": host, "port": port, "family": family, "proto": 0, "flags": 0}
        return [ResolveResult(host=address, **fields) for address in record.split()]

    async def close(self) -> None:
        pass


@cases(
    "error, failure",
    (socket.EAI_NONAME, FailureKind.DNS),
    (socket.EAI_AGAIN, FailureKind.DNS_TEMPORARY),
    (socket.EAI_FAIL, FailureKind.DNS_TEMPORARY),
)
async def test_fetch_unknown_name_is_no_resolver_error(error: int, failure: FailureKind) -> None:
    async with WebFetcher(config(), resolver=Names(error)) as web:
        assert (await web.fetch("http://nowhere.test/")).failure is failure


async def test_thread_resolver_reports_a_failed_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Mock(side_effect=socket.gaierror(socket.EAI_NONAME, "by the test"))
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with WebFetcher(config(connect_timeout_s=60.0, total_timeout_s=60.0)) as web:
        assert (await web.fetch("http://nowhere.test/")).failure is FailureKind.DNS


async def test_prefetch_address_returns_the_first_or_nothing() -> None:
    names = PrefetchResolver(Names("192.0.2.1 192.0.2.2", "", socket.EAI_NONAME))
    addresses = [await names.prefetch_address(f"{n}.test", 80, 60.0) for n in range(3)]
    assert addresses == ["192.0.2.1", "", ""]


async def test_thread_resolver_resolves_localhost() -> None:
    server = Raw(answer())
    async with serving(server) as port, WebFetcher(config()) as web:
        result = await web.fetch(f"http://localhost:{port}/")
    assert result.failure is None
    assert f"host: localhost:{port}".encode() in server.requests[0].lower()


async def test_fetch_cancelled_raises_cancelled_error() -> None:
    async with serving(Raw()) as port, WebFetcher(config(read_timeout_s=5.0)) as web:
        task = asyncio.create_task(web.fetch(f"http://127.0.0.1:{port}/"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("insecure", [False, True])
def test_client_context_refuses_renegotiation(insecure: bool) -> None:
    context = make_client_context(insecure=insecure)
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.check_hostname is not insecure


def test_client_context_loads_certificates_once_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ssl.SSLContext] = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda self, _: read.append(self))
    with defer_certificate_loading():
        theirs = ssl.create_default_context()
    ours, careless = make_client_context(), make_client_context(insecure=True)
    assert not read
    for context in (ours, theirs, careless, ours):
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="a.test")
    assert read == [ours, theirs]
    ssl.create_default_context()
    assert len(read) == 3


def test_defer_certificate_loading_start_reads_no_certificates() -> None:
    script = """
        import ssl
        from focus.http.tls import defer_certificate_loading
        with defer_certificate_loading():
            from focus import session
        from aiohttp import connector
        for each in (connector._SSL_CONTEXT_VERIFIED, connector._SSL_CONTEXT_UNVERIFIED):
            print("wrap_bio" in vars(each) or each.verify_mode is ssl.CERT_NONE)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ended.stdout.split() == ["True", "True"]


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux counts for us")
async def test_check_wire_bytes_tls_overhead_counts() -> None:
    """Session tickets, 1.3 MB of them: not a byte of the answer is there."""
    context = authority().context("tickets", "localhost")
    waits = {"connect_timeout_s": 60.0, "read_timeout_s": 60.0, "total_timeout_s": 60.0}
    limits = config(insecure=True, max_raw_bytes=200_000, **waits)
    async with serving(Raw(answer()), ssl=context) as port, WebFetcher(limits) as web:
        result = await web.fetch(f"https://127.0.0.1:{port}/")
    assert result.failure is FailureKind.TOO_LARGE
    assert "off the socket" in result.detail


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux counts for us")
def test_wire_bytes_read_excludes_unread_bytes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        with ours, theirs:
            theirs.sendall(b"x" * 50_000)
            assert len(ours.recv(10_000, socket.MSG_WAITALL)) == 10_000
            assert connection._wire_bytes_read(ours) == 10_000


@pytest.mark.parametrize("max_raw", [100_000, 600_000, 10_000_000])
async def test_fetch_endless_robots_txt_is_truncated(max_raw: int) -> None:
    """However much more the server has sent by then, and however little a page may have."""
    server = Raw(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /x\n")
    server.then = server.endless(b"# more\n" * 40_000)
    result = await ask(server, robots=True, max_raw_bytes=max_raw)
    assert (result.failure, result.is_truncated) == (None, True), result.detail
    assert len(result.body) == 500 * 1024
    assert not robots_from_response(200, result.body).allows("http://a.test/x", "focus")


# The guard


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.test/", "gopher://a.test/", "x"])
async def test_fetch_other_scheme_is_failure(url: str) -> None:
    async with WebFetcher(config()) as web:
        assert (await web.fetch(url)).failure is FailureKind.GUARD


@pytest.mark.parametrize("url", ["http://a.test/\r\nX: y", "http://a.test/ b", "http://a.test/中"])
async def test_fetch_unnormalised_url_is_failure(url: str) -> None:
    async with WebFetcher(config(), resolver=Names()) as web:
        assert (await web.fetch(url)).failure is FailureKind.PROTOCOL


@cases("url", "http://[::1/", "http://a.test:99999/", "http://:80/", "http://./")
async def test_fetch_url_without_usable_host_is_failure(url: str) -> None:
    async with WebFetcher(config(), resolver=Names(socket.EAI_NONAME)) as web:
        assert (await web.fetch(url)).failure is not None


# Robots, replaying, proxies


async def test_fetch_connect_to_uses_replaying_server() -> None:
    tiny = TinyWeb()
    tiny.page("https://a.test/", links=["/b"], title="A")
    tiny.page("http://b.test:8080/x?y", title="B")
    tiny.redirect("http://b.test:8080/old", "https://a.test/")
    async with tiny.serve() as address, WebFetcher(config(connect_to=address)) as web:
        first = await web.fetch("https://a.test/")
        second = await web.fetch("http://b.test:8080/x?y")
        third = await web.fetch("http://b.test:8080/old")
    assert b"<title>A</title>" in first.body
    assert b"<title>B</title>" in second.body
    assert third.redirect_to == "https://a.test/"
    assert tiny.urls() == ["https://a.test/", "http://b.test:8080/x?y", "http://b.test:8080/old"]


async def test_fetch_connect_to_obeys_address_guard() -> None:
    async with WebFetcher(config(connect_to="127.0.0.1:9", allow_net=())) as web:
        assert (await web.fetch("http://a.test/")).failure is FailureKind.GUARD


async def test_fetch_proxy_gets_names_but_no_private_addresses() -> None:
    proxy = Raw(answer())
    async with serving(proxy) as port:
        behind = config(proxy=f"http://127.0.0.1:{port}", allow_net=())
        async with WebFetcher(behind) as web:
            public = await web.fetch("http://a.test/x")
            hosts = ("10.0.0.1", "[::1]:80", "2130706433", "localhost", "0x7f.1")
            refused = [(await web.fetch(f"http://{host}/")).failure for host in hosts]
    assert public.failure is None
    assert proxy.requests[0].startswith(b"GET http://a.test/x HTTP/1.1")
    assert refused == [FailureKind.GUARD] * 5
    assert len(proxy.requests) == 1


@cases(
    "wrong",
    {"connect_to": "nowhere"},
    {"connect_to": "a:b"},
    {"proxy": "socks5://a:1"},
    {"proxy": "http://a:1", "connect_to": "127.0.0.1:1"},
    {"allow_net": ("10.0.0.0/99",)},
)
def test_web_fetcher_invalid_settings_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        WebFetcher(FetchConfig(**wrong))
