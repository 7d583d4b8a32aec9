"""Answers requests from a recorded web: a WARC file in the place of the network.

`Archive` answers by URL from a recorded web, in the shape that the live fetcher
has. On first use the file is turned into a pack (see `pack`) in the cache folder;
later uses just open that.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import platformdirs

from focus.archive.pack import Pack, PackError, PackWriter, keys
from focus.archive.warc import Record, read_records, read_response
from focus.config import FetchConfig
from focus.errors import ArchiveError
from focus.http.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from focus.http.semantics import (
    REDIRECTS,
    classify_status,
    is_html,
    parse_retry_after,
    redirect_target,
)
from focus.http.sitemap import read_url_source
from focus.records import FailureKind, FetchResult

_SUFFIX = ".pack"
_BUILDING = "building-"
_DAY_S = 86400.0
_NO_CONFIG = FetchConfig()
_NOT_IN_IT = "404: not in the archive"
_CUT_BY = {  # WARC-Truncated, WARC/1.1 section 5.13
    "length": FailureKind.TOO_LARGE,
    "time": FailureKind.TIMEOUT,
    "disconnect": FailureKind.RESET,
    "unspecified": FailureKind.NOT_HTML,  # with no body at all: nobody wanted it
}


class Archive:
    """A recorded web. Open it with `Archive.open`; lookups need no lock.

    damage  what of the file could not be read, in one line; None if all could
    digest  SHA-256 of the archive file, in hex: its identity in reports
    """

    def __init__(self, file: BinaryIO, limits: FetchConfig) -> None:
        self._file = file
        self._limits = limits
        self._pack = Pack(file)
        self.damage = self._pack.damage
        self.digest = self._pack.source
        known = f"{_NOT_IN_IT}, which is damaged" if self.damage else _NOT_IN_IT
        self._unknown = FetchResult("", 0.0, 404, detail=known)

    @classmethod
    def open(
        cls, path: Path, *, cache_dir: Path | None = None, limits: FetchConfig = _NO_CONFIG
    ) -> Archive:
        """Open a WARC file, plain, as gzip or as zstd.

        The first time it is packed into `cache_dir` (default: the user's cache
        folder), under a name made of path, size and time, in one atomic step.
        `limits` says which types and sizes of body are wanted. Raises
        ArchiveError when the file cannot be read or the pack not be written.
        """
        folder = cache_dir or Path(platformdirs.user_cache_dir("focus")) / "archives"
        try:
            stat = path.stat()
            place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
            target = folder / f"{place}-{stat.st_size}-{stat.st_mtime_ns}{_SUFFIX}"
            with suppress(FileNotFoundError, PackError):
                return cls._open_pack_file(target, limits)
            source = path.open("rb")
        except OSError as error:
            raise ArchiveError(
                "cannot read the archive {path}: {error}", path=path, error=error
            ) from error
        with source:
            _build_pack(source, path, target)
        return cls._open_pack_file(target, limits)

    @classmethod
    def _open_pack_file(cls, target: Path, limits: FetchConfig) -> Archive:
        file = target.open("rb", buffering=0)
        try:
            return cls(cast(BinaryIO, file), limits)
        except PackError:
            file.close()
            raise

    def __len__(self) -> int:
        return len(self._pack)

    def __contains__(self, url: str) -> bool:
        return self._find_row(url) is not None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file; lookups are over."""
        self._file.close()

    def urls(self) -> Iterator[str]:
        """Every archived URL once, in the order of first capture."""
        return self._pack.urls()

    @cached_property
    def recorded_at(self) -> float:
        """The time of the recording in Unix seconds; 0.0 if it is unknown.

        It is the latest time of 64 pages spread over the archive.
        """
        rows = range(0, len(self), max(1, len(self) // 64))
        return max((self._pack.response(row).fetched_at for row in rows), default=0.0)

    def lookup(
        self, url: str, *, robots: bool = False, fetched_at: float = 0.0, elapsed_s: float = 0.0
    ) -> FetchResult:
        """Return the response of the recorded web to a request for `url`.

        http and https are one, fragments and default ports do not count, paths
        are compared percent-decoded, and a query is ignored when only the path
        is archived. An unknown URL gives status 404. With `robots` a body of any
        type is handed over, cut at 500 KiB.
        """
        row = self._find_row(url)
        try:
            stored = self._unknown if row is None else self._pack.response(row)
        except PackError as error:
            raise ArchiveError(
                "{name}, the cached form of the archive, is damaged; delete it",
                name=self._file.name,
            ) from error
        body, failure, detail, target = b"", stored.failure, stored.detail, None
        source = None
        limit = MAX_ROBOTS_BYTES if robots else self._limits.max_body_bytes
        wait, status = stored.header("retry-after"), stored.status or 0
        if refused := classify_status(status, wait is not None):
            failure, detail = refused, detail or str(status)
        elif status in REDIRECTS:
            failure, detail, target = _redirect_outcome(url, stored)
        else:
            failure, detail = self._judge_response(stored, robots)
            if self._limits.sitemaps and stored.body and not robots:
                source = read_url_source(stored.body)
            if source is not None:
                failure, detail, body = None, "", stored.body[:limit]
            elif failure in (None, FailureKind.TOO_LARGE):
                body = stored.body[:limit]
        is_cut = stored.is_truncated or len(stored.body) > limit
        return msgspec.structs.replace(
            stored,
            url=url,
            fetched_at=fetched_at,
            body=body,
            elapsed_s=elapsed_s,
            failure=failure,
            detail=detail,
            redirect_to=target,
            retry_after_s=parse_retry_after(wait, stored.fetched_at) if wait else None,
            is_truncated=failure is FailureKind.TOO_LARGE or (not failure and is_cut),
            url_source=source,
        )

    def _judge_response(self, answer: FetchResult, robots: bool) -> tuple[FailureKind | None, str]:
        """Failure and detail of a 2xx answer, judged in the order of the web fetcher."""
        limits, kind = self._limits, answer.header("content-type")
        too_large = FailureKind.TOO_LARGE
        if answer.failure and (answer.failure is not too_large or not answer.body):
            return answer.failure, answer.detail
        if robots:
            return None, answer.detail
        if not answer.body:
            return FailureKind.EMPTY, f"{answer.status} without a body"
        if not is_html(kind, answer.body, limits.content_types):
            return FailureKind.NOT_HTML, kind or "no Content-Type, and no HTML"
        if answer.raw_bytes > limits.max_raw_bytes:
            return too_large, f"over {limits.max_raw_bytes} bytes"
        if answer.failure or len(answer.body) > limits.max_body_bytes:
            return too_large, f"over {limits.max_body_bytes} bytes after decoding"
        return None, answer.detail

    def _find_row(self, url: str) -> int | None:
        return next((row for key in keys(url) if (row := self._pack.find(key)) is not None), None)


def _redirect_outcome(url: str, answer: FetchResult) -> tuple[FailureKind | None, str, str | None]:
    """Failure, detail and target of an archived redirect."""
    target = redirect_target(url, answer.header("location"))
    if target is None:
        return FailureKind.REDIRECT, f"{answer.status} without a usable Location", None
    if next(keys(target), None) == next(keys(url), None):  # http and https are one here
        return FailureKind.REDIRECT, f"{answer.status} to itself, the target was not recorded", None
    return None, "", target


def _build_pack(source: BufferedReader, path: Path, target: Path) -> None:
    """Packs a WARC file: beside the target first, then in its place."""
    part = target.with_name(f"{_BUILDING}{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.touch(0o600)  # recorded pages may be the user's alone
        with part.open("wb") as file:
            _write_pack(source, path, file)
        part.replace(target)
    except OSError as error:
        raise ArchiveError(
            "cannot unpack {path} into {parent}: {error}",
            path=path,
            parent=target.parent,
            error=error,
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    _remove_old_packs(target)


def _remove_old_packs(target: Path) -> None:
    """Remove packs of earlier states of the archive, and partial files of killed processes."""
    folder, place = target.parent, target.name.partition("-")[0]
    with suppress(OSError):
        born = target.stat().st_mtime
        for old in folder.glob(f"{place}-*{_SUFFIX}"):
            if old != target:
                old.unlink()
        for torn in folder.glob(f"{_BUILDING}*"):
            if torn.stat().st_mtime < born - _DAY_S:
                torn.unlink()


def _write_pack(source: BufferedReader, path: Path, file: BinaryIO) -> None:
    """Write the pack of a WARC file."""
    losses: list[str] = []
    writer = PackWriter(file)
    try:
        for record in read_records(source, losses.append):
            _add_record(writer, record)
    except ArchiveError as error:
        raise ArchiveError(
            "cannot read the archive {path}: {error}", path=path, error=error
        ) from error
    if not len(writer):
        why = losses[0] if losses else "it has no response record"
        raise ArchiveError("cannot use the archive {path}: {why}", path=path, why=why)
    more = f" (and {len(losses) - 1} more)" if len(losses) > 1 else ""
    source.seek(0)
    writer.finish(
        source=hashlib.file_digest(source, "sha256").hexdigest(),
        damage=losses[0] + more if losses else None,
    )


def _add_record(writer: PackWriter, record: Record) -> None:
    """Add a record to the pack if it is a response to a web request."""
    url = record.headers.get("warc-target-uri", "").strip("<>")
    key = next(keys(url), None)
    if key is None:
        return
    if record.headers.get("warc-type") == "revisit":  # as before, here or where it refers to
        original = record.headers.get("warc-refers-to-target-uri", "").strip("<>")
        stored_key = next(keys(original), None)
        if stored_key is not None and stored_key in writer and key not in writer:
            writer.alias(key, url, stored_key)
        return
    response = _convert_response(record)
    if response is None or (record.broken and key in writer):
        return
    target = response.status in REDIRECTS and redirect_target(url, response.header("location"))
    if target and next(keys(target), None) == key and key in writer:
        return  # http:// sent on to https:// after the page itself: keep the page
    writer.add(key, url, response)


def _convert_response(record: Record) -> FetchResult | None:
    """Return the response in a record, with the record's data about its capture."""
    fields, response = record.headers, None
    date, address = _unix_seconds(fields.get("warc-date", "")), fields.get("warc-ip-address")
    match fields.get("warc-type"):
        case "response":
            response = read_response(record.block)
        case "resource":
            headers = (("content-type", fields.get("content-type", "")),)
            response = FetchResult("", date, 200, headers, record.block, len(record.block))
    if response is None:
        return None
    cut = "length" if record.cut else fields.get("warc-truncated", "").lower()
    changes: dict[str, object] = {}
    if cut == "unspecified" and response.body:
        detail = response.detail or "capture was cut: unspecified"
        changes = {"is_truncated": True, "detail": detail}
    elif cut in _CUT_BY:
        changes = {"failure": _CUT_BY[cut], "detail": f"capture was cut: {cut}"}
    elif record.broken:
        detail = "the archive breaks off in it; what came is kept"
        changes = {"is_truncated": True, "detail": detail}
    return msgspec.structs.replace(response, fetched_at=date, address=address, **changes)


def _unix_seconds(date: str) -> float:
    """Return a WARC-Date (W3C profile of ISO 8601, UTC) as Unix seconds; 0.0 if invalid."""
    try:
        return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
