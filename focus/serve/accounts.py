"""Accounts: passwords (argon2id), sessions, registration, and changes by their owners."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from focus.alerts.addresses import is_mail_address, is_phone_number
from focus.alerts.clock_change import change_zone
from focus.alerts.schedule import parse_quiet
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import backoff, names, second_factor, tokens
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore
from focus.storage.alerts.tokens import hash_secret

MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH = 10, 200  # characters
MIN_GUESSES = 1e10
"""Guesses that an attacker needs, as estimated by zxcvbn from lists, names, dates and patterns.

Of the 3,411 common passwords of ten characters in three lists, 3,099 need fewer guesses. The others
are in common_passwords.txt.
"""
_ESTIMATED_LENGTH = 20  # characters; that takes up to 0.25 s, 40 characters take over 3 s
REGISTRATION_MODES = {"off": msg("off"), "invite": msg("by invitation"), "open": msg("open to all")}
SEEN_INTERVAL_S = 300.0  # seconds between two updates of a user's last visit
SESSION_IDLE_S = 7 * 86400.0  # a session without a request for so long ends
_MAX_ACCESS_LINES = 10_000  # lines of the audit log for each kind of success and failure
_MAX_CONCURRENT_HASHES = 2  # concurrent hashes; each takes 64 MiB


class InvalidInput(ConfigError):
    """Input that cannot be used."""


class TooManyTries(InvalidInput):
    """An attempt that comes too soon after failed attempts."""


class Passwords:
    """Hashes and verifies passwords with argon2id; an unknown name takes as long as a known one."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = threading.Semaphore(_MAX_CONCURRENT_HASHES)
        self._dummy_hash = self._hasher.hash("nobody has this password")

    def hash(self, password: str) -> str:
        """Return the hash to store for a password."""
        with self._slots:
            return self._hasher.hash(password)

    def verify(self, stored: str | None, password: str) -> bool:
        """Return whether the password is right; False after the same time without a stored hash."""
        with self._slots:
            try:
                right = self._hasher.verify(stored or self._dummy_hash, password)
            except (VerificationError, InvalidHashError):
                return False
        return right and stored is not None


# -- sessions -----------------------------------------------------------------------


def session_user(store: AlertStore, secret: str, *, now: float) -> User | None:
    """Return the user of a session.

    Returns None if the session is unknown or idle for too long, or if the account is disabled.
    """
    token = store.tokens.find("session", secret, now=now)
    user = store.users.find_active(token.user) if token else None
    if token is None or user is None:
        return None
    seen_at = token.data.get("seen_at", now)
    if now - seen_at > SESSION_IDLE_S:
        store.tokens.remove("session", secret)
        return None
    if now - seen_at > SEEN_INTERVAL_S:
        store.tokens.set_data("session", secret, {**token.data, "seen_at": now})
    if user.seen_at is None or now - user.seen_at > SEEN_INTERVAL_S:
        store.users.record_request(user.id, now=now)
    return user


def create_session(store: AlertStore, user: int, browser: str, *, now: float) -> str:
    """Return the secret of a new session in a browser, of which the name is stored."""
    data = {"browser": browser, "seen_at": now}
    return tokens.create_token(store, "session", user=user, now=now, data=data)


class LogIn(NamedTuple):
    """Secrets for a browser: its session, and what marks it as known to the account.

    With a second factor there is only the secret `pending` at first, for `confirm_log_in`.
    """

    session: str
    device: str
    pending: str = ""


def log_in(
    store: AlertStore,
    passwords: Passwords,
    *,
    name: str,
    password: str,
    address: str,
    device: str,
    browser: str,
    now: float,
) -> LogIn:
    """Log in from an address with a browser, whose `device` secret is empty if it is unknown.

    Raises InvalidInput, in the same time and words, for a wrong password, an unknown name and a
    disabled account; TooManyTries before another attempt is allowed.
    """
    number, stored = store.users.load_login(names.normalise_name(name))
    user_key = (
        backoff.attempt_key("device", hash_secret(device).hex()[:32])
        if _is_known_device(store, device, number, now=now)
        else login_key(number, name)
    )
    address_key = backoff.attempt_key("address", address)
    require_attempt(store, [user_key, address_key], now=now)
    if not passwords.verify(stored, password[: MAX_PASSWORD_LENGTH + 1]):
        actor = msg("user {id}", id=number) if number else msg("unknown name")
        _log_access(store, actor, msg("wrong password"), address, now=now)
        raise InvalidInput("The name or the password is wrong.")
    with store.transaction():
        backoff.reset_attempts(store, user_key, address_key)
        if second_factor.is_on(store, number, now=now):
            return LogIn("", "", tokens.create_token(store, "log_in", user=number, now=now))
        return _complete_log_in(store, number, address, device, browser, now=now)


