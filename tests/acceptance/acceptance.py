#!/usr/bin/env python3
"""Tests a deployment as a customer and as an operator; exits with 0 if every answer is right.

Makes a separate organization over the bus, then uses all operations of the API, reads the audit
log, and receives a webhook. If WEBHOOK_ALLOW_CIDRS does not allow the deployment to send webhooks
to private addresses, it must refuse this one, and the run reports that.

    BASE_URL              of the API, as its clients reach it
    GATEWAY               HOST:PORT that leads to every replica of the gateway
    DASHBOARD_URL         the operators' page
    NATS_URL_FILE         the bus, for convctl
    WEBHOOK_SERVICE       host name of the service that sends webhooks
    WEBHOOK_ALLOW_CIDRS   the deployment's setting
    RECEIVER_CA_FILE, RECEIVER_CA_KEY_FILE   signs the receiver's certificate; the deployment trusts it
"""
import ipaddress
import os
import time
import urllib.request
import uuid

from client import Api, Mismatch, check, convctl, end, replicas
from receiver import Receiver, own_address

RUN = uuid.uuid4().hex[:8]
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever the environment says
TIMEOUT_S = 20


def until(question):
    """Asks repeatedly; returns the first true answer, or the last one on timeout."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        answer = question()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(0.1)


def new_conversation(number, contact, **more):
    return {
        "external_id": f"order-{RUN}-{number}",
        "from": {"external_id": f"user-{RUN}-{contact}", "name": "Ada"},
        **more,
    }


def try_ping(full, read, organization):
    for gateway in replicas(os.environ["GATEWAY"]):
        answer = Api(f"http://{gateway}/api/v1", full.token, full.audit_log).call("GET", "/ping")
        check(
            answer.status == 200
            and answer.body["type"] == "ping"
            and answer.body["organization_id"] == organization
            and answer.body["scope"] == "full"
            and int(answer.headers["X-RateLimit-Remaining"]) >= 0,
            f"ping the gateway {gateway}",
            answer,
        )
    check(read.call("GET", "/ping").body["scope"] == "read", "ping with the read key")
    stranger = Api(os.environ["BASE_URL"], full.token[:-1] + "!", {})
    answer = stranger.call("GET", "/ping")
    check(answer.is_error(401, "unauthorized"), "a wrong key is refused", answer)


def try_create(full, read):
    body = new_conversation(1, "a", custom_attributes={"plan": "pro", "seats": 5})
    made = full.call("POST", "/conversations", body)
    check(
        made.status == 201
        and made.body["type"] == "conversation"
        and made.body["external_id"] == body["external_id"]
        and made.body["state"] == "open"
        and made.body["status"] == "active"
        and made.body["message_count"] == 0
        and made.body["contact"]["external_id"] == body["from"]["external_id"]
        and made.body["custom_attributes"] == body["custom_attributes"],
        "create a conversation",
        made,
    )
    again = full.call("POST", "/conversations", body)
    check(
        again.status == 200
        and again.body == made.body
        and again.headers["X-Service-Idempotent-Replay"] == "true",
        "create it again: the same one",
        again,
    )
    other = full.call("POST", "/conversations", new_conversation(1, "b"))
    check(other.is_error(409, "external_id_conflict"), "not for another contact", other)
    wrong = full.call("POST", "/conversations", {**body, "surprise": 1})
    check(wrong.is_error(400, "parameter_invalid"), "an unknown field is refused", wrong)
    denied = read.call("POST", "/conversations", body)
    check(denied.is_error(403, "insufficient_scope"), "the read key may not create", denied)
    return made.body


def try_get_and_update(full, read, conversation):
    path = "/conversations/" + conversation["id"]
    got = read.call("GET", path)
    check(got.status == 200 and got.body == conversation, "read it back", got)
    absent = read.call("GET", f"/conversations/{uuid.uuid4()}")
    check(absent.is_error(404, "not_found"), "another id is not found", absent)
    changed = full.call("PUT", path, {"custom_attributes": {"seats": 6.5, "plan": None, "x": True}})
    check(
        changed.status == 200 and changed.body["custom_attributes"] == {"seats": 6.5, "x": True},
        "change its attributes",
        changed,
    )


def try_search(full, read, conversation):
    second = full.call("POST", "/conversations", new_conversation(2, "a"))
    check(second.status == 201, "a second conversation of the contact", second)
    query = {
        "query": {
            "operator": "AND",
            "value": [
                {"field": "contact.id", "operator": "=", "value": conversation["contact"]["id"]},
                {"field": "state", "operator": "=", "value": "open"},
            ],
        },
        "pagination": {"per_page": 1},
    }
    page = read.call("POST", "/conversations/search", query)
    check(
        page.status == 200
        and page.body["total_count"] == 2
        and [found["id"] for found in page.body["conversations"]] == [second.body["id"]]
        and "next" in page.body["pages"],
        "search finds both, the newest first",
        page,
    )
    query["pagination"]["starting_after"] = page.body["pages"]["next"]["starting_after"]
    page = read.call("POST", "/conversations/search", query)
    check(
        page.status == 200
        and [found["id"] for found in page.body["conversations"]] == [conversation["id"]]
        and "next" not in page.body["pages"],
        "the cursor leads to the last page",
        page,
    )


def try_policy(full, organization):
    """What the front proxy reports about the client counts, not what the client claims."""
    change = ("policy", "set", "--org", organization)

    def answers(code, **headers):
        return until(lambda: full.call("GET", "/ping", **headers).is_error(403, code))

    convctl(*change, "--require-https", "true")
    check(answers("https_required", X_Forwarded_Proto="https"), "HTTPS is required")
    own, other = own_address(full.host), "192.0.2.7"
    convctl(*change, "--require-https", "false", "--ip", other, "--ip-allowlist-enabled", "true")
    check(answers("ip_not_allowed", X_Forwarded_For=other), "an address that is not listed")
    convctl(*change, "--ip", own)
    check(until(lambda: full.call("GET", "/ping").status == 200), "an address that is listed")
    convctl(*change, "--ip-allowlist-enabled", "false")


def try_dashboard():
    with DIRECT.open(os.environ["DASHBOARD_URL"], timeout=30) as page:
        is_page = page.status == 200 and b"<!doctype html>" in page.read(64).lower()
        check(is_page, "the dashboard serves its page", page.headers)


def try_audit(read, organization, audit_log):
    expected = dict(audit_log)
    answer = read.call("GET", "/audit?per_page=100")
    found = {entry["request_id"]: entry["http_status"] for entry in answer.body["audit_logs"]}
    check(answer.status == 200 and found == expected, "the audit log has every request, once", answer)
    verdict = convctl("audit", "verify", "--org", organization)
    check(verdict["ok"], "the audit log is complete and unaltered", verdict)


def is_allowed(url):
    """Whether the deployment may send webhooks to the receiver."""
    address = ipaddress.ip_address(url.split("/")[2].split(":")[0])
    ranges = filter(None, os.environ.get("WEBHOOK_ALLOW_CIDRS", "").split(","))
    return any(address in ipaddress.ip_network(one.strip()) for one in ranges)


def try_webhook(full, organization):
    receiver = Receiver(os.environ["WEBHOOK_SERVICE"])
    create = ("webhook", "create", "--org", organization, "--event", "conversation.created")
    if not is_allowed(receiver.url):
        try:
            convctl(*create, "--url", receiver.url)
            refusal = "it was taken"
        except Mismatch as error:
            refusal = str(error)
        check("parameter_invalid" in refusal, "a webhook to a private address is refused", refusal)
        print("note WEBHOOK_ALLOW_CIDRS does not hold the receiver: no delivery was tried")
        return
    endpoint = convctl(*create, "--url", receiver.url)
    receiver.secret = endpoint["secret"]
    made = full.call("POST", "/conversations", new_conversation(3, "c"))
    event, headers = receiver.wait(TIMEOUT_S) or ({}, {})
    check(
        event.get("type") == headers.get("X-Service-Event") == "conversation.created"
        and event["data"] == {"id": made.body["id"], "channel": "api", "status": "active"},
        "the webhook arrives, well signed",
        event,
    )
    delivered = ("webhook", "deliveries", "--org", organization, endpoint["id"])
    states = until(lambda: [d["state"] for d in convctl(*delivered)] == ["succeeded"])
    check(states, "its delivery is in the log", convctl(*delivered))
    convctl("webhook", "delete", "--org", organization, endpoint["id"])


def try_revoke(read, organization, key):
    convctl("key", "revoke", "--org", organization, key["id"])
    refused = until(lambda: read.call("GET", "/ping").is_error(401, "unauthorized"))
    check(refused, "a revoked key is refused")


def main():
    organization = convctl("org", "create", "--name", f"Acceptance {RUN}", "--plan", "growth")["id"]
    keys = {
        scope: convctl("key", "create", "--org", organization, "--name", scope, "--scope", scope)
        for scope in ("full", "read")
    }
    audit_log = {}
    full, read = (Api(os.environ["BASE_URL"], keys[s]["token"], audit_log) for s in ("full", "read"))
    try_ping(full, read, organization)
    conversation = try_create(full, read)
    try_get_and_update(full, read, conversation)
    try_search(full, read, conversation)
    try_webhook(full, organization)
    try_policy(full, organization)
    try_dashboard()
    try_audit(read, organization, audit_log)
    try_revoke(read, organization, keys["read"])
    print("acceptance: passed")


if __name__ == "__main__":
    try:
        main()
    except (Mismatch, OSError) as problem:
        end(problem)
