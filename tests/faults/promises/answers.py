"""Checks each response by itself, its time, and whether its key was valid."""

import json

from .causes import CLOCKS, gateway_of
from .history import FINAL, brief

LATE = 6_000_000  # no response is later than COMMAND_TIMEOUT_MS + 1 s; the rest is for a busy machine

# How long a revoked key may still be accepted.
IN_FORCE = 2_000_000            # the notice takes up to a second over the bus; one more for a busy machine
IN_FORCE_UNTOLD = 6_000_000     # a gateway that missed the notice looks the key up again after 5 s
IN_FORCE_UNASKED = 66_000_000   # while it cannot reach access, it uses its cached record for 60 s

# Each 403 and 409 that the workload provokes has one cause.
CODES = {
    400: {"parameter_invalid", "parameter_not_found", "invalid_json", "invalid_cursor", "invalid_operator",
          "invalid_field"},
    401: {"unauthorized"}, 403: {"insufficient_scope"}, 404: {"not_found"}, 405: {"method_not_allowed"},
    406: {"not_acceptable"}, 409: {"external_id_conflict"}, 413: {"payload_too_large"},
    415: {"unsupported_media_type"}, 429: {"rate_limit_exceeded"}, 500: {"server_error"},
    503: {"service_unavailable"},
}


def right_statuses(op):
    args = op["args"]
    if "refused" in args:
        return [args["refused"]]
    if "across" in args:
        return [404]
    if args.get("why") == "conflict":
        return [200, 201, 409]
    return [200, 201] if op["op"] == "create" else [200]


class Answers:
    def __init__(self, checker):
        self.checker, self.history, self.causes = checker, checker.history, checker.causes

    def check(self):
        for op in self.history.ops:
            is_disturbed = self.causes.is_disturbed(op)
            if not op["args"].get("final"):
                self.checker.counts["requests of the load"] += 1
                self.checker.counts["requests that no fault can have disturbed"] += not is_disturbed
            self.check_status(op, is_disturbed)
            self.check_time(op)
            if op["status"] >= 400:
                self.check_error(op)
            if op["op"] == "ping" and op["status"] == 200:
                self.check_ping(op, op["got"])

    def check_status(self, op, is_disturbed):
        if op["status"] in (0, 500, 503):
            if not is_disturbed:
                self.checker.broken("nothing fails without a fault", brief(op))
            elif op["status"] == 0 and not self.causes.may_be_unanswered(op):
                self.checker.broken("a running gateway responds", brief(op))
        elif "key" not in op["args"] and op["status"] not in right_statuses(op):
            self.checker.broken("a request gets the expected status", brief(op), "instead of",
                                right_statuses(op))

    def check_time(self, op):
        took = op["end"] - op["begin"]
        wrong_clock = self.causes.clock_off(CLOCKS, {gateway_of(op)}, op["begin"], op["end"])
        if took > LATE + wrong_clock and not self.causes.may_be_late(op):
            self.checker.broken("no response is late", brief(op), f"took {took / 1e6:.1f} s")

    def check_error(self, op):
        got = op.get("got") or {}
        if got.get("request_id") != op["id"]:
            self.checker.broken("an error has the documented form", brief(op))
        elif got.get("code") not in CODES.get(op["status"], ()):
            self.checker.broken("an error has a code that fits its status", brief(op), got)

    def check_ping(self, op, got):
        wall, whom = self.history.run["wall"], {gateway_of(op)}
        behind, ahead = (self.causes.clock_off(direction, whom, op["begin"], op["end"]) / 1e6
                         for direction in ("behind:", "ahead:"))
        if got["organization_id"] != self.history.orgs[op["org"]] or got["scope"] != op["args"]["scope"]:
            self.checker.broken("a response is from the key's organization", brief(op), got)
        if not (op["begin"] + wall) / 1e6 - 2 - behind <= got["server_time"] <= (op["end"] + wall) / 1e6 + 1 + ahead:
            self.checker.broken("server_time is the time of the response", brief(op), json.dumps(got))


class Keys:
    """Churned keys: each is valid from when convctl has created it until convctl is called to revoke it."""

    def __init__(self, checker):
        self.checker, self.history, self.causes = checker, checker.history, checker.causes
        self.made, self.tried, self.revoked = set(), {}, {}
        for key in self.history.keys:
            if key["state"] == "made":
                self.made.add(key["key"])
            else:
                self.tried.setdefault(key["key"], key["begin"])
                if key["done"]:
                    self.revoked.setdefault(key["key"], key["end"])

    def check(self):
        for op in self.history.ops:
            key = op["args"].get("key")
            if key is None or op["status"] in (0, 500, 503):
                continue
            self.checker.counts["uses of keys that come and go"] += 1
            if op["status"] not in (200, 401):
                self.checker.broken("a use of a key gets 200 or 401", brief(op))
            if op["status"] == 401 and op["end"] < self.tried.get(key, FINAL) and key in self.made:
                self.checker.broken("a key works until it is revoked", brief(op))
            if key in self.revoked:
                self.check_revoked(op, key)

    def limit(self, op, key):
        """If an attempt to revoke the key succeeds but its reply is lost, the next one sends no notice. A gateway with
        a wrong clock keeps its record of the key for longer."""
        wrong_clock = self.causes.clock_off(CLOCKS, {gateway_of(op)}, self.tried[key], op["end"])
        if self.causes.keep_from_access(op, op["begin"]):
            return IN_FORCE_UNASKED + wrong_clock
        return wrong_clock + (IN_FORCE_UNTOLD if self.causes.keep_from_access(op, self.tried[key]) else IN_FORCE)

    def check_revoked(self, op, key):
        since, limit = op["begin"] - self.revoked[key], self.limit(op, key)
        if since <= limit:
            return
        self.checker.counts["uses of revoked keys that had to be refused"] += 1
        if op["status"] == 200:
            self.checker.broken("a revoked key is refused in time", brief(op), f"{since / 1e6:.1f} s later")
