"""A browser as push services and senders know it: its keys, its leave, and how it reads.

    phone = PushedBrowser(hook.url)
    store.browsers.add(1, phone.leave, "Firefox, Android", limit=20, now=NOON)
    phone.read(hook.requests[0].body)              # {"title": …}

Reading is written after RFC 8188 and 8291 and apart from what encrypts in focus: HKDF by hmac
alone, the record taken apart by its header. The RFC's own example is read in tests/test_push.py.
"""

import base64
import hashlib
import hmac
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from focus.storage.alerts.records import PushSubscription


def unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class PushedBrowser:
    """A browser whose push service is at `url`; its keys follow from a number."""

    def __init__(self, url: str, number: int = 1, auth: bytes = b"sixteen  secrets") -> None:
        self.endpoint, self.auth = f"{url}/push/{number}", auth
        self.key = ec.derive_private_key(number, ec.SECP256R1())

    @property
    def point(self) -> bytes:
        key = self.key.public_key()
        return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def leave(self) -> PushSubscription:
        return PushSubscription(self.endpoint, f"{base64url(self.point)} {base64url(self.auth)}")

    @property
    def form(self) -> dict[str, str]:
        """As its script sends it."""
        p256dh, auth = self.leave.keys.split()
        return {"endpoint": self.endpoint, "p256dh": p256dh, "auth": auth}

    def read(self, body: bytes) -> Any:
        """What a message says."""
        return json.loads(self.opened(body))

    def opened(self, body: bytes) -> bytes:
        """A message's text; InvalidTag for what is not for this browser."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size, "one record"
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self.key.exchange(ec.ECDH(), theirs)
        secret = expanded(mac(self.auth, shared), b"WebPush: info\0" + self.point + sender)
        root = mac(salt, secret)
        key = expanded(root, b"Content-Encoding: aes128gcm\0")[:16]
        nonce = expanded(root, b"Content-Encoding: nonce\0")[:12]
        text = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert text[-1:] == b"\2", "the last record"
        return text[:-1]


def mac(key: bytes, text: bytes) -> bytes:
    """HMAC-SHA256: HKDF's extraction (RFC 5869, 2.2)."""
    return hmac.new(key, text, hashlib.sha256).digest()


def expanded(key: bytes, info: bytes) -> bytes:
    """HKDF's first block (RFC 5869, 2.3)."""
    return mac(key, info + b"\1")


def claims(header: str) -> dict[str, Any]:
    """What a sender says of itself, once its signature is found good (RFC 8292)."""
    scheme, _, values = header.partition(" ")
    said = dict(each.strip().split("=", 1) for each in values.split(","))
    signed, _, signature = said["t"].rpartition(".")
    numbers = unbase64(signature)
    r, s = int.from_bytes(numbers[:32], "big"), int.from_bytes(numbers[32:], "big")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unbase64(said["k"]))
    key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
    head, body = (json.loads(unbase64(each)) for each in signed.split("."))
    assert scheme == "vapid" and head == {"typ": "JWT", "alg": "ES256"}
    return {**body, "key": said["k"]}
