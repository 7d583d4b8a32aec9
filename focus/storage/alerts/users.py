"""Users and their accounts."""

from __future__ import annotations

import sqlite3

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import LOCAL_USER, Account, User

_USER = ", ".join(User._fields)
_ADDRESSES = {
    "mail": "UPDATE user SET mail = ? WHERE id = ?",
    "phone": "UPDATE user SET phone = ? WHERE id = ?",
}


class Users(Statements):
    """Table `user`. A user without a password can only use the command line."""

    def find_active(self, number: int | None) -> User | None:
        """Return a user by id; None if there is none or the account is disabled."""
        row = self._db.fetch_row(
            f"SELECT {_USER} FROM user WHERE id = ? AND disabled = 0", (number,)
        )
        if row is None:
            return None
        sealed = msgspec.json.decode(row[-1], type=tuple[str, ...])
        return User._make((*row[:-1], tuple(map(self._db.channels.open, sealed))))

    def load_login(self, name: str) -> tuple[int, str | None]:
        """Return (id, password hash) of an active account; (0, None) if there is none."""
        sql = "SELECT id, password FROM user WHERE casefold(name) = casefold(?) AND disabled = 0"
        login: tuple[int, str | None] = self._db.fetch_row(sql, (name,)) or (0, None)
        return login

    def find_by_mail(self, name: str) -> tuple[int, str, str] | None:
        """Return (id, address, language) of an active account with a mail address, or None."""
        user: tuple[int, str, str] | None = self._db.fetch_row(
            "SELECT id, mail, language FROM user WHERE casefold(name) = casefold(?) "
            "AND disabled = 0 AND password IS NOT NULL AND mail IS NOT NULL",
            (name,),
        )
        return user

    def list_accounts(self) -> list[Account]:
        """Return all accounts, sorted by name."""
        rows = self._db.fetch_rows(
            "SELECT id, name, admin, disabled, seen_at, (SELECT count(*) FROM alert a "
            "WHERE a.user = u.id) FROM user u WHERE password IS NOT NULL ORDER BY name"
        )
        return [
            Account(number, name, bool(admin), bool(disabled), *rest)
            for number, name, admin, disabled, *rest in rows
        ]

    def list_names(self, *, except_id: int) -> list[str]:
        """Return the names of all users except one."""
        return [
            name
            for (name,) in self._db.fetch_rows("SELECT name FROM user WHERE id <> ?", (except_id,))
        ]

    def load_zones(self) -> dict[int, str]:
        """Return user id -> time zone (IANA name)."""
        return dict(self._db.fetch_rows("SELECT id, zone FROM user"))

    # -- writing ------------------------------------------------------------------------

    def add_local(self, language: str, zone: str, *, now: float) -> None:
        """Add the user of the command line unless it exists."""
        self._db.execute(
            "INSERT OR IGNORE INTO user (id, name, language, zone, quiet, admin, disabled, "
            "created_at) VALUES (?, 'local', ?, ?, '', 1, 0, ?)",
            (LOCAL_USER, language, zone, now),
        )

    def add(
        self, name: str, password: str, *, language: str, zone: str, admin: bool, now: float
    ) -> int | None:
        """Add an account; return its id, or None if the name is in use.

        `password` is the hash of the password.
        """
        number: int | None = self._db.fetch_value(
            "INSERT OR IGNORE INTO user (name, password, language, zone, quiet, admin, disabled, "
            "created_at) VALUES (?, ?, ?, ?, '', ?, 0, ?) RETURNING id",
            (name, password, language, zone, admin, now),
        )
        return number

    def update(
        self,
        number: int,
        *,
        name: str | None = None,
        language: str | None = None,
        zone: str | None = None,
        quiet: str | None = None,
    ) -> bool:
        """Change the values that are not None; return False if the name is in use."""
        sql = (
            "UPDATE user SET name = ifnull(?, name), language = ifnull(?, language), "
            "zone = ifnull(?, zone), quiet = ifnull(?, quiet) WHERE id = ?"
        )
        try:
            self._db.execute(sql, (name, language, zone, quiet, number))
        except sqlite3.IntegrityError:
            return False
        return True

    def set_address(self, number: int, kind: str, address: str | None) -> None:
        """Set the address of a user for `mail` or `phone`; None removes it."""
        self._db.execute(_ADDRESSES[kind], (address, number))

    def set_channels(self, number: int, channels: list[str]) -> None:
        """Set the default channels for new alerts of a user."""
        text = msgspec.json.encode(
            [self._db.channels.seal(channel) for channel in channels]
        ).decode()
        self._db.execute("UPDATE user SET channels = ? WHERE id = ?", (text, number))

    def set_password(self, number: int, password: str) -> None:
        """Set the hash of the password."""
        self._db.execute("UPDATE user SET password = ? WHERE id = ?", (password, number))

    def record_request(self, number: int, *, now: float) -> None:
        """Store the time of the last request of a user."""
        self._db.execute("UPDATE user SET seen_at = ? WHERE id = ?", (now, number))

    def set_disabled(self, number: int, disabled: bool) -> None:
        """Disable or enable an account."""
        self._db.execute("UPDATE user SET disabled = ? WHERE id = ?", (disabled, number))

    def remove(self, number: int) -> None:
        """Delete a user with all their data."""
        self._db.execute("DELETE FROM user WHERE id = ?", (number,))
