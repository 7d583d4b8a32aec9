"""Serves the web pages on a port, and starts the scheduler's jobs beside them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_address

import msgspec
import uvicorn
from starlette.applications import Starlette

from focus.errors import ConfigError
from focus.serve import accounts, tokens
from focus.serve.app import make_app
from focus.serve.app_state import AppState
from focus.serve.connections import Connection, Connections
from focus.serve.scheduler import SchedulerOptions
from focus.text.formatting import printable

LOOK_S = 5.0  # between two looks whether something is due
REST_S = 60.0  # after a run that left something due: a crawl is at the database, we are offline
GRACE_S = 10  # for what is under way when the server is told to end
BACKLOG = 128
PROXIES = ("127.0.0.1", "::1")  # where a proxy before us speaks from


def listening(host: str, port: int) -> socket.socket:
    """A socket on a port; ConfigError says why there is none."""
    where = f"--host {printable(host)} --port {port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(
            "{where}: no such address here ({error})", where=where, error=error
        ) from None
    family, kind, proto, _, address = found[0]
    made = socket.socket(family, kind, proto)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                "{where}: the port is taken; choose another --port", where=where
            ) from None
        raise ConfigError(
            "{where}: cannot listen there: {error}", where=where, error=error
        ) from None
    made.setblocking(False)
    return made


def home_of(host: str, port: int) -> str:
    """Where the pages are reached by those on this machine; "" where others are meant."""
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}" if is_here else ""


def first_link(app_state: AppState, origin: str) -> str:
    """The link by which the first person, an administrator, registers; "" when there is one."""
    now = app_state.clock()
    with app_state.store() as store:
        if not accounts.is_first(store):
            return ""
        with store.transaction():
            store.tokens.drop_all("invite")
            return f"{origin}/register?invite={tokens.make(store, 'invite', now=now)}"


def serve(app_state: AppState, order: SchedulerOptions, bound: socket.socket) -> None:
    """Answer until SIGTERM or Ctrl-C; what is under way ends first."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_schedule(app_state, order))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            app_state.close()

    has_proxy = bool(app_state.sending.base_url)
    connections = Connections(frozenset(PROXIES if has_proxy else ()))
    config = uvicorn.Config(
        make_app(app_state, lifespan),
        http=partial(Connection, company=connections),  # type: ignore[arg-type]
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        # A proxy before us is believed only where we were told that there is one.
        proxy_headers=has_proxy,
        forwarded_allow_ips=",".join(PROXIES),
        timeout_graceful_shutdown=GRACE_S,
        limit_concurrency=500,
    )
    with bound:
        uvicorn.Server(config).run(sockets=[bound])


# -- the scheduler ------------------------------------------------------------------


def is_due(app_state: AppState) -> bool:
    """Whether an alert is to be checked, or a message to be sent."""
    now = app_state.clock()
    with app_state.store() as store:
        waiting = store.outbox.next_due()
        return (waiting is not None and waiting <= now) or bool(store.alerts.due(now))


async def _schedule(app_state: AppState, order: SchedulerOptions) -> None:
    """Look again and again whether something is due; have it done by a process."""
    while True:
        wait = LOOK_S
        try:
            if await asyncio.to_thread(is_due, app_state):
                await _job(order)
                if await asyncio.to_thread(is_due, app_state):
                    wait = REST_S
        except Exception as error:  # the pages go on without it; the next look may be good
            print(f"focus: scheduler: {printable(str(error))}", file=sys.stderr)
        await asyncio.sleep(wait)


async def _job(order: SchedulerOptions) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "focus.serve.scheduler",
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the server, which ends it
    )
    try:
        await process.communicate(msgspec.json.encode(order, enc_hook=str))
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), GRACE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        raise
