"""An outbox for tests: alerts, what was found for them, and its delivery.

with outbox(tmp_path) as here:
    alert = here.alert("足球", "mail:me@a.test")
    here.finds(alert, "http://a.test/1", "http://a.test/2")
    summary = await here.deliver()
    here.clock.now += 60
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from focus.alerts import outbox_relay, settings
from focus.alerts.delivery import sent_channels
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings, MailSettings
from focus.config import FetchConfig
from focus.storage.alerts.records import LOCAL_USER, Alert, Match
from focus.storage.alerts.store import AlertStore, open_store

NOON = 1_795_251_600.0  # 2026-11-21 09:00 UTC
LOOPBACK = FetchConfig(allow_net=("127.0.0.0/8", "::1"))
M = "\u2060"


class Clock:
    """Unix seconds that stand still unless told."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class OutboxFixture:
    """A store with what lies in it, and the relay that sends it."""

    def __init__(self, store: AlertStore, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.mail: MailSettings | None = None
        self.base_url = ""
        self.options: dict[str, str] = {}

    def settings(self) -> DeliverySettings:
        """As the command line would read them."""
        read = settings.read(
            self.store, options=self.options, base_url=self.base_url, fetch=LOOPBACK
        )
        return msgspec.structs.replace(read, mail=self.mail)

    def user(self, name: str, **columns: Any) -> int:
        """Another person."""
        values = {
            "name": name, "language": "en", "zone": "UTC", "quiet": "", "admin": 0, "disabled": 0,
            "created_at": self.clock(), **columns,
        }  # fmt: skip
        marks = ", ".join("?" * len(values))
        with self.store.database.transaction() as db:
            return int(
                db.execute(
                    f"INSERT INTO user ({', '.join(values)}) VALUES ({marks}) RETURNING id",
                    tuple(values.values()),
                ).fetchone()[0]
            )

    def alert(self, name: str, *channels: str, user: int = LOCAL_USER, **fields: Any) -> int:
        """An alert with these channels."""
        sites = fields.pop("sites", ("https://a.test/",))
        result = Alert(name, sites, words=name, channels=channels, **fields)
        return self.store.alerts.add(user, result, now=self.clock())

    def finds(self, alert: int, *urls: str, **fields: Any) -> list[int]:
        """Hits, and what has to be delivered of them, in one transaction."""
        owned = next(item for item in self.store.alerts.list_alerts() if item.id == alert)
        with self.store.database.transaction() as db:
            numbers = [insert(db, hit(alert, url, found_at=self.clock(), **fields)) for url in urls]
            self.store.outbox.enqueue(
                owned.user,
                alert,
                matches=numbers,
                channels=sent_channels(owned.alert.channels),
                due_at=self.clock(),
            )
        return numbers

    async def deliver(self, **options: Any) -> outbox_relay.DeliverySummary:
        """One round."""
        return await outbox_relay.deliver_due(
            self.store, self.settings(), clock=self.clock, rng=Random(1), **options
        )

    def column(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The only column of a query."""
        return [value for (value,) in self.store.database.fetch_rows(sql, values)]


def hit(alert: int, url: str, **fields: Any) -> Match:
    """A hit with something in each field."""
    fields_of_match: dict[str, Any] = {
        "page": 1, "title": f"标题 {url[-1]}", "language": "zh", "published_at": None,
        "found_at": NOON, "relevance": 0.8, "snippet": f"今天{M}足球{M}决赛", "why": {},
    }  # fmt: skip
    return Match(alert, url=url, **{**fields_of_match, **fields})


def insert(db: Any, match: Match) -> int:
    """Write a hit; its id."""
    columns = [name for name in Match.__struct_encode_fields__ if name != "id"]
    values = dict(zip(Match.__struct_encode_fields__, msgspec.structs.astuple(match), strict=True))
    values["why"] = msgspec.json.encode(match.why).decode()
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO alert_match ({', '.join(columns)}) VALUES ({marks}) RETURNING id"
    return int(db.execute(sql, [values[name] for name in columns]).fetchone()[0])


@contextmanager
def outbox(
    folder: Path, *, zone: str = "Asia/Shanghai", language: str = "zh"
) -> Iterator[OutboxFixture]:
    """A new store in a folder, at nine o'clock UTC."""
    clock = Clock(NOON)
    path = folder / "watch.db"
    sealed = SealedChannels.from_key_file(path)
    with open_store(path, now=NOON, language=language, zone=zone, channels=sealed) as store:
        yield OutboxFixture(store, clock)
