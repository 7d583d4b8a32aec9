"""Keeps the browsers that people have notified (Web Push), each by leave of its reader."""

from __future__ import annotations

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import NotifiedBrowser, PushSubscription

_KIND = "push"


class Browsers(Statements):
    """The table `push_subscription`; addresses and keys are sealed as channels are."""

    def add(self, user: int, told: PushSubscription, name: str, *, most: int, now: float) -> None:
        """Have a browser notified, of this person alone from now on; beyond `most` of theirs
        the oldest goes.
        """
        with self._db.transaction():
            self._db.change(
                "INSERT OR REPLACE INTO push_subscription (user, endpoint, keys, name, made_at, "
                "taken) VALUES (?, ?, ?, ?, ?, '')",
                (user, self._sealed(told.endpoint), self._sealed(told.keys), name, now),
            )
            self._db.change(
                "DELETE FROM push_subscription WHERE user = ?1 AND id NOT IN (SELECT id FROM "
                "push_subscription WHERE user = ?1 ORDER BY made_at DESC, id DESC LIMIT ?2)",
                (user, most),
            )

    def of(self, user: int) -> list[NotifiedBrowser]:
        """A person's browsers, the latest first; what another key file sealed stays sealed."""
        rows = self._db.rows(
            "SELECT id, name, made_at, taken, endpoint, keys FROM push_subscription "
            "WHERE user = ? ORDER BY made_at DESC, id DESC",
            (user,),
        )
        return [
            NotifiedBrowser._make((*about, PushSubscription(self._open(where), self._open(keys))))
            for *about, where, keys in rows
        ]

    def took(self, number: int, message: str) -> None:
        """A browser's push service has taken a message: it need not go there again."""
        self._db.change("UPDATE push_subscription SET taken = ? WHERE id = ?", (message, number))

    def remove(self, number: int) -> None:
        """A browser is to be notified no more."""
        self._db.change("DELETE FROM push_subscription WHERE id = ?", (number,))

    def remove_all(self, user: int) -> None:
        """None of a person's browsers is to be notified any more."""
        self._db.change("DELETE FROM push_subscription WHERE user = ?", (user,))

    def _sealed(self, text: str) -> str:
        return self._db.channels.seal(f"{_KIND}:{text}")

    def _open(self, kept: str) -> str:
        return self._db.channels.open(kept).partition(":")[2]
