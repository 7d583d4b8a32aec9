"""`focus serve` under clients that send too much, too oddly or too slowly."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from pytest import MonkeyPatch

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

import uvicorn
from uvicorn.server import ServerState

from focus.serve import connections, request_guard, upload
from focus.serve.connections import BODY_S, HEAD_S, READ_S, Connection, Connections
from focus.serve.upload import MAX_FORM, MAX_HEADER, MAX_PARTS
from tests.support.cases import cases
from tests.test_serve import FILE as CONCERNS
from tests.test_serve import HOME, Group, alert
from tests.test_serve import group as group  # the fixture

MULTIPART = "multipart/form-data; boundary=b"
FIT = MAX_FORM - 200  # bytes of a body that is not too large

# -- bodies -------------------------------------------------------------------------


async def answered(
    group: Group, path: str, headers: dict[str, str], body: bytes | None = None, client: str = "::1"
) -> int:
    """The status of a POST; with `body` None the answer must come before any of it is read."""
    statuses = []

    async def receive() -> dict[str, Any]:
        assert body is not None, "a body was read that nobody wants"
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    known = {"host": HOME.removeprefix("http://"), "sec-fetch-site": "same-origin", **headers}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "scheme": "http", "client": (client, 1),
        "server": ("127.0.0.1", 8420), "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in known.items()],
    }  # fmt: skip
    await group.app(scope, receive, send)
    return int(statuses[0])


@cases(
    "paths, kind, status",
    ("/login /register /alerts/new", MULTIPART, 415),
    ("/login /alerts/import", "multipart/mixed; boundary=b", 415),
    ("/settings", "Multipart/Form-Data", 415),
    ("/login", "application/json", 415),
    ("/alerts/import", MULTIPART, 303),
    ("/alerts/new", "application/x-www-form-urlencoded", 303),
)
async def test_body_without_login_unread(group: Group, paths: str, kind: str, status: int) -> None:
    for path in paths.split():
        assert await answered(group, path, {"content-type": kind}) == status


async def test_guesses_of_strangers_leave_threads_to_others(
    group: Group, monkeypatch: MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(group.app_state.passwords, "verify", lambda *_: release.wait() and False)

    def guess(client: str) -> asyncio.Task[int]:
        return asyncio.create_task(answered(group, "/login", {}, b"name=a&password=b", client))

    try:
        guesses = [guess(f"192.0.2.{number}") for number in range(60)]
        refused, _ = await asyncio.wait(
            [guess("192.0.2.99") for _ in range(5)], return_when="FIRST_COMPLETED"
        )
        assert [task.result() for task in refused] == [429], "four guesses of an address wait"
        assert await answered(group, "/login", {}, b"") == 200
    finally:
        release.set()
    assert set(await asyncio.gather(*guesses)) == {403, 429}


async def test_body_with_large_content_length_is_not_read(group: Group) -> None:
    for length in (str(MAX_FORM + 1), "9" * 5000, "-1", "x"):
        assert await answered(group, "/login", {"content-length": length}) == 413


async def test_multipart_from_other_origin_is_not_read(group: Group) -> None:
    ana = group.member("ana")
    headers = {
        "content-type": MULTIPART,
        "cookie": f"focus_session={ana.cookies['focus_session']}",
        "sec-fetch-site": "cross-site",
    }
    assert await answered(group, "/alerts/import", headers) == 403


async def test_imported_file_is_parsed_in_a_thread(group: Group, monkeypatch: MonkeyPatch) -> None:
    threads = []
    genuine = upload.parse_fields

    def noted(kind: str, body: bytes) -> dict[str, str]:
        threads.append(threading.current_thread())
        return genuine(kind, body)

    ana = group.member("ana")
    monkeypatch.setattr(upload, "parse_fields", noted)
    headers = {"content-type": MULTIPART, "cookie": f"focus_session={ana.cookies['focus_session']}"}
    body = part(b'Content-Disposition: form-data; name="file"; filename="c.json"', CONCERNS)
    assert await answered(group, "/alerts/import", headers, body) == 200
    assert threads and threading.current_thread() not in threads
    assert group.rows("SELECT count(*) FROM alert") == [(2,)]


def part(head: bytes, text: str = "x") -> bytes:
    return b"--b\r\n" + head + b"\r\n\r\n" + text.encode() + b"\r\n--b--\r\n"


def nested_form() -> bytes:
    body, depth = b"", 0
    while len(body) < FIT - 100:
        body += b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (depth, depth + 1)
        depth += 1
    return body


NAMED = b'Content-Disposition: form-data; name="a"'


@cases(
    "body",
    b"",
    b"no part",
    b"--b\r\n" + b"a: b\r\n" * (FIT // 6) + b"\r\n--b--",
    part(NAMED + b"; a=1" * (FIT // 5)),
    part(b"Content-Disposition: form-data" + b"; n*1=a" * (MAX_HEADER // 7)),
    part(b"Content-Disposition: " + b"=?u?q?a?=" * (FIT // 9)),
    part(b"Content-Disposition: " + b"(" * FIT),
    (b"--b\r\n" + NAMED + b"\r\n\r\n\r\n") * (MAX_PARTS + 1) + b"--b--",
    b"--b\r\n\r\n\r\n" * (FIT // 9) + b"--b--",
    nested_form().replace(b"--b0", b"--b", 1),
    b"\r\n" * (FIT // 2),
    b"--b" * (FIT // 3),
    ids="empty none headers long parameters words parens parts bare nested lines dashes".split(),
)
def test_hostile_multipart_body_is_refused(group: Group, body: bytes) -> None:
    ana = group.member("ana")
    answer = ana.post("/alerts/import", content=body, headers={"content-type": MULTIPART})
    assert answer.status_code in (400, 413)
    assert not group.rows("SELECT 1 FROM alert")


@cases("kind", "multipart/form-data", "multipart/form-data; boundary=", f"{MULTIPART}{'b' * 70}")
def test_multipart_missing_or_long_boundary_is_refused(group: Group, kind: str) -> None:
    ana = group.member("ana")
    answer = ana.post("/alerts/import", content=part(NAMED), headers={"content-type": kind})
    assert answer.status_code == 413


def test_parse_fields_returns_uploaded_text() -> None:
    text = "\r\n--bb\r\n-\r\n足球\0"
    fields = upload.parse_fields(MULTIPART, part(NAMED, text))
    assert fields == {"a": text.replace("\0", "")}


def test_one_click_unsubscription_accepts_multipart(group: Group) -> None:
    from focus.alerts import unsubscribe

    ana = group.member("ana", "ana@a.test")
    alert(ana, mail="on")
    how = group.app_state.settings()
    with group.app_state.store() as store:
        mine = group.number("ana")
        link = unsubscribe.unsubscribe_url(
            store, how, user=mine, channel="mail:ana@a.test", now=group.clock()
        )
    provider = group.browser()
    provider.headers.pop("sec-fetch-site")
    body = part(b'Content-Disposition: form-data; name="List-Unsubscribe"', "One-Click")
    path = link.removeprefix(HOME)
    answer = provider.post(path, content=body, headers={"content-type": MULTIPART})
    assert answer.status_code == 200
    assert "mail:" not in group.rows("SELECT definition FROM alert")[0][0]


# -- slow clients -------------------------------------------------------------------


class Loop:
    """An event loop that has only timers, on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None], Handle]] = []
        self.begun: list[Coroutine[Any, Any, None]] = []

    def call_later(self, seconds: float, do: Callable[[], None]) -> Handle:
        handle = Handle()
        self.timers.append((self.now + seconds, do, handle))
        return handle

    def create_task(self, work: Coroutine[Any, Any, None], **_: Any) -> Any:
        self.begun.append(work)
        work.close()
        return asyncio.Future(loop=_NO_LOOP)

    def move(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, do, handle in due:
            if not handle.is_cancelled:
                do()


_NO_LOOP = asyncio.new_event_loop()
_NO_LOOP.close()


class Handle:
    is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Wire:
    """A transport that goes nowhere."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_open = True

    def get_extra_info(self, name: str) -> Any:
        return (self.address, 50_000) if name == "peername" else None

    def is_closing(self) -> bool:
        return not self.is_open

    def abort(self) -> None:
        self.is_open = False

    close = abort

    def resume_reading(self) -> None: ...

    pause_reading = resume_reading


class Server:
    """Connections of one server, without any network."""

    def __init__(self, trusted: frozenset[str] = frozenset()) -> None:
        self.loop = Loop()
        self.company = Connections(trusted)

        async def app(scope: Any, receive: Any, send: Any) -> None: ...

        self.config = uvicorn.Config(app, log_config=None, ws="none")
        self.state = ServerState()

    def client(self, address: str = "192.0.2.1") -> Connection:
        result = Connection(
            self.config, self.state, {}, self.loop, connections=self.company  # type: ignore[arg-type]
        )  # fmt: skip
        result.connection_made(Wire(address))  # type: ignore[arg-type]
        return result


def is_open(client: Connection) -> bool:
    return not client.transport.is_closing()


GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"


def test_slow_headers_do_not_extend_time_limit() -> None:
    server = Server()
    slow = server.client()
    for at in range(int(HEAD_S)):
        assert is_open(slow)
        slow.data_received(GET[at : at + 1])
        server.loop.move(1.0)
    assert not is_open(slow)


def test_body_has_its_own_time_limit() -> None:
    server = Server()
    slow = server.client()
    server.loop.move(HEAD_S - 1)
    slow.data_received(POST)
    for _ in range(4):
        server.loop.move(BODY_S / 4 - 0.1)
        assert is_open(slow)
        slow.data_received(b"x")
    server.loop.move(1.0)
    assert not is_open(slow)


def test_complete_request_has_no_time_limit() -> None:
    server = Server()
    quick, sender = server.client(), server.client()
    quick.data_received(GET)
    sender.data_received(POST + b"12345")
    server.loop.move(10 * BODY_S)
    assert is_open(quick) and is_open(sender), "handlers take their time"
    assert len(server.loop.begun) == 2


def test_unread_response_closes_connection() -> None:
    server = Server()
    stuck, slow = server.client(), server.client()
    for item in (stuck, slow):
        item.data_received(GET)
        item.pause_writing()
    server.loop.move(READ_S - 1)
    slow.resume_writing()
    server.loop.move(2)
    assert not is_open(stuck) and is_open(slow)


def test_connections_per_address_are_limited(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_PER_ADDRESS", 3)
    server = Server()
    silent = [server.client("192.0.2.1") for _ in range(3)]
    silent[0].data_received(GET)
    second = server.client("192.0.2.2")
    fourth = server.client("192.0.2.1")
    assert [is_open(item) for item in silent] == [True, False, True], "the first is using"
    assert is_open(second) and is_open(fourth)
    for item in (silent[2], fourth):
        item.data_received(GET)
    assert not is_open(server.client("192.0.2.1")), "all are at work: there is no room to make"


def test_ipv6_network_counts_as_one_address(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_PER_ADDRESS", 1)
    server = Server()
    first, second = server.client("2001:db8::1"), server.client("2001:db8::2")
    assert not is_open(first) and is_open(second)


def test_trusted_proxy_has_no_limit_per_address(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_PER_ADDRESS", 1)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    server = Server(frozenset(["127.0.0.1"]))
    clients = [server.client("127.0.0.1") for _ in range(4)]
    assert all(map(is_open, clients))
    server.client("127.0.0.1")
    assert [is_open(client) for client in clients] == [False, True, True, True]


def test_closed_connection_frees_its_place(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_PER_ADDRESS", 1)
    server = Server()
    for _ in range(3):
        client = server.client()
        client.connection_lost(None)
    idle_client = server.client()
    assert is_open(idle_client)
    server.loop.timers.clear()
    assert server.company._open == {idle_client: "address:192.0.2.1"}


def test_connection_limit_is_below_limit_of_requests() -> None:
    assert connections.MAX_PER_ADDRESS < connections.MAX_CONNECTIONS < request_guard.MAX_REQUESTS


@pytest.fixture
def standing(group: Group, monkeypatch: MonkeyPatch) -> Iterator[int]:
    """The port of a real server with room for three connections of an address."""
    monkeypatch.setattr(connections, "MAX_PER_ADDRESS", 3)
    from functools import partial

    config = uvicorn.Config(
        group.app, log_config=None, ws="none", lifespan="off",
        http=partial(Connection, connections=Connections()),  # type: ignore[arg-type]
    )  # fmt: skip
    server = uvicorn.Server(config)
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield bound.getsockname()[1]
    server.should_exit = True
    thread.join()


def test_silent_connections_do_not_block_others(standing: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", standing), timeout=600) for _ in range(8)]
    with socket.create_connection(("127.0.0.1", standing), timeout=600) as asking:
        head = f"GET /login HTTP/1.1\r\nHost: 127.0.0.1:{standing}\r\nConnection: close\r\n\r\n"
        asking.sendall(head.encode())
        assert asking.recv(12) == b"HTTP/1.1 200"
    assert [is_closed(item) for item in silent[:6]] == [True] * 6
    for item in silent:
        item.close()


@cases(
    "head, status",
    ("GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n", 503),
    ("GET / HTTP/9\r\n", 400),
    ("\0\r\n", 400),
)
def test_refusals_before_the_application_have_security_headers(
    standing: int, monkeypatch: pytest.MonkeyPatch, head: str, status: int
) -> None:
    monkeypatch.setattr(request_guard, "MAX_REQUESTS", 0)
    with socket.create_connection(("127.0.0.1", standing), timeout=600) as client:
        client.sendall(f"{head}Connection: close\r\n\r\n".encode())
        response = http.client.HTTPResponse(client)
        response.begin()
        assert response.status == status
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.read()


def is_closed(client: socket.socket) -> bool:
    """Whether the other end hangs up (waits until it does, or ten minutes)."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
