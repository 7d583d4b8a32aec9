"""Nothing that strangers write makes a reader raise or take its time.

Real files, spliced and repeated at random: that reaches deeper than random bytes, which
most readers refuse at their first line. The runs are the same each time (`derandomize`);
FOCUS_FUZZ=N makes N examples of each, and other ones, for a long night.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from focus.alerts.alert import from_json
from focus.alerts.delivery.sms_gateway import parse_gateway
from focus.commands.options.config_file import find_config_file
from focus.errors import FocusError
from focus.evaluate.judgments import read_topics
from focus.http.sessions import read_credentials
from focus.learn.corpus import read_pages
from focus.learn.model_file import load_model
from focus.topic.topic_file import read_topic_file
from tests.support.cases import cases
from tests.support.fuzzed import READERS

LONG = int(os.environ.get("FOCUS_FUZZ", "0"))
EXAMPLES = {"world": 30, "settings": 60}  # these go by files
CPU_S = 3.0
"""Of one example of a long night; they are some KB long, and the slowest reader needs a few ms."""


@st.composite
def spliced(draw: st.DrawFn, models: list[bytes], noise: list[bytes]) -> bytes:
    """Cuts of the models and noise, put together anew, some of them many times."""
    parts: list[bytes] = []
    for _ in range(draw(st.integers(1, 8))):
        model = draw(st.sampled_from(models))
        start = draw(st.integers(0, len(model)))
        piece = model[start : start + draw(st.integers(1, 200))]
        match draw(st.integers(0, 9)):
            case 0:
                piece = draw(st.binary(max_size=12))
            case 1 | 2 if noise:
                piece = b"".join(draw(st.lists(st.sampled_from(noise), max_size=6)))
            case 3:
                piece = piece[:24] * draw(st.integers(1, 300))
            case 4 | 5 | 6:
                piece = model
        parts.append(piece)
    return b"".join(parts)


@pytest.mark.parametrize("name", READERS)
def test_any_input_is_read_or_refused_in_time(name: str) -> None:
    read, seeds, has_form, noise = READERS[name]
    parts = [
        part.encode("utf-8", "surrogateescape")
        for part in [*noise.split(), *" \t\r\n" * bool(noise)]
    ]
    data = spliced(list(seeds()), parts)
    if has_form:
        data = st.builds(bytes.__add__, st.binary(min_size=1, max_size=1), data)

    @settings(
        max_examples=LONG or EXAMPLES.get(name, 150),
        derandomize=not LONG,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data)
    def reads(data: bytes) -> None:
        began = time.process_time()
        read(data)  # what takes for ever holds up a short run, too
        assert not LONG or time.process_time() - began < CPU_S

    reads()


NESTED_TOML, NESTED_JSON = f"a = {'[' * 50_000}", '{"a": ' + "[" * 50_000


@cases(
    "read, text",
    (read_credentials, NESTED_TOML),
    (read_topic_file, NESTED_TOML),
    (lambda path: parse_gateway(path.read_text()), NESTED_TOML),
    (lambda path: find_config_file(path.parent), NESTED_TOML),
    (load_model, NESTED_JSON),
    (lambda path: read_topics(path.read_text(), "x"), f"[{NESTED_JSON}"),
    (lambda path: from_json(path.read_bytes(), "x"), f"[{NESTED_JSON}"),
)
def test_deeply_nested_file_is_one_error(
    read: Callable[[Path], object], text: str, tmp_path: Path
) -> None:
    path = tmp_path / "focus.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FocusError) as raised:
        read(path)
    assert len(str(raised.value).splitlines()) == 1


def test_deeply_nested_example_is_reported_and_skipped(tmp_path: Path) -> None:
    path, problems = tmp_path / "a.jsonl", list[str]()
    path.write_text(f'{NESTED_JSON}\n{{"text": "good"}}\n')
    assert len(list(read_pages(path, problems.append))) == 1
    assert len(problems) == 1
