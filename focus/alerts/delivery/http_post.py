"""Posts bytes to a server, and says what it answers.

A POST under the same guard and limits as every fetch, for addresses that users give us:
nothing is followed, no connection is kept, and of the answer its head alone is read: it says
all, and the sooner it is noted, the less a kill can make us repeat.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from focus.fetch import WebFetcher
from focus.http.network_errors import SERVER_FAULTS, explain, one_line
from focus.http.response import FetchFailed, IncomingResponse
from focus.http.semantics import retry_after_s
from focus.records import FailureKind, FetchResult


class WebPoster(WebFetcher):
    """Posts over HTTP and HTTPS; made and closed like a `WebFetcher`."""

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> FetchResult:
        """POST `body` once, and say what came of it; never raises for what a server does.

        A status of any kind is an answer (`failure` None); so there is a failure only
        where there was none. The body of the answer is not read.
        """
        answer = IncomingResponse(self._config, robots=False)
        started, begun = self._clock(), time.monotonic()
        failure: FailureKind | None = None
        try:
            detail = await self._post(url, body, headers, answer)
        except FetchFailed as error:
            failure, detail = error.kind, error.detail
        except SERVER_FAULTS as error:
            failure, detail = explain(error)
        exchange = answer.exchange
        if exchange.verdict is not None:
            failure, detail = exchange.verdict
        retry_after = next((v for k, v in answer.headers if k == "retry-after"), None)
        return FetchResult(
            url=url,
            fetched_at=started,
            status=answer.status,
            headers=answer.headers,
            raw_bytes=exchange.received,
            elapsed_s=time.monotonic() - begun,
            failure=failure,
            detail=one_line(detail),
            retry_after_s=None if retry_after is None else retry_after_s(retry_after, started),
            address=exchange.address,
        )

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], answer: IncomingResponse
    ) -> str:
        target = self._target(url)
        ours = {**headers, "Accept": "*/*", "Connection": "close"}
        if target.host is not None:
            ours["Host"] = target.host
        with self._watch.over(answer.exchange):
            async with self._open().post(
                target.url,
                data=body,
                headers=ours,
                proxy=self._config.proxy,
                allow_redirects=False,
            ) as response:
                answer.take_head(response)
                return f"{response.status} {response.reason or ''}".strip()
