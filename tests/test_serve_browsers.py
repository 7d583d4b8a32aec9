"""What browsers load and store of `focus serve`, and how they are named."""

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

from focus.serve import browsers
from tests.support.cases import cases
from tests.test_serve import Group, group

__all__ = ["group"]


def test_logout_clears_storage_of_browser(group: Group) -> None:
    assert group.member("ana").post("/logout").headers["clear-site-data"] == '"storage"'


@cases(
    "agent, name",
    ("(Linux; Android 16) Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome, Android"),
    ("(X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox, Linux"),
    ("(Windows NT 10.0) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0", "Edge, Windows"),
    ("(Macintosh; Mac OS X 10_15_7) Version/26.0 Safari/605.1.15", "Safari, macOS"),
    ("curl/8", "?"),
)
def test_browser_name_from_user_agent(agent: str, name: str) -> None:
    assert browsers.browser_name(agent) == name


# -- as an app ------------------------------------------------------------------------


def test_manifest_names_existing_files(group: Group) -> None:
    client = group.browser()
    said = client.get("/manifest.webmanifest")
    assert said.headers["content-type"].startswith("application/manifest+json")
    manifest = said.json()
    assert manifest["display"] == "standalone"
    assert '<link rel="manifest" href="/manifest.webmanifest">' in client.get("/login").text
    for icon in manifest["icons"]:
        answer = client.get(icon["src"])
        assert answer.headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            width, height = (int.from_bytes(answer.content[n : n + 4]) for n in (16, 20))
            assert icon["sizes"] == f"{width}x{height}"
