"""All behaviours, by id."""

from dataclasses import replace

from tests.hostile import bodies, escapes, framing, rules, texts, tls, traps
from tests.hostile.case import Case
from tests.hostile.secure import authority

GROUPS: dict[str, list[Case]] = {
    "bodies": bodies.CASES, "framing": framing.CASES, "tls": tls.CASES, "escapes": escapes.CASES,
    "texts": texts.CASES, "traps": traps.CASES, "rules": rules.CASES,
}  # fmt: skip


def table() -> dict[str, Case]:
    """Every behaviour under its id, which is unique."""
    cases = [replace(case, group=group) for group, members in GROUPS.items() for case in members]
    by_id = {case.id: case for case in cases}
    assert len(by_id) == len(cases), "two behaviours have one id"
    return by_id


def prepare() -> None:
    """Pack the bombs and make the certificates, so that the server need not while it is asked."""
    for coding in bodies.BOMBS:
        bodies.bomb(coding)
    rules.sitemap_bomb()
    for case in table().values():
        if case.url.startswith("https:") and case.hello is None:
            authority().context(case.tls, case.name)
