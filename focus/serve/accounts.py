"""Who is this? Accounts, passwords (argon2id), sessions, and what they may do to themselves."""

from __future__ import annotations

import re
import sqlite3
import threading
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from focus.alerts.alert import PHONE, check_channel
from focus.alerts.schedule import parse_quiet
from focus.alerts.store import AlertStore
from focus.errors import ConfigError
from focus.serve import backoff, names, tokens
from focus.serve.texts import Wrong

SHORTEST, LONGEST = 10, 200  # characters of a password
REGISTRATION = ("off", "invite", "open")
SEEN_S = 300.0  # between two notes that somebody is there
_HASHING = 2  # at once: each takes 64 MiB


class User(NamedTuple):
    """A person with an account."""

    id: int
    name: str
    mail: str | None
    phone: str | None
    language: str
    zone: str
    quiet: str
    admin: bool
    seen_at: float | None
    channels: str


_USER = "u.id, u.name, u.mail, u.phone, u.language, u.zone, u.quiet, u.admin, u.seen_at, u.channels"


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


def user_of_session(book: AlertStore, secret: str, *, now: float) -> User | None:
    """Whose session it is; None for none, an old one, or a disabled account's."""
    rows = book.rows(
        f"SELECT {_USER} FROM token t JOIN user u ON u.id = t.user "
        "WHERE t.hash = ? AND t.kind = 'session' AND t.expires_at > ? AND u.disabled = 0",
        (tokens.hashed(secret), now),
    )
    if not rows:
        return None
    user = User(*rows[0])
    if user.seen_at is None or now - user.seen_at > SEEN_S:
        with book.transaction() as db:
            db.execute("UPDATE user SET seen_at = ? WHERE id = ?", (now, user.id))
    return user


def log_in(
    book: AlertStore, passwords: Passwords, *, name: str, password: str, address: str, now: float
) -> str:
    """A new session's secret. Wrong("login_wrong") in the same time and words for a wrong
    password, a name that nobody has and a disabled account; Wrong("too_many") before its time.
    """
    name = names.tidy(name)
    mine, theirs = backoff.key("user", name), backoff.key("address", address)
    with book.transaction() as db:
        early = backoff.spend(db, [mine, theirs], now=now)
    if early:
        raise Wrong("too_many", n=int(early) + 1)
    rows = book.rows("SELECT id, password FROM user WHERE name = ? AND disabled = 0", (name,))
    number, stored = rows[0] if rows else (0, None)
    if not passwords.good(stored, password[: LONGEST + 1]):
        raise Wrong("login_wrong")
    with book.transaction() as db:
        backoff.succeeded(db, mine, theirs)
        return tokens.make(db, "session", user=number, now=now)


def log_out(book: AlertStore, secret: str) -> None:
    """The session is over, here and not only in the browser."""
    with book.transaction() as db:
        db.execute(
            "DELETE FROM token WHERE hash = ? AND kind = 'session'", (tokens.hashed(secret),)
        )


# -- making -------------------------------------------------------------------------


class Applicant(NamedTuple):
    """What somebody typed to get an account."""

    name: str
    mail: str
    password: str
    language: str
    zone: str
    invitation: str = ""


def is_first(book: AlertStore) -> bool:
    """Whether nobody has an account yet."""
    return not book.rows("SELECT 1 FROM user WHERE password IS NOT NULL LIMIT 1")


def registration(book: AlertStore) -> str:
    """`off`, `invite` or `open`."""
    rows = book.rows("SELECT value FROM setting WHERE name = 'registration'")
    return str(msgspec.json.decode(rows[0][0])) if rows else "off"


def may_register(book: AlertStore, invitation: str, *, now: float) -> bool:
    """The first needs the invitation that the terminal shows, whatever the setting."""
    if invitation and tokens.find(book, "invite", invitation, now=now) is not None:
        return is_first(book) or registration(book) != "off"
    return registration(book) == "open" and not is_first(book)


