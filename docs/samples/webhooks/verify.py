"""Takes a webhook: checks its signature before anything else is done with it.

Run with the endpoint's secret, the two headers and the body on standard input:

    python3 verify.py whsec_... TIMESTAMP SIGNATURE < body
"""
import hashlib
import hmac
import json
import sys
import time

TOLERANCE_S = 300


def verified(secret, timestamp, signature, body, now=None):
    """The event, or None when this is not ours, was changed, or is too old."""
    signed = timestamp.encode() + b"." + body
    expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return None
    if abs((now or time.time()) - int(timestamp)) > TOLERANCE_S:
        return None
    return json.loads(body)


if __name__ == "__main__":
    event = verified(*sys.argv[1:4], sys.stdin.buffer.read())
    if event is None:
        sys.exit("not ours, or too old")
    print(event["id"], event["type"])
