"""`focus serve` over a socket: log-ins, their audit, sessions, passwords and the second factor."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

import httpx2
import uvicorn

from focus.serve import accounts
from focus.serve.account_messages import send_pending
from tests.test_serve import HOME, SECRET, Group
from tests.test_serve import group as group  # the fixture


@pytest.fixture
def server(group: Group, monkeypatch: pytest.MonkeyPatch) -> Iterator[Group]:
    """The group, whose browsers speak to a real server."""
    config = uvicorn.Config(group.app, log_config=None, ws="none", lifespan="off")
    running = uvicorn.Server(config)
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
    thread.start()

    def browser(**options: Any) -> Any:
        headers = {"sec-fetch-site": "same-origin", "user-agent": "Firefox/1 (Linux)"}
        url = HOME.replace("8420", str(bound.getsockname()[1]))
        client = httpx2.Client(base_url=url, headers=headers, timeout=600, **options)
        return clients.enter_context(client)

    monkeypatch.setattr(group, "browser", browser)
    with ExitStack() as clients:
        yield group
    running.should_exit = True
    thread.join()


def log_in(client: Any, password: str = SECRET, name: str = "ana") -> Any:
    return client.post("/login", data={"name": name, "password": password})


def audit(group: Group) -> list[tuple[str, str, str]]:
    """The audit log in its order: who, what, detail."""
    with group.app_state.store() as store:
        return [(line.actor, line.act, line.detail) for line in store.audit.list_latest(100)][::-1]


# -- the audit log ------------------------------------------------------------------


def test_log_ins_failures_and_password_changes_are_audited_without_secrets(server: Group) -> None:
    ana = server.member("ana")
    user = f"user {server.number('ana')}"
    log_in(server.browser())
    log_in(server.browser(), "guess-1")
    log_in(server.browser(), "guess-2", name="my secret password")
    ana.post("/settings/password", data={"old": "guess-3", "new": "another good one"})
    ana.post("/settings/password", data={"old": SECRET, "new": "another good one"})
    code = {"name": "ana", "code": "guess-4", "password": "another good one"}
    server.browser().post("/forgot/code", data=code)
    lines = audit(server)
    assert lines[1:] == [
        (user, "log in", "127.0.0.1"),
        (user, "wrong password", "127.0.0.1"),
        ("unknown name", "wrong password", "127.0.0.1"),
        (user, "wrong password", "127.0.0.1"),
        ("ana", "password", ""),
        ("unknown name", "wrong code", "127.0.0.1"),
    ]
    assert "wrong password" in ana.get("/admin").text
    assert not any(secret in str(lines) for secret in ("guess", "secret", "good one", SECRET))


def test_failures_do_not_displace_other_lines_of_the_audit(
    server: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("focus.serve.accounts._MAX_ACCESS_LINES", 2)
    server.member("ana")
    for number in range(4):
        log_in(server.browser(), "guess", name=f"name{number}")
    assert [act for _, act, _ in audit(server)] == ["register", *["wrong password"] * 2]


# -- sessions -----------------------------------------------------------------------


@pytest.mark.parametrize("password", ["", "guess", SECRET])
def test_ending_sessions_requires_the_password(server: Group, password: str) -> None:
    thief, owner, third = server.member("ana"), server.browser(), server.browser()
    log_in(owner)
    log_in(third)
    page = thief.get("/settings").text
    ids = [part.partition('"')[0] for part in page.split('name="end" value="')[1:]]
    assert (len(ids), page.count("last used")) == (2, 3)
    status = 303 if password == SECRET else 400
    for form, rest in (({"end": ids[0]}, 1), ({}, 0)):
        answer = thief.post("/settings/sessions", data={"session_password": password, **form})
        assert answer.status_code == status
        is_open = [browser.get("/inbox").status_code == 200 for browser in (owner, third)]
        assert sum(is_open) == (rest if password == SECRET else 2)
    assert thief.get("/inbox").status_code == 200


def test_session_of_another_user_is_not_ended(server: Group) -> None:
    ana, eve = server.member("ana"), server.member("eve")
    for stolen in server.rows("SELECT lower(hex(hash)) FROM token WHERE kind = 'session'"):
        data = {"session_password": SECRET, "end": stolen[0][:16]}
        assert eve.post("/settings/sessions", data=data).status_code == 303
    assert [each.get("/inbox").status_code for each in (ana, eve)] == [200, 200]


# -- passwords ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "password",
    ["liverpool2020", "Password123!", "1qaz2wsx3edc", "q1w2e3r4t5y6", "sunshine2015!",
     "5201314woaini", "woaini1314520", "111222333444", "michael1987", "ana1990ana1990",
     "mypassword2024", "abcabcabcabcabcabcabcabcabcabc", "samsung12345", "xiaoming123",
     "1234567890", "PASSWORD123", "qwertyuiop", "passwordpassword", "xx-ANA-2026-xx",
     "ichliebedich", "18ATCSKD2W", "focus12345"],
)  # fmt: skip
def test_guessable_password_is_refused(server: Group, password: str) -> None:
    typed = {"name": "ana", "password": password, "invite": server.invitation()}
    answer = server.browser().post("/register", data=typed)
    contains_name = "ana" in password.casefold()
    assert (answer.status_code, "easy to guess" in answer.text) == (400, not contains_name)
    assert not server.rows("SELECT 1 FROM user WHERE name = 'ana'")


@pytest.mark.parametrize(
    "password", ["ooriquaexu", "correct horse battery", "夏天的风吹过麦田里的守望"]
)
def test_password_that_is_hard_to_guess_is_accepted(server: Group, password: str) -> None:
    typed = {"name": "ana", "password": password, "invite": server.invitation()}
    assert server.browser().post("/register", data=typed).status_code == 303


def test_estimate_of_a_password_takes_bounded_time(server: Group) -> None:
    before = time.process_time()
    accounts.validate_password("4@8({[<369&#!1/|0$5+7%2" * 8, "ana")
    assert time.process_time() - before < 3


def test_codes_for_forgotten_passwords_are_counted_by_address(server: Group) -> None:
    codes = []
    for number in range(23):
        data = {"name": f"name{number}", "code": "123456", "password": "another good one"}
        codes.append(server.browser().post("/forgot/code", data=data).text)
    assert "The code is wrong" in codes[19]
    assert "Too many attempts" in codes[-1]


def test_undelivered_message_for_forgotten_password_is_logged(
    server: Group, caplog: pytest.LogCaptureFixture
) -> None:
    server.member("ana", "ana@a.test")
    server.browser().post("/forgot", data={"name": "ana"})
    with server.app_state.store() as store, caplog.at_level(logging.WARNING, "focus"):
        send_pending(store, server.app_state.settings(), now=server.clock())
    assert [record.message[:31] for record in caplog.records] == ["focus-reset: no mail server is "]
