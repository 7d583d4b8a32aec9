"""Keeps alerts: what somebody wants to be told of, and when each is checked."""

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
        """Keep a new alert, due at once; its id. ConfigError if the name is taken."""
        with self._db.transaction():
            self._refuse_taken(user, alert.name)
            number: int = self._db.value(
                "INSERT INTO alert (user, name, definition, paused, created_at, next_at) "
                "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                (user, alert.name, as_text(alert, self._db.channels), alert.paused, now, now),
            )
            self._watch(number, alert.sites, now)
            return number

    def take_in(self, user: int, alerts: Iterable[Alert], *, replace: bool, now: float) -> None:
        """Keep many alerts, or none on an error. `replace`: those of the same name change,
        else ConfigError.
        """
        with self._db.transaction():
            known = {each.alert.name: each.id for each in self.all(user)} if replace else {}
            for alert in alerts:
                if alert.name in known:
                    self.change(known[alert.name], alert, now=now)
                else:
                    self.add(user, alert, now=now)

    def _refuse_taken(self, user: int, name: str, *, but: int = 0) -> None:
        sql = "SELECT 1 FROM alert WHERE user = ? AND name = ? AND id <> ?"
        if self._db.row(sql, (user, name, but)):
            raise ConfigError(
                "there is an alert {name!r} already; choose another name, or `focus watch edit`",
                name=name,
            )

    def change(self, number: int, alert: Alert, *, now: float) -> None:
        """Replace what an alert says; it is due at once, its history stays.

        ConfigError if another alert of its owner has the new name.
        """
        with self._db.transaction():
            owner = self._db.value("SELECT user FROM alert WHERE id = ?", (number,))
            self._refuse_taken(owner or 0, alert.name, but=number)
            self._db.change(
                "UPDATE alert SET name = ?, definition = ?, paused = ?, next_at = ? WHERE id = ?",
                (alert.name, as_text(alert, self._db.channels), alert.paused, now, number),
            )
            begun = self._db.rows(
                "SELECT max(begun_at), alert, site FROM alert_site WHERE alert = ? GROUP BY site",
                (number,),
            )
            self._db.change("DELETE FROM alert_site WHERE alert = ?", (number,))
            self._watch(number, alert.sites, now)
            sql = "UPDATE alert_site SET begun_at = ? WHERE alert = ? AND site = ?"
            self._db.change_all(sql, begun)

    def _watch(self, number: int, sites: Iterable[str], now: float) -> None:
        for url in sites:
            host = urlsplit(url).netloc
            self._db.change(
                "INSERT INTO site (host, matched, next_at, pages, trouble) "
                "VALUES (?, 0, ?, 0, '') ON CONFLICT (host) DO UPDATE SET next_at = ?",
                (host, now, now),
            )
            self._db.change(
                "INSERT OR IGNORE INTO alert_site (alert, site, url) "
                "SELECT ?, id, ? FROM site WHERE host = ?",
                (number, url, host),
            )

    def redefine(self, number: int, alert: Alert) -> None:
        """Replace what an alert says, its name and sites apart, without checking it sooner."""
        sql = "UPDATE alert SET definition = ? WHERE id = ?"
        self._db.change(sql, (as_text(alert, self._db.channels), number))

    def hand_over(self, number: int, alert: Alert, *, to: int) -> None:
        """Give an alert, changed so, to another user, with what waits to be told for it."""
        with self._db.transaction():
            self._db.change("UPDATE alert SET user = ? WHERE id = ?", (to, number))
            self._db.change(
                "UPDATE outbox SET user = ? WHERE alert = ? AND state = 0", (to, number)
            )
            self.redefine(number, alert)

    def pause(self, number: int, paused: bool, *, now: float) -> None:
        """Stop looking after an alert, or go on with it at once."""
        self._db.change(
            "UPDATE alert SET paused = ?, next_at = ?, "
            "definition = json_set(definition, '$.paused', json(?)) WHERE id = ?",
            (paused, now, "true" if paused else "false", number),
        )

    def check_soon(self, number: int, *, now: float, floor_s: float) -> None:
        """Have an alert checked now, and its sites visited if the last time is so long ago."""
        with self._db.transaction():
            self._db.change("UPDATE alert SET next_at = ? WHERE id = ?", (now, number))
            self._db.change(
                "UPDATE site SET next_at = min(next_at, ?), "
                "free_at = min(free_at, ifnull(visited_at + ?, 0)) "
                "WHERE id IN (SELECT site FROM alert_site WHERE alert = ?)",
                (now, floor_s, number),
            )

    def remove(self, number: int) -> None:
        """Forget an alert with all that was found for it."""
        self._db.change("DELETE FROM alert WHERE id = ?", (number,))

    def checked(self, number: int, *, now: float | None, next_at: float) -> None:
        """An alert was looked after (None: it could not be yet); when it is due again."""
        sql = "UPDATE alert SET checked_at = ?, next_at = ? WHERE id = ?"
        self._db.change(sql, (now, next_at, number))

    # -- reading ----------------------------------------------------------------------

    def all(self, user: int | None = None) -> list[StoredAlert]:
        """The alerts of one user, or all, in order of making."""
        if user is None:
            return self._found("ORDER BY id", ())
        return self._found("WHERE user = ? ORDER BY id", (user,))

    def named(self, user: int, name: str) -> StoredAlert:
        """A user's alert. ConfigError when there is none."""
        mine = self.all(user)
        for each in mine:
            if each.alert.name == name:
                return each
        known = ", ".join(each.alert.name for each in mine) or "none; `focus watch add` makes one"
        raise ConfigError("no alert {name!r}; there is {known}", name=name, known=known)

    def due(self, now: float) -> list[StoredAlert]:
        """Alerts whose time has come, first come first."""
        found = self._found("WHERE paused = 0 AND next_at <= ? ORDER BY next_at, id", (now,))
        return [each for each in found if not each.alert.is_over(now)]

    def on(self, site: int) -> list[StoredAlert]:
        """The alerts that watch a site and are not paused."""
        return self._found(
            "WHERE paused = 0 AND id IN (SELECT alert FROM alert_site WHERE site = ?) ORDER BY id",
            (site,),
        )

    def _found(self, where: str, values: Values) -> list[StoredAlert]:
        return [_stored(row, self._db.channels) for row in self._db.rows(_ALERTS + where, values)]


def as_text(alert: Alert, channels: ChannelSeal) -> str:
    """An alert as the column `definition` holds it."""
    kept = tuple(map(channels.seal, alert.channels))
    return msgspec.json.encode(msgspec.structs.replace(alert, channels=kept)).decode()


def from_text(definition: str, channels: ChannelSeal) -> Alert:
    """The alert of that column."""
    kept = msgspec.json.decode(definition, type=Alert)
    return msgspec.structs.replace(kept, channels=tuple(map(channels.open, kept.channels)))


def _stored(row: Sequence[Any], channels: ChannelSeal) -> StoredAlert:
    number, user, definition, paused, *times = row
    return StoredAlert(number, user, from_text(definition, channels), bool(paused), *times)
