"""Related terms of a topic from a language model behind an OpenAI-compatible endpoint.

Ollama, llama.cpp, vLLM and hosted services answer `POST …/chat/completions`. One request asks for
the terms of one topic. The answer is untrusted: its size and form are limited here, everyday words
are dropped, and the other words pass the rule of `focus.topic.terms`.

    ask_for_json   rules, prompt, form of the answer → answer of the model
    propose_terms  topic, endpoint → terms in the answer of the model
    add_llm_terms  topic, answer → topic with other names and related terms
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from focus.config import FetchConfig
from focus.errors import LanguageModelError
from focus.fetch import WebPoster
from focus.i18n import msg
from focus.learn.everyday import is_everyday
from focus.records import FetchResult
from focus.text.formatting import printable
from focus.topic.terms import LLM, add_names, add_terms, is_usable
from focus.topic.topic import Topic

T = TypeVar("T")

TIMEOUT_S = 180.0  # of one request; a small machine needs a minute for 60 terms
MAX_ANSWER_BYTES = 1_000_000
MAX_TERMS_PER_LANGUAGE = 30
MAX_NAMES = 5
_NAME_WEIGHT = 0.5  # of another name: a model may name a wider field
_RETRY_PAUSES_S = (2.0, 10.0)
_MAX_PAUSE_S = 30.0
_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
_FORMAT_REFUSED = frozenset({400, 422})  # by servers without structured output
_MAX_OBJECTS = 20  # places of the text at which a JSON object is tried

_RULES = """\
Write terms for a web crawler that looks for pages about one topic. Answer with one JSON object
{"names": [...], "chinese": [...], "english": [...]} and nothing else.
"chinese" and "english": 15 to 30 specific terms each. A page that contains such a term is nearly
always about the topic: technical terms, methods, rules, organisations, events, works, products.
No sister topics (other sports, other sciences), no words of the wider field, no everyday words.
A frequent word is allowed as part of a phrase. A term has one to four words and does not contain a
name of the topic.
"names": exact synonyms, abbreviations and translations of the topic's name, at most 5."""