def register(book: AlertStore, passwords: Passwords, who: Applicant, *, now: float) -> int:
    """The id of a new account; the first is an administrator's. Wrong says what is not right.

    The mail address is checked here, but nobody's yet: see `postbox`.
    """
    name = checked_name(who.name)
    checked_mail(who.mail)
    if not may_register(book, who.invitation, now=now):
        raise Wrong("register_closed")
    hashed = passwords.hash(checked_password(who.password, name))
    with book.transaction() as db:
        first = is_first(book)
        invited = tokens.use(db, "invite", who.invitation, now=now) if who.invitation else None
        if invited is None and (first or registration(book) != "open"):
            raise Wrong("register_closed")
        _refuse_alike(db, name)
        try:
            number = db.execute(
                "INSERT INTO user (name, password, language, zone, quiet, admin, disabled, "
                "created_at) VALUES (?, ?, ?, ?, '', ?, 0, ?) RETURNING id",
                (name, hashed, who.language, who.zone, first, now),
            ).fetchone()[0]
        except sqlite3.IntegrityError:
            raise Wrong("name_taken") from None
        note(db, name, "register", "administrator" if first else "", now=now)
    return int(number)


def note(db: sqlite3.Connection, actor: str, act: str, detail: str, *, now: float) -> None:
    """A line of the audit, inside the caller's transaction."""
    db.execute(
        "INSERT INTO audit (at, actor, act, detail) VALUES (?, ?, ?, ?)", (now, actor, act, detail)
    )


# -- changing -----------------------------------------------------------------------


def reset_token(book: AlertStore, name: str, *, now: float) -> tuple[str, str, str] | None:
    """(address, language, secret) for a forgotten password; None where no mail can go."""
    rows = book.rows(
        "SELECT id, mail, language FROM user WHERE name = ? AND disabled = 0 "
        "AND password IS NOT NULL AND mail IS NOT NULL",
        (names.tidy(name),),
    )
    if not rows:
        return None
    number, mail, language = rows[0]
    with book.transaction() as db:
        tokens.drop(db, "reset", user=number)
        return mail, language, tokens.make(db, "reset", user=number, now=now)


def reset(
    book: AlertStore, passwords: Passwords, *, secret: str, password: str, now: float
) -> None:
    """Set a forgotten password by its mailed secret, once; all sessions are over."""
    found = tokens.find(book, "reset", secret, now=now)
    if found is None or found.user is None:
        raise Wrong("token_old")
    hashed = passwords.hash(checked_password(password, ""))
    with book.transaction() as db:
        if tokens.use(db, "reset", secret, now=now) is None:
            raise Wrong("token_old")
        _set(db, found.user, hashed)
        note(db, f"user {found.user}", "password", "by mail", now=now)


def change_password(
    book: AlertStore, passwords: Passwords, user: User, *, old: str, new: str, now: float
) -> str:
    """Set another password; all sessions are over, the secret of a new one is returned."""
    confirm(book, passwords, user, old, now=now)
    hashed = passwords.hash(checked_password(new, user.name))
    with book.transaction() as db:
        _set(db, user.id, hashed)
        note(db, user.name, "password", "", now=now)
        return tokens.make(db, "session", user=user.id, now=now)


def _set(db: sqlite3.Connection, user: int, hashed: str) -> None:
    db.execute("UPDATE user SET password = ? WHERE id = ?", (hashed, user))
    db.execute("DELETE FROM token WHERE user = ? AND kind IN ('session', 'reset')", (user,))


def confirm(
    book: AlertStore, passwords: Passwords, user: User, password: str, *, now: float
) -> None:
    """Wrong unless it is the person's own password; tries are counted as at the door."""
    mine = backoff.key("user", user.name)
    with book.transaction() as db:
        early = backoff.spend(db, [mine], now=now)
    if early:
        raise Wrong("too_many", n=int(early) + 1)
    stored = book.rows("SELECT password FROM user WHERE id = ?", (user.id,))[0][0]
    if not passwords.good(stored, password[: LONGEST + 1]):
        raise Wrong("password_wrong")
    with book.transaction() as db:
        db.execute("DELETE FROM attempt WHERE who = ?", (mine,))


