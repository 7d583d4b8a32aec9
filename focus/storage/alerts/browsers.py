"""Browsers that receive notifications (Web Push)."""

from __future__ import annotations

from focus.storage.alerts.database import Statements
from focus.storage.alerts.records import NotifiedBrowser, PushSubscription

_KIND = "push"


class Browsers(Statements):
    """Table `push_subscription`; endpoints and keys are sealed like channels."""

    def add(
        self, user: int, subscription: PushSubscription, name: str, *, limit: int, now: float
    ) -> None:
        """Store a browser for this user alone; above `limit` the oldest of theirs is deleted."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO push_subscription (user, endpoint, keys, name, made_at, "
                "taken) VALUES (?, ?, ?, ?, ?, '')",
                (user, self._seal(subscription.endpoint), self._seal(subscription.keys), name, now),
            )
            self._db.execute(
                "DELETE FROM push_subscription WHERE user = ?1 AND id NOT IN (SELECT id FROM "
                "push_subscription WHERE user = ?1 ORDER BY made_at DESC, id DESC LIMIT ?2)",
                (user, limit),
            )

    def list_for_user(self, user: int) -> list[NotifiedBrowser]:
        """Return the browsers of a user, latest first.

        Values sealed with another key file are returned sealed.
        """
        rows = self._db.fetch_rows(
            "SELECT id, name, made_at, taken, endpoint, keys FROM push_subscription "
            "WHERE user = ? ORDER BY made_at DESC, id DESC",
            (user,),
        )
        return [
            NotifiedBrowser._make((*about, PushSubscription(self._open(where), self._open(keys))))
            for *about, where, keys in rows
        ]

    def set_last_message(self, number: int, message: str) -> None:
        """Store the last message that the push service of a browser has accepted."""
        self._db.execute("UPDATE push_subscription SET taken = ? WHERE id = ?", (message, number))

    def remove(self, number: int) -> None:
        """Delete a browser."""
        self._db.execute("DELETE FROM push_subscription WHERE id = ?", (number,))

    def remove_all(self, user: int) -> None:
        """Delete all browsers of a user."""
        self._db.execute("DELETE FROM push_subscription WHERE user = ?", (user,))

    def _seal(self, text: str) -> str:
        return self._db.channels.seal(f"{_KIND}:{text}")

    def _open(self, sealed: str) -> str:
        return self._db.channels.open(sealed).partition(":")[2]