class Endpoint(NamedTuple):
    """Address of a language model, its name, and the key that is sent to it; "" if there is none.

    url  base address such as http://localhost:11434/v1, or that of its `chat/completions`
    """

    url: str
    model: str = ""
    key: str = ""

    @property
    def completions_url(self) -> str:
        """The address of requests; a base address without a path gets `/v1`."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/") or "/v1"
        if not path.endswith("/chat/completions"):
            path += "/chat/completions"
        return parts._replace(path=path, fragment="").geturl()

    @property
    def name(self) -> str:
        """The address without its query, for messages."""
        return urlsplit(self.url)._replace(query="", fragment="").geturl()


class TermAnswer(msgspec.Struct, frozen=True):
    """The proposals of a model: other names of the topic, terms in two languages.

    Raises ValueError without a term.
    """

    names: list[str] = []
    chinese: list[str] = []
    english: list[str] = []

    def __post_init__(self) -> None:
        if not (self.chinese or self.english):
            raise ValueError("no terms")


# -- the request --------------------------------------------------------------------


async def propose_terms(
    topic: Topic, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> TermAnswer:
    """Ask a language model for the terms of a topic; errors as in `ask_for_json`."""
    words = list(dict.fromkeys([topic.name, *(k.text for k in topic.keywords[:20])]))
    prompt = f"Topic: {json.dumps(words, ensure_ascii=False)}"
    array = {"type": "array", "items": {"type": "string"}}
    schema = dict.fromkeys(TermAnswer.__struct_fields__, array)
    return await ask_for_json(endpoint, _RULES, prompt, schema, TermAnswer, sleep=sleep)


async def ask_for_json(
    endpoint: Endpoint,
    rules: str,
    prompt: str,
    schema: dict[str, Any],
    kind: type[T],
    *,
    timeout_s: float = TIMEOUT_S,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> T:
    """Ask a language model for one JSON object.

    A server that refuses structured output is asked once more without it. Status 429 and 5xx are
    retried twice. The user names the endpoint, so that it may have a private address.

    Args:
        rules: System message.
        schema: JSON schema of each key of the object.
        kind: Struct of the answer.

    Raises LanguageModelError if the answer has no such object.
    """
    config = FetchConfig(
        total_timeout_s=timeout_s,
        read_timeout_s=timeout_s,
        min_rate_bytes_s=0.0,
        max_body_bytes=MAX_ANSWER_BYTES,
        max_raw_bytes=MAX_ANSWER_BYTES,
        any_type=True,
        allow_net=("0.0.0.0/0", "::/0"),
        concurrency=1,
    )
    whole = {"type": "object", "properties": schema, "required": list(schema)}
    form = {"name": "answer", "strict": True, "schema": whole | {"additionalProperties": False}}
    body = {
        **({"model": endpoint.model} if endpoint.model else {}),
        "messages": [
            {"role": "system", "content": rules},
            {"role": "user", "content": prompt},
        ],
        "response_format": {"type": "json_schema", "json_schema": form},
    }
    async with WebPoster(config) as poster:
        result = await _post(poster, endpoint, body, sleep)
        if result.status in _FORMAT_REFUSED:
            del body["response_format"]
            result = await _post(poster, endpoint, body, sleep)
    answer = parse_answer(result.body, kind) if result.status == 200 else None
    if answer is not None:
        return answer
    problem = result.detail
    if not result.failure and result.status == 200:
        problem = msg("its answer lacks the requested JSON")
    elif not result.failure:
        reason = _read(result.body, "error", "message") or _read(result.body, "error")
        reason = reason.replace(endpoint.key, "…") if endpoint.key else reason
        problem = printable(f"{problem} {reason}", 200)
    raise LanguageModelError(
        "language model at {url}: {problem}", url=endpoint.name, problem=problem
    )


async def _post(
    poster: WebPoster,
    endpoint: Endpoint,
    body: dict[str, Any],
    sleep: Callable[[float], Awaitable[object]],
) -> FetchResult:
    """Send one request, again after a pause if the server is overloaded."""
    headers = {"Content-Type": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    data = msgspec.json.encode(body)
    for pause_s in (*_RETRY_PAUSES_S, None):
        result = await poster.call(endpoint.completions_url, data, headers=headers)
        if pause_s is None or result.failure or result.status not in _RETRIED_STATUSES:
            break
        asked_s = result.retry_after_s
        await sleep(min(pause_s if asked_s is None else asked_s, _MAX_PAUSE_S))
    return result


# -- the answer ---------------------------------------------------------------------


def parse_answer(body: bytes, kind: type[T]) -> T | None:
    """Return the first JSON object of that kind in a response; None if there is none."""
    text = _read(body, "choices", 0, "message", "content")
    for match in islice(re.finditer("{", text), _MAX_OBJECTS):
        with suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text, match.start())
            return msgspec.convert(value, kind)
    return None


def _read(body: bytes, *path: str | int) -> str:
    """Return the text at a path of a JSON document; "" if there is none."""
    try:
        value = json.loads(body)
        for key in path:
            value = value[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def add_llm_terms(topic: Topic, answer: TermAnswer) -> Topic:
    """Return the topic with the names and terms of an answer that may serve as such."""
    topic = add_names(topic, _choose(answer.names, MAX_NAMES), LLM, weight=_NAME_WEIGHT)
    chosen = [
        word
        for words in (answer.chinese, answer.english)
        for word in _choose(words, MAX_TERMS_PER_LANGUAGE)
    ]
    return add_terms(topic, chosen, LLM)


def _choose(words: Iterable[str], limit: int) -> list[str]:
    """Return the first usable words that are not everyday words."""
    return list(islice((w for w in words if is_usable(w) and not is_everyday(w)), limit))