def change(book: AlertStore, user: User, typed: dict[str, str], *, now: float) -> None:
    """Change what a person says of themselves, mail and phone apart (see `postbox`).

    Wrong, or ConfigError of the quiet hours.
    """
    zone = typed["zone"].strip()
    name = user.name if typed["name"] == user.name else checked_name(typed["name"])
    if zone not in available_timezones():
        raise Wrong("zone_wrong")
    parse_quiet(typed["quiet"])
    language = "zh" if typed["language"] == "zh" else "en"
    with book.transaction() as db:
        if name != user.name:
            _refuse_alike(db, name, but=user.id)
        try:
            db.execute(
                "UPDATE user SET name = ?, language = ?, zone = ?, quiet = ? WHERE id = ?",
                (name, language, zone, typed["quiet"].strip(), user.id),
            )
        except sqlite3.IntegrityError:
            raise Wrong("name_taken") from None
        if name != user.name:
            note(db, user.name, "rename", name, now=now)


def delete(book: AlertStore, user: User, *, now: float) -> None:
    """Forget a person with all that is theirs. Wrong for the only administrator of others."""
    others = "SELECT total(admin AND NOT disabled), count(*) FROM user WHERE id <> ? "
    admins, people = book.rows(others + "AND password IS NOT NULL", (user.id,))[0]
    if user.admin and people and not admins:
        raise Wrong("last_admin")
    with book.transaction() as db:
        db.execute("DELETE FROM user WHERE id = ?", (user.id,))
        note(db, f"user {user.id}", "delete account", "", now=now)


def exported(book: AlertStore, user: User) -> dict[str, Any]:
    """All that is kept of a person, secrets apart."""
    account = user._asdict()
    account.pop("id")
    hits = book.rows(
        "SELECT c.name, h.url, h.title, h.published_at, h.found_at, h.relevance, h.read_at, "
        "h.vote FROM hit h JOIN alert c ON c.id = h.alert WHERE c.user = ? AND NOT h.deleted",
        (user.id,),
    )
    names = "alert url title published_at found_at relevance read_at vote".split()
    sent = book.rows(
        "SELECT at, channel, items, state, detail FROM delivery WHERE user = ?", (user.id,)
    )
    return {
        "account": account,
        "alerts": [each.alert for each in book.alerts(user.id)],
        "pages": [dict(zip(names, row, strict=True)) for row in hits],
        "deliveries": [
            dict(zip("at channel items state detail".split(), row, strict=True)) for row in sent
        ],
    }


# -- what may be typed --------------------------------------------------------------


def checked_name(text: str) -> str:
    """Wrong for a name that nobody may have."""
    name = names.tidy(text)
    if not names.is_name(name):
        raise Wrong("name_wrong")
    if not names.is_of_one_script(name):
        raise Wrong("name_mixed")
    return name


def _refuse_alike(db: sqlite3.Connection, name: str, *, but: int = 0) -> None:
    """Wrong for a name that looks like somebody else's, inside the caller's transaction."""
    others = db.execute("SELECT name FROM user WHERE id <> ?", (but,)).fetchall()
    if names.alike(name, (each for (each,) in others)):
        raise Wrong("name_taken")


def checked_mail(text: str) -> str:
    """An address, or "". Wrong for what is none."""
    mail = text.strip()
    if not mail:
        return ""
    try:
        check_channel(f"mail:{mail}")
    except ConfigError:
        raise Wrong("mail_wrong") from None
    if len(mail) > 254 or not mail.isprintable():
        raise Wrong("mail_wrong")
    return mail


def checked_phone(text: str) -> str:
    """A number without what people write between its digits, or ""."""
    phone = re.sub(r"[\s().-]", "", text)
    if phone and not PHONE.fullmatch(phone):
        raise Wrong("phone_wrong")
    return phone


def checked_password(password: str, name: str) -> str:
    """Wrong for one that is too short, endless, or the name itself."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Wrong("password_short", n=SHORTEST)
    if name and password.casefold() == name.casefold():
        raise Wrong("password_name")
    return password
