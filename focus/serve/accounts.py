"""Manages accounts: passwords (argon2id), sessions, and what people may do to themselves."""

from __future__ import annotations

import re
import secrets
import threading
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from focus.alerts.addresses import is_mail_address, is_phone_number
from focus.alerts.clock_change import change_zone
from focus.alerts.schedule import parse_quiet
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import backoff, names, tokens
from focus.storage.alerts.records import User
from focus.storage.alerts.store import AlertStore

SHORTEST, LONGEST = 10, 200  # characters of a password
REGISTRATION = {"off": msg("off"), "invite": msg("by invitation"), "open": msg("open to all")}
SEEN_S = 300.0  # between two notes that somebody is there
_HASHING = 2  # at once: each takes 64 MiB


class Wrong(ConfigError):
    """Input that cannot be used."""


class TooManyTries(Wrong):
    """Too soon after tries that failed."""


class Passwords:
    """Argon2id; what is compared with for a name that nobody has costs the same."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = threading.Semaphore(_HASHING)
        self._nobody = self._hasher.hash("nobody has this password")

    def hash(self, password: str) -> str:
        """As it is kept."""
        with self._turns:
            return self._hasher.hash(password)

    def good(self, stored: str | None, password: str) -> bool:
        """Whether it is the password; False, after the same time, where there is none."""
        with self._turns:
            try:
                right = self._hasher.verify(stored or self._nobody, password)
            except (VerificationError, InvalidHashError):
                return False
        return right and stored is not None


# -- sessions -----------------------------------------------------------------------


def user_of_session(store: AlertStore, secret: str, *, now: float) -> User | None:
    """Whose session it is; None for none, an old one, or a disabled account's."""
    found = store.tokens.find("session", secret, now=now)
    user = store.users.active(found.user) if found else None
    if user is not None and (user.seen_at is None or now - user.seen_at > SEEN_S):
        store.users.seen(user.id, now=now)
    return user


def log_in(
    store: AlertStore, passwords: Passwords, *, name: str, password: str, address: str, now: float
) -> str:
    """A new session's secret. Wrong in the same time and words for a wrong
    password, a name that nobody has and a disabled account; TooManyTries before its time.
    """
    name = names.tidy(name)
    mine, theirs = backoff.key("user", name), backoff.key("address", address)
    spend(store, [mine, theirs], now=now)
    number, stored = store.users.login(name)
    if not passwords.good(stored, password[: LONGEST + 1]):
        raise Wrong("The name or the password is wrong.")
    with store.transaction():
        backoff.succeeded(store, mine, theirs)
        return tokens.make(store, "session", user=number, now=now)


def spend(store: AlertStore, keys: list[str], *, now: float) -> None:
    """Count a try; TooManyTries for one that comes too early."""
    if early := backoff.spend(store, keys, now=now):
        raise TooManyTries("Too many tries. Try again in {n} seconds.", n=int(early) + 1)


# -- making -------------------------------------------------------------------------


class Applicant(NamedTuple):
    """An application for an account, as typed."""

    name: str
    mail: str
    password: str
    language: str
    zone: str
    invitation: str = ""


def is_first(store: AlertStore) -> bool:
    """Whether nobody has an account yet."""
    return not store.users.accounts()


def registration(store: AlertStore) -> str:
    """`off`, `invite` or `open`."""
    return str(store.settings.read("registration").get("registration", "off"))


def may_register(store: AlertStore, invitation: str, *, now: float) -> bool:
    """The first needs the invitation that the terminal shows, whatever the setting."""
    if invitation and store.tokens.find("invite", invitation, now=now) is not None:
        return is_first(store) or registration(store) != "off"
    return registration(store) == "open" and not is_first(store)


