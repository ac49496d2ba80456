#!/usr/bin/env python3
"""Creates conversations of a customer, reads one, changes it, and lists them all, page by page.

    BASE_URL=http://127.0.0.1:8080/api/v1 FULL_KEY=svc_live_... ./python.py [CUSTOMER]

Python 3.8 or later, nothing else.
"""
import email.utils
import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

BASE_URL = os.environ["BASE_URL"]
FULL_KEY = os.environ["FULL_KEY"]
ATTEMPTS = 6


def seconds_of(retry_after):
    """Retry-After has seconds or a date."""
    if retry_after.isdigit():
        return int(retry_after)
    try:
        return max(0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0


def send(method, path, body):
    """One attempt: the status, the answer's text, and how long to wait before the next one."""
    request = urllib.request.Request(
        BASE_URL + path,
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Authorization": "Bearer " + FULL_KEY, "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read(), 0
    except urllib.error.HTTPError as error:
        return error.code, error.read(), seconds_of(error.headers.get("Retry-After", "0"))


def api(method, path, body=None):
    """A failure of the service or the network is tried again with the same body; a refusal is
    final."""
    for attempt in range(1, ATTEMPTS + 1):
        wait = 0
        try:
            status, text, wait = send(method, path, body)
            if status < 300:
                return json.loads(text)
            if attempt == ATTEMPTS or status not in (429, 500, 502, 503, 504):
                raise RuntimeError(f"{status} {text.decode()}")
        except (OSError, http.client.HTTPException):
            if attempt == ATTEMPTS:
                raise
        # At least Retry-After, ever longer, and not all clients at the same moment.
        time.sleep(wait + 2**attempt * random.random())


def create(customer, order):
    return api(
        "POST",
        "/conversations",
        {
            "external_id": f"{customer}-order-{order}",
            "from": {"external_id": customer},
            "custom_attributes": {"plan": "pro"},
        },
    )


def conversations(customer):
    """Every conversation of the customer. A page is no snapshot, hence the set."""
    seen = set()
    cursor = None
    while True:
        page = api(
            "POST",
            "/conversations/search",
            {
                "query": {"field": "contact.external_id", "operator": "=", "value": customer},
                "pagination": {"per_page": 2, "starting_after": cursor},
            },
        )
        for conversation in page["conversations"]:
            if conversation["id"] not in seen:
                yield conversation
            seen.add(conversation["id"])
        if "next" not in page["pages"]:
            return
        cursor = page["pages"]["next"]["starting_after"]


def main():
    customer = sys.argv[1] if len(sys.argv) > 1 else "user-7"
    for order in (1, 2, 3):
        made = create(customer, order)
        print("created", made["id"])

    # Sent again, a create finds what is there: a client that is in doubt just repeats it.
    print("replayed", create(customer, 3)["id"])

    found = api("GET", "/conversations/" + made["id"])
    print(f"read {found['external_id']}, {found['status']}")

    # A merge: sets "seats", removes "plan", leaves other attributes alone.
    changed = api(
        "PUT",
        "/conversations/" + made["id"],
        {"custom_attributes": {"seats": 6, "plan": None}},
    )
    print("attributes", json.dumps(changed["custom_attributes"], separators=(",", ":")))

    for conversation in conversations(customer):
        print("found", conversation["id"])


if __name__ == "__main__":
    main()
