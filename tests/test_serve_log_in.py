"""`focus serve` over a socket: log-ins, their audit, sessions, passwords and the second factor."""

import base64
import logging
import re
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

from focus.__main__ import main
from focus.serve import accounts, second_factor, tokens
from focus.serve.account_messages import send_pending
from tests.support.cases import cases
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
    lines = audit(server)
    assert lines[1:] == [
        (user, "log in", "127.0.0.1"),
        (user, "wrong password", "127.0.0.1"),
        ("unknown name", "wrong password", "127.0.0.1"),
        (user, "wrong password", "127.0.0.1"),
        ("ana", "password", ""),
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
    assert [item.get("/inbox").status_code for item in (ana, eve)] == [200, 200]


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


@cases("password", "ooriquaexu", "correct horse battery", "夏天的风吹过麦田里的守望")
def test_password_that_is_hard_to_guess_is_accepted(server: Group, password: str) -> None:
    typed = {"name": "ana", "password": password, "invite": server.invitation()}
    assert server.browser().post("/register", data=typed).status_code == 303


def test_estimate_of_a_password_takes_bounded_time(server: Group) -> None:
    before = time.process_time()
    accounts.validate_password("4@8({[<369&#!1/|0$5+7%2" * 8, "ana")
    assert time.process_time() - before < 3


def test_undelivered_message_for_forgotten_password_is_logged(
    server: Group, caplog: pytest.LogCaptureFixture
) -> None:
    server.member("ana", "ana@a.test")
    server.browser().post("/forgot", data={"name": "ana"})
    with server.app_state.store() as store, caplog.at_level(logging.WARNING, "focus"):
        send_pending(store, server.app_state.settings(), now=server.clock())
    assert [record.message[:31] for record in caplog.records] == ["focus-reset: no mail server is "]


# -- the second factor --------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"),
     (2000000000, "279037"), (20000000000, "353130")],
)  # fmt: skip
def test_code_at_equals_examples_of_rfc_6238(at: int, code: str) -> None:
    secret = base64.b32encode(b"12345678901234567890").decode()
    assert second_factor.code_at(secret, at // 30) == code


class Factor:
    """An account `ana` with a second factor, its app, and a browser that is logged in."""

    def __init__(self, server: Group) -> None:
        self.server, self.ana = server, server.member("ana", "ana@a.test")
        page = self.post("second-factor", factor_password=SECRET).text
        [self.secret] = re.findall("<code>([A-Z2-7]{32})</code>", page)
        assert f'href="otpauth://totp/focus:ana?secret={self.secret}&amp;issuer=focus"' in page
        page = self.post("second-factor/code", factor_code=self.code()).text
        self.recovery = re.findall("<code>((?:[A-Z2-7]{4}-?){6})</code>", page)
        self.server.clock.now += 30

    def code(self, steps: int = 0) -> str:
        return second_factor.code_at(self.secret, int(self.server.clock.now // 30) + steps)

    def post(self, path: str, **data: str) -> Any:
        return self.ana.post(f"/settings/{path}", data=data)

    def enter(self, code: str, password: str = SECRET) -> bool:
        """Whether password and code log a new browser in."""
        client = self.server.browser()
        page = log_in(client, password).text
        pending = re.findall('name="pending" value="(.+?)"', page)
        assert client.get("/inbox").status_code == 303, "the password alone is not enough"
        client.post("/login", data={"pending": pending[0], "code": code})
        return bool(client.get("/inbox").status_code == 200)


def test_second_factor_is_asked_for_after_the_password(server: Group) -> None:
    factor = Factor(server)
    assert not factor.enter("")
    assert not factor.enter("00000" + "a")
    assert factor.enter(factor.code())
    assert log_in(server.browser(), "guess").status_code == 403
    assert server.browser().get("/login").status_code == 200
    client = server.browser()
    client.post("/login", data={"pending": "guess", "code": factor.code(1)})
    assert client.get("/inbox").status_code == 303


@cases("steps, is_accepted", (-2, False), (-1, False), (1, True), (2, False))
def test_code_is_accepted_once_and_near_its_time(
    server: Group, steps: int, is_accepted: bool
) -> None:
    factor = Factor(server)
    assert factor.enter(factor.code(steps)) is is_accepted, "-1 was used for the set-up"
    assert not is_accepted or not factor.enter(factor.code(steps)), "a replay"
    server.clock.now += 90
    assert factor.enter(factor.code(-1))


def test_simultaneous_replays_of_a_code_log_in_once(server: Group) -> None:
    factor, code, results = Factor(server), "", []
    code = factor.code()
    threads = [
        threading.Thread(target=lambda: results.append(factor.enter(code))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(results) == 1


def test_wrong_codes_are_counted(server: Group) -> None:
    factor = Factor(server)
    assert [factor.enter("000000") for _ in range(4)] == [False] * 4
    assert not factor.enter(factor.code()), "the right code does not help before its time"
    server.clock.now += 60
    assert factor.enter(factor.code())


def test_recovery_code_works_once_and_is_stored_as_hash(server: Group) -> None:
    factor = Factor(server)
    assert len(set(factor.recovery)) == 10
    assert [factor.enter(factor.recovery[0].lower()) for _ in range(2)] == [True, False]
    dump = server.app_state.path.read_bytes() + b"".join(
        path.read_bytes() for path in server.app_state.path.parent.glob("focus.db-*")
    )
    secrets = [factor.secret, *factor.recovery, *(c.replace("-", "") for c in factor.recovery)]
    assert not any(secret.encode() in dump for secret in secrets)
    assert "Unused recovery codes: 9" in factor.ana.get("/settings").text


def test_set_up_of_second_factor_requires_password(server: Group) -> None:
    thief = server.member("ana")
    page = thief.post("/settings/second-factor", data={"factor_password": "guess"})
    assert page.status_code == 400
    assert "otpauth:" not in page.text
    assert not server.rows("SELECT 1 FROM token WHERE kind LIKE 'totp%'")


@cases("password, code", (SECRET, "000000"), ("guess", "right"), (SECRET, "right"))
def test_second_factor_off_needs_password_and_code(server: Group, password: str, code: str) -> None:
    factor = Factor(server)
    code = factor.code() if code == "right" else code
    answer = factor.post("second-factor/off", factor_password=password, factor_code=code)
    is_right = (password, code) == (SECRET, factor.code())
    assert answer.status_code == (303 if is_right else 400)
    assert (log_in(server.browser()).status_code == 303) is is_right


def test_reset_password_keeps_second_factor(server: Group) -> None:
    factor = Factor(server)
    with server.app_state.store() as store:
        secret = tokens.create_token(store, "reset", user=server.number("ana"), now=server.clock())
    client = server.browser()
    client.post(f"/reset/{secret}", data={"password": "another good one"})
    assert client.get("/inbox").status_code == 303
    assert factor.enter(factor.code(), "another good one")


def test_new_password_ends_a_pending_log_in(server: Group) -> None:
    factor, thief = Factor(server), server.browser()
    [pending] = re.findall('name="pending" value="(.+?)"', log_in(thief).text)
    factor.post("password", old=SECRET, new="another good one")
    page = thief.post("/login", data={"pending": pending, "code": factor.code()})
    assert (page.status_code, "took too long" in page.text) == (403, True)


def test_administrator_removes_second_factor_at_the_command_line(server: Group) -> None:
    Factor(server)
    command = ["serve", "--db", str(server.app_state.path), "--remove-second-factor"]
    assert [main([*command, name]) for name in ("eve", "ana")] == [2, 0]
    assert log_in(server.browser()).headers["location"] == "/inbox"
    assert audit(server)[-2:-1] == [("command line", "second factor", "off")]
