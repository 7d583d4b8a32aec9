"""Posts bytes to a server, and says what it answers.

A POST under the same guard and limits as every fetch, for addresses that users give us:
nothing is followed and no connection is kept. Of a webhook's answer the head alone is read: it
says all, and the sooner it is noted, the less a kill can make us repeat.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from focus.fetch import WebFetcher
from focus.http.network_errors import one_line
from focus.http.response import FETCH_ERRORS, IncomingResponse, failure_of
from focus.http.semantics import retry_after_s
from focus.records import FailureKind, FetchResult


class WebPoster(WebFetcher):
    """Posts over HTTP and HTTPS; made and closed like a `WebFetcher`."""

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> FetchResult:
        """POST `body` once, and say what came of it; never raises for what a server does.

        A status of any kind is an answer (`failure` None); so there is a failure only
        where there was none. The body of the answer is not read.
        """
        return await self._ask("POST", url, body, headers, reads=False)

    async def ask(
        self, url: str, body: bytes, *, headers: Mapping[str, str], method: str
    ) -> FetchResult:
        """The same by any method, and with the body of the answer, of any type."""
        return await self._ask(method, url, body, headers, reads=True)

    async def _ask(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, reads: bool
    ) -> FetchResult:
        answer = IncomingResponse(self._config, robots=reads)
        started, begun = self._clock(), time.monotonic()
        failure: FailureKind | None = None
        try:
            detail = await self._requested(method, url, body, headers, answer, reads)
        except FETCH_ERRORS as error:
            failure, detail = failure_of(error)
        exchange = answer.exchange
        if exchange.verdict is not None:
            failure, detail = exchange.verdict
        retry_after = next((v for k, v in answer.headers if k == "retry-after"), None)
        return FetchResult(
            url=url,
            fetched_at=started,
            status=answer.status,
            headers=answer.headers,
            body=b"" if failure else answer.body,
            raw_bytes=exchange.received,
            elapsed_s=time.monotonic() - begun,
            failure=failure,
            detail=one_line(detail),
            retry_after_s=None if retry_after is None else retry_after_s(retry_after, started),
            address=exchange.address,
        )

    async def _requested(
        self,
        method: str,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        answer: IncomingResponse,
        reads: bool,
    ) -> str:
        place = self._place(url)
        ours = {**headers, "Accept": "*/*", "Connection": "close"}
        if body or method == "POST":
            ours["Content-Length"] = str(len(body))
        with self._watch.over(answer.exchange):
            async with self._open().ask(method, place, ours, body) as response:
                answer.take_head(response)
                if reads:
                    await answer.read(response)
                return f"{response.status} {response.reason}".strip()
