"""Encryption of a message for one browser (RFC 8291 over RFC 8188) and VAPID (RFC 8292).

It uses the primitives of the package `cryptography`, which `focus serve` requires anyway. The
libraries for it (http-ece, py-vapid) wrap the same primitives and would be two more requirements.
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
"""Size of the one record that every push service accepts (RFC 8291, 4)."""
TOKEN_LIFETIME_S = 12 * 3600
"""How long a push service accepts a token; 24 hours at most (RFC 8292, 2)."""

_CURVE = ec.SECP256R1()
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256


def sender_key(secret: bytes) -> ec.EllipticCurvePrivateKey:
    """Return the key that push services know this installation by, from 32 secret bytes."""
    return ec.derive_private_key(int.from_bytes(secret) % (_ORDER - 1) + 1, _CURVE)


def generate_key() -> ec.EllipticCurvePrivateKey:
    """Return a new key for one message to one browser."""
    return ec.generate_private_key(_CURVE)


def public_point(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half of a key: an uncompressed point of 65 bytes."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def parse_receiver(keys: str) -> tuple[bytes, bytes]:
    """Return the public key and the secret of a browser.

    keys  `p256dh auth` in base64url.

    Raises ValueError for invalid keys.
    """
    try:
        point, auth = (decode_base64url(part) for part in keys.split())
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(auth) != AUTH_BYTES:
        raise ValueError(f"a secret of {len(auth)} bytes")
    ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    return point, auth


def encrypt(
    text: bytes,
    receiver: tuple[bytes, bytes],
    *,
    message_key: ec.EllipticCurvePrivateKey,
    salt: bytes,
) -> bytes:
    """Return the body of a POST to a browser's push service; only the browser can decrypt it.

    text               At most 3,993 bytes.
    receiver           See `parse_receiver`.
    message_key, salt  Used for this message alone.

    Example: RFC 8291, appendix A, which is a test (tests/test_push.py).
    """
    point, auth = receiver
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    shared, public_key = message_key.exchange(ec.ECDH(), theirs), public_point(message_key)
    secret = _derive(auth, shared, b"WebPush: info\0" + point + public_key, 32)
    key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    record = AESGCM(key).encrypt(nonce, text + b"\2", None)  # 2 marks the last record; no padding
    head = salt + RECORD_BYTES.to_bytes(4) + bytes([len(public_key)]) + public_key
    return head + record


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def vapid_authorization(
    key: ec.EllipticCurvePrivateKey, endpoint: str, *, contact: str, now: float
) -> str:
    """Return the Authorization header that identifies this installation (RFC 8292).

    contact  `mailto:` or `https:` address of the operator, or an empty string for none.
    """
    parts = urlsplit(endpoint)
    claims: dict[str, object] = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(now) + TOKEN_LIFETIME_S,
    }
    if contact:
        claims["sub"] = contact
    token = f"{_json({'typ': 'JWT', 'alg': 'ES256'})}.{_json(claims)}"
    numbers = decode_dss_signature(key.sign(token.encode(), ec.ECDSA(SHA256())))
    signature = encode_base64url(b"".join(number.to_bytes(32) for number in numbers))
    return f"vapid t={token}.{signature}, k={encode_base64url(public_point(key))}"


def _json(value: dict[str, object]) -> str:
    return encode_base64url(json.dumps(value, separators=(",", ":")).encode())


def encode_base64url(data: bytes) -> str:
    """Return base64url without padding, as browsers and push services write it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Return the bytes of base64url without padding. Raises binascii.Error."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
