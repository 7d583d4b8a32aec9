"""Serves the web pages on a port, and starts the scheduler process when work is due."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from ipaddress import ip_address

import msgspec
import uvicorn
from starlette.applications import Starlette

from focus.errors import ConfigError, StoreLocked
from focus.serve import accounts, tokens
from focus.serve.app import make_app
from focus.serve.app_state import AppState
from focus.serve.connections import Connection, Connections
from focus.serve.log import LOG, set_up_log
from focus.serve.scheduler import CONTINUES, SchedulerOptions
from focus.storage.lock import database_lock, server_lock_path
from focus.text.formatting import printable

POLL_INTERVAL_S = 5.0  # between two checks for due work
BUSY_INTERVAL_S = (
    60.0  # after a run that left due work, as when a crawl uses the database or we are offline
)
GRACE_S = 10  # for requests in progress when the server is stopped
BACKLOG = 128
PROXIES = ("127.0.0.1", "::1")  # addresses of a local proxy


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ConfigError if there can be none."""
    options = f"--host {printable(host)} --port {port}"
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(
            "{where}: this machine does not have that address ({error})", where=options, error=error
        ) from None
    family, kind, protocol, _, address = addresses[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                "{where}: the port is in use; choose another --port", where=options
            ) from None
        raise ConfigError(
            "{where}: cannot listen there: {error}", where=options, error=error
        ) from None
    sock.setblocking(False)
    return sock


def local_url(host: str, port: int) -> str:
    """Return the URL of the pages on this machine, or an empty text if `host` is not local."""
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    url_host = f"[{host}]" if ":" in host else host
    return f"http://{url_host}:{port}" if is_here else ""


def first_invitation_url(app_state: AppState, origin: str) -> str:
    """Return the link by which the first administrator registers; empty if there are accounts."""
    now = app_state.clock()
    with app_state.store() as store:
        if not accounts.has_no_accounts(store):
            return ""
        with store.transaction():
            store.tokens.remove_all("invite")
            return f"{origin}/register?invite={tokens.create_token(store, 'invite', now=now)}"


def serve(app_state: AppState, options: SchedulerOptions, bound: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C; requests in progress are completed."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(_poll_due_work(app_state, options)),
            asyncio.create_task(_poll_account_messages(app_state, options)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            app_state.close()

    set_up_log()
    has_proxy = bool(app_state.sending.base_url)
    connections = Connections(frozenset(PROXIES if has_proxy else ()))
    config = uvicorn.Config(
        make_app(app_state, lifespan),
        http=partial(Connection, connections=connections),  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Headers of a proxy are trusted only if the options say that there is one.
        proxy_headers=has_proxy,
        forwarded_allow_ips=",".join(PROXIES),
        timeout_graceful_shutdown=GRACE_S,
    )
    with bound, ExitStack() as stack:
        with suppress(StoreLocked):  # of another server on this database
            stack.enter_context(database_lock(server_lock_path(app_state.path), pid=os.getpid()))
        uvicorn.Server(config).run(sockets=[bound])


# -- the scheduler ------------------------------------------------------------------


def has_due_work(app_state: AppState) -> bool:
    """Return whether an alert is due for a check, or a message to be sent."""
    now = app_state.clock()
    with app_state.store() as store:
        store.correct_future_times(now)
        waiting = store.outbox.next_due_at()
        return (waiting is not None and waiting <= now) or bool(store.alerts.list_due(now))


async def _poll_due_work(app_state: AppState, options: SchedulerOptions) -> None:
    """Check for due work at intervals, and run a process for it."""
    while True:
        wait = POLL_INTERVAL_S
        try:
            if await asyncio.to_thread(has_due_work, app_state):
                code = await _run_process("focus.serve.scheduler", options)
                if code == CONTINUES:
                    wait = 0.0
                elif await asyncio.to_thread(has_due_work, app_state):
                    wait = BUSY_INTERVAL_S
        except Exception as error:  # the pages work without it; the next check may succeed
            LOG.warning("scheduler: %s", printable(str(error)))
        await asyncio.sleep(wait)


async def _poll_account_messages(app_state: AppState, options: SchedulerOptions) -> None:
    """Check for forgotten passwords at intervals, and run a process that sends the messages."""
    while True:
        try:
            if await asyncio.to_thread(_has_forgotten_passwords, app_state):
                await _run_process("focus.serve.account_messages", options)
        except Exception as error:  # the next check may succeed
            LOG.warning("account messages: %s", printable(str(error)))
        await asyncio.sleep(POLL_INTERVAL_S)


def _has_forgotten_passwords(app_state: AppState) -> bool:
    with app_state.store() as store:
        return store.tokens.has_any("forgot")


async def _run_process(module: str, options: SchedulerOptions) -> int | None:
    """Run a module with the options on its standard input, and return its exit code."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,  # the server handles Ctrl-C and ends this process
    )
    try:
        await process.communicate(msgspec.json.encode(options, enc_hook=str))
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), GRACE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        raise
    return process.returncode
