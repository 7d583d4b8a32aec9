"""Alerts and their check times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.errors import ConfigError
from focus.storage.alerts.database import ChannelSeal, Statements, Values
from focus.storage.alerts.records import Alert, StoredAlert

_ALERTS = "SELECT id, user, definition, paused, created_at, checked_at, next_at FROM alert "


class Alerts(Statements):
    """The tables `alert` and `alert_site`."""

    def add(self, user: int, alert: Alert, *, now: float) -> int:
        """Store a new alert, due at once; return its id. ConfigError if the name is in use."""
        with self._db.transaction():
            self._check_name_free(user, alert.name)
            number: int = self._db.fetch_value(
                "INSERT INTO alert (user, name, definition, paused, created_at, next_at) "
                "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                (user, alert.name, encode_alert(alert, self._db.channels), alert.paused, now, now),
            )
            self._add_sites(number, alert.sites, now)
            return number

    def add_all(self, user: int, alerts: Iterable[Alert], *, replace: bool, now: float) -> None:
        """Store several alerts, or none on an error.

        `replace` changes existing alerts of the same name; otherwise they raise ConfigError.
        """
        with self._db.transaction():
            known = (
                {stored.alert.name: stored.id for stored in self.list_alerts(user)}
                if replace
                else {}
            )
            for alert in alerts:
                if alert.name in known:
                    self.replace(known[alert.name], alert, now=now)
                else:
                    self.add(user, alert, now=now)

    def _check_name_free(self, user: int, name: str, *, except_id: int = 0) -> None:
        sql = "SELECT 1 FROM alert WHERE user = ? AND name = ? AND id <> ?"
        if self._db.fetch_row(sql, (user, name, except_id)):
            raise ConfigError(
                "an alert {name!r} already exists; choose another name, or change that alert",
                name=name,
            )

    def replace(self, number: int, alert: Alert, *, now: float) -> None:
        """Replace the definition of an alert, which is then due at once; its matches stay.

        Raises ConfigError if another alert of its owner has the new name.
        """
        with self._db.transaction():
            owner = self._db.fetch_value("SELECT user FROM alert WHERE id = ?", (number,))
            self._check_name_free(owner or 0, alert.name, except_id=number)
            self._db.execute(
                "UPDATE alert SET name = ?, definition = ?, paused = ?, next_at = ? WHERE id = ?",
                (alert.name, encode_alert(alert, self._db.channels), alert.paused, now, number),
            )
            begun = self._db.fetch_rows(
                "SELECT max(begun_at), alert, site FROM alert_site WHERE alert = ? GROUP BY site",
                (number,),
            )
            self._db.execute("DELETE FROM alert_site WHERE alert = ?", (number,))
            self._add_sites(number, alert.sites, now)
            sql = "UPDATE alert_site SET begun_at = ? WHERE alert = ? AND site = ?"
            self._db.execute_many(sql, begun)

    def _add_sites(self, number: int, sites: Iterable[str], now: float) -> None:
        for url in sites:
            host = urlsplit(url).netloc
            self._db.execute(
                "INSERT INTO site (host, matched, next_at, pages, trouble) "
                "VALUES (?, 0, ?, 0, '') ON CONFLICT (host) DO UPDATE SET next_at = ?",
                (host, now, now),
            )
            self._db.execute(
                "INSERT OR IGNORE INTO alert_site (alert, site, url) "
                "SELECT ?, id, ? FROM site WHERE host = ?",
                (number, url, host),
            )

    def update_definition(self, number: int, alert: Alert) -> None:
        """Replace the definition of an alert without changing name, sites or check time."""
        sql = "UPDATE alert SET definition = ? WHERE id = ?"
        self._db.execute(sql, (encode_alert(alert, self._db.channels), number))

    def set_paused(self, number: int, paused: bool, *, now: float) -> None:
        """Pause an alert, or resume it at once."""
        self._db.execute(
            "UPDATE alert SET paused = ?, next_at = ?, "
            "definition = json_set(definition, '$.paused', json(?)) WHERE id = ?",
            (paused, now, "true" if paused else "false", number),
        )

    def schedule_check(self, number: int, *, now: float, floor_s: float) -> None:
        """Make an alert due now, and its sites if their last visit is `floor_s` seconds ago."""
        with self._db.transaction():
            self._db.execute("UPDATE alert SET next_at = ? WHERE id = ?", (now, number))
            self._db.execute(
                "UPDATE site SET next_at = min(next_at, ?), "
                "free_at = min(free_at, ifnull(visited_at + ?, 0)) "
                "WHERE id IN (SELECT site FROM alert_site WHERE alert = ?)",
                (now, floor_s, number),
            )

    def remove(self, number: int) -> None:
        """Delete an alert with all its matches."""
        self._db.execute("DELETE FROM alert WHERE id = ?", (number,))

    def record_check(self, number: int, *, now: float | None, next_at: float) -> None:
        """Store when an alert was checked (None if it could not be), and when it is due again."""
        sql = "UPDATE alert SET checked_at = ?, next_at = ? WHERE id = ?"
        self._db.execute(sql, (now, next_at, number))

    # -- reading ----------------------------------------------------------------------

    def list_alerts(self, user: int | None = None) -> list[StoredAlert]:
        """Return the alerts of one user, or all, in order of creation."""
        if user is None:
            return self._select("ORDER BY id", ())
        return self._select("WHERE user = ? ORDER BY id", (user,))

    def get(self, user: int, name: str) -> StoredAlert:
        """Return an alert of a user by its name; ConfigError if there is none."""
        mine = self.list_alerts(user)
        for stored in mine:
            if stored.alert.name == name:
                return stored
        known = (
            ", ".join(stored.alert.name for stored in mine) or "none; `focus watch add` makes one"
        )
        raise ConfigError("no alert {name!r}; existing alerts: {known}", name=name, known=known)

    def list_due(self, now: float) -> list[StoredAlert]:
        """Return the alerts that are due, in order of their time."""
        due_alerts = self._select("WHERE paused = 0 AND next_at <= ? ORDER BY next_at, id", (now,))
        return [stored for stored in due_alerts if not stored.alert.is_over(now)]

    def list_for_site(self, site: int) -> list[StoredAlert]:
        """Return the alerts that watch a site and are not paused."""
        return self._select(
            "WHERE paused = 0 AND id IN (SELECT alert FROM alert_site WHERE site = ?) ORDER BY id",
            (site,),
        )

    def _select(self, where: str, values: Values) -> list[StoredAlert]:
        return [
            _stored_alert(row, self._db.channels)
            for row in self._db.fetch_rows(_ALERTS + where, values)
        ]


def encode_alert(alert: Alert, channels: ChannelSeal) -> str:
    """Return an alert as JSON for the column `definition`, with sealed channels."""
    sealed = tuple(map(channels.seal, alert.channels))
    return msgspec.json.encode(msgspec.structs.replace(alert, channels=sealed)).decode()


def decode_alert(definition: str, channels: ChannelSeal) -> Alert:
    """Return the alert of a value of the column `definition`."""
    sealed = msgspec.json.decode(definition, type=Alert)
    return msgspec.structs.replace(sealed, channels=tuple(map(channels.open, sealed.channels)))


def _stored_alert(row: Sequence[Any], channels: ChannelSeal) -> StoredAlert:
    number, user, definition, paused, *times = row
    return StoredAlert(number, user, decode_alert(definition, channels), bool(paused), *times)
