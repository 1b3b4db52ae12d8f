"""The tokens with which users come: signed by your back end, checked by the server."""

import base64
import hashlib
import hmac
import json
import subprocess
import tempfile
import time


def mint_token(user_id, *, secret=None, sign=None, key_id=None, ttl_seconds=3600, issuer=None,
               audience=None, rights=None, now=None):
    """A JWT for one user. Raises ValueError where a token would be refused.

    secret   HS256: what `auth.secret` holds
    sign     EdDSA: takes bytes, gives their Ed25519 signature. That of a library
             (`Ed25519PrivateKey.sign` of `cryptography`), or `openssl_signer(...)`
    rights   narrows what the holder may do: {"rooms": ["doc-*"], "watch": False, ...}
    now      seconds since the Unix epoch
    """
    if not isinstance(user_id, str) or not user_id.strip() or len(user_id.encode()) > 128:
        raise ValueError("user_id is a text of 1 to 128 bytes")
    if (secret is None) == (sign is None):
        raise ValueError("either secret or sign signs a token")
    if secret == "" or ttl_seconds <= 0:
        raise ValueError("secret is not empty, and ttl_seconds is above 0")
    issued = int(time.time() if now is None else now)
    head = {"alg": "EdDSA" if secret is None else "HS256", "typ": "JWT", "kid": key_id}
    claims = {"sub": user_id, "iat": issued, "exp": issued + int(ttl_seconds), "iss": issuer,
              "aud": audience, "presence": rights}
    text = f"{_encoded(head)}.{_encoded(claims)}"
    if secret is None:
        signature = sign(text.encode())
    else:
        signature = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return f"{text}.{_base64url(signature)}"


def openssl_signer(private_key_file):
    """Signs with an Ed25519 key in a PEM file by the program `openssl` (3.0 on), as the standard library cannot. It takes
    some milliseconds a token."""

    def sign(message):
        with tempfile.NamedTemporaryFile() as file:  # A pipe will not do: it wants to know the size.
            file.write(message)
            file.flush()
            command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", private_key_file, "-in", file.name]
            done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0 or len(done.stdout) != 64:
            raise ValueError(f"openssl could not sign with {private_key_file}: {done.stderr.decode().strip()}")
        return done.stdout

    return sign


def _encoded(value):
    kept = {name: one for name, one in value.items() if one is not None}
    return _base64url(json.dumps(kept, separators=(",", ":")).encode())


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