def confirm_log_in(
    store: AlertStore,
    key: bytes,
    *,
    pending: str,
    code: str,
    address: str,
    device: str,
    browser: str,
    now: float,
) -> LogIn:
    """Log in with a code of the second factor, after the password. Raises InvalidInput."""
    token = store.tokens.find("log_in", pending, now=now)
    if token is None or (user := store.users.find_active(token.user)) is None:
        raise InvalidInput("This log-in took too long. Log in again.")
    check_code(store, key, user, code, address=address, now=now)
    with store.transaction():
        store.tokens.remove("log_in", pending)
        return _complete_log_in(store, user.id, address, device, browser, now=now)


def _is_known_device(store: AlertStore, device: str, number: int, *, now: float) -> bool:
    """Return whether a browser has logged in to the account before."""
    token = store.tokens.find("device", device, now=now) if device else None
    return token is not None and token.user == number != 0


def _complete_log_in(
    store: AlertStore, number: int, address: str, device: str, browser: str, *, now: float
) -> LogIn:
    """Create the session, and the secret of a browser that is new to the account."""
    if not _is_known_device(store, device, number, now=now):
        device = tokens.create_token(store, "device", user=number, now=now)
    _log_access(store, msg("user {id}", id=number), msg("log in"), address, now=now)
    return LogIn(create_session(store, number, browser, now=now), device)


def _log_access(store: AlertStore, actor: str, act: str, address: str, *, now: float) -> None:
    """Add a log-in or a failure to the audit log, without what was typed, as it may be a secret."""
    store.audit.add(actor, act, address, now=now, maximum=_MAX_ACCESS_LINES)


def login_key(number: int, name: str) -> str:
    """Return the key that counts wrong passwords: of the account's id, or of an unknown name.

    No name has the key of an account, and equal names have equal keys whether they are known.
    """
    known_or_typed = f"#{number}" if number else f"?{names.normalise_name(name)}"
    return backoff.attempt_key("user", known_or_typed)


def require_attempt(store: AlertStore, keys: Sequence[str], *, now: float) -> None:
    """Count an attempt. Raises TooManyTries if it comes too soon."""
    if wait_s := backoff.count_attempt(store, keys, now=now):
        raise TooManyTries("Too many attempts. Try again in {n} seconds.", n=int(wait_s) + 1)


# -- making -------------------------------------------------------------------------


class Applicant(NamedTuple):
    """A submitted application for an account."""

    name: str
    mail: str
    password: str
    language: str
    zone: str
    invitation: str = ""


def has_no_accounts(store: AlertStore) -> bool:
    """Return whether there are no accounts yet."""
    return not store.users.list_accounts()


def registration_mode(store: AlertStore) -> str:
    """Return the registration mode: `off`, `invite` or `open`."""
    return str(store.settings.read("registration").get("registration", "off"))


def may_register(store: AlertStore, invitation: str, *, now: float) -> bool:
    """Return whether somebody may register.

    The first user needs the invitation that `focus serve` prints, whatever the registration mode.
    """
    if invitation and store.tokens.find("invite", invitation, now=now) is not None:
        return has_no_accounts(store) or registration_mode(store) != "off"
    return registration_mode(store) == "open" and not has_no_accounts(store)


def register(store: AlertStore, passwords: Passwords, applicant: Applicant, *, now: float) -> int:
    """Create an account and return its id; the first user becomes an administrator.

    The mail address is validated but not stored; see `address_verification`. Raises InvalidInput.
    """
    name = validate_name(applicant.name)
    validate_mail(applicant.mail)
    if not may_register(store, applicant.invitation, now=now):
        raise InvalidInput(
            "Registration is closed, or the invitation was used. Ask an administrator for a link."
        )
    password_hash = passwords.hash(validate_password(applicant.password, name))
    with store.transaction():
        is_first = has_no_accounts(store)
        invitation = (
            store.tokens.use("invite", applicant.invitation, now=now)
            if applicant.invitation
            else None
        )
        if invitation is None and (is_first or registration_mode(store) != "open"):
            raise InvalidInput(
                "Registration is closed, or the invitation was used. Ask an administrator "
                "for a link."
            )
        _reject_similar_name(store, name)
        number = store.users.add(
            name,
            password_hash,
            language=applicant.language,
            zone=applicant.zone,
            admin=is_first,
            now=now,
        )
        if number is None:
            raise InvalidInput("This name is taken or looks like an existing one.")
        store.audit.add(name, msg("register"), msg("administrator") if is_first else "", now=now)
    return number


# -- changing -----------------------------------------------------------------------


