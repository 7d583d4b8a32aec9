"""POST requests to servers of users, with the outcome of each.

The same SSRF guard and limits hold as for fetches, since users enter the addresses. Redirects are
not followed and connections are not kept. Of the response to a webhook only the head is read: the
status decides, and the sooner it is stored, the fewer messages a kill repeats.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from focus.fetch import WebFetcher
from focus.http.network_errors import to_one_line
from focus.http.response import FETCH_ERRORS, IncomingResponse, classify_failure
from focus.http.semantics import parse_retry_after
from focus.records import FailureKind, FetchResult


class WebPoster(WebFetcher):
    """HTTP and HTTPS client for POST requests; opened and closed like a `WebFetcher`."""

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> FetchResult:
        """POST `body` once and return the outcome, without the body of the response.

        Nothing is raised for what a server does. `failure` is None for a response with any status.
        """
        return await self._call("POST", url, body, headers, reads_body=False)

    async def call(
        self, url: str, body: bytes, *, headers: Mapping[str, str], method: str
    ) -> FetchResult:
        """Send a request with any method and return the outcome with the body of the response."""
        return await self._call(method, url, body, headers, reads_body=True)

    async def _call(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, reads_body: bool
    ) -> FetchResult:
        incoming = IncomingResponse(self._config, is_robots=reads_body)
        started, start = self._clock(), time.monotonic()
        failure: FailureKind | None = None
        try:
            detail = await self._send(method, url, body, headers, incoming, reads_body)
        except FETCH_ERRORS as error:
            failure, detail = classify_failure(error)
        exchange = incoming.exchange
        if exchange.failure is not None:
            failure, detail = exchange.failure
        retry_after = next((v for k, v in incoming.headers if k == "retry-after"), None)
        return FetchResult(
            url=url,
            fetched_at=started,
            status=incoming.status,
            headers=incoming.headers,
            body=b"" if failure else incoming.body,
            raw_bytes=exchange.received,
            elapsed_s=time.monotonic() - start,
            failure=failure,
            detail=to_one_line(detail),
            retry_after_s=None if retry_after is None else parse_retry_after(retry_after, started),
            address=exchange.address,
        )

    async def _send(
        self,
        method: str,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        incoming: IncomingResponse,
        reads_body: bool,
    ) -> str:
        target = self._place(url)
        fields = {**headers, "Accept": "*/*", "Connection": "close"}
        if body or method == "POST":
            fields["Content-Length"] = str(len(body))
        with self._watch.watch(incoming.exchange):
            async with self._open().send(method, target, fields, body) as response:
                incoming.read_head(response)
                if reads_body:
                    await incoming.read_body(response)
                return f"{response.status} {response.reason}".strip()
