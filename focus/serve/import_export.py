"""How do concerns come from a file or the command line into an account, and out again?

What comes in is held to what its new owner may have: mail goes to their own confirmed
address or nowhere, apprise channels are for administrators, topic files for the command line.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from focus.alerts.alert import Concern, from_json, to_json
from focus.alerts.page_match import topic_of
from focus.alerts.store import LOCAL
from focus.errors import ConfigError
from focus.serve import accounts, alerts
from focus.serve.forms import MAX_WEBHOOKS
from focus.serve.request import Asked, attached
from focus.serve.texts import Wrong


def export(asked: Asked) -> Response:
    """A person's concerns as a file, as `focus watch export` writes it."""
    mine = (each.concern for each in asked.book.concerns(asked.me.id))
    return attached("focus-concerns.json", to_json(mine))


def take_in(asked: Asked) -> Response:
    """The concerns of such a file: all of them, or none."""
    try:
        made = from_json(asked.form.get("file", "").encode(), asked.say("import_file"))
        mine = {each.concern.name for each in asked.book.concerns(asked.me.id)}
        replace = "replace" in asked.form
        alerts.check_quota(asked, sum(not (replace and each.name in mine) for each in made))
        allowed = [_allowed(asked, each) for each in made]
        for each in allowed:
            topic_of(each, trusted=False)
        asked.book.take_in(asked.me.id, allowed, replace=replace, now=asked.now)
    except (ConfigError, Wrong) as error:
        return alerts.shown(asked, 400, error=asked.wrong(error))
    return alerts.shown(asked, done=_done(asked, made, allowed))


def adopt(asked: Asked) -> Response:
    """An administrator takes over the concerns of the command line, with all they found.

    Those with a topic file stay, and those whose name is taken.
    """
    if not asked.me.admin:
        raise Wrong("not_found")
    mine = {each.concern.name for each in asked.book.concerns(asked.me.id)}
    going = [
        each
        for each in asked.book.concerns(LOCAL)
        if each.concern.name not in mine and not each.concern.topic.strip().endswith(".toml")
    ]
    alerts.check_quota(asked, len(going))
    allowed = [_allowed(asked, each.concern) for each in going]
    with asked.book.transaction() as db:
        for owned, concern in zip(going, allowed, strict=True):
            text = msgspec.json.encode(concern).decode()
            sql = "UPDATE concern SET user = ?, definition = ? WHERE id = ? AND user = ?"
            db.execute(sql, (asked.me.id, text, owned.id, LOCAL))
            db.execute(
                "UPDATE outbox SET user = ? WHERE concern = ? AND state = 0",
                (asked.me.id, owned.id),
            )
        accounts.note(db, asked.me.name, "take over", f"{len(going)} of local", now=asked.now)
    return alerts.shown(asked, done=_done(asked, [each.concern for each in going], allowed))


def _allowed(asked: Asked, concern: Concern) -> Concern:
    """The concern with the channels that its new owner may have."""
    me = asked.me
    mine = {"feed": True, "webhook": True, "apprise": me.admin}
    named = [each for each in concern.channels if mine.get(each.partition(":")[0])]
    hooks = [each for each in named if each.startswith("webhook:")][MAX_WEBHOOKS:]
    if me.phone and any(each.startswith("sms:") for each in concern.channels):
        named.insert(0, f"sms:{me.phone}")
    if me.mail and any(each.startswith("mail:") for each in concern.channels):
        named.insert(0, f"mail:{me.mail}")
    kept = (each for each in ("inbox", *named) if each not in hooks)
    return msgspec.structs.replace(concern, channels=tuple(dict.fromkeys(kept)))


def _done(asked: Asked, before: list[Concern], after: list[Concern]) -> str:
    said = asked.say("imported", n=len(after))
    pairs = zip(before, after, strict=True)
    changed = [new.name for old, new in pairs if set(old.channels) - set(new.channels)]
    if changed:
        said += " " + asked.say("channels_changed", names=", ".join(changed))
    return said