def create_reset_token(store: AlertStore, name: str, *, now: float) -> tuple[str, str, str] | None:
    """Return address, language and secret to reset a password by mail, or None."""
    reset_data = store.users.find_by_mail(names.normalise_name(name))
    if reset_data is None:
        return None
    number, mail, language = reset_data
    with store.transaction():
        store.tokens.remove_for_user("reset", user=number)
        return mail, language, tokens.create_token(store, "reset", user=number, now=now)


def reset_password_by_token(
    store: AlertStore, passwords: Passwords, *, secret: str, password: str, now: float
) -> User:
    """Set a forgotten password with the secret from the mail; all sessions end. Return the user."""
    token = store.tokens.find("reset", secret, now=now)
    if token is None or token.user is None:
        raise InvalidInput("This link has expired. Request a new one.")
    password_hash = passwords.hash(validate_password(password, ""))
    with store.transaction():
        if store.tokens.use("reset", secret, now=now) is None:
            raise InvalidInput("This link has expired. Request a new one.")
        _set_password(store, token.user, password_hash)
        store.audit.add(msg("user {id}", id=token.user), msg("password"), msg("by mail"), now=now)
        return _active_user(store, token.user)


def _active_user(store: AlertStore, number: int) -> User:
    """Return the user of an account. Raises InvalidInput if it is disabled."""
    user = store.users.find_active(number)
    if user is None:
        raise InvalidInput("This link has expired. Request a new one.")
    return user


def change_password(
    store: AlertStore,
    passwords: Passwords,
    user: User,
    *,
    old: str,
    new: str,
    address: str,
    browser: str,
    now: float,
) -> LogIn:
    """Set a new password, end all sessions and pending changes, and return a new log-in."""
    check_password(store, passwords, user, old, address=address, now=now)
    password_hash = passwords.hash(validate_password(new, user.name))
    with store.transaction():
        _set_password(store, user.id, password_hash)
        store.audit.add(user.name, msg("password"), "", now=now)
        device = tokens.create_token(store, "device", user=user.id, now=now)
        return LogIn(create_session(store, user.id, browser, now=now), device)


def _set_password(store: AlertStore, user: int, password_hash: str) -> None:
    """Set the password, and end all access and pending changes that the old one allowed."""
    store.users.set_password(user, password_hash)
    store.tokens.revoke_access(user)
    store.attempts.clear(login_key(user, ""))


def check_password(
    store: AlertStore, passwords: Passwords, user: User, password: str, *, address: str, now: float
) -> None:
    """Raise InvalidInput unless it is the user's password; attempts count as for a log-in."""
    user_key = login_key(user.id, user.name)
    require_attempt(store, [user_key], now=now)
    _, stored = store.users.load_login(user.name)
    if not passwords.verify(stored, password[: MAX_PASSWORD_LENGTH + 1]):
        _log_access(store, msg("user {id}", id=user.id), msg("wrong password"), address, now=now)
        raise InvalidInput("The current password is wrong.")
    store.attempts.clear(user_key)


def check_code(
    store: AlertStore, key: bytes, user: User, code: str, *, address: str, now: float
) -> None:
    """Raise InvalidInput unless it is a code of the second factor; attempts are counted."""
    attempts_key = backoff.attempt_key("code", f"second factor {user.id}")
    require_attempt(store, [attempts_key], now=now)
    if not second_factor.use_code(store, key, user.id, code, now=now):
        _log_access(store, msg("user {id}", id=user.id), msg("wrong code"), address, now=now)
        raise InvalidInput("The code is wrong or has expired.")
    store.attempts.clear(attempts_key)


def set_up_second_factor(
    store: AlertStore, key: bytes, user: User, code: str, *, address: str, now: float
) -> list[str]:
    """Turn the second factor on with a code of the app. Return the recovery codes."""
    require_attempt(store, [backoff.attempt_key("code", f"set up {user.id}")], now=now)
    codes = second_factor.confirm_setup(store, key, user.id, code, now=now)
    if codes is None:
        _log_access(store, msg("user {id}", id=user.id), msg("wrong code"), address, now=now)
        raise InvalidInput("The code is wrong or has expired.")
    store.audit.add(user.name, msg("second factor"), msg("on"), now=now)
    return codes


def remove_second_factor(store: AlertStore, user: int, actor: str, *, now: float) -> None:
    """Turn the second factor of an account off."""
    with store.transaction():
        second_factor.remove(store, user)
        store.audit.add(actor, msg("second factor"), msg("off"), now=now)


def end_session(store: AlertStore, user: User, session: str, ended: str, *, now: float) -> None:
    """End the session with the id `ended`, unless it is `session` itself."""
    with store.transaction():
        store.tokens.end_sessions(user.id, except_secret=session, token_id=ended)
        store.audit.add(user.name, msg("end a session"), "", now=now)