def register(store: AlertStore, passwords: Passwords, who: Applicant, *, now: float) -> int:
    """The id of a new account; the first is an administrator's. Wrong says what is not right.

    The mail address is checked here, but nobody's yet: see `address_verification`.
    """
    name = checked_name(who.name)
    checked_mail(who.mail)
    if not may_register(store, who.invitation, now=now):
        raise Wrong(
            "Registration is closed, or the invitation was used. Ask an administrator for a link."
        )
    hashed = passwords.hash(checked_password(who.password, name))
    with store.transaction():
        first = is_first(store)
        invited = store.tokens.use("invite", who.invitation, now=now) if who.invitation else None
        if invited is None and (first or registration(store) != "open"):
            raise Wrong(
                "Registration is closed, or the invitation was used. Ask an administrator "
                "for a link."
            )
        _refuse_alike(store, name)
        number = store.users.add(
            name, hashed, language=who.language, zone=who.zone, admin=first, now=now
        )
        if number is None:
            raise Wrong("This name is taken, or looks like one that is.")
        store.audit.note(name, msg("register"), msg("administrator") if first else "", now=now)
    return number


# -- changing -----------------------------------------------------------------------


def reset_token(store: AlertStore, name: str, *, now: float) -> tuple[str, str, str] | None:
    """(address, language, secret) for a forgotten password; None where no mail can go."""
    found = store.users.by_mail(names.tidy(name))
    if found is None:
        return None
    number, mail, language = found
    with store.transaction():
        store.tokens.drop("reset", user=number)
        return mail, language, tokens.make(store, "reset", user=number, now=now)


def reset_code(store: AlertStore, name: str, *, now: float) -> tuple[str, str, str] | None:
    """(number, language, code) for a forgotten password; None where no code can go."""
    found = store.users.by_phone(names.tidy(name))
    if found is None:
        return None
    number, phone, language = found
    code = f"{secrets.randbelow(10**6):06}"
    with store.transaction():
        spend(store, [backoff.key("sms", f"to {phone}")], now=now)
        store.tokens.drop("reset_code", user=number)
        secret = f"reset {number}:{code}"
        tokens.make(store, "reset_code", user=number, now=now, secret=secret)
    return phone, language, code


def reset_by_code(
    store: AlertStore, passwords: Passwords, *, name: str, code: str, password: str, now: float
) -> None:
    """Set a forgotten password by the code that came by SMS, once; all sessions are over.

    Wrong("code_wrong"), and counted, for another code and for a name that has none.
    """
    name = names.tidy(name)
    hashed = passwords.hash(checked_password(password, name))
    spend(store, [backoff.key("code", f"reset {name}")], now=now)
    found = store.users.by_phone(name)
    secret = f"reset {found[0] if found else 0}:{code.strip()}"
    with store.transaction():
        used = store.tokens.use("reset_code", secret, now=now)
        if used is None or found is None:
            raise Wrong("The code is wrong, or no longer good.")
        _set(store, found[0], hashed)
        who = msg("user {id}", id=found[0])
        store.audit.note(who, msg("password"), msg("by SMS"), now=now)


def reset(
    store: AlertStore, passwords: Passwords, *, secret: str, password: str, now: float
) -> None:
    """Set a forgotten password by its mailed secret, once; all sessions are over."""
    found = store.tokens.find("reset", secret, now=now)
    if found is None or found.user is None:
        raise Wrong("This link is no longer good. Ask for a new one.")
    hashed = passwords.hash(checked_password(password, ""))
    with store.transaction():
        if store.tokens.use("reset", secret, now=now) is None:
            raise Wrong("This link is no longer good. Ask for a new one.")
        _set(store, found.user, hashed)
        store.audit.note(msg("user {id}", id=found.user), msg("password"), msg("by mail"), now=now)


def change_password(
    store: AlertStore, passwords: Passwords, user: User, *, old: str, new: str, now: float
) -> str:
    """Set another password; all sessions are over, the secret of a new one is returned."""
    confirm(store, passwords, user, old, now=now)
    hashed = passwords.hash(checked_password(new, user.name))
    with store.transaction():
        _set(store, user.id, hashed)
        store.audit.note(user.name, msg("password"), "", now=now)
        return tokens.make(store, "session", user=user.id, now=now)


def _set(store: AlertStore, user: int, hashed: str) -> None:
    store.users.set_password(user, hashed)
    store.tokens.log_out(user)
    store.browsers.remove_all(user)


