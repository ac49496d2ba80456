"""Verifies a webhook delivery before anything else is done with it."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import WebhookError

TOLERANCE_S = 300


@dataclass(frozen=True)
class Event:
    """An event. It may arrive twice: remember the ``id`` of those you have handled."""

    id: str
    type: str
    created_at: int
    data: Mapping[str, Any]


def verify(
    secret: str,
    timestamp: str | None,
    signature: str | None,
    body: bytes,
    *,
    tolerance: float = TOLERANCE_S,
    now: float | None = None,
) -> Event:
    """Returns the event of a delivery.

    ``secret`` is the endpoint's, with ``whsec_``. ``timestamp`` and ``signature`` are the headers
    X-Service-Timestamp and X-Service-Signature. ``body`` is the raw body: its bytes would differ after
    parsing and writing.

    Raises a WebhookError when the service did not send the delivery, when it was changed, or when
    its timestamp is more than ``tolerance`` seconds off.
    """
    if not isinstance(body, bytes):
        raise TypeError("body must be the raw bytes")
    if not secret:
        raise ValueError("secret must not be empty")
    if not timestamp or not signature:
        raise WebhookError("a header is missing: X-Service-Timestamp, X-Service-Signature")
    signed = _bytes_of(timestamp) + b"." + body
    expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), _bytes_of(signature)):
        raise WebhookError("the signature does not match")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookError("the timestamp is not a number")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookError("the timestamp is too far from now")
    event = json.loads(body)
    return Event(event["id"], event["type"], event["created_at"], event["data"])


def _bytes_of(header: str) -> bytes:
    """Some servers pass bytes that are not UTF-8 as lone surrogates, which codecs refuse by default."""
    return header.encode("utf-8", "surrogatepass")
