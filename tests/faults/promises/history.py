"""A history, line by line, and what is known about a write.

A write with a 2xx response was carried out between its begin and its end; one with a 503 or 4xx was not carried
out. After a 500, or without a response, it is unknown; but a command is dropped at its deadline, so it was carried
out at most SETTLED after its begin, or not at all (causes.py: unless a clock was moved).
"""

import collections
import functools
import json

SETTLED = 5_000_000  # COMMAND_TIMEOUT_MS, plus the time of a commit
FINAL = float("inf")

UNKNOWN, DONE, NEVER = "unknown", "done", "never"


def effect(op):
    """Whether a write was carried out."""
    if 200 <= op["status"] < 300:
        return DONE
    return UNKNOWN if op["status"] in (0, 500) else NEVER


def brief(op):
    return (f"[{op['begin'] / 1e6:.3f} s org {op['org']} {op['op']} {json.dumps(op['args'])}"
            f" -> {op['status']} {op['id']}]")


# Values of members that a response lacks, so that checks report them as wrong instead of raising an
# error.
CONVERSATION = {"id": None, "ext": None, "contact": None, "attrs": {}, "created": 0, "updated": 0}
PING = {"organization_id": None, "scope": None, "server_time": 0}
LIST = {"total": 0, "page": 0, "more": False}


def whole(op):
    """The content of a successful response, with all members."""
    got = op.get("got") or {}
    if op["op"] in ("create", "get", "update"):
        return CONVERSATION | got
    if op["op"] == "ping":
        return PING | got
    if op["op"] == "search":
        return LIST | got | {"conversations": [CONVERSATION | each for each in got.get("conversations", ())]}
    return LIST | {"audit_logs": []} | got


class History:
    """What happened in a run: attributes are named after the lines that they hold."""

    def __init__(self, lines):
        self.run, self.orgs, self.faults, self.keys = {}, {}, [], []
        self.ops, self.deliveries, self.verified, self.has_end = [], [], {}, False
        for line in lines:
            self.add(line)
        if not self.run or not self.orgs:
            raise ValueError("no run, or no organization")
        if not self.has_end:
            raise ValueError("the run did not come to its end")

    def add(self, line):
        kind = line["type"]
        if kind == "run":
            self.run = line
        elif kind == "org":
            self.orgs[line["org"]] = line["id"]
        elif kind == "fault":
            self.faults.append(line)
        elif kind == "key":
            self.keys.append(line)
        elif kind == "op":
            if effect(line) == DONE:
                line["got"] = whole(line)
            self.ops.append(line)
        elif kind == "delivery":
            self.deliveries.append(line)
        elif kind == "verify":
            self.verified[line["org"]] = line["found"]
        elif kind == "end":
            self.has_end = True
        else:
            raise ValueError(f"unknown line: {kind}")

    def of(self, org, *kinds):
        return [op for op in self.ops if op["org"] == org and op["op"] in kinds]

    @functools.cached_property
    def there(self):
        """What exists at the end: (contact that was searched for, conversation), by organization."""
        found = collections.defaultdict(list)
        for op in self.ops:
            if op["op"] == "search" and op["status"] == 200 and op["args"].get("final"):
                found[op["org"]] += [(op["args"]["contact"], each) for each in op["got"]["conversations"]]
        return found

    def ids_there(self, org):
        return {conversation["id"] for _, conversation in self.there[org]}

    @functools.cached_property
    def shown(self):
        """Every conversation in a response, as (op, conversation), by the organization that sent the request."""
        found = collections.defaultdict(list)
        for op in self.ops:
            if op["status"] not in (200, 201):
                continue
            if op["op"] in ("get", "update", "create"):
                found[op["org"]].append((op, op["got"]))
            elif op["op"] == "search":
                found[op["org"]] += [(op, each) for each in op["got"]["conversations"]]
        return found