def confirm(
    store: AlertStore, passwords: Passwords, user: User, password: str, *, now: float
) -> None:
    """Wrong unless it is the person's own password; tries are counted as at the log-in."""
    mine = backoff.key("user", user.name)
    spend(store, [mine], now=now)
    _, stored = store.users.login(user.name)
    if not passwords.good(stored, password[: LONGEST + 1]):
        raise Wrong("The current password is wrong.")
    store.attempts.clear(mine)


def change(store: AlertStore, user: User, typed: dict[str, str], *, now: float) -> None:
    """Change what a person says of themselves, mail and phone apart (see `address_verification`).

    Wrong, or ConfigError of the quiet hours.
    """
    zone, quiet = typed["zone"].strip(), typed["quiet"].strip()
    name = user.name if typed["name"] == user.name else checked_name(typed["name"])
    if zone not in available_timezones():
        raise Wrong("There is no such time zone; write Asia/Shanghai.")
    parse_quiet(typed["quiet"])
    language = "zh" if typed["language"] == "zh" else "en"
    with store.transaction():
        if name != user.name:
            _refuse_alike(store, name, but=user.id)
        if not store.users.change(user.id, name=name, language=language, quiet=quiet):
            raise Wrong("This name is taken, or looks like one that is.")
        if zone != user.zone:
            change_zone(store, user.id, zone, now=now)
        if name != user.name:
            store.audit.note(user.name, msg("rename"), name, now=now)


def delete(store: AlertStore, user: User, *, now: float) -> None:
    """Forget a person with all that is theirs. Wrong for the only administrator of others."""
    others = [each for each in store.users.accounts() if each.id != user.id]
    if user.admin and others and not any(each.admin and not each.disabled for each in others):
        raise Wrong("You are the only administrator and others have accounts.")
    with store.transaction():
        store.users.remove(user.id)
        store.audit.note(msg("user {id}", id=user.id), msg("delete account"), "", now=now)


def exported(store: AlertStore, user: User) -> dict[str, Any]:
    """All that is kept of a person, secrets apart."""
    account = user._asdict()
    account.pop("id")
    shown = ("at", "channel", "items", "state", "detail")
    return {
        "account": account,
        "alerts": [each.alert for each in store.alerts.all(user.id)],
        "browsers": [(each.name, each.made_at) for each in store.browsers.of(user.id)],
        "pages": store.inbox.exported(user.id),
        "deliveries": [
            {name: getattr(each, name) for name in shown}
            for each in store.outbox.deliveries(user.id, limit=-1)
        ],
    }


# -- what may be typed --------------------------------------------------------------


def checked_name(text: str) -> str:
    """Wrong for a name that nobody may have."""
    name = names.tidy(text)
    if not names.is_name(name):
        raise Wrong("A name has 2 to 40 letters, digits, dots, dashes or underscores.")
    if not names.is_of_one_script(name):
        raise Wrong(
            "A name is written in one script (Chinese, Japanese or Korean may stand with Latin)."
        )
    return name


def _refuse_alike(store: AlertStore, name: str, *, but: int = 0) -> None:
    """Wrong for a name that looks like somebody else's."""
    if names.alike(name, store.users.names(but=but)):
        raise Wrong("This name is taken, or looks like one that is.")


def checked_mail(text: str) -> str:
    """An address, or "". Wrong for what is none."""
    mail = text.strip()
    if not mail:
        return ""
    if not is_mail_address(mail) or len(mail) > 254 or not mail.isprintable():
        raise Wrong("This is no mail address.")
    return mail


def checked_phone(text: str) -> str:
    """A number without what people write between its digits, or ""."""
    phone = re.sub(r"[\s().-]", "", text)
    if phone and not is_phone_number(phone):
        raise Wrong("Write the phone as +4930123456.")
    return phone


def checked_password(password: str, name: str) -> str:
    """Wrong for one that is too short, endless, or the name itself."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Wrong("A password has {n} to 200 characters.", n=SHORTEST)
    if name and password.casefold() == name.casefold():
        raise Wrong("The password must not be the name.")
    return password
