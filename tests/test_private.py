"""Nobody but the owner reads databases and key files, and no password stands in a database."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from focus.alerts import keyfile, settings
from focus.errors import ConfigError
from focus.storage import private
from focus.storage.alerts.store import AlertStore, open_store
from focus.storage.search_index import SearchIndex
from focus.store import Store
from tests.support.outbox import NOON
from tests.support.site import CrawledSite, article

URL = "smtp://me:hunter22@mail.a.test"
GATEWAY = "twilio://SID:TOKEN99@FROM/{phone}"


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def store(path: Path) -> Iterator[AlertStore]:
    with open_store(path, now=NOON, language="zh", zone="Asia/Shanghai") as opened:
        yield opened


# -- files --------------------------------------------------------------------------


def test_alert_store_files_are_private(umask: None, tmp_path: Path) -> None:
    for here in store(tmp_path / "focus.db"):
        crawled = CrawledSite(here, now=NOON)
        crawled.page("/1", "足球决赛", article("足球", 1))
        settings.read(here)
        with SearchIndex(here.path) as index:
            index.update()
            modes_found = modes(tmp_path)
    assert set(modes_found) >= {"focus.db", "focus.db-wal", "focus.db-shm", "focus.db-search"}
    assert modes_found["focus.db.key"] == 0o600
    assert set(modes_found.values()) == {0o600}


async def test_crawl_database_is_private(umask: None, tmp_path: Path) -> None:
    async with Store.open(tmp_path / "crawl.db", now=NOON, pid=1) as store:
        await store.begin_crawl({"topic": ""}, "{}", fresh=True, now=NOON)
        modes_found = modes(tmp_path)
    assert set(modes_found) >= {"crawl.db", "crawl.db-wal", "crawl.db-shm"}
    assert set(modes_found.values()) == {0o600}


def test_alert_store_readable_file_is_restricted(tmp_path: Path) -> None:
    path = tmp_path / "focus.db"
    for _ in store(path):
        pass
    path.chmod(0o664)
    with SearchIndex(path):
        pass
    (tmp_path / "focus.db-search").chmod(0o644)
    for _ in store(path):
        assert set(modes(tmp_path).values()) == {0o600}


def test_create_private_file_existing_file_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("kept")
    private.create_private_file(path)
    assert path.read_text() == "kept"
    private.create_private_file(tmp_path / "nowhere" / "a.db")  # whoever opens it says so


# -- keys ---------------------------------------------------------------------------


def test_database_contains_no_secret_of_channels(tmp_path: Path) -> None:
    path = tmp_path / "focus.db"
    for here in store(path):
        key = settings.read(here).key
        with here.transaction():
            settings.store_sealed(here, "smtp", {"url": URL, "from": "f@a.test"}, key)
            settings.store_sealed(here, "sms", GATEWAY, key)
        read = settings.read(here)
        assert read.mail is not None and read.mail.password == "hunter22"
        assert read.sms == GATEWAY
        files = [file for file in tmp_path.iterdir() if file.name != "focus.db.key"]
        stored = b"".join(file.read_bytes() for file in files)
    for secret in ("hunter22", "TOKEN99", key.hex()):
        assert secret.encode() not in stored
    assert key not in stored


def test_key_file_moved_with_database_opens_channels(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.key"
    for here in store(tmp_path / "focus.db"):
        first = settings.read(here).key
        (tmp_path / "focus.db.key").rename(elsewhere)
        assert settings.read(here, key_file=elsewhere).key == first
        assert settings.read(here).key != first, "a new one beside the database"


def test_other_key_cannot_open_channels(tmp_path: Path) -> None:
    for here in store(tmp_path / "focus.db"):
        key = settings.read(here).key
        with here.transaction():
            settings.store_sealed(here, "smtp", {"url": URL, "from": "f@a.test"}, key)
        (tmp_path / "focus.db.key").unlink()
        with pytest.raises(ConfigError, match=r"focus\.db\.key: does not decrypt .*--forget-pass"):
            settings.read(here)
        second = settings.read(here, options={"smtp_url": "smtp://b%40b.test@b.test"})
        assert second.mail is not None and second.mail.host == "b.test", "nothing has to be opened"
        assert "smtp" not in settings.masked_settings(here, second.key)
        settings.delete_sealed(here)
        assert settings.read(here).mail is None


def test_open_changed_seal_is_rejected(tmp_path: Path) -> None:
    for here in store(tmp_path / "focus.db"):
        with here.transaction():
            here.settings.set("smtp", {"url": URL, "from": "f@a.test"})
        with pytest.raises(ConfigError, match="does not decrypt"):
            settings.read(here)


def test_seal_depends_on_name_and_text() -> None:
    pytest.importorskip("cryptography", reason="the extra [serve] is not installed")
    key = bytes(range(32))
    box = keyfile.seal(key, "smtp", "secret")
    assert keyfile.unseal(key, "smtp", box) == "secret"
    assert keyfile.unseal(key, "sms", box) is None
    assert keyfile.unseal(bytes(32), "smtp", box) is None
    assert keyfile.unseal(key, "smtp", box[:-4]) is None
    assert keyfile.unseal(key, "smtp", box.replace("=", "") + "!") is None
    assert keyfile.seal(key, "smtp", "secret") != box


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "\u00e9"])
def test_key_file_invalid_content_raises(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is not a key file of focus"):
        keyfile.read_key(path)
    assert path.read_text() == text


def test_key_file_unwritable_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory; give another file"):
        keyfile.read_key(tmp_path / "nowhere" / "key")
    with pytest.raises(ConfigError, match="Is a directory"):
        keyfile.read_key(tmp_path)


def test_concurrent_key_creation_gives_same_key(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    path, result = tmp_path / "key", []
    link = os.link

    def slower(draft: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        result.append(keyfile.read_key(path))  # the other one is through first
        link(draft, target)

    monkeypatch.setattr(os, "link", slower)
    assert keyfile.read_key(path) == result[0]
    assert [item.name for item in tmp_path.iterdir()] == ["key"]
