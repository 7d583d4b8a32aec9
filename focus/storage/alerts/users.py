"""Keeps people and their accounts."""

from __future__ import annotations

import sqlite3

import msgspec

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import LOCAL, Account, User

_USER = ", ".join(User._fields)
_ADDRESSES = {
    "mail": "UPDATE user SET mail = ? WHERE id = ?",
    "phone": "UPDATE user SET phone = ? WHERE id = ?",
}


class Users(Statements):
    """The table `user`. Who has no password is at the command line only."""

    def active(self, number: int | None) -> User | None:
        """A person whose account is not disabled."""
        row = self._db.row(f"SELECT {_USER} FROM user WHERE id = ? AND disabled = 0", (number,))
        if row is None:
            return None
        kept = msgspec.json.decode(row[-1], type=tuple[str, ...])
        return User._make((*row[:-1], tuple(map(self._db.channels.open, kept))))

    def login(self, name: str) -> tuple[int, str | None]:
        """(id, password's hash) of an account that is not disabled; (0, None): there is none."""
        sql = "SELECT id, password FROM user WHERE name = ? AND disabled = 0"
        found: tuple[int, str | None] = self._db.row(sql, (name,)) or (0, None)
        return found

    def by_mail(self, name: str) -> tuple[int, str, str] | None:
        """(id, address, language) of somebody with an account who has a mail address."""
        found: tuple[int, str, str] | None = self._db.row(
            "SELECT id, mail, language FROM user WHERE name = ? AND disabled = 0 "
            "AND password IS NOT NULL AND mail IS NOT NULL",
            (name,),
        )
        return found

    def by_phone(self, name: str) -> tuple[int, str, str] | None:
        """(id, number, language) of somebody with an account who has a telephone."""
        found: tuple[int, str, str] | None = self._db.row(
            "SELECT id, phone, language FROM user WHERE name = ? AND disabled = 0 "
            "AND password IS NOT NULL AND phone IS NOT NULL",
            (name,),
        )
        return found

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        rows = self._db.rows(
            "SELECT id, name, admin, disabled, seen_at, (SELECT count(*) FROM alert a "
            "WHERE a.user = u.id) FROM user u WHERE password IS NOT NULL ORDER BY name"
        )
        return [
            Account(number, name, bool(admin), bool(disabled), *rest)
            for number, name, admin, disabled, *rest in rows
        ]

    def names(self, *, but: int) -> list[str]:
        """The names of all users but one."""
        return [name for (name,) in self._db.rows("SELECT name FROM user WHERE id <> ?", (but,))]

    def zones(self) -> dict[int, str]:
        """The time zone of each user, by its IANA name."""
        return dict(self._db.rows("SELECT id, zone FROM user"))

    # -- writing ------------------------------------------------------------------------

    def add_local(self, language: str, zone: str, *, now: float) -> None:
        """The user at the command line, unless they are known."""
        self._db.change(
            "INSERT OR IGNORE INTO user (id, name, language, zone, quiet, admin, disabled, "
            "created_at) VALUES (?, 'local', ?, ?, '', 1, 0, ?)",
            (LOCAL, language, zone, now),
        )

    def add(
        self, name: str, password: str, *, language: str, zone: str, admin: bool, now: float
    ) -> int | None:
        """A new account; its id, None if the name is taken. `password`: its hash."""
        number: int | None = self._db.value(
            "INSERT OR IGNORE INTO user (name, password, language, zone, quiet, admin, disabled, "
            "created_at) VALUES (?, ?, ?, ?, '', ?, 0, ?) RETURNING id",
            (name, password, language, zone, admin, now),
        )
        return number

    def change(
        self,
        number: int,
        *,
        name: str | None = None,
        language: str | None = None,
        zone: str | None = None,
        quiet: str | None = None,
    ) -> bool:
        """Change what a person says of themselves, where it is not None; False: name is taken."""
        sql = (
            "UPDATE user SET name = ifnull(?, name), language = ifnull(?, language), "
            "zone = ifnull(?, zone), quiet = ifnull(?, quiet) WHERE id = ?"
        )
        try:
            self._db.change(sql, (name, language, zone, quiet, number))
        except sqlite3.IntegrityError:
            return False
        return True

    def set_address(self, number: int, kind: str, address: str | None) -> None:
        """Where a person is reached by `mail` or `phone`; None: no more."""
        self._db.change(_ADDRESSES[kind], (address, number))

    def set_channels(self, number: int, channels: list[str]) -> None:
        """How a person's new alerts tell."""
        text = msgspec.json.encode([self._db.channels.seal(each) for each in channels]).decode()
        self._db.change("UPDATE user SET channels = ? WHERE id = ?", (text, number))

    def set_password(self, number: int, password: str) -> None:
        """Another password, by its hash."""
        self._db.change("UPDATE user SET password = ? WHERE id = ?", (password, number))

    def seen(self, number: int, *, now: float) -> None:
        """Somebody is there."""
        self._db.change("UPDATE user SET seen_at = ? WHERE id = ?", (now, number))

    def disable(self, number: int, disabled: bool) -> None:
        """Let somebody log in no more, or again."""
        self._db.change("UPDATE user SET disabled = ? WHERE id = ?", (disabled, number))

    def remove(self, number: int) -> None:
        """Forget a person with all that is theirs."""
        self._db.change("DELETE FROM user WHERE id = ?", (number,))