def end_other_sessions(store: AlertStore, user: User, session: str, *, now: float) -> None:
    """End all sessions of a user except one, and forget the browsers that are known."""
    with store.transaction():
        store.tokens.end_sessions(user.id, except_secret=session)
        for kind in ("device", "log_in", "reset"):
            store.tokens.remove_for_user(kind, user=user.id)
        store.audit.add(user.name, msg("end other sessions"), "", now=now)


def change_profile(store: AlertStore, user: User, typed: dict[str, str], *, now: float) -> None:
    """Change name, language, time zone and quiet hours (for addresses see `address_verification`).

    Raises InvalidInput, or ConfigError for the quiet hours.
    """
    zone, quiet = typed["zone"].strip(), typed["quiet"].strip()
    name = user.name if typed["name"] == user.name else validate_name(typed["name"])
    if zone not in available_timezones():
        raise InvalidInput("This time zone does not exist; write Asia/Shanghai.")
    parse_quiet(typed["quiet"])
    language = "zh" if typed["language"] == "zh" else "en"
    with store.transaction():
        if name != user.name:
            _reject_similar_name(store, name, except_user=user.id)
        if not store.users.update(user.id, name=name, language=language, quiet=quiet):
            raise InvalidInput("This name is taken or looks like an existing one.")
        if zone != user.zone:
            change_zone(store, user.id, zone, now=now)
        if name != user.name:
            store.audit.add(user.name, msg("rename"), name, now=now)


def delete_account(store: AlertStore, user: User, *, now: float) -> None:
    """Delete an account with all its data.

    Raises InvalidInput for the only administrator if there are other accounts.
    """
    others = [account for account in store.users.list_accounts() if account.id != user.id]
    if (
        user.admin
        and others
        and not any(account.admin and not account.disabled for account in others)
    ):
        raise InvalidInput("You are the only administrator, and other people have accounts.")
    with store.transaction():
        store.users.remove(user.id)
        store.audit.add(msg("user {id}", id=user.id), msg("delete account"), "", now=now)


def export_account(store: AlertStore, user: User) -> dict[str, Any]:
    """Return all data stored about a user, without secrets."""
    account = user._asdict()
    account.pop("id")
    delivery_fields = ("at", "channel", "items", "state", "detail")
    return {
        "account": account,
        "alerts": [stored_alert.alert for stored_alert in store.alerts.list_alerts(user.id)],
        "pages": store.inbox.export_matches(user.id),
        "deliveries": [
            {name: getattr(delivery, name) for name in delivery_fields}
            for delivery in store.outbox.list_deliveries(user.id, limit=-1)
        ],
    }


# -- what may be typed --------------------------------------------------------------


def validate_name(text: str) -> str:
    """Return a name in normal form. Raises InvalidInput if it is not allowed."""
    name = names.normalise_name(text)
    if not names.is_valid_name(name):
        raise InvalidInput("A name has 2 to 40 letters, digits, dots, dashes or underscores.")
    if not names.is_single_script(name):
        raise InvalidInput(
            "A name must use one script (Chinese, Japanese or Korean may be combined with Latin)."
        )
    return name


@cache
def _common_passwords() -> frozenset[str]:
    """Return common passwords that seem hard to guess."""
    return frozenset(files("focus.serve").joinpath("common_passwords.txt").read_text().splitlines())


def _reject_similar_name(store: AlertStore, name: str, *, except_user: int = 0) -> None:
    """Raise InvalidInput for a name that looks like that of another account."""
    if names.is_confusable(name, store.users.list_names(except_id=except_user)):
        raise InvalidInput("This name is taken or looks like an existing one.")


def validate_mail(text: str) -> str:
    """Return a valid mail address, or an empty text for none. Raises InvalidInput."""
    mail = text.strip()
    if not mail:
        return ""
    if not is_mail_address(mail) or len(mail) > 254 or not mail.isprintable():
        raise InvalidInput("This is not a mail address.")
    return mail


def validate_phone(text: str) -> str:
    """Return a valid phone number without separators, or an empty text. Raises InvalidInput."""
    phone = re.sub(r"[\s().-]", "", text)
    if phone and not is_phone_number(phone):
        raise InvalidInput("Write the phone number like +4930123456.")
    return phone


def validate_password(password: str, name: str) -> str:
    """Return the password.

    Raises InvalidInput if it is too short or too long, contains the name, or is easy to guess.
    """
    from zxcvbn import zxcvbn

    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise InvalidInput("A password has {n} to 200 characters.", n=MIN_PASSWORD_LENGTH)
    if name and name.casefold() in password.casefold():
        raise InvalidInput("The password must not contain the name.")
    estimate = zxcvbn(password[:_ESTIMATED_LENGTH], [name, "focus"])
    if estimate["guesses"] < MIN_GUESSES or password.casefold() in _common_passwords():
        raise InvalidInput("This password is easy to guess; choose another one.")
    return password
