"""Encrypts a message for one browser, and says to its push service who sends it.

RFC 8291 over RFC 8188 (`aes128gcm`), and RFC 8292 (VAPID). With the primitives of the package
`cryptography`, which seals our secrets anyway, each is a dozen lines: the libraries for it
(http-ece, py-vapid) are the same lines around the same primitives, and a requirement more each.
"""

from __future__ import annotations

import base64
import binascii
import json
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SALT_BYTES = 16
AUTH_BYTES = 16
RECORD_BYTES = 4096
"""One record is all that push services have to take (RFC 8291, 4)."""
LIFE_S = 12 * 3600
"""How long a push service may believe a token; 24 hours at most (RFC 8292, 2)."""

_CURVE = ec.SECP256R1()
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256


def sender_key(secret: bytes) -> ec.EllipticCurvePrivateKey:
    """The key by which push services know us, of 32 secret bytes: the same of the same."""
    return ec.derive_private_key(int.from_bytes(secret) % (_ORDER - 1) + 1, _CURVE)


def one_time_key() -> ec.EllipticCurvePrivateKey:
    """A key for one message to one browser."""
    return ec.generate_private_key(_CURVE)


def public(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Its public half: 65 bytes, an uncompressed point."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def receiver_of(keys: str) -> tuple[bytes, bytes]:
    """A browser's public key and secret, of `p256dh auth` in base64url; ValueError for no such."""
    try:
        point, auth = (unbase64(each) for each in keys.split())
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(auth) != AUTH_BYTES:
        raise ValueError(f"a secret of {len(auth)} bytes")
    ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    return point, auth


def encrypted(
    text: bytes, receiver: tuple[bytes, bytes], *, own: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """The body of a POST to a browser's push service, which only the browser can read.

    text      at most 3,993 bytes
    receiver  see `receiver_of`
    own, salt  of this message alone

    The worked example of RFC 8291, appendix A, is a test (tests/test_push.py).
    """
    point, auth = receiver
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    shared, ours = own.exchange(ec.ECDH(), theirs), public(own)
    secret = _derived(auth, shared, b"WebPush: info\0" + point + ours, 32)
    key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
    record = AESGCM(key).encrypt(nonce, text + b"\2", None)  # 2: the last record, no padding
    head = salt + RECORD_BYTES.to_bytes(4) + bytes([len(ours)]) + ours
    return head + record


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def authorization(
    key: ec.EllipticCurvePrivateKey, endpoint: str, *, contact: str, now: float
) -> str:
    """The header by which a push service knows us (RFC 8292).

    contact  `mailto:` or `https:` address of who runs this installation; "": none is named
    """
    parts = urlsplit(endpoint)
    claims: dict[str, object] = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(now) + LIFE_S,
    }
    if contact:
        claims["sub"] = contact
    said = f"{_json({'typ': 'JWT', 'alg': 'ES256'})}.{_json(claims)}"
    numbers = decode_dss_signature(key.sign(said.encode(), ec.ECDSA(SHA256())))
    signature = base64url(b"".join(each.to_bytes(32) for each in numbers))
    return f"vapid t={said}.{signature}, k={base64url(public(key))}"


def _json(value: dict[str, object]) -> str:
    return base64url(json.dumps(value, separators=(",", ":")).encode())


def base64url(data: bytes) -> str:
    """Without padding, as browsers and push services write it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unbase64(text: str) -> bytes:
    """The bytes of it; binascii.Error for what is none."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
