"""Second factor of an account: codes of an authenticator app (TOTP, RFC 6238) and recovery codes.

    create_setup, confirm_setup   a new secret, which is in use once a code of it was entered
    use_code                      whether a code is right; each is accepted once
    remove                        the password alone is enough again

The codes of the previous and the next 30 seconds are accepted as well, since clocks differ. The
secret is encrypted with the key of the installation; recovery codes are stored as hashes.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from urllib.parse import quote

from focus.alerts import keyfile
from focus.serve import tokens
from focus.storage.alerts.records import Token
from focus.storage.alerts.store import AlertStore

STEP_S, DIGITS, RECOVERY_CODES = 30.0, 6, 10
_SECRET_BYTES, _RECOVERY_BYTES = 20, 15  # 15 bytes are 24 characters of base32


def code_at(secret: str, step: int) -> str:
    """Return the code of a secret (base32) for a time step (RFC 4226, section 5.3)."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def is_on(store: AlertStore, user: int, *, now: float) -> bool:
    """Return whether an account has a second factor."""
    return store.tokens.find("totp", _seal_name(user), now=now) is not None


def count_recovery_codes(store: AlertStore, user: int, *, now: float) -> int:
    """Return the number of unused recovery codes."""
    return len(store.tokens.list_for_user("recovery", user, now=now))


def create_setup(store: AlertStore, key: bytes, user: int, *, now: float) -> str:
    """Return a new secret for an authenticator app; `confirm_setup` starts its use."""
    secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    with store.transaction():
        store.tokens.remove_for_user("totp_setup", user=user)
        data = {"secret": keyfile.seal(key, _seal_name(user), secret), "step": 0}
        tokens.create_token(store, "totp_setup", user=user, now=now, data=data)
    return secret


def setup_link(secret: str, name: str) -> str:
    """Return the link that adds a secret to an authenticator app."""
    return f"otpauth://totp/focus:{quote(name)}?secret={secret}&issuer=focus"


def confirm_setup(
    store: AlertStore, key: bytes, user: int, code: str, *, now: float
) -> list[str] | None:
    """Start the use of the new secret if the code is right, and return the recovery codes."""
    with store.transaction():
        token = store.tokens.find_for_user("totp_setup", user, now=now)
        step = _matching_step(token, key, user, _normalise(code), now=now)
        if token is None or step is None:
            return None
        remove(store, user)
        data = {**token.data, "step": step}
        tokens.create_token(store, "totp", user=user, now=now, data=data, secret=_seal_name(user))
        codes = [
            base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode()
            for _ in range(RECOVERY_CODES)
        ]
        for recovery_code in codes:
            secret = f"{user}:{recovery_code}"
            tokens.create_token(store, "recovery", user=user, now=now, secret=secret)
    return ["-".join(re.findall("....", recovery_code)) for recovery_code in codes]


def use_code(store: AlertStore, key: bytes, user: int, code: str, *, now: float) -> bool:
    """Return whether a code of the app or a recovery code is right; neither works again."""
    code = _normalise(code)
    with store.transaction():
        if len(code) != DIGITS:
            return store.tokens.use("recovery", f"{user}:{code}", now=now) is not None
        token = store.tokens.find("totp", _seal_name(user), now=now)
        step = _matching_step(token, key, user, code, now=now)
        if token is None or step is None:
            return False
        store.tokens.set_data("totp", _seal_name(user), {**token.data, "step": step})
    return True


def remove(store: AlertStore, user: int) -> None:
    """Remove the second factor of an account, with its recovery codes and an unfinished setup."""
    with store.transaction():
        for kind in ("totp", "totp_setup", "recovery"):
            store.tokens.remove_for_user(kind, user=user)


def _matching_step(
    token: Token | None, key: bytes, user: int, code: str, *, now: float
) -> int | None:
    """Return the time step, after the last one that was used, whose code this is."""
    secret = keyfile.unseal(key, _seal_name(user), token.data["secret"]) if token else None
    if token is None or secret is None:
        return None
    current, used = int(now // STEP_S), token.data["step"]
    if used > current + 1:
        used = 0  # the clock was ahead
    for step in range(max(used + 1, current - 1), current + 2):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode("utf-8", "replace")):
            return step
    return None


def _seal_name(user: int) -> str:
    """Return the name under which the secret of an account is stored and sealed."""
    return f"totp {user}"


def _normalise(code: str) -> str:
    return re.sub(r"[\s-]", "", code).upper()
