"""What a receiver of webhooks does first: see that a call comes from the server (Standard Webhooks)."""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time

LEAST_KEY_BYTES = 24


class WebhookError(Exception):
    """A call that is not to be believed: answer it with 400 and do nothing."""


def verify_webhook(body, headers, secrets, *, tolerance_seconds=300, now=None):
    """The events of a call that is signed by one of the secrets and fresh: {"id": ..., "events": [...]}.

    body     bytes, as they came: not parsed and written again
    headers  a mapping; names in any case
    secrets  what `webhooks.secret` holds, "whsec_...": one, or a list of both during a rotation
    now      seconds since the Unix epoch
    Raises WebhookError.
    """
    if isinstance(body, str):
        body = body.encode()
    named = {name.lower(): value for name, value in headers.items()}
    call_id, timestamp, signatures = (_header(named, f"webhook-{what}") for what in ("id", "timestamp", "signature"))
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookError("webhook-timestamp is no number of seconds")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise WebhookError("webhook-timestamp is too far from now")
    signed = f"{call_id}.{timestamp}.".encode() + body
    given = [one[3:].encode() for one in signatures.split(" ") if one.startswith("v1,")]
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    wanted = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    if not any(hmac.compare_digest(one, other) for one in given for other in wanted):
        raise WebhookError("no signature is by a secret that is known here")
    return {"id": call_id, "events": json.loads(body)["events"]}


def _key(secret):
    try:
        key = base64.b64decode(secret[len("whsec_"):], validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith("whsec_") or len(key) < LEAST_KEY_BYTES:
        raise ValueError("a secret of webhooks is whsec_ and base64 of 24 bytes or more")
    return key


def _header(headers, name):
    value = headers.get(name)
    if not value:
        raise WebhookError(f"{name} is missing")
    return value
